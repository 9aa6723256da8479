import type { Workload } from '@toolhive/contract/workload';
import { client } from '../api/client.ts';
import { failureOf, refresh } from '../api/store.ts';
import { attempt, toastFailure, withUndo } from './toasts.ts';

/** Workloads that are about to be removed, which lists leave out. */
const removing = new Set<string>();
const listeners = new Set<() => void>();
let snapshot: ReadonlySet<string> = new Set();

function changed(): void {
  snapshot = new Set(removing);
  for (const listener of listeners) listener();
}

/** For `useSyncExternalStore`. */
export function subscribeToRemovals(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** The names of workloads that will be removed unless the user undoes it. */
export function removedWorkloads(): ReadonlySet<string> {
  return snapshot;
}

/** Whether a workload runs or is about to run. */
export function isActive({ status }: Pick<Workload, 'status'>): boolean {
  return status === 'running' || status === 'starting' || status === 'unhealthy';
}

export async function startWorkloads(names: readonly string[]): Promise<void> {
  await attempt('Cannot start', () => client.startWorkloads({ body: { names: [...names] } }));
  refresh('workloads');
}

export async function stopWorkloads(names: readonly string[]): Promise<void> {
  await attempt('Cannot stop', () => client.stopWorkloads({ body: { names: [...names] } }));
  refresh('workloads');
}

export async function restartWorkloads(names: readonly string[]): Promise<void> {
  await attempt('Cannot restart', () => client.restartWorkloads({ body: { names: [...names] } }));
  refresh('workloads');
}

/** Removes workloads after a few seconds in which the user can undo it. */
export function removeWorkloads(names: readonly string[]): void {
  for (const name of names) removing.add(name);
  changed();
  const forget = (): void => {
    for (const name of names) removing.delete(name);
    changed();
  };
  const run = async (): Promise<void> => {
    try {
      await client.deleteWorkloads({ body: { names: [...names] } }, { onProgress: () => {} });
    } catch (thrown) {
      toastFailure('Cannot remove', failureOf(thrown));
    }
    forget();
    refresh('workloads');
  };
  const what = names.length === 1 ? names[0] : `${names.length} servers`;
  withUndo(`Removing ${what}`, { run: () => void run(), onUndo: forget });
}
