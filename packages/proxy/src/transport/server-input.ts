import type { Writable } from 'node:stream';

/**
 * The way to a server's standard input. What is written in one turn of the event loop goes out together: with
 * many clients a write to the server costs more than all else that is done for a request.
 */
export class ServerInput {
  readonly #input: Writable;
  #isCorked = false;

  constructor(input: Writable) {
    this.#input = input;
    input.on('error', () => {}); // the server's end is noticed by its exit, which says more than EPIPE
  }

  /** How much the server has not read yet. */
  get unreadBytes(): number {
    return this.#input.writableLength;
  }

  /** Writes a message that has no line breaks. */
  writeLine(text: string): void {
    if (!this.#isCorked) {
      this.#isCorked = true;
      this.#input.cork();
      setImmediate(() => {
        this.#isCorked = false;
        this.#input.uncork();
      });
    }
    this.#input.write(`${text}\n`);
  }
}
