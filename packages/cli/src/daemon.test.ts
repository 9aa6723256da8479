// @suite system
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeHome } from '@toolhive/core/testing';
import { canMount, mountSmallDisk } from '@toolhive/core/testing/small-disk';
import { afterEach, expect, test, vi } from 'vitest';
import { connectToDaemon } from './daemon.ts';

afterEach(() => vi.unstubAllEnvs());

test.runIf(canMount).each([
  ['on a read-only disk', 'toolhive'],
  ['for the first time on a read-only disk', ''],
])('a start in the background %s names the problem, the path, and the fix', async (_title, existing) => {
  await using home = await makeHome();
  const state = join(home.path, 'state');
  await using disk = await mountSmallDisk(state);
  await mkdir(join(state, existing), { recursive: true });
  await disk.setReadOnly(true);
  vi.stubEnv('XDG_STATE_HOME', state);

  const connecting = connectToDaemon({
    note: () => {},
    signal: AbortSignal.timeout(20_000),
    debug: false,
  });

  await expect(connecting).rejects.toMatchObject({
    kind: 'unavailable',
    message: `cannot write ${join(state, 'toolhive/hive.log')}: the file system is read-only`,
    hint: 'make it writable, then try again',
  });
});
