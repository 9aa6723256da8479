import { encodeEvent, keepAliveComment } from '../http/event-stream.ts';
import type { EventStream } from '../http/event-stream.ts';

/** How much is kept that a client has not received, or may request again. The oldest is dropped first. */
const maxKeptEvents = 100;
const maxKeptChars = 4 * 1024 * 1024;

type OnEvent = (id: number, text: string, isLast: boolean) => void;

/**
 * One stream of a session, which survives lost connections: without a connection, messages wait. A client that names
 * its last event receives all later events (MCP 2025-11-25, Transports, Resumability).
 */
export class ResumableStream {
  readonly #name: string;
  readonly #onEvent: OnEvent | undefined;
  #connection: EventStream | undefined;
  #kept: { id: number; text: string }[] = [];
  #keptChars = 0;
  #lastId = 0;
  /** The last event that was written to a connection. */
  #sent = 0;
  #isEnded = false;

  /** `onEvent` gets each event, also while no client is connected. */
  constructor(name: string, onEvent?: OnEvent) {
    this.#name = name;
    this.#onEvent = onEvent;
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** How much is kept. */
  get keptChars(): number {
    return this.#keptChars;
  }

  /** Whether this event exists, and all later ones are kept. */
  canResumeAfter(eventId: number): boolean {
    return eventId <= this.#lastId && eventId >= this.#lastId - this.#kept.length;
  }

  send(text: string, isLast = false): void {
    const id = ++this.#lastId;
    this.#keep(id, text);
    this.#onEvent?.(id, text, isLast);
    this.#connection?.write(this.#encode(id, text));
    if (this.#connection !== undefined) this.#sent = id;
  }

  /** Ends the stream. A client that has missed the last events may still request them. */
  end(): void {
    this.#isEnded = true;
    this.#connection?.end();
    this.#connection = undefined;
  }

  /**
   * Sends to this connection from now on, starting after the event `lastSeen`, or by default after the last event
   * that was written. Closes an earlier connection, because the client replaced it.
   */
  connect(connection: EventStream, { lastSeen = this.#sent, prime = false } = {}): void {
    this.#connection?.end();
    this.#connection = undefined;
    if (!connection.isConnected) return; // its end would not be reported
    this.#connection = connection;
    connection.onClose(() => {
      if (this.#connection === connection) this.#connection = undefined;
    });
    // An event without a message gives the client an ID for resuming.
    if (prime) connection.write(`id: ${this.#name}_${this.#lastId - this.#kept.length}\ndata: \n\n`);
    for (const { id, text } of this.#kept) if (id > lastSeen) connection.write(this.#encode(id, text));
    this.#sent = this.#lastId;
    if (this.#isEnded) this.end();
  }

  keepAlive(): void {
    this.#connection?.write(keepAliveComment);
  }

  #encode(id: number, text: string): string {
    return encodeNumbered(this.#name, id, text);
  }

  #keep(id: number, text: string): void {
    this.#kept.push({ id, text });
    this.#keptChars += text.length;
    while (this.#kept.length > maxKeptEvents || (this.#keptChars > maxKeptChars && this.#kept.length > 1)) {
      this.#keptChars -= this.#kept.shift()?.text.length ?? 0;
    }
  }
}

/** Encodes an event with its ID. */
export function encodeNumbered(stream: string, id: number, text: string): string {
  return `id: ${stream}_${id}\n${encodeEvent('message', text)}`;
}

/** Parses an event ID into the name of its stream and its number there. */
export function parseEventId(eventId: string): { name: string; id: number } | undefined {
  const [, name, id] = /^(.{1,80})_(\d{1,15})$/.exec(eventId) ?? [];
  return name === undefined ? undefined : { name, id: Number(id) };
}
