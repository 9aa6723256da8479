import { setTimeout as delay } from 'node:timers/promises';
import { noSpace } from '@toolhive/contract/failure';
import { homeLimitBytes } from '@toolhive/contract/home';
import type { Homes, StoredHome } from '@toolhive/runtime/runtime';

/** A measurement may take this part of the time. */
const SHARE = 0.02;

/** Stops servers that store more in their home directories than they may. */
export class HomeLimit {
  readonly #intervalMs: number;
  readonly #limitBytes: number;
  /** Workloads that were stopped for it, and may still contain too much. */
  readonly #exceeded = new Set<string>();

  /** `intervalMs` is the wait between two measurements. Measurements that take long are repeated less often. */
  constructor({ intervalMs = 5_000, limitBytes = homeLimitBytes } = {}) {
    this.#intervalMs = intervalMs;
    this.#limitBytes = limitBytes;
  }

  /** Throws `no-space` if a workload was stopped for the size of its home directory, which is still too large. */
  async requireSpace(homes: Homes, workload: string): Promise<void> {
    if (!this.#exceeded.has(workload)) return; // measuring delays the start
    const home = await homes.measure(workload);
    const reason = home === undefined ? undefined : this.#excessOf(home);
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
  async watch(homes: Homes, workload: string, signal: AbortSignal): Promise<string> {
    let waitMs = this.#intervalMs;
    for (;;) {
      await delay(waitMs, undefined, { signal, ref: false }).catch(() => new Promise(() => {}));
      const startedMs = performance.now();
      // An engine that is away for a moment is asked again later.
      const home = await homes.measure(workload).catch(() => undefined);
      waitMs = Math.max(this.#intervalMs, (performance.now() - startedMs) / SHARE);
      const reason = home === undefined ? undefined : this.#excessOf(home);
      if (home === undefined || reason === undefined) continue;
      this.#exceeded.add(workload);
      return `${reason} (${home.place})`;
    }
  }

  #excessOf({ bytes, excess }: StoredHome): string | undefined {
    if (excess !== undefined) return excess;
    if (bytes <= this.#limitBytes) return undefined;
    return `stored more than ${Math.round(this.#limitBytes / 1024 ** 2)} MiB in its home directory`;
  }
}
