import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openMemoryRuntime } from '@toolhive/runtime/memory';
import { memoryTestServers } from '@toolhive/runtime/testing/memory-servers';
import { pino } from 'pino';
import { openCore } from '../core.ts';
import type { Core, CoreOptions } from '../core.ts';

/** A home of its own for a hive, removed at the end. */
export interface TestHome extends AsyncDisposable {
  env: NodeJS.ProcessEnv;
  path: string;
}

export async function makeHome(): Promise<TestHome> {
  const path = await mkdtemp(join(tmpdir(), 'thv-home-'));
  return {
    path,
    env: { PATH: process.env['PATH'], HOME: path },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

/** How a test asks for a workload of the test servers. */
export const testServer = 'npx://toolhive-test-servers@1.0.0';

/** Waits short enough for a test, in the same order as the real ones. */
export const quickTiming = {
  startMs: 2_000,
  stopMs: 200,
  firstBackoffMs: 10,
  maxBackoffMs: 40,
  firstAttempts: 3,
  settledMs: 60_000,
};

/** A core whose servers run in memory. */
export function openTestCore(home: TestHome, changes: Partial<CoreOptions> = {}): Promise<Core> {
  return openCore({
    env: home.env,
    version: 'v0.0.0-test',
    log: pino({ level: 'silent' }),
    runtimes: () => [openMemoryRuntime(memoryTestServers)],
    timing: quickTiming,
    ...changes,
  });
}
