import type { RunConfig } from '@toolhive/contract/run-config';
import type { WorkloadId } from '@toolhive/state/workload-id';

type Find = (id: WorkloadId) => { runConfig: RunConfig } | undefined;

/**
 * The run configs of the workloads that exist, for the parts that report about a workload. What arrives after a removal
 * belongs to no workload, because another one may have the same name.
 */
export class WorkloadDirectory {
  #find: Find = () => undefined;

  /** Connects the directory with the workloads, once they are open. */
  connect(find: Find): void {
    this.#find = find;
  }

  runConfigOf(id: WorkloadId): RunConfig | undefined {
    return this.#find(id)?.runConfig;
  }

  nameOf(id: WorkloadId): string | undefined {
    return this.runConfigOf(id)?.name;
  }
}
