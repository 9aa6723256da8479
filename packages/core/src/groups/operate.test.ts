import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openMemoryRuntime } from '@toolhive/runtime/memory';
import type { Runtime } from '@toolhive/runtime/runtime';
import { memoryTestServers } from '@toolhive/runtime/testing/memory-servers';
import { expect, test } from 'vitest';
import { makeHome, openTestCore, testServer } from '../testing/test-core.ts';
import { createWorkload } from '../workloads/creation/create.ts';
import { deleteWorkload } from '../workloads/operate.ts';
import { deleteGroup, editGroup, listGroups } from './operate.ts';

test('nothing gets into a group that is removed during the preparation of the source', async () => {
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

test('a renamed group keeps its running workloads, its clients, and their files', async () => {
  await using home = await makeHome();
  const file = join(home.path, '.cursor', 'mcp.json');
  await mkdir(dirname(file), { recursive: true });
  await using core = await openTestCore(home);
  await core.groups.create('team', 'Our tools');
  const call = { report: () => {}, signal: new AbortController().signal };
  await createWorkload(
    core,
    { name: 'test', image: testServer, cmd_arguments: ['echo'], group: 'team' },
    call,
  );
  await core.workloads.require('test').follow(() => {});
  await core.clients.register(['cursor'], ['team']);
  const before = await readFile(file, 'utf8');
  const proxy = core.workloads.require('test').live.proxy;

  const renamed = await editGroup(core, 'team', { name: 'crew' }, call);
  const described = await editGroup(core, 'crew', { description: 'Their tools' }, call);

  expect(renamed).toEqual({ name: 'crew', description: 'Our tools', registered_clients: ['cursor'] });
  expect(described.description).toBe('Their tools');
  expect(listGroups(core).map(({ name }) => name)).toEqual(['crew', 'default']);
  expect(core.workloads.require('test').runConfig.group).toBe('crew');
  expect(core.workloads.require('test').live.proxy).toBe(proxy);
  expect(await readFile(file, 'utf8')).toBe(before);
  expect(before).toContain('/mcp');
});

test('a group that cannot be renamed stays as it is', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);
  await core.groups.create('team');
  await core.groups.create('crew');
  const call = { report: () => {}, signal: new AbortController().signal };

  await expect(editGroup(core, 'team', { name: 'crew' }, call)).rejects.toMatchObject({ kind: 'conflict' });
  await expect(editGroup(core, 'default', { name: 'other' }, call)).rejects.toMatchObject({
    kind: 'invalid',
  });
  await expect(editGroup(core, 'nobody', { name: 'other' }, call)).rejects.toMatchObject({
    kind: 'not-found',
  });

  expect(listGroups(core).map(({ name }) => name)).toEqual(['crew', 'default', 'team']);
});

test('the next daemon finishes a renaming that was interrupted', async () => {
  await using home = await makeHome();
  const call = { report: () => {}, signal: new AbortController().signal };
  await using before = new AsyncDisposableStack();
  const first = before.use(await openTestCore(home));
  await first.groups.create('team');
  await createWorkload(
    first,
    { name: 'test', image: testServer, cmd_arguments: ['echo'], group: 'team' },
    call,
  );
  await first.clients.register(['cursor'], ['team']);
  const { groups } = first.paths;
  await before.disposeAsync();
  const path = join(groups, 'team.json');
  const stored = JSON.parse(await readFile(path, 'utf8')) as object;
  await writeFile(path, JSON.stringify({ ...stored, removing: 'move-workloads', successor: 'crew' }));

  await using core = await openTestCore(home);

  expect(listGroups(core)).toMatchObject([
    { name: 'crew', registered_clients: ['cursor'] },
    { name: 'default' },
  ]);
  expect(core.workloads.require('test').runConfig.group).toBe('crew');
  expect(await readdir(groups)).toEqual(['crew.json', 'default.json']);
});

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
