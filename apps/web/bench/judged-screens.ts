import { median } from '../../../bench/statistics.ts';
import { atLeast } from '../../../bench/tables.ts';
import type { Section } from '../../../bench/tables.ts';
import { openWorld } from '../../../e2e/ui/world.ts';
import { launchBrowser } from './browser.ts';
import { faultsOf, judge, judgedScreens } from './judge.ts';

/** Other programs on the machine change the times, so the performance of each screen is judged more than once. */
const rounds = 3;
/** The least score of each category. Only times change from run to run. */
const minScores: Readonly<Record<string, number>> = { performance: 95 };
const minScore = 100;
const lasting = ['accessibility', 'best-practices', 'seo'];

/** The categories of Lighthouse, with its settings for desktop computers. */
export async function screenScores(): Promise<Section['rows']> {
  await using world = await openWorld();
  await world.run('tester');
  await using shared = await launchBrowser();
  const rows: Section['rows'][number][] = [];
  for (const screen of judgedScreens) {
    const scores = new Map<string, { title: string; values: number[] }>();
    for (let round = 0; round < rounds; round++) {
      const found = await judge(world.base + screen, shared.debuggingPort, [
        'performance',
        ...(round === 0 ? lasting : []),
      ]);
      for (const { id: category, title, score } of Object.values(found.categories)) {
        const { values = [] } = scores.get(category) ?? {};
        scores.set(category, { title, values: [...values, Math.round((score ?? 0) * 100)] });
      }
      for (const fault of faultsOf(found)) process.stderr.write(`${screen}, ${fault}\n`);
    }
    for (const [category, { title, values }] of scores) {
      const least = minScores[category] ?? minScore;
      rows.push([`Lighthouse, ${title}, ${screen} (at least ${least})`, atLeast(median(values), least), '–']);
    }
  }
  return rows;
}
