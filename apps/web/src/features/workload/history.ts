/** A call that this tab has made. */
export interface RecordedCall {
  /** Unique in this tab. */
  id: number;
  at: number;
  args: unknown;
  isOk: boolean;
  ms: number;
}

/** The calls per tool that are kept, in memory only, because arguments can contain secrets. */
const maxCalls = 50;

const calls = new Map<string, readonly RecordedCall[]>();
let nextId = 1;
const listeners = new Set<() => void>();
const none: readonly RecordedCall[] = [];

const keyOf = (workload: string, item: string): string => JSON.stringify([workload, item]);

/** The calls of an item, the latest first. */
export function history(workload: string, item: string): readonly RecordedCall[] {
  return calls.get(keyOf(workload, item)) ?? none;
}

export function recordCall(workload: string, item: string, call: Omit<RecordedCall, 'id'>): void {
  calls.set(
    keyOf(workload, item),
    [{ ...call, id: nextId++ }, ...history(workload, item)].slice(0, maxCalls),
  );
  for (const listener of listeners) listener();
}

/** For `useSyncExternalStore`. */
export function subscribeToHistory(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
