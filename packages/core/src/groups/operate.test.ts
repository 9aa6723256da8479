import { openMemoryRuntime } from '@toolhive/runtime/memory';
import type { Runtime } from '@toolhive/runtime/runtime';
import { memoryTestServers } from '@toolhive/runtime/testing/memory-servers';
import { expect, test } from 'vitest';
import { makeHome, openTestCore, testServer } from '../testing/test-core.ts';
import { createWorkload } from '../workloads/create.ts';
import { deleteWorkload } from '../workloads/operate.ts';
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

test.each(['move-workloads', 'delete-workloads'] as const)(
  'waits for a workload of the group that is still being removed: %s',
  async (removal) => {
    const stopped = Promise.withResolvers<void>();
    const stopping = Promise.withResolvers<void>();
    await using home = await makeHome();
    await using core = await openTestCore(home, {
      runtimes: () => [stoppedOnlyAfter(stopped.promise, stopping.resolve)],
    });
    await core.groups.create('team');
    const call = { report: () => {}, signal: new AbortController().signal };
    await createWorkload(core, { name: 'test', image: testServer, group: 'team' }, call);
    await core.workloads.require('test').follow(() => {});
    await deleteWorkload(core, 'test');
    await stopping.promise;

    const deleted = deleteGroup(core, 'team', removal);
    setImmediate(stopped.resolve); // reached only while the event loop turns
    await deleted;

    expect(core.workloads.all()).toEqual([]);
    expect(core.groups.all().map(({ name }) => name)).toEqual(['default']);
  },
);

/** Servers in memory that tell when they are asked to stop, and have stopped only after a condition. */
function stoppedOnlyAfter(condition: Promise<void>, asked: () => void): Runtime {
  const runtime = openMemoryRuntime(memoryTestServers);
  return {
    ...runtime,
    async start(...given) {
      const instance = await runtime.start(...given);
      return {
        ...instance,
        async stop(graceMs) {
          asked();
          await condition;
          await instance.stop(graceMs);
        },
      };
    },
  };
}
