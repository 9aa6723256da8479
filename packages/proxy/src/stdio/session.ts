import { randomUUID } from 'node:crypto';
import { encodeEvent } from '../http/event-stream.ts';
import type { EventStream } from '../http/event-stream.ts';

/** How many messages a session keeps for a client that is not listening; the oldest are dropped first. */
const maxQueued = 100;

/** One client's conversation with a workload. It outlives connections, and the server behind it. */
export class Session {
  readonly id = randomUUID();
  /** The protocol revision that this client was told. */
  protocolVersion: string | undefined;
  lastSeenMs: number;
  readonly subscriptions = new Set<string>();
  #stream: EventStream | undefined;
  #queue: string[] = [];

  constructor(nowMs: number) {
    this.lastSeenMs = nowMs;
  }

  get isListening(): boolean {
    return this.#stream !== undefined;
  }

  /** Sends a message over the session's own stream, or keeps it until there is one. */
  send(text: string): void {
    if (this.#stream !== undefined) {
      this.#stream.write(encodeEvent('message', text));
      return;
    }
    if (this.#queue.length === maxQueued) this.#queue.shift();
    this.#queue.push(text);
  }

  /** Makes `stream` the one that messages go to; an earlier one is ended, as its client has a new one. */
  listen(stream: EventStream): void {
    this.#stream?.end();
    this.#stream = stream;
    stream.onClose(() => {
      if (this.#stream === stream) this.#stream = undefined;
    });
    for (const text of this.#queue.splice(0)) stream.write(encodeEvent('message', text));
  }

  keepAlive(): void {
    this.#stream?.write(': keep-alive\n\n');
  }

  close(): void {
    this.#stream?.end();
    this.#stream = undefined;
    this.#queue = [];
  }
}

/** Where the answer to one request goes. */
export interface ReplyTo {
  /** Called once, with the text of the response. */
  answer: (text: string) => void;
  /** A notification that belongs to the request, such as its progress. */
  notify: (text: string) => void;
}
