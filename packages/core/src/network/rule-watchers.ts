import type { WorkloadId } from '@toolhive/state/workload-id';

type Changed = () => Promise<void>;

/** Who waits for changes of each workload's rules. */
export class RuleWatchers {
  readonly #watchers = new Map<WorkloadId, Set<Changed>>();

  /** Calls back after each change of a workload, until disposal. */
  readonly watch = (workload: WorkloadId, changed: Changed): Disposable => {
    const watchers = this.#watchers.get(workload) ?? new Set();
    this.#watchers.set(workload, watchers.add(changed));
    return {
      [Symbol.dispose]: () => {
        watchers.delete(changed);
        if (watchers.size === 0 && this.#watchers.get(workload) === watchers) this.#watchers.delete(workload);
      },
    };
  };

  /** Returns when the current rules of a workload apply. */
  async apply(workload: WorkloadId): Promise<void> {
    await Promise.all([...(this.#watchers.get(workload) ?? [])].map((changed) => changed()));
  }
}
