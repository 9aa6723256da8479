/** How long input may be processed in one turn of the event loop, before everything else gets its turn. */
const turnMs = 8;
/** How long one input may be processed before the next one gets its turn. */
const quantumMs = 2;

/** Processes a part of an input, and pauses when `isOver` says so. Returns true if there is more to process. */
export type ReadingStep = (isOver: () => boolean) => boolean;

/**
 * Divides the time for processing input among workloads, so that no client and no server can keep the daemon from
 * everything else. A step that cannot be divided, such as parsing one message, may take longer.
 */
class ReadingTime {
  /** By workload, in the order in which they get their turn. */
  readonly #waiting = new Map<object, ReadingStep[]>();
  /** When the first input was processed in this turn of the event loop. */
  #turnStartedMs: number | undefined;
  #isScheduled = false;

  /** Processes an input of `workload` now if there is time, and otherwise as soon as there is. */
  run(workload: object, step: ReadingStep): void {
    const nowMs = performance.now();
    this.#turnStartedMs ??= nowMs;
    if (this.#waiting.size === 0 && !this.#isTurnOver(nowMs)) this.#perform(workload, step);
    else this.#enqueue(workload, step);
    this.#schedule();
  }

  #isTurnOver(nowMs: number): boolean {
    return nowMs - (this.#turnStartedMs ?? nowMs) >= turnMs;
  }

  #perform(workload: object, step: ReadingStep): void {
    const startedMs = performance.now();
    const isUnfinished = step(() => {
      const nowMs = performance.now();
      return nowMs - startedMs >= quantumMs || this.#isTurnOver(nowMs);
    });
    if (isUnfinished) this.#enqueue(workload, step);
  }

  #enqueue(workload: object, step: ReadingStep): void {
    const steps = this.#waiting.get(workload);
    if (steps === undefined) this.#waiting.set(workload, [step]);
    else steps.push(step);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#turnStartedMs = performance.now();
      try {
        while (this.#waiting.size > 0 && !this.#isTurnOver(performance.now())) this.#next();
      } finally {
        this.#turnStartedMs = undefined;
        if (this.#waiting.size > 0) this.#schedule();
      }
    });
  }

  /** Performs one step of the workload that waited longest. */
  #next(): void {
    for (const [workload, steps] of this.#waiting) {
      this.#waiting.delete(workload);
      const [step, ...others] = steps;
      if (others.length > 0) this.#waiting.set(workload, others);
      return step && this.#perform(workload, step);
    }
  }
}

/** The reading time of this process. */
export const readingTime = new ReadingTime();
