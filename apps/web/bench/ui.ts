// The web UI, measured: `npm run bench:ui`. Names select parts. The exit code is 1 when a budget is broken.
import { formatMachine, formatSection, misses } from '../../../bench/tables.ts';
import type { Section } from '../../../bench/tables.ts';
import { buildCli } from '../../../scripts/build.ts';
import { firstViews } from './first-views.ts';
import { followedLog } from './followed-log.ts';
import { interactions } from './interactions.ts';
import { screenScores } from './judged-screens.ts';
import { builtFiles } from './built-files.ts';
import { searches } from './searches.ts';

const parts: Record<string, () => Promise<Section['rows']>> = {
  files: builtFiles,
  'first-views': firstViews,
  lighthouse: screenScores,
  interactions,
  log: followedLog,
  searches,
};
const chosen = process.argv.slice(2);
const mistakes = chosen.filter((word) => !Object.hasOwn(parts, word));
if (mistakes.length > 0)
  throw new Error(`there is no ${mistakes.join(', ')}; there are ${Object.keys(parts).join(', ')}`);

const note = (text: string): void => void process.stderr.write(`${text}\n`);
note('building');
await buildCli();
const rows: Section['rows'][number][] = [];
for (const [name, measure] of Object.entries(parts)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  note(`measuring ${name}`);
  rows.push(...(await measure()));
}
const section = { title: 'The web UI', head: ['Figure', 'ToolHive', 'MCP Inspector'], rows };
process.stdout.write(`${formatSection(section)}\n${formatMachine()}`);
const missed = misses(section);
for (const line of missed) note(`over budget: ${line}`);
if (missed.length > 0) process.exitCode = 1;
