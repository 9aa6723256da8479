import type { ServerResponse } from 'node:http';
import { maxMessageBytes } from '../input/byte-budget.ts';
import { writeSoon } from './reply-queue.ts';

/** How much a client may leave unread before its stream ends: the largest message, and others beside it. */
const maxUnreadBytes = maxMessageBytes + 8 * 1024 * 1024;

/** A `text/event-stream` response (HTML, section 9.2) that cannot grow without bound. */
export class EventStream {
  readonly #response: ServerResponse;
  /** What is written at the end of the turn. */
  #events = '';
  #isEnded = false;

  constructor(response: ServerResponse, headers: Record<string, string> = {}) {
    this.#response = response;
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      ...headers,
    });
    response.flushHeaders();
  }

  /** Writes an event at the end of this turn of the event loop, together with the others. */
  write(event: string): void {
    const response = this.#response;
    if (this.#isEnded || response.writableEnded) return;
    if (this.#events === '') writeSoon(response, () => this.#flush());
    this.#events += event;
    // Otherwise, everything would be kept for a client that does not read.
    if (response.writableLength + this.#events.length > maxUnreadBytes) response.destroy();
  }

  end(lastEvent = ''): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    writeSoon(this.#response, () => {
      this.#flush();
      if (!this.#response.writableEnded) this.#response.end(lastEvent);
    });
  }

  #flush(): void {
    const events = this.#events;
    this.#events = '';
    if (events !== '' && !this.#response.writableEnded) this.#response.write(events);
  }

  /** The client has not disconnected. */
  get isConnected(): boolean {
    return !this.#response.destroyed;
  }

  onClose(listener: () => void): void {
    this.#response.once('close', listener);
  }
}

/**
 * A comment that keeps a connection alive between events. No empty line follows, because the parser of widely used
 * Python clients takes a comment with an empty line for an event without data if an earlier event had an ID.
 */
export const keepAliveComment = ': keep-alive\n';

/** Encodes an event. Raw line breaks in JSON are only white space. */
export function encodeEvent(event: string, data: string): string {
  const lines = data.includes('\n') || data.includes('\r') ? data.replace(/\r\n|\r|\n/g, '\ndata: ') : data;
  return `event: ${event}\ndata: ${lines}\n\n`;
}
