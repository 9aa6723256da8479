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

  constructor(init: number, limits: WatchedLimits, bark: (reason: string) => void) {
    this.#timer = setInterval(() => {
      const reason = excessOf(familyOf(init), limits);
      if (reason === undefined) return;
      this[Symbol.dispose]();
      bark(reason);
    }, INTERVAL_MS);
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

function excessOf(family: number[], { memoryBytes, processes }: WatchedLimits): string | undefined {
  const sum = (measure: (pid: number) => number) => family.reduce((total, pid) => total + measure(pid), 0);
  if (memoryBytes !== undefined && sum(memoryOf) > memoryBytes) return tooMuchMemory(memoryBytes);
  // Threads count, as they do in a control group.
  if (processes !== undefined && sum((pid) => threadsOf(pid).length) > processes) {
    return `started more than ${processes} processes`;
  }
  return undefined;
}

export function tooMuchMemory(bytes: number): string {
  return `used more than ${Math.round(bytes / (1024 * 1024))} MiB of memory`;
}
