import { noSpace } from '@toolhive/contract/failure';
import { allowMore, describeResource } from '@toolhive/contract/resources';
import { measurements } from '@toolhive/runtime/measurements';
import type { Homes, StoredHome } from '@toolhive/runtime/runtime';

/** Stops servers that store more in their home directories than they may. */
export class HomeLimit {
  readonly #intervalMs: number;
  /** Workloads that were stopped because of the limit, and may still exceed it. */
  readonly #exceeded = new Set<string>();

  /** `intervalMs` is the wait between two measurements. Measurements that take long are repeated less often. */
  constructor({ intervalMs = 5_000 } = {}) {
    this.#intervalMs = intervalMs;
  }

  /** Throws `no-space` if a workload was stopped for the size of its home directory, which is still too large. */
  async requireSpace(homes: Homes, workload: string, limitBytes: number): Promise<void> {
    if (!this.#exceeded.has(workload)) return; // measuring delays the start
    const home = await homes.measure(workload);
    const reason = home === undefined ? undefined : excessOf(home, limitBytes);
    if (home !== undefined && reason !== undefined) {
      throw noSpace(`the server ${reason}`, {
        hint: `delete files in ${home.place}, or mount a directory for large files with --volume`,
      });
    }
    this.#exceeded.delete(workload);
  }

  /**
   * Measures the home directory of a running workload again and again. Resolves with a phrase that continues "the
   * server" when the directory contains too much. After the signal has aborted, the promise never settles.
   */
  async watch(homes: Homes, workload: string, limitBytes: number, signal: AbortSignal): Promise<string> {
    const measure = () => homes.measure(workload);
    for await (const home of measurements(measure, { intervalMs: this.#intervalMs, signal })) {
      const reason = home === undefined ? undefined : excessOf(home, limitBytes);
      if (home === undefined || reason === undefined) continue;
      this.#exceeded.add(workload);
      return `${reason} (${home.place})`;
    }
    return new Promise(() => {});
  }
}

function excessOf({ bytes, excess }: StoredHome, limitBytes: number): string | undefined {
  if (excess !== undefined) return excess;
  if (bytes <= limitBytes) return undefined;
  const limit = describeResource('disk', limitBytes);
  return `stored more than ${limit} in its home directory; ${allowMore('disk')}`;
}
