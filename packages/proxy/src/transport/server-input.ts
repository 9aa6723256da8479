import type { Writable } from 'node:stream';

/**
 * Writes messages to a server's standard input. What is written in one turn of the event loop goes out as one text:
 * with many clients, a write to a pipe costs more than everything else that is done for a request.
 */
export class ServerInput {
  readonly #input: Writable;
  #text = '';

  constructor(input: Writable) {
    this.#input = input;
    input.on('error', () => {}); // the server's exit is reported, which says more than EPIPE
  }

  /** How much the server has not read yet: bytes, plus characters that are not written yet. */
  get unreadBytes(): number {
    return this.#input.writableLength + this.#text.length;
  }

  /** Writes a message that has no line breaks. */
  writeLine(text: string): void {
    if (this.#text === '') setImmediate(() => this.flush());
    this.#text += `${text}\n`;
  }

  /** Writes the buffered text. Necessary only before the input ends in the same turn. */
  flush(): void {
    const text = this.#text;
    this.#text = ''; // before the write, in the course of which the server may already answer and be answered
    if (text !== '' && this.#input.writable) this.#input.write(text);
  }
}
