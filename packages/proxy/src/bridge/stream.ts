import { encodeEvent } from '../http/event-stream.ts';
import type { EventStream } from '../http/event-stream.ts';

/** How much of what a client has not taken, or may ask for again, is remembered; the oldest goes first. */
const maxKeptEvents = 100;
const maxKeptChars = 4 * 1024 * 1024;

/**
 * The messages of one stream of a session. Connections come and go: what is sent while there is none waits, and a
 * client that says which event it saw last gets all later ones (MCP 2025-11-25, Transports, Resumability).
 */
export class ResumableStream {
  readonly #name: string;
  #connection: EventStream | undefined;
  #kept: { id: number; text: string }[] = [];
  #keptChars = 0;
  #lastId = 0;
  /** The last event that went out to a connection. */
  #sent = 0;
  #isEnded = false;

  constructor(name: string) {
    this.#name = name;
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** How much of it is remembered. */
  get keptChars(): number {
    return this.#keptChars;
  }

  /** Has there been such an event, and is everything remembered that came after it? */
  canResumeAfter(eventId: number): boolean {
    return eventId <= this.#lastId && eventId >= this.#lastId - this.#kept.length;
  }

  send(text: string): void {
    const id = ++this.#lastId;
    this.#keep(id, text);
    this.#connection?.write(this.#encode(id, text));
    if (this.#connection !== undefined) this.#sent = id;
  }

  /** Nothing more comes; a client that has missed the end may still ask for it. */
  end(): void {
    this.#isEnded = true;
    this.#connection?.end();
    this.#connection = undefined;
  }

  /**
   * Sends to this connection from now on: everything after the event `lastSeen`, or, without one, all that never
   * went out. An earlier connection is ended, as its client has a new one.
   */
  connect(connection: EventStream, { lastSeen = this.#sent, prime = false } = {}): void {
    this.#connection?.end();
    this.#connection = undefined;
    if (!connection.isConnected) return; // nothing would ever tell that it has ended
    this.#connection = connection;
    connection.onClose(() => {
      if (this.#connection === connection) this.#connection = undefined;
    });
    // An event without a message, so that a client has an id to come back with.
    if (prime) connection.write(`id: ${this.#name}_${this.#lastId - this.#kept.length}\ndata: \n\n`);
    for (const { id, text } of this.#kept) if (id > lastSeen) connection.write(this.#encode(id, text));
    this.#sent = this.#lastId;
    if (this.#isEnded) this.end();
  }

  keepAlive(): void {
    this.#connection?.write(': keep-alive\n\n');
  }

  #encode(id: number, text: string): string {
    return `id: ${this.#name}_${id}\n${encodeEvent('message', text)}`;
  }

  #keep(id: number, text: string): void {
    this.#kept.push({ id, text });
    this.#keptChars += text.length;
    while (this.#kept.length > maxKeptEvents || (this.#keptChars > maxKeptChars && this.#kept.length > 1)) {
      this.#keptChars -= this.#kept.shift()?.text.length ?? 0;
    }
  }
}

/** Takes an event id apart: the stream it is of, and its place in that. */
export function parseEventId(eventId: string): { name: string; id: number } | undefined {
  const [, name, id] = /^(.{1,80})_(\d{1,15})$/.exec(eventId) ?? [];
  return name === undefined ? undefined : { name, id: Number(id) };
}
