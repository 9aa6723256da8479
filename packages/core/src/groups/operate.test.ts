import { openMemoryRuntime } from '@toolhive/runtime/memory';
import { memoryTestServers } from '@toolhive/runtime/testing/memory-servers';
import { expect, test } from 'vitest';
import { makeHome, openTestCore, testServer } from '../testing/test-core.ts';
import { createWorkload } from '../workloads/create.ts';
import { deleteGroup } from './operate.ts';

test('nothing gets into a group that goes while its source is made ready', async () => {
  const runtime = openMemoryRuntime(memoryTestServers);
  const asked = Promise.withResolvers<void>();
  const ready = Promise.withResolvers<void>();
  const slow: typeof runtime = {
    ...runtime,
    async prepare(source, options) {
      asked.resolve();
      await ready.promise;
      return runtime.prepare(source, options);
    },
  };
  await using home = await makeHome();
  await using core = await openTestCore(home, { runtimes: () => [slow] });
  await core.groups.create('team');
  const call = { report: () => {}, signal: new AbortController().signal };
  const created = createWorkload(core, { name: 'test', image: testServer, group: 'team' }, call);
  created.catch(() => {}); // expected below

  await asked.promise;
  await deleteGroup(core, 'team', 'move-workloads');
  ready.resolve();

  await expect(created).rejects.toMatchObject({ kind: 'not-found', message: 'group team not found' });
  expect(core.workloads.all()).toEqual([]);
});
