import { AsyncLocalStorage } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';
import { raiseFault } from '@toolhive/contract/fault';
import { readingTime } from '../input/reading-time.ts';

const queueKey = Symbol('queue');

interface Queued extends ServerResponse {
  [queueKey]?: ReplyQueue;
}

/**
 * Writes the replies of one turn of the event loop directly after one another. A client that sleeps must be woken for a
 * write, which costs more than the write itself. Clients that share a processor or a process sleep again between two
 * replies if there is work between these.
 */
export class ReplyQueue {
  /** Runs work in the asynchronous context of the workload, which a fault is attributed to. */
  readonly #inContext = AsyncLocalStorage.snapshot();
  #writes: (() => void)[] = [];

  /** Takes the replies of a response. A write that fails, because the client has disconnected, is ignored. */
  take(response: ServerResponse): void {
    response.on('error', ignore);
    const queued: Queued = response;
    queued[queueKey] = this;
  }

  add(write: () => void): void {
    if (this.#writes.length === 0) {
      filled.add(this);
      setImmediate(() => this.flush());
    }
    this.#writes.push(write);
  }

  /** Writes everything. Necessary only before connections end in the same turn. */
  flush(): void {
    const writes = this.#writes;
    if (writes.length === 0) return;
    this.#writes = [];
    filled.delete(this);
    this.#inContext(() => {
      for (const write of writes) {
        try {
          write();
        } catch (fault) {
          raiseFault(fault); // it costs no other reply
        }
      }
    });
  }
}

const filled = new Set<ReplyQueue>();

// No reply waits for another workload.
readingTime.beforeOther(() => {
  for (const queue of filled) queue.flush();
});

const ignore = (): void => {};

/** Writes at the end of the turn if a queue takes the replies of the response, and now otherwise. */
export function writeSoon(response: ServerResponse, write: () => void): void {
  const { [queueKey]: queue }: Queued = response;
  if (queue === undefined) write();
  else queue.add(write);
}

/** Writes what waits for the end of the turn, so that the connection can end now. */
export function writeNow(response: ServerResponse): void {
  const { [queueKey]: queue }: Queued = response;
  queue?.flush();
}
