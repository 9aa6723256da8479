import type { WorkloadId } from '../state/workload-id.ts';

/** Who waits for changes of each workload's rules. */
export class RuleWatchers {
  readonly #watchers = new Map<WorkloadId, Set<() => void>>();

  /** Calls back after each change of a workload, until disposal. */
  readonly watch = (workload: WorkloadId, changed: () => void): Disposable => {
    const watchers = this.#watchers.get(workload) ?? new Set();
    this.#watchers.set(workload, watchers.add(changed));
    return {
      [Symbol.dispose]: () => {
        watchers.delete(changed);
        if (watchers.size === 0 && this.#watchers.get(workload) === watchers) this.#watchers.delete(workload);
      },
    };
  };

  changed(workload: WorkloadId): void {
    for (const changed of this.#watchers.get(workload) ?? []) changed();
  }
}
