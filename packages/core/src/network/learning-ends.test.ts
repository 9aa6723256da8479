import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import type { WorkloadId } from '@toolhive/state/workload-id';
import type { Supervisor } from '../supervision/supervisor.ts';
import { makeHome, openTestCore, testServer } from '../testing/test-core.ts';
import type { Core } from '../open-core.ts';
import { createWorkload, editWorkload } from '../workloads/creation/create.ts';
import { getWorkload } from '../workloads/describe.ts';
import { stopWorkload } from '../workloads/operate.ts';
import { LearningEnds } from './learning-ends.ts';
import { getLearning, getPermissions, startLearning, stopLearning } from './operate.ts';

afterEach(() => {
  vi.useRealTimers();
});

async function runEcho(core: Core): Promise<void> {
  await createWorkload(core, { name: 'echo', image: testServer, permission_profile: { network: {} } }, call);
  await settled(core);
}

const call = { signal: new AbortController().signal, report: () => {} };

async function settled(core: Core): Promise<void> {
  await expect.poll(() => core.workloads.require('echo').condition.status).toBe('running');
}

const access = (core: Core) => getPermissions(core, 'echo');

test('learning mode ends by its time, gives the earlier access back, and applies nothing', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);
  await runEcho(core);

  const started = await startLearning(core, 'echo', 1);
  const during = access(core);
  await expect.poll(() => access(core).learned, { timeout: 5_000 }).toBeDefined();

  expect(during).toMatchObject({ network: { kind: 'rules' }, learning: { until: started.until } });
  expect(Date.parse(started.until ?? '') - Date.parse(started.since)).toBe(1_000);
  expect(access(core)).toMatchObject({
    network: { kind: 'none' },
    learned: { since: started.since, until: started.until },
  });
  expect(access(core)).not.toHaveProperty('learning');
  expect(access(core).warnings.join()).not.toContain('learning mode');
  expect(await getLearning(core, 'echo')).toMatchObject({ since: started.since, until: started.until });
  expect(core.workloads.require('echo').runConfig.permission_profile).toEqual({ network: {} });
});

test('the record of an ended learning mode is kept until it is discarded', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);
  await runEcho(core);
  await startLearning(core, 'echo', 1);
  const during = await getWorkload(core, 'echo');
  await expect.poll(() => access(core).learned, { timeout: 5_000 }).toBeDefined();
  await settled(core);

  await editWorkload(core, 'echo', during, call); // as a client that sends back what it has read
  await settled(core);
  const edited = access(core);
  await stopLearning(core, 'echo', {});

  expect(during).toMatchObject({ learn: true });
  expect(edited).toMatchObject({ network: { kind: 'none' }, learned: {} });
  expect(access(core)).not.toHaveProperty('learned');
  await expect(getLearning(core, 'echo')).rejects.toMatchObject({ kind: 'conflict' });
});

test('a second request changes the end, and one without a time keeps it', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);
  await runEcho(core);

  const first = await startLearning(core, 'echo', 3_600);
  const longer = await startLearning(core, 'echo', 7_200);
  const same = await startLearning(core, 'echo');

  expect([longer.since, same.since]).toEqual([first.since, first.since]);
  expect(Date.parse(longer.until ?? '')).toBeGreaterThan(Date.parse(first.until ?? ''));
  expect(same.until).toBe(longer.until);
});

test.each(['running', 'stopped'])(
  'a %s workload has no learning mode after the end passed without a daemon',
  async (status) => {
    await using home = await makeHome();
    const first = await openTestCore(home);
    await runEcho(first);
    await startLearning(first, 'echo', 3_600);
    if (status === 'stopped') await stopWorkload(first, 'echo');
    await first[Symbol.asyncDispose]();

    await using same = await openTestCore(home);
    const before = access(same);
    await same[Symbol.asyncDispose]();
    await using later = await openTestCore(home, { now: () => new Date(Date.now() + 3_601_000) });
    const after = access(later);

    expect(before).toMatchObject({ learning: {}, network: { kind: 'rules' } });
    expect(after).toMatchObject({ learned: {}, network: { kind: 'none' } });
    expect(after).not.toHaveProperty('learning');
  },
);

test('an end that cannot be saved is tried again, and others end at their time', async () => {
  vi.useFakeTimers({ now: 1_000_000 });
  const workload = (id: string, until: number) =>
    ({
      id,
      isBeingRemoved: false,
      runConfig: { name: id, learning: { since: '', until: new Date(until).toISOString() } },
    }) as unknown as Supervisor & { id: WorkloadId; runConfig: { learning?: object } };
  const [full, other] = [workload('full', 1_010_000), workload('other', 1_030_000)];
  const ended: string[] = [];
  let isFull = true;
  await using ends = new LearningEnds({
    now: () => new Date(),
    log: pino({ level: 'silent' }),
    end: (supervisor) => {
      ended.push(`${supervisor.runConfig.name} ${Date.now() / 1_000 - 1_000}`);
      if (supervisor === full && isFull) return Promise.reject(new Error('no space left'));
      Object.assign(supervisor.runConfig, { learning: undefined });
      ends.consider(supervisor);
      return Promise.resolve();
    },
  });
  ends.consider(full);
  ends.consider(other);

  await vi.advanceTimersByTimeAsync(20_000);
  isFull = false;
  await vi.advanceTimersByTimeAsync(100_000);

  expect(ended).toEqual(['full 10', 'other 30', 'full 70']);
  expect(vi.getTimerCount()).toBe(0);
});
