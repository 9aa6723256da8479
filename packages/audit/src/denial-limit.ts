/**
 * How many denials are recorded at once, and how many more per second. Web pages can cause any number, and in a month
 * they must not displace the other records.
 */
const limits = { burst: 100, perSecond: 1 / 30 };
const maxKept = 1_000;

interface Allowance {
  left: number;
  atMs: number;
  /** How many denials were not recorded since the last one that was. */
  suppressed: number;
}

/**
 * Limits the records of denials that anyone can repeat, for each component by itself, so that those of one hide no others.
 * No caller can choose the name of a component: it is a workload or the API.
 */
export class DenialLimit {
  readonly #allowances = new Map<string, Allowance>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Returns how many denials were not recorded before this one. Undefined if this one must not be recorded either. */
  take(component: string): number | undefined {
    const nowMs = this.#now();
    const known = this.#allowances.get(component) ?? { left: limits.burst, atMs: nowMs, suppressed: 0 };
    const left = leftAt(known, nowMs);
    const isRecorded = left >= 1;
    this.#allowances.set(component, {
      left: isRecorded ? left - 1 : left,
      atMs: nowMs,
      suppressed: isRecorded ? 0 : known.suppressed + 1,
    });
    if (this.#allowances.size > maxKept) this.#forget(nowMs);
    return isRecorded ? known.suppressed : undefined;
  }

  /** Forgets components without a denial for long, but no count that has still to be recorded. */
  #forget(nowMs: number): void {
    for (const [component, allowance] of this.#allowances)
      if (allowance.suppressed === 0 && leftAt(allowance, nowMs) === limits.burst)
        this.#allowances.delete(component);
  }
}

function leftAt({ left, atMs }: Allowance, nowMs: number): number {
  return Math.min(limits.burst, left + ((nowMs - atMs) / 1000) * limits.perSecond);
}
