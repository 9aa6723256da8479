import { AsyncLocalStorage } from 'node:async_hooks';

/** How often the clock is looked at, and how far it may have gone on meanwhile. */
const beatMs = 1_000;
const limitMs = 2_000;

/**
 * Notices that this process did not run for a while: the machine slept, or the process was stopped or got no processor time.
 * The wall clock tells, because the others stand still while the machine sleeps. A clock that is set forward counts, too.
 */
export class Pauses {
  readonly #listeners = new Set<(durationMs: number) => void>();
  #lastMs = 0;
  #timer: NodeJS.Timeout | undefined;

  /**
   * Tells of every pause, as soon as it has ended, in the asynchronous context of the caller. Returns a function that ends
   * this.
   */
  watch(given: (durationMs: number) => void): () => void {
    const listener = AsyncLocalStorage.bind(given);
    if (this.#listeners.size === 0) {
      this.#lastMs = Date.now();
      this.#timer = setInterval(() => this.look(), beatMs).unref();
    }
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) clearInterval(this.#timer);
    };
  }

  /** Tells of a pause that has just ended, before any timer can. */
  look(): void {
    const nowMs = Date.now();
    const durationMs = nowMs - this.#lastMs;
    this.#lastMs = nowMs;
    if (durationMs > limitMs) for (const listener of this.#listeners) listener(durationMs);
  }
}

/** The pauses of this process. */
export const pauses: Pauses = new Pauses();
