import lighthouse, { desktopConfig } from 'lighthouse';
import { median } from '../../../bench/statistics.ts';
import { atLeast } from '../../../bench/tables.ts';
import type { Section } from '../../../bench/tables.ts';
import { openWorld } from '../../../e2e/ui/world.ts';
import { launchBrowser } from './browser.ts';

/** Other programs on the machine change the times, so each screen is judged more than once. */
const rounds = 3;
const minScore = 98;

const screens = ['/ui/', '/ui/w/tester/tools'];

/** The categories of Lighthouse, with its settings for desktop computers. */
export async function judgedScreens(): Promise<Section['rows']> {
  await using world = await openWorld();
  await world.run('tester');
  await using shared = await launchBrowser();
  const rows: Section['rows'][number][] = [];
  for (const screen of screens) {
    const scores = new Map<string, number[]>();
    for (let round = 0; round < rounds; round++) {
      const result = await lighthouse(
        world.base + screen,
        { port: shared.debuggingPort, logLevel: 'error' },
        desktopConfig,
      );
      if (result === undefined) throw new Error(`Lighthouse has no result for ${screen}`);
      const { categories, audits, runtimeError } = result.lhr;
      if (runtimeError !== undefined) throw new Error(runtimeError.message);
      for (const { title, score, auditRefs } of Object.values(categories)) {
        scores.set(title, [...(scores.get(title) ?? []), Math.round((score ?? 0) * 100)]);
        for (const { id, weight } of auditRefs) {
          const { score: part = null, title: about } = audits[id] ?? {};
          if (weight > 0 && part !== null && part < 0.9)
            process.stderr.write(`${screen}, ${title}, ${part}: ${about}\n`);
        }
      }
    }
    for (const [title, values] of scores)
      rows.push([
        `Lighthouse, ${title}, ${screen} (at least ${minScore})`,
        atLeast(median(values), minScore),
        '–',
      ]);
  }
  return rows;
}
