import type { Exceeded } from '../exceeded.ts';
import { familyOf, memoryOf, threadsOf } from '../proc.ts';

/** A sandbox's limits that the kernel does not enforce. */
export interface WatchedLimits {
  memoryBytes?: number;
  processes?: number;
}

const INTERVAL_MS = 1000;

/**
 * Checks a sandbox's processes once per second and reports, once, that they exceed a limit. A process can exceed a
 * limit by far within a second, so this check is only for machines without writable control groups.
 */
export class Watchdog implements Disposable {
  readonly #timer: NodeJS.Timeout;

  constructor(init: number, limits: WatchedLimits, bark: (exceeded: Exceeded) => void) {
    this.#timer = setInterval(() => {
      const exceeded = exceededBy(familyOf(init), limits);
      if (exceeded === undefined) return;
      this[Symbol.dispose]();
      bark(exceeded);
    }, INTERVAL_MS);
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

function exceededBy(family: number[], { memoryBytes, processes }: WatchedLimits): Exceeded | undefined {
  const sum = (measure: (pid: number) => number) => family.reduce((total, pid) => total + measure(pid), 0);
  if (memoryBytes !== undefined && sum(memoryOf) > memoryBytes) return 'memory';
  // Threads count, as they do in a control group.
  if (processes !== undefined && sum((pid) => threadsOf(pid).length) > processes) return 'pids';
  return undefined;
}
