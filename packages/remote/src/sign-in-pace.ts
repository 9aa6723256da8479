import { isAhead } from '@toolhive/contract/clock';
import { unauthorized } from '@toolhive/contract/failure';

/** How many sign-ins may follow one another at once. A server may ask for more scopes after the first one. */
const atOnce = 3;
const firstWaitMs = 60_000;
const longestWaitMs = 60 * 60_000;

/**
 * How often a server may have the user sign in: a few times at once, and then less and less often. A server that refuses
 * every token could open one browser window after the other otherwise.
 */
export class SignInPace {
  #signIns = 0;
  #nextMs = 0;

  /** Counts a sign-in. Throws `unauthorized` if the sign-in is too early. */
  take(nowMs: number): void {
    if (isAhead(this.#nextMs, longestWaitMs, nowMs)) {
      const seconds = Math.ceil((this.#nextMs - nowMs) / 1000);
      throw unauthorized(
        `the server has asked to sign in ${this.#signIns} times, and may ask again in ${seconds} seconds`,
      );
    }
    this.#signIns += 1;
    if (this.#signIns < atOnce) return;
    this.#nextMs = nowMs + Math.min(firstWaitMs * 2 ** (this.#signIns - atOnce), longestWaitMs);
  }
}
