import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { installationLimits } from '../installation-limits.ts';
import { Cgroup } from './cgroup.ts';

test.each([
  [0.2, '1024'],
  [1, '1024'],
  [3.8, '4096'],
])('a group that may use %d processors competes as so many processes', async (cpus, shares) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-cgroup-'));
  const limits = { ...installationLimits, cpus };
  await using _group = await Cgroup.open({ cpu: { version: 1, folder: folder.path } }, 'group', limits);

  expect(await readFile(join(folder.path, 'group', 'cpu.shares'), 'utf8')).toBe(shares);
});
