import lighthouse, { desktopConfig } from 'lighthouse';
import type { RunnerResult } from 'lighthouse';
import { median } from '../../../bench/statistics.ts';
import { atLeast } from '../../../bench/tables.ts';
import type { Section } from '../../../bench/tables.ts';
import { openWorld } from '../../../e2e/ui/world.ts';
import { launchBrowser } from './browser.ts';

/** Other programs on the machine change the times, so each screen is judged more than once. */
const rounds = 3;
/** The least score of each category. Only times change from run to run. */
const minScores: Readonly<Record<string, number>> = { performance: 95 };
const minScore = 100;

const screens = ['/ui/', '/ui/w/tester', '/ui/w/tester/tools', '/ui/clients', '/ui/settings', '/ui/add'];

/** The categories of Lighthouse, with its settings for desktop computers. */
export async function judgedScreens(): Promise<Section['rows']> {
  await using world = await openWorld();
  await world.run('tester');
  await using shared = await launchBrowser();
  const rows: Section['rows'][number][] = [];
  for (const screen of screens) {
    const scores = new Map<string, { title: string; values: number[] }>();
    for (let round = 0; round < rounds; round++) {
      const { categories, audits } = await judge(world.base + screen, shared.debuggingPort);
      for (const { id: category, title, score, auditRefs } of Object.values(categories)) {
        const { values = [] } = scores.get(category) ?? {};
        scores.set(category, { title, values: [...values, Math.round((score ?? 0) * 100)] });
        for (const { id, weight } of auditRefs) {
          const { score: part = null, title: about } = audits[id] ?? {};
          if (weight > 0 && part !== null && part < 0.9)
            process.stderr.write(`${screen}, ${title}, ${part}: ${about}\n`);
        }
      }
    }
    for (const [category, { title, values }] of scores) {
      const least = minScores[category] ?? minScore;
      rows.push([`Lighthouse, ${title}, ${screen} (at least ${least})`, atLeast(median(values), least), '–']);
    }
  }
  return rows;
}

/** On a busy machine, Chromium sometimes writes an incomplete trace, and Lighthouse asks for another run. */
const attempts = 3;

async function judge(address: string, port: number): Promise<RunnerResult['lhr']> {
  for (let attempt = 1; ; attempt++) {
    const result = await lighthouse(address, { port, logLevel: 'error' }, desktopConfig);
    if (result === undefined) throw new Error(`Lighthouse has no result for ${address}`);
    const { runtimeError } = result.lhr;
    if (runtimeError === undefined) return result.lhr;
    if (attempt === attempts) throw new Error(runtimeError.message);
    process.stderr.write(`${address}: ${runtimeError.code}, running Lighthouse again\n`);
  }
}
