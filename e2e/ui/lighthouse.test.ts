// @suite ui (in depth)
import { expect, test } from 'vitest';
import { launchBrowser } from '../../apps/web/bench/browser.ts';
import { faultsOf, judge, judgedScreens } from '../../apps/web/bench/judge.ts';
import { openWorld } from './world.ts';

// The performance depends on the machine, so it is a part of `npm run bench:ui`.

test('Lighthouse finds no fault in accessibility and best practices', { timeout: 400_000 }, async () => {
  await using world = await openWorld();
  await world.run('tester');
  await using shared = await launchBrowser();
  const scores: Record<string, (number | null)[]> = {};
  const faults: string[] = [];

  for (const screen of judgedScreens) {
    const found = await judge(world.base + screen, shared.debuggingPort, ['accessibility', 'best-practices']);
    scores[screen] = Object.values(found.categories).map(({ score }) => score);
    faults.push(...faultsOf(found).map((fault) => `${screen}, ${fault}`));
  }

  expect(faults).toEqual([]);
  expect(scores).toEqual(Object.fromEntries(judgedScreens.map((screen) => [screen, [1, 1]])));
});
