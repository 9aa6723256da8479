/**
 * Raises an error of a promise that nothing waits for, outside of every promise. For promises that reject only because of a
 * mistake in this program: the workload in whose context the mistake occurs stops with a reason, and a daemon without such a
 * context ends in good order and is started again. All other callers handle the failure themselves.
 */
export function raiseFault(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
