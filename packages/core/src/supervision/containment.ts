import { AsyncLocalStorage } from 'node:async_hooks';

type TakeFault = (fault: unknown) => void;

/** Receives the faults of everything that began in the work for a workload: promises, timers, streams, and processes. */
const working = new AsyncLocalStorage<TakeFault>();

/**
 * Does the work for one workload. Faults that nothing has caught, however long after the return, go to `onFault` instead of
 * ending the daemon, as long as their cause can be followed back to this work.
 */
export function contain<Result>(onFault: TakeFault, work: () => Result): Result {
  return working.run(onFault, work);
}

/** Passes an uncaught fault to the workload that caused it. Returns false if none did. */
export function takeFault(fault: unknown): boolean {
  const onFault = working.getStore();
  if (onFault === undefined) return false;
  // The workload is told outside of its own work: what fails there is not its fault.
  working.exit(() => onFault(fault));
  return true;
}
