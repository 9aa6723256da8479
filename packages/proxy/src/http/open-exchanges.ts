import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { PassingSet } from '@toolhive/contract/passing';
import { onceClosed } from './closing.ts';

/** The requests of clients that are not answered yet. */
export class OpenExchanges {
  readonly #open = new PassingSet<ServerResponse>();
  #isDraining = false;
  #changed: () => void = () => {};

  add(request: IncomingMessage, response: ServerResponse): void {
    if (this.#isDraining) response.shouldKeepAlive = false; // the next request of the client finds another proxy
    if (request.method === 'GET') return; // a stream of events, which the client opens again elsewhere
    this.#open.add(response);
    onceClosed(response, () => {
      this.#open.delete(response);
      this.#changed();
    });
  }

  /** Returns after `settleMs`, as soon as everything has been answered, and after `maxMs` at the latest. */
  async drain(settleMs: number, maxMs: number): Promise<void> {
    this.#isDraining = true;
    for (const response of this.#open) if (!response.headersSent) response.shouldKeepAlive = false;
    await delay(settleMs);
    const over = AbortSignal.timeout(Math.max(maxMs - settleMs, 0));
    while (this.#open.size > 0 && !over.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#changed = resolve;
      over.addEventListener('abort', () => resolve(), { once: true });
      await promise;
    }
  }
}
