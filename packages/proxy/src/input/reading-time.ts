import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * How long input may be processed in one turn of the event loop, before everything else gets its turn. Shorter turns divide
 * what many clients send at the same moment, and each part costs a write to the server.
 */
const turnMs = 4;
/** How long one input may be processed before the next one gets its turn. */
const quantumMs = 2;
/** A step that takes longer than this is followed by a rest, and how many times as long as the step that is. */
const longStepMs = 4;
const restFactor = 2;
/** The limit of a rest, because one message can take a long time. */
const longestRestMs = 500;
/** How long a workload counts as active after its input. */
const activeMs = 1_000;

/** Processes a part of an input, and pauses when `isOver` says so. Returns true if there is more to process. */
export type ReadingStep = (isOver: () => boolean) => boolean;

/**
 * Divides the time for processing input among workloads, so that no client and no server can keep the daemon from
 * everything else. A step that cannot be divided, such as parsing one message, may take longer. Then its workload rests
 * if others are active: a call of another workload waits for one such step, and not for one at each of its messages.
 * Each step keeps its asynchronous context, which a fault is attributed to.
 */
export class ReadingTime {
  /** By workload, in the order in which they get their turn. */
  readonly #waiting = new Map<object, ReadingStep[]>();
  /** What arrives for workloads that rest. */
  readonly #resting = new Map<object, ReadingStep[]>();
  readonly #now: () => number;
  #beforeOther = (): void => {};
  /** When the first input was processed in this turn of the event loop. */
  #turnStartedMs: number | undefined;
  #isScheduled = false;
  #lastWorkload: object | undefined;
  /** When the last workload was another one than before. */
  #changedMs = -Infinity;

  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** Calls a function before an input of another workload is processed, which may take long. */
  beforeOther(call: () => void): void {
    this.#beforeOther = call;
  }

  /** Processes an input of `workload` now if there is time, and otherwise as soon as there is. */
  run(workload: object, step: ReadingStep): void {
    const held = this.#resting.size === 0 ? undefined : this.#resting.get(workload);
    if (held !== undefined) {
      held.push(AsyncLocalStorage.bind(step));
      return;
    }
    const nowMs = this.#now();
    this.#turnStartedMs ??= nowMs;
    if (this.#waiting.size === 0 && !this.#isTurnOver(nowMs))
      this.#perform(workload, step, nowMs, () => AsyncLocalStorage.bind(step));
    else this.#enqueue(workload, [AsyncLocalStorage.bind(step)]);
    this.#schedule();
  }

  #isTurnOver(nowMs: number): boolean {
    return nowMs - (this.#turnStartedMs ?? nowMs) >= turnMs;
  }

  /** Performs a step, and later `next` if it is not finished. */
  #perform(workload: object, step: ReadingStep, startedMs: number, next: () => ReadingStep): void {
    if (workload !== this.#lastWorkload) {
      this.#lastWorkload = workload;
      this.#changedMs = startedMs;
      this.#beforeOther();
    }
    const isUnfinished = step(() => {
      const nowMs = this.#now();
      return nowMs - startedMs >= quantumMs || this.#isTurnOver(nowMs);
    });
    if (isUnfinished) this.#enqueue(workload, [next()]);
    const endedMs = this.#now();
    if (endedMs - startedMs > longStepMs && endedMs - this.#changedMs < activeMs)
      this.#rest(workload, Math.min((endedMs - startedMs) * restFactor, longestRestMs));
  }

  #rest(workload: object, durationMs: number): void {
    this.#resting.set(workload, this.#waiting.get(workload) ?? []);
    this.#waiting.delete(workload);
    setTimeout(() => {
      const held = this.#resting.get(workload) ?? [];
      this.#resting.delete(workload);
      if (held.length === 0) return;
      this.#enqueue(workload, held);
      this.#schedule();
    }, durationMs);
  }

  #enqueue(workload: object, added: readonly ReadingStep[]): void {
    const steps = this.#waiting.get(workload);
    if (steps === undefined) this.#waiting.set(workload, [...added]);
    else steps.push(...added);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#turnStartedMs = this.#now();
      try {
        while (this.#waiting.size > 0 && !this.#isTurnOver(this.#now())) this.#next();
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
      return step && this.#perform(workload, step, this.#now(), () => step);
    }
  }
}

/** The reading time of this process. */
export const readingTime = new ReadingTime();
