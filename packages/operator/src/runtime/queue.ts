import { raiseFault } from '@toolhive/contract/fault';
import { ApiStatus } from '@toolhive/kubernetes/status';
import { namespaceOf } from './reflector.ts';
import { Rotation } from './rotation.ts';

/** The numbers of a queue, for metrics. */
export interface QueueObserver {
  depth: (waiting: number) => void;
  added: () => void;
  retried: () => void;
  /** Seconds from the addition of a key to the start of its pass. */
  waited: (seconds: number) => void;
}

/** One pass over the object with this key. Returns the delay until the next pass, if one is needed without a change. */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<{ againAfterMs?: number } | void>;

export interface QueueOptions {
  reconcile: Reconcile;
  /** How many keys can have a pass at once. A key never has two. */
  concurrency: number;
  observer: QueueObserver;
  onError: (key: string, error: unknown, retryInMs: number) => void;
}

const FIRST_RETRY_MS = 5;
const LAST_RETRY_MS = 15_000;
/** The server decides how long it needs, within reason. */
const LAST_WANTED_RETRY_MS = 60_000;
/** So many retries start per second over all keys, after a first burst. A thousand failed keys are repeated within 20 s. */
const RETRIES_PER_SECOND = 50;
const BURST_OF_RETRIES = 100;

/**
 * A queue of keys. A key is in the queue once, however often it is added. A key that is added during its pass gets
 * another pass. Namespaces take turns, so that the many or slow objects of one do not delay those of another. A failed
 * pass is repeated with a growing delay, and no sooner than the API server has asked for. An overall limit keeps many
 * failing keys from loading the API server.
 */
export class Queue {
  readonly #options: QueueOptions;
  /** The keys that wait, with the time of their addition. */
  readonly #waiting = new Map<string, number>();
  /** The same keys in the order of their passes. */
  readonly #order = new Rotation<string>();
  readonly #active = new Set<string>();
  /** The keys that were added during their pass. */
  readonly #again = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #timers = new Map<string, { timer: NodeJS.Timeout; at: number }>();
  readonly #stop = new AbortController();
  readonly #idle: PromiseWithResolvers<void>[] = [];
  /** The time that is reserved for the last of all retries. */
  #lastRetryAt = 0;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  add(key: string): void {
    if (this.#stop.signal.aborted) return;
    this.#options.observer.added();
    if (this.#active.has(key)) this.#again.add(key);
    else if (!this.#waiting.has(key)) {
      this.#waiting.set(key, performance.now());
      this.#order.add(namespaceOf(key), key);
    }
    this.#startNext();
  }

  /** Adds a key after a delay. An earlier time for the key wins. */
  addAfter(key: string, delayMs: number): void {
    if (this.#stop.signal.aborted) return;
    const at = performance.now() + delayMs;
    const planned = this.#timers.get(key);
    if (planned !== undefined && planned.at <= at) return;
    clearTimeout(planned?.timer);
    const timer = setTimeout(() => {
      this.#timers.delete(key);
      this.add(key);
    }, delayMs);
    this.#timers.set(key, { timer, at });
  }

  /** Takes no more keys, and resolves when the current passes have ended. Aborts their signals. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the operator stops'));
    for (const { timer } of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#waiting.clear();
    this.#order.clear();
    await this.idle();
  }

  /** Resolves when no key waits or has a pass. */
  async idle(): Promise<void> {
    if (this.#active.size === 0 && this.#waiting.size === 0) return;
    const idle = Promise.withResolvers<void>();
    this.#idle.push(idle);
    await idle.promise;
  }

  #startNext(): void {
    while (this.#active.size < this.#options.concurrency) {
      const key = this.#order.next();
      if (key === undefined) break;
      const since = this.#waiting.get(key) ?? performance.now();
      this.#waiting.delete(key);
      this.#active.add(key);
      this.#options.observer.waited((performance.now() - since) / 1_000);
      this.#pass(key).catch(raiseFault);
    }
    this.#options.observer.depth(this.#waiting.size);
  }

  async #pass(key: string): Promise<void> {
    try {
      const result = await this.#options.reconcile(key, this.#stop.signal);
      this.#failures.delete(key);
      if (result?.againAfterMs !== undefined) this.addAfter(key, result.againAfterMs);
    } catch (error) {
      this.#retry(key, error);
    }
    this.#active.delete(key);
    if (this.#again.delete(key)) this.add(key);
    this.#startNext();
    if (this.#active.size > 0 || this.#waiting.size > 0) return;
    for (const idle of this.#idle.splice(0)) idle.resolve();
  }

  #retry(key: string, error: unknown): void {
    if (this.#stop.signal.aborted) return;
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const wanted = error instanceof ApiStatus ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
    const delayMs = Math.max(
      Math.min(FIRST_RETRY_MS * 2 ** failures, LAST_RETRY_MS),
      Math.min(wanted, LAST_WANTED_RETRY_MS),
      this.#reserveRetry(),
    );
    this.#options.observer.retried();
    this.#options.onError(key, error, delayMs);
    this.addAfter(key, delayMs);
  }

  /** Takes the next place in the overall limit of retries, and returns the delay until then. */
  #reserveRetry(): number {
    const now = performance.now();
    const intervalMs = 1_000 / RETRIES_PER_SECOND;
    this.#lastRetryAt = Math.max(this.#lastRetryAt, now - BURST_OF_RETRIES * intervalMs) + intervalMs;
    return Math.max(0, this.#lastRetryAt - now);
  }
}
