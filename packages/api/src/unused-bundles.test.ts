import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { statePaths } from '@toolhive/state/paths';
import { expect, test } from 'vitest';
import { makeHome, openTestCore } from '@toolhive/core/testing';

const hashOf = (digit: string): string => digit.repeat(64);

/** A state directory as an earlier daemon left it. */
async function aHomeWithBundles() {
  const home = await makeHome();
  const { bundles, runConfigs } = statePaths(home.env);
  await mkdir(bundles, { recursive: true });
  await mkdir(runConfigs, { recursive: true });
  for (const digit of ['a', 'b', 'c']) await writeFile(join(bundles, `${hashOf(digit)}.mcpb`), digit);
  await writeFile(join(bundles, '.staged.new'), 'half');
  await writeFile(join(bundles, 'mine.txt'), 'mine');
  return { home, bundles, runConfigs };
}

test('a daemon removes the bundles that no run config names, and keeps those of damaged ones', async () => {
  const { home, bundles, runConfigs } = await aHomeWithBundles();
  await using _home = home;
  await writeFile(join(runConfigs, 'used.json'), `{ damaged "image": "mcpb:///x.mcpb@sha256-${hashOf('a')}"`);

  await using _core = await openTestCore(home);

  expect((await readdir(bundles)).toSorted()).toEqual([`${hashOf('a')}.mcpb`, 'mine.txt']);
});

test('a daemon that cannot read all run configs keeps all bundles', async () => {
  const { home, bundles, runConfigs } = await aHomeWithBundles();
  await using _home = home;
  await mkdir(join(runConfigs, 'broken.json'));

  await using _core = await openTestCore(home);

  expect(await readdir(bundles)).toHaveLength(5);
});

test('a state directory whose bundles cannot be listed does not keep the daemon from its start', async () => {
  await using home = await makeHome();
  const { bundles } = statePaths(home.env);
  await mkdir(dirname(bundles), { recursive: true });
  await writeFile(bundles, 'not a directory');

  await using core = await openTestCore(home);

  expect(core.workloads.all()).toEqual([]);
});
