import type { WorkloadStatus } from '@toolhive/contract/workload';
import type { Progress } from '@toolhive/runtime/runtime';
import type { Core } from '../core.ts';
import { readServerLog } from '../state/server-log.ts';

/**
 * Something that was begun and goes on by itself. It is safe to ignore; whoever follows it learns how it ends.
 */
export interface Accepted {
  follow: (report: Progress, signal: AbortSignal) => Promise<void>;
}

/** Stops a workload; accepted once the wish is on disk. */
export function stopWorkload(core: Core, name: string): Promise<Accepted> {
  const supervisor = core.workloads.require(name);
  return begin(core, name, `stopping ${name}`, (accepted) => supervisor.stop(accepted));
}

/** Starts a workload that does not run; one that does is left alone. */
export async function restartWorkload(core: Core, name: string): Promise<Accepted> {
  const supervisor = core.workloads.require(name);
  await supervisor.start();
  return { follow: (report, signal) => supervisor.follow(report, signal) };
}

/** Stops a workload and removes all of it; accepted once the wish is on disk. */
export function deleteWorkload(core: Core, name: string): Promise<Accepted> {
  return begin(core, name, `removing ${name}`, (accepted) => core.workloads.remove(name, accepted));
}

export function statusOf(core: Core, name: string): { status: WorkloadStatus; status_context?: string } {
  const { status, context } = core.workloads.require(name).condition;
  return { status, ...(context === undefined ? {} : { status_context: context }) };
}

/** The last lines that a server wrote. */
export function logsOf(core: Core, name: string, lines: number): Promise<string> {
  core.workloads.require(name);
  return readServerLog(core.paths.logs, name, lines);
}

/** Starts `work` and returns as soon as it says that it was accepted, or throws what it threw before that. */
async function begin(
  core: Core,
  name: string,
  what: string,
  work: (accepted: () => void) => Promise<void>,
): Promise<Accepted> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let isAccepted = false;
  const ended = work(() => {
    isAccepted = true;
    resolve();
  });
  ended.catch((error: unknown) => {
    if (isAccepted) core.log.error({ workload: name, err: error }, 'an accepted operation failed');
    reject(error);
  });
  await promise;
  return {
    async follow(report) {
      report(what);
      await ended;
    },
  };
}
