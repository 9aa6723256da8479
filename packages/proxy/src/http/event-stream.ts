import type { ServerResponse } from 'node:http';

/** How much a client may leave unread before its stream ends. */
const maxUnreadBytes = 8 * 1024 * 1024;

/** A `text/event-stream` response (HTML, section 9.2) that cannot grow without bound. */
export class EventStream {
  readonly #response: ServerResponse;

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

  write(event: string): void {
    if (this.#response.writableEnded) return;
    this.#response.write(event);
    // Otherwise, everything would be kept for a client that does not read.
    if (this.#response.writableLength > maxUnreadBytes) this.#response.destroy();
  }

  end(lastEvent?: string): void {
    if (!this.#response.writableEnded) this.#response.end(lastEvent);
  }

  /** The client has not disconnected. */
  get isConnected(): boolean {
    return !this.#response.destroyed;
  }

  onClose(listener: () => void): void {
    this.#response.once('close', listener);
  }
}

/** Encodes an event. Raw line breaks in JSON are only white space. */
export function encodeEvent(event: string, data: string): string {
  const lines = data.includes('\n') || data.includes('\r') ? data.replace(/\r\n|\r|\n/g, '\ndata: ') : data;
  return `event: ${event}\ndata: ${lines}\n\n`;
}
