import type { Redaction } from '../audit/redaction.ts';
import { TrafficLog } from './traffic-log.ts';

/** The latest calls of all workloads, until the daemon ends. */
export class TrafficOfAll implements Disposable {
  readonly #redaction: Redaction;
  readonly #now: () => Date;
  readonly #logs = new Map<string, TrafficLog>();

  constructor(redaction: Redaction, now: () => Date) {
    this.#redaction = redaction;
    this.#now = now;
  }

  of(workload: string): TrafficLog {
    const known = this.#logs.get(workload);
    if (known !== undefined) return known;
    const log = new TrafficLog(this.#redaction, this.#now);
    this.#logs.set(workload, log);
    return log;
  }

  /** Forgets a workload that was removed. */
  remove(workload: string): void {
    this.#logs.get(workload)?.close();
    this.#logs.delete(workload);
  }

  [Symbol.dispose](): void {
    for (const log of this.#logs.values()) log.close();
  }
}
