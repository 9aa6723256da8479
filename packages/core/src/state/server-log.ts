import { createWriteStream } from 'node:fs';
import type { WriteStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';

/** How large a log file grows before it becomes the older of two. */
const maxFileBytes = 4 * 1024 * 1024;
/** How much may wait to be written; what a flood brings beyond that is dropped, and the log says so. */
const maxWaitingBytes = 1024 * 1024;

/** What one server wrote, in a file of bounded size. */
export class ServerLog implements AsyncDisposable {
  readonly #path: string;
  #stream: WriteStream | undefined;
  #bytes = 0;
  #dropped = 0;
  #rotating: Promise<void> | undefined;

  private constructor(path: string, bytes: number) {
    this.#path = path;
    this.#bytes = bytes;
    this.#stream = this.#open();
  }

  static async open(directory: string, name: string): Promise<ServerLog> {
    const path = logPath(directory, name);
    await mkdir(dirname(path), { recursive: true, mode: 0o750 });
    const bytes = await stat(path).then(
      ({ size }) => size,
      () => 0, // there is none yet
    );
    return new ServerLog(path, bytes);
  }

  write(chunk: Buffer | string): void {
    const stream = this.#stream;
    if (stream === undefined || stream.writableLength > maxWaitingBytes) {
      this.#dropped += chunk.length;
      return;
    }
    if (this.#dropped > 0) {
      stream.write(`(${this.#dropped} bytes were dropped here)\n`);
      this.#dropped = 0;
    }
    stream.write(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > maxFileBytes)
      this.#rotating ??= this.#rotate().finally(() => (this.#rotating = undefined));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#rotating;
    await this.#close();
  }

  async #rotate(): Promise<void> {
    await this.#close();
    await rename(this.#path, `${this.#path}.1`).catch(() => {}); // somebody removed it; the new one begins anyway
    this.#bytes = 0;
    this.#stream = this.#open();
  }

  #open(): WriteStream {
    const stream = createWriteStream(this.#path, { flags: 'a', mode: 0o600 });
    // A full disk must not end a server; its output is lost and the next write tries again.
    stream.on('error', () => {});
    return stream;
  }

  async #close(): Promise<void> {
    const stream = this.#stream;
    this.#stream = undefined;
    if (stream === undefined || stream.destroyed) return;
    await new Promise<void>((resolve) => {
      stream.once('close', resolve);
      stream.end();
    });
  }
}

/** The last `lines` lines that a server wrote, oldest first; empty when there is no log. */
export async function readServerLog(directory: string, name: string, lines: number): Promise<string> {
  if (lines === 0) return '';
  const path = logPath(directory, name);
  const newest = await tail(path, lines);
  const missing = lines - countLines(newest);
  return missing > 0 ? `${await tail(`${path}.1`, missing)}${newest}` : newest;
}

export async function removeServerLog(directory: string, name: string): Promise<void> {
  const path = logPath(directory, name);
  for (const file of [path, `${path}.1`]) await rm(file, { force: true });
}

function logPath(directory: string, name: string): string {
  return join(directory, `${name}.server.log`);
}

async function tail(path: string, lines: number): Promise<string> {
  try {
    await using file = await open(path, 'r');
    const { size } = await file.stat();
    const length = Math.min(size, maxFileBytes * 2);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    const text = new StringDecoder('utf8').write(buffer.subarray(0, bytesRead));
    return lastLines(text, lines);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

function lastLines(text: string, lines: number): string {
  const whole = text.endsWith('\n') ? text.slice(0, -1) : text;
  return whole === '' ? '' : `${whole.split('\n').slice(-lines).join('\n')}\n`;
}

function countLines(text: string): number {
  return text === '' ? 0 : text.split('\n').length - 1;
}
