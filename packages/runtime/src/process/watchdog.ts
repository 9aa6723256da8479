import type { Exceeded } from '../exceeded.ts';
import { familyOf, memoryOf, threadsOf } from './proc.ts';

/** What a sandbox may use where the kernel does not watch it for us. */
export interface WatchedLimits {
  memoryBytes?: number;
  processes?: number;
}

const INTERVAL_MS = 1000;

/**
 * Looks once a second at the processes of a sandbox and tells, once, when they use more than they may. A second
 * is long enough to go far over a limit: it is for machines without writable control groups only.
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
