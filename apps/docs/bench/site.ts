// The documentation site, measured: `npm run bench:site`. Names select parts; it fails when a budget is missed.
import { buildDocs, siteFolder } from '../../../scripts/build-docs.ts';
import { builds } from './builds.ts';
import { judgedPages } from './judged.ts';
import { formatMachine, formatSection, misses, type Section } from '../../../bench/tables.ts';
import { searches } from './searches.ts';
import { serveSite, type ServedSite } from './served.ts';
import { weights } from './weights.ts';

const note = (text: string): void => void process.stderr.write(`${text}\n`);

const parts: Record<string, (site: ServedSite) => Promise<Section>> = {
  weights,
  searches,
  judged: (site) => judgedPages(site, note),
  builds: () => builds(note),
};
const chosen = process.argv.slice(2);
const mistakes = chosen.filter((word) => !Object.hasOwn(parts, word));
if (mistakes.length > 0)
  throw new Error(`there is no ${mistakes.join(', ')}; there are ${Object.keys(parts).join(', ')}`);

note('building the site');
if (!(await buildDocs())) throw new Error('the site cannot be built');
await using site = await serveSite(siteFolder);
const missed: string[] = [];
for (const [name, measure] of Object.entries(parts)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  note(`measuring ${name}`);
  const section = await measure(site);
  missed.push(...misses(section));
  process.stdout.write(`${formatSection(section)}\n`);
}
process.stdout.write(formatMachine());
for (const line of missed) note(`over budget: ${line}`);
if (missed.length > 0) process.exitCode = 1;
