import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { EgressGateway } from './gateway.ts';

/** How many connections a sandbox may open at once, and in each second for longer. */
export interface ConnectionLimits {
  burst: number;
  perSecond: number;
}

export const connectionLimits: ConnectionLimits = { burst: 5000, perSecond: 2000 };

/** The connections that a sandbox may still open at the moment. */
export class Budget {
  readonly #limits: ConnectionLimits;
  #left: number;
  #countedAt = performance.now();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
    this.#left = limits.burst;
  }

  /** Counts a connection. Returns false if it is one too many. */
  take(): boolean {
    const now = performance.now();
    const { burst, perSecond } = this.#limits;
    this.#left = Math.min(burst, this.#left + ((now - this.#countedAt) * perSecond) / 1000);
    this.#countedAt = now;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }

  refill(): void {
    this.#left = this.#limits.burst;
  }
}

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Where the connections of one sandbox enter the shared namespace. All sandboxes wait in the same queue of the kernel
 * for each port. A sandbox that opens connections faster than the daemon can accept them would fill it, so that the
 * others would have to try again. Its device is therefore taken down for a while, longer each time.
 */
export class ConnectionLimiter implements Disposable {
  readonly #gateway: EgressGateway;
  readonly #switch: (isUp: boolean) => Promise<boolean>;
  readonly #budget: Budget;
  #isShut = false;
  #isClosed = false;
  #pauseMs = FIRST_PAUSE_MS;
  #openedAt = Number.NEGATIVE_INFINITY;

  /** `setUp` takes the device of the sandbox up or down, and returns whether it could. */
  constructor(gateway: EgressGateway, setUp: (isUp: boolean) => Promise<boolean>, limits: ConnectionLimits) {
    this.#gateway = gateway;
    this.#switch = setUp;
    this.#budget = new Budget(limits);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
  }

  admit(inner: Socket): void {
    if (this.#isShut) {
      inner.on('error', () => {}).resetAndDestroy();
      return;
    } // it was in the queue
    if (this.#budget.take()) return this.#gateway.accept(inner);
    const pauseMs = this.#nextPause();
    this.#gateway.refuse(
      inner,
      `the server opened too many connections at once, and has no network for ${pauseMs / 1000} s`,
    );
    this.#isShut = true;
    this.#pause(pauseMs).catch(() => this.#open()); // its device was never switched
  }

  #nextPause(): number {
    const hasBehaved = performance.now() - this.#openedAt > LONGEST_PAUSE_MS;
    this.#pauseMs = hasBehaved ? FIRST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2);
    return this.#pauseMs;
  }

  async #pause(pauseMs: number): Promise<void> {
    await this.#switch(false);
    do {
      await delay(pauseMs, undefined, { ref: false });
      if (this.#isClosed) return;
    } while (!(await this.#switch(true)));
    this.#open();
  }

  #open(): void {
    this.#openedAt = performance.now();
    this.#budget.refill();
    this.#isShut = false;
  }
}
