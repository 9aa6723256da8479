import type { Readable } from 'node:stream';
import { ExceededBudget, maxMessageBytes } from '../input/byte-budget.ts';
import type { WorkloadInput } from '../input/workload-input.ts';

const lineFeed = 0x0a;

export interface LineOptions {
  /** The budgets of the workload. */
  input: WorkloadInput;
  onLine: (line: string) => void;
  /** Receives the start of a line that is too long. */
  onTooLong: (start: string) => void;
  /** The budget does not allow a longer line. Nothing more is read. */
  onExceeded: (reason: string) => void;
  limitBytes?: number;
}

/**
 * Calls `onLine` for every line of a server's standard output, without the line break. Drops a line longer than
 * `limitBytes` and reports it to `onTooLong`. Pauses the output while other workloads use the reading time. Settles
 * when all output has been read.
 */
export function readLines(output: Readable, options: LineOptions): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { input } = options;
  const lines = new LineSplitter(options);
  let chunks: Buffer[] = [];
  let isOver = false;

  output.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    if (chunks.length > 1) return; // delivered before the pause took effect
    input.process(readSome);
    if (chunks.length > 0) output.pause();
  });
  for (const event of ['end', 'close']) output.once(event, end);
  return promise;

  /** The last chunk may still wait for its turn. */
  function end(): void {
    isOver = true;
    if (chunks.length > 0) return;
    lines.end();
    resolve();
  }

  function readSome(isTimeOver: () => boolean): boolean {
    for (let chunk = chunks[0]; chunk !== undefined; chunk = chunks[0]) {
      const rest = lines.read(chunk, isTimeOver);
      if (lines.hasEnded) {
        chunks = [];
        if (isOver) end();
        return false;
      }
      if (rest !== undefined) {
        chunks[0] = rest;
        return true;
      }
      chunks.shift();
    }
    if (isOver) end();
    else if (output.isPaused()) output.resume();
    return false;
  }
}

class LineSplitter {
  readonly #options: LineOptions;
  readonly #limitBytes: number;
  readonly #hold;
  #parts: Buffer[] = [];
  #bytes = 0;
  /** The start of the line that is too long, undefined if the current line is not. */
  #tooLong: string | undefined;
  hasEnded = false;

  constructor(options: LineOptions) {
    this.#options = options;
    this.#limitBytes = options.limitBytes ?? maxMessageBytes;
    this.#hold = options.input.output.hold();
  }

  /** Reads lines until the chunk ends or the time is over. In the second case, returns the rest of the chunk. */
  read(chunk: Buffer, isOver: () => boolean): Buffer | undefined {
    let from = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, from)) {
      this.#finish(chunk.subarray(from, end));
      from = end + 1;
      if (this.hasEnded) return undefined;
      if (isOver()) break;
    }
    if (from === chunk.length) return undefined;
    const rest = from === 0 ? chunk : chunk.subarray(from);
    if (rest.includes(lineFeed)) return rest;
    this.#keep(rest);
    return undefined;
  }

  end(): void {
    this.hasEnded = true;
    this.#parts = [];
    this.#hold.release();
  }

  #finish(last: Buffer): void {
    const { onLine, onTooLong } = this.#options;
    const parts = this.#parts;
    const tooLong =
      this.#tooLong ?? (this.#bytes + last.length > this.#limitBytes ? startOf(parts[0] ?? last) : undefined);
    this.#parts = [];
    this.#bytes = 0;
    this.#tooLong = undefined;
    this.#hold.release();
    if (tooLong !== undefined) return onTooLong(tooLong);
    const line = parts.length === 0 ? last : Buffer.concat([...parts, last]);
    if (line.length > 0) onLine(line.toString('utf8'));
  }

  #keep(part: Buffer): void {
    if (this.#tooLong !== undefined) return;
    this.#bytes += part.length;
    if (this.#bytes > this.#limitBytes) {
      this.#tooLong = startOf(this.#parts[0] ?? part);
      this.#parts = [];
      this.#hold.release();
    } else if (this.#hold.grow(part.length)) this.#parts.push(part);
    else {
      this.end();
      this.#options.onExceeded(new ExceededBudget().message);
    }
  }
}

function startOf(part: Buffer): string {
  return part.toString('utf8', 0, 200);
}
