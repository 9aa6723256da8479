import { ownPath } from '../transport/own-address.ts';

/** Longer starts of a stream are passed on as they are. */
const maxStart = 8 * 1024;
const endOfEvent = /\r?\n\r?\n|\r\r/;
const endpoint = /((?:^|[\r\n])event: ?endpoint(?:\r\n|\r|\n)data: ?)([^\s]+)/;

/**
 * Rewrites the first event of an HTTP+SSE stream (MCP 2024-11-05, Transports). A server in a sandbox may name an address
 * that only the server itself can reach, so the client gets the path alone.
 */
export class EndpointEvent {
  readonly #origin: string;
  #start = '';
  #isOver = false;

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Returns the bytes that can be written now. */
  pass(chunk: Buffer): Buffer {
    if (this.#isOver) return chunk;
    this.#start += chunk.toString('latin1');
    const data = this.#start.search(/(?:^|[\r\n])data:/); // comments may come first
    const isWhole = data !== -1 && endOfEvent.test(this.#start.slice(data + 1));
    return isWhole || this.#start.length > maxStart ? this.rest() : Buffer.alloc(0);
  }

  /** Returns the remaining bytes at the end of the stream. */
  rest(): Buffer {
    this.#isOver = true;
    const start = this.#start.replace(endpoint, (all: string, head: string, address: string) => {
      const path = ownPath(address, '/sse', { origin: this.#origin, isLocal: true });
      return path === undefined ? all : head + path;
    });
    this.#start = '';
    return Buffer.from(start, 'latin1');
  }
}
