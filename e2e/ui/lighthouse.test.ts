// @suite ui (in depth)
import { expect, test } from 'vitest';
import { launchBrowser } from '../../apps/web/bench/browser.ts';
import { faultsOf, judge } from '../../apps/web/bench/judge.ts';
import { openWorld } from './world.ts';

// The performance depends on the machine, so it is a part of `npm run bench:ui`, which judges more screens. The
// accessibility of all screens is tested with axe in `screens.test.ts`.

test('Lighthouse finds no fault in best practices', { timeout: 400_000 }, async () => {
  await using world = await openWorld();
  await world.run('tester');
  await using shared = await launchBrowser();
  const scores: (number | null)[] = [];
  const faults: string[] = [];

  for (const screen of ['/ui/', '/ui/w/tester/tools', '/ui/add']) {
    const found = await judge(world.base + screen, shared.debuggingPort, ['best-practices']);
    scores.push(...Object.values(found.categories).map(({ score }) => score));
    faults.push(...faultsOf(found).map((fault) => `${screen}, ${fault}`));
  }

  expect(faults).toEqual([]);
  expect(scores).toEqual([1, 1, 1]);
});
