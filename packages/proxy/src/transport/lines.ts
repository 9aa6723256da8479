import type { Readable } from 'node:stream';
import { ExceededBudget, maxMessageBytes } from '../input/byte-budget.ts';
import type { WorkloadInput } from '../input/workload-input.ts';
import { depthOf } from './split-messages.ts';

const lineFeed = 0x0a;
/** How long a server writes nothing until a message without a line break counts as a line. */
const silenceMs = 200;
/** Longer messages without a line break are not looked for, because looking takes time. */
const maxUnendedBytes = 1024 * 1024;

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
 * Calls `onLine` for every line of a server's standard output, without the line break. A whole message without a line break
 * counts as a line when the server writes nothing more. Drops a line longer than
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
  #silence: NodeJS.Timeout | undefined;
  hasEnded = false;

  constructor(options: LineOptions) {
    this.#options = options;
    this.#limitBytes = options.limitBytes ?? maxMessageBytes;
    this.#hold = options.input.output.hold();
  }

  /** Reads lines until the chunk ends or the time is over. In the second case, returns the rest of the chunk. */
  read(chunk: Buffer, isOver: () => boolean): Buffer | undefined {
    if (this.#silence !== undefined) this.#listenOn();
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
    if (mayEndMessage(rest)) this.#silence = setTimeout(() => this.#afterSilence(), silenceMs).unref();
    return undefined;
  }

  end(): void {
    this.#finishMessage();
    this.#stop();
  }

  /** Forgets the current line. */
  #stop(): void {
    this.#listenOn();
    this.hasEnded = true;
    this.#parts = [];
    this.#hold.release();
  }

  #listenOn(): void {
    clearTimeout(this.#silence);
    this.#silence = undefined;
  }

  #afterSilence(): void {
    this.#silence = undefined;
    this.#options.input.process(() => {
      this.#finishMessage();
      return false;
    });
  }

  /** The server has written nothing for a while, or nothing more: a whole message is a line. */
  #finishMessage(): void {
    if (this.hasEnded || this.#tooLong !== undefined || this.#bytes > maxUnendedBytes) return;
    this.#parts = [Buffer.concat(this.#parts)];
    const text = this.#parts[0]?.toString('utf8').trim() ?? '';
    const isWhole = /^[{[]/.test(text) ? depthOf(text) === 0 : /^[\]}]+$/.test(text);
    if (!isWhole) return;
    this.#options.input.tolerate('lineEnd');
    this.#finish(Buffer.alloc(0));
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
      this.#stop();
      this.#options.onExceeded(new ExceededBudget().message);
    }
  }
}

function mayEndMessage(part: Buffer): boolean {
  return /[\]}]\s{0,8}$/.test(part.toString('latin1', Math.max(0, part.length - 9)));
}

function startOf(part: Buffer): string {
  return part.toString('utf8', 0, 200);
}
