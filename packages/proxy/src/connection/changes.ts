import { setTimeout as delay } from 'node:timers/promises';

/** Wakes those who wait for a change, without saying which one. */
export class Changes {
  #waiting: (() => void)[] = [];

  /** Waits until something has changed, at most for this long. */
  async next(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const over = new AbortController();
    this.#waiting.push(resolve);
    const late = delay(ms, undefined, { signal: over.signal }).catch(() => {}); // aborted below
    await Promise.race([promise, late]);
    over.abort();
  }

  announce(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
