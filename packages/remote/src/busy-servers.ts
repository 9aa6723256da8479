import { setTimeout as delay } from 'node:timers/promises';
import { isAhead } from '@toolhive/contract/clock';
import { unavailable } from '@toolhive/contract/failure';
import type { ThvError } from '@toolhive/contract/failure';
import { retryAfterMs } from '@toolhive/contract/retry-after';
import type { GuardedRequest, GuardedResponse } from '@toolhive/outgoing/guarded-fetch';
import { nameOf } from './urls.ts';

/** The longest pause during which a caller waits. */
const maxPauseMs = 5_000;
/** How long a server is believed that it must not be asked. */
const maxBusyMs = 5 * 60_000;

/** The servers that have refused a request because of too many of them, and when they may be asked again. */
export class BusyServers {
  readonly #now: () => number;
  readonly #until = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Asks a server, and once more after a short pause if the server asks for that and has not executed the request. Throws
   * `unavailable` if the pause is longer, and until its end without asking. A refusal is no answer about a token.
   */
  async ask(
    url: URL,
    { method, signal }: Pick<GuardedRequest, 'method' | 'signal'>,
    send: () => Promise<GuardedResponse>,
  ): Promise<GuardedResponse> {
    const untilMs = this.#until.get(url.host) ?? 0;
    if (isAhead(untilMs, maxBusyMs, this.#now())) throw busy(url, untilMs - this.#now());
    this.#until.delete(url.host);
    const first = await send();
    const pauseMs = this.#pauseAfter(first, method);
    if (pauseMs === undefined) return first;
    if (pauseMs <= maxPauseMs) {
      await delay(pauseMs, undefined, { ...(signal && { signal }) });
      const second = await send();
      const again = this.#pauseAfter(second, method);
      if (again === undefined) return second;
      throw this.#refuse(url, again);
    }
    throw this.#refuse(url, pauseMs);
  }

  #refuse(url: URL, pauseMs: number): ThvError {
    this.#until.set(url.host, this.#now() + Math.min(pauseMs, maxBusyMs));
    return busy(url, pauseMs);
  }

  /** Behind 503, a request for a token may have used up the code or the refresh token. */
  #pauseAfter({ status, headers }: GuardedResponse, method = 'GET'): number | undefined {
    const isSafe = status === 429 || (status === 503 && method === 'GET');
    return isSafe ? retryAfterMs(headers['retry-after'], this.#now()) : undefined;
  }
}

function busy(url: URL, pauseMs: number): ThvError {
  return unavailable(
    `${nameOf(url)} gets too many requests, and asks to wait ${Math.ceil(pauseMs / 1000)} s`,
    {
      hint: 'try again after this time',
    },
  );
}
