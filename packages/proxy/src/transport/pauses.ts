/** How often the clock is looked at, and how far it may have gone on meanwhile. */
const beatMs = 1_000;
const limitMs = 2_000;

/**
 * Notices that this process did not run for a while: the machine slept, or the process was stopped or got no processor time.
 * The wall clock tells, because the others stand still while the machine sleeps. A clock that is set forward counts, too.
 */
export class Pauses {
  #lastMs = 0;
  #count = 0;
  #watchers = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Begins to watch. Returns a function that ends this. */
  watch(): () => void {
    if (this.#watchers++ === 0) {
      this.#lastMs = Date.now();
      this.#timer = setInterval(() => this.#look(), beatMs).unref();
    }
    let isWatching = true;
    return () => {
      if (isWatching && --this.#watchers === 0) clearInterval(this.#timer);
      isWatching = false;
    };
  }

  /** The number of pauses. It includes one that has just ended, before any timer can tell. */
  get count(): number {
    this.#look();
    return this.#count;
  }

  #look(): void {
    const nowMs = Date.now();
    if (this.#watchers > 0 && nowMs - this.#lastMs > limitMs) this.#count += 1;
    this.#lastMs = nowMs;
  }
}

/** The pauses of this process. */
export const pauses = new Pauses();
