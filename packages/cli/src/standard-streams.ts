import { fstatSync, writeSync } from 'node:fs';

/**
 * Standard output or standard error. Node.js makes a stream of it when `process.stdout` is first used, which takes longer
 * than most commands need to print, so text goes to the descriptor itself where nothing else is needed.
 */
class StandardStream {
  readonly #descriptor: 1 | 2;
  #stream: NodeJS.WriteStream | undefined;

  constructor(descriptor: 1 | 2) {
    this.#descriptor = descriptor;
  }

  /** Writes text, before any later text. Throws if the disk is full, for example. */
  write(text: string): void {
    const rest = this.#stream === undefined ? writtenDirectly(this.#descriptor, text) : text;
    if (rest.length > 0) this.stream.write(rest);
  }

  /** The stream of Node.js. A reader that has seen enough (`thv list | head`) is not a failure. */
  get stream(): NodeJS.WriteStream {
    if (this.#stream === undefined) {
      this.#stream = this.#descriptor === 1 ? process.stdout : process.stderr;
      this.#stream.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EPIPE') throw error;
      });
    }
    return this.#stream;
  }

  get isTerminal(): boolean {
    return isCharacterDevice(this.#descriptor) && this.stream.isTTY;
  }

  /** The width of the terminal. 0 if there is none, or if it does not say. */
  get columns(): number {
    return this.isTerminal ? this.stream.columns : 0;
  }
}

export const standardOutput = new StandardStream(1);
export const standardError = new StandardStream(2);

function isCharacterDevice(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isCharacterDevice();
  } catch {
    return true; // only the stream knows more
  }
}

/** Writes as much as the descriptor takes, and returns the rest, for a stream that waits. */
function writtenDirectly(descriptor: number, text: string): string | Buffer {
  if (process.platform === 'win32') return text; // only the stream knows the encoding of a console
  let rest = Buffer.from(text);
  try {
    while (rest.length > 0) rest = rest.subarray(writeSync(descriptor, rest));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EAGAIN') return rest; // another process made the pipe one that does not block
    if (code === 'EPIPE') return '';
    throw error;
  }
  return rest;
}
