import { fstatSync, writeSync } from 'node:fs';

export type Colour = 'green' | 'red' | 'yellow' | 'dim' | 'bold';

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

  /**
   * Writes text, before any later text. Standard output throws if the disk is full, for example. Standard error drops the
   * text then: there is no other place for the error, and a daemon outlives a full disk with its log.
   */
  write(text: string): void {
    const rest = this.#stream === undefined ? this.#writeDirectly(text) : text;
    if (rest.length > 0) this.stream.write(rest);
  }

  #writeDirectly(text: string): string | Buffer {
    try {
      return writtenDirectly(this.#descriptor, text);
    } catch (error) {
      if (this.#descriptor === 1) throw error;
      return '';
    }
  }

  /** Text in a color, where a terminal shows it, or the user wants it (`FORCE_COLOR`). */
  paint(colour: Colour, text: string): string {
    const isPlain = process.env['FORCE_COLOR'] === undefined && !this.isTerminal;
    return isPlain
      ? text
      : process.getBuiltinModule('node:util').styleText(colour, text, { stream: this.stream });
  }

  /**
   * The stream of Node.js. A reader that has seen enough (`thv list | head`) is not a failure. Any other error of standard
   * output ends the process.
   */
  get stream(): NodeJS.WriteStream {
    if (this.#stream === undefined) {
      this.#stream = this.#descriptor === 1 ? process.stdout : process.stderr;
      this.#stream.on('error', ({ code, message }: NodeJS.ErrnoException) => {
        if (code === 'EPIPE' || this.#descriptor === 2) return;
        standardError.write(`Error: ${message}\n`);
        process.exit(1);
      });
    }
    return this.#stream;
  }

  get isTerminal(): boolean {
    // Loaded here, because it loads all of the network.
    return (
      isCharacterDevice(this.#descriptor) && process.getBuiltinModule('node:tty').isatty(this.#descriptor)
    );
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
