import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { openMemoryRuntime } from '@toolhive/runtime/memory';
import type { Runtime } from '@toolhive/runtime/runtime';
import { memoryTestServers } from '@toolhive/runtime/testing/memory-servers';
import { cheapCost } from '@toolhive/secrets/testing/keyrings';
import { pino } from 'pino';
import { openCore } from '../open-core.ts';
import type { Core, CoreOptions } from '../open-core.ts';

/** A home of its own for a daemon, removed at the end. */
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
  maxAwayMs: 40,
  firstAttempts: 3,
  settledMs: 60_000,
  slowEndMs: 20,
};

/** A core whose servers run in memory. */
export function openTestCore(home: TestHome, changes: Partial<CoreOptions> = {}): Promise<Core> {
  return openCore({
    env: home.env,
    version: 'v0.0.0-test',
    log: pino({ level: 'silent' }),
    runtimes: () => [unhurried(openMemoryRuntime(memoryTestServers))],
    timing: quickTiming,
    secrets: { cost: cheapCost },
    ...changes,
  });
}

/** Servers in memory are ready at once. Those of real runtimes are not: a hundred requests can come in meanwhile. */
function unhurried(runtime: Runtime): Runtime {
  return {
    ...runtime,
    async prepare(source, options) {
      for (let turns = 0; turns < 50; turns += 1) await turn();
      return runtime.prepare(source, options);
    },
  };
}
