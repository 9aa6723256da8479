import { openMemoryRuntime } from '@toolhive/runtime/memory';
import type { Homes, StoredHome } from '@toolhive/runtime/runtime';
import { memoryTestServers } from '@toolhive/runtime/testing/memory-servers';
import { expect, test } from 'vitest';
import type { Core } from '../core.ts';
import { makeHome, openTestCore, quickTiming, testServer } from '../testing/test-core.ts';
import type { TestHome } from '../testing/test-core.ts';
import { createWorkload } from './creation/create.ts';
import { getWorkload } from './describe.ts';
import { deleteWorkload } from './operate.ts';

const call = { report: () => {}, signal: new AbortController().signal };

/** Servers in memory store nothing themselves: a test says what they have stored. */
function openCoreWith(home: TestHome, stored: Map<string, StoredHome>): Promise<Core> {
  const homes: Homes = {
    exists: async (workload) => stored.has(workload),
    measure: async (workload) => stored.get(workload),
    remove: async (workload) => void stored.delete(workload),
  };
  return openTestCore(home, {
    runtimes: () => [{ ...openMemoryRuntime(memoryTestServers), homes }],
    timing: { ...quickTiming, firstBackoffMs: 100, maxBackoffMs: 100 },
    homeLimit: { intervalMs: 10 },
  });
}

const filesOf = (bytes: number): StoredHome => ({ place: '/state/homes/test', bytes, isEmpty: false });

async function run(core: Core): Promise<void> {
  await createWorkload(core, { name: 'test', image: testServer, resources: { disk: '1m' } }, call);
  await core.workloads.require('test').follow(() => {});
}

test('describes what a server has stored', async () => {
  await using home = await makeHome();
  const stored = new Map<string, StoredHome>();
  await using core = await openCoreWith(home, stored);
  await run(core);
  stored.set('test', filesOf(4096));

  const details = await getWorkload(core, 'test');

  expect(details.home).toEqual({ path: '/state/homes/test', size_bytes: 4096, limit_bytes: 1024 ** 2 });
});

test('stops a server that stores too much, and does not start it again before files were deleted', async () => {
  await using home = await makeHome();
  const stored = new Map<string, StoredHome>();
  await using core = await openCoreWith(home, stored);
  await run(core);
  const { workloads } = core;
  const context = (): string => workloads.require('test').condition.context ?? '';

  stored.set('test', filesOf(2 * 1024 ** 2));

  const reason = 'the server stored more than 1 MiB in its home directory; allow more with --disk';
  await expect.poll(context, { interval: 5 }).toContain(`${reason} (/state/homes/test)`);
  await expect.poll(context, { interval: 5 }).toContain(`${reason} (next attempt`);
  stored.set('test', filesOf(1));
  await expect.poll(() => workloads.require('test').condition.status).toBe('running');
});

test('removes the files with the workload', async () => {
  await using home = await makeHome();
  const stored = new Map<string, StoredHome>();
  await using core = await openCoreWith(home, stored);
  await run(core);
  stored.set('test', filesOf(1));

  await (await deleteWorkload(core, 'test')).follow(() => {}, call.signal);

  expect(stored).toEqual(new Map());
});

test('gives the files of an earlier server to no other', async () => {
  await using home = await makeHome();
  await using core = await openCoreWith(home, new Map([['test', filesOf(1)]]));

  await expect(run(core)).rejects.toThrow('the home directory of test contains files of another server');
});
