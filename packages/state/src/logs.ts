import { createWriteStream, fstat } from 'node:fs';
import type { WriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as delay } from 'node:timers/promises';
import { unavailable } from '@toolhive/contract/failure';
import { LineSplitter } from '@toolhive/contract/line-splitter';
import type { LogRecord } from '@toolhive/contract/log-record';
import { recordOf, stampBytes } from './log-records.ts';

/** The size at which a log file is rotated. The previous file is kept. */
const maxFileBytes = 4 * 1024 * 1024;
/**
 * How many bytes may wait to be written, or to be read by a follower. Further output is dropped, and the log says so.
 */
const maxWaitingBytes = 1024 * 1024;
/** How much of the end of dropped output is still written. */
const keptBytes = 16 * 1024;
/** How many followers there may be, and how many of them get all of `maxWaitingBytes`. More of them share that. */
const maxFollowers = 256;
const fullFollowers = 32;
/** How much is written at once, and how much more per second: a flood costs processor time that other workloads need. */
const burstBytes = 8 * 1024 * 1024;
const bytesPerSecond = 1024 * 1024;
/** How long to wait before writing again after a flood or a write error. */
const retryMs = 500;
/** How often an open file is compared with the file at its path. */
const checkMs = 1_000;

/** The logs of each workload and their file suffixes: the server's output and the proxy's notes. */
const endings = { server: '.server.log', proxy: '.log' } as const;
export type LogKind = keyof typeof endings;
const kinds: readonly LogKind[] = ['server', 'proxy'];
/** Replaces the proxy suffix for a workload `a.server`, whose proxy log would be the server log of a workload `a`. */
const endingAfterServer = '~proxy.log'; // no workload has a ~ in its name

/** What is needed to describe lines as records. */
export interface LogRecords {
  /** The server speaks HTTP, so that its two streams are one. */
  isHttp: boolean;
}

/** Which part of a log to read. */
export interface LogWindow {
  /** At most so many lines, counted from the end. */
  lines: number;
  /** Only lines that began at this time or later. */
  since?: Date | undefined;
  /** Only lines that began before this time. */
  until?: Date | undefined;
  /** Only lines with this text, in any letter case. */
  search?: string | undefined;
  /** Only lines before this position. */
  before?: number | undefined;
}

/** The logs of all workloads: two files of limited size each. Every line has the time of its start. */
export class Logs {
  readonly #directory: string;
  readonly #open = new Map<string, LogFile>();
  readonly #followers = new Map<string, Set<Follower>>();
  #following = 0;
  /** How many bytes of each log were in files that rotation has removed since the daemon started. */
  readonly #removed = new Map<string, number>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  async open(name: string, kind: LogKind): Promise<LogFile> {
    const path = this.#path(name, kind);
    await mkdir(this.#directory, { recursive: true, mode: 0o750 });
    const file = await LogFile.open(path, {
      written: (chunk) => this.#followers.get(path)?.forEach((follower) => follower.take(chunk)),
      rotated: (bytes) => this.#removed.set(path, (this.#removed.get(path) ?? 0) + bytes),
      closed: () => {
        if (this.#open.get(path) === file) this.#open.delete(path);
      },
    });
    this.#open.set(path, file);
    return file;
  }

  /** The last lines, oldest first. Empty if no log exists. */
  async read(name: string, kind: LogKind, window: LogWindow): Promise<string> {
    const path = this.#path(name, kind);
    await this.#open.get(path)?.flushed();
    return readWindow(path, window);
  }

  /** The last lines as records, oldest first. */
  async records(
    name: string,
    kind: LogKind,
    window: LogWindow,
    { isHttp }: LogRecords,
  ): Promise<LogRecord[]> {
    const path = this.#path(name, kind);
    await this.#open.get(path)?.flushed();
    return (await this.#lines(path, window)).map(({ text, position }) =>
      recordOf(text, { kind, isHttp, position }),
    );
  }

  /** The last lines as records, and then all new lines, like `follow`. */
  followRecords(
    name: string,
    kind: LogKind,
    window: LogWindow,
    { isHttp, signal }: LogRecords & { signal: AbortSignal },
  ): AsyncGenerator<LogRecord, void, void> {
    this.#requireRoom(); // the generator begins only after the response to the client
    return this.#followedRecords(name, kind, window, { isHttp, signal });
  }

  async *#followedRecords(
    name: string,
    kind: LogKind,
    window: LogWindow,
    { isHttp, signal }: LogRecords & { signal: AbortSignal },
  ): AsyncGenerator<LogRecord, void, void> {
    const path = this.#path(name, kind);
    const file = this.#open.get(path);
    await file?.flushed();
    // Taken in the same turn in which the follower begins, so that nothing is missing between the two.
    const end = file?.size;
    using follower = this.#join(path, signal);
    const base = (this.#removed.get(path) ?? 0) + (await sizeOf(`${path}.1`));
    const known = await this.#lines(path, { ...window, before: base + (end ?? Infinity) });
    for (const { text, position } of known) yield recordOf(text, { kind, isHttp, position });
    let position = base + (end ?? (await sizeOf(path)));
    const splitter = new LineSplitter();
    for await (const piece of follower.pieces()) {
      const lines = splitter.add(piece);
      if (splitter.restLength > maxWaitingBytes) lines.push(splitter.take().slice(0, maxWaitingBytes));
      const at = new Date().toISOString();
      for (const text of lines) {
        yield recordOf(text, { kind, isHttp, position, at });
        position += stampBytes + Buffer.byteLength(text) + 1;
      }
    }
  }

  /** The last lines with their times and positions. */
  async #lines(path: string, window: LogWindow): Promise<PlacedLine[]> {
    const { lines, before = Infinity } = window;
    if (lines === 0) return [];
    const older = await sizeOf(`${path}.1`);
    const base = this.#removed.get(path) ?? 0;
    const newest = await readPlaced(path, base + older);
    const isEnough = newest.filter(({ position }) => position < before).length >= lines;
    const all =
      isEnough && !isFiltered(window) ? newest : [...(await readPlaced(`${path}.1`, base)), ...newest];
    const isMeant = filterOf(window, (text) => Buffer.from(text, 'latin1').toString());
    return all
      .filter(({ text, position }) => position < before && isMeant(text))
      .slice(-lines)
      .map(({ text, position }) => ({ text: Buffer.from(text, 'latin1').toString(), position }));
  }

  /** The last lines, and then all new lines, until the signal aborts or the workload is removed. */
  follow(
    name: string,
    kind: LogKind,
    window: LogWindow,
    signal: AbortSignal,
  ): AsyncGenerator<string, void, void> {
    const path = this.#path(name, kind);
    // At once: the workload may be removed before anything is read.
    return this.#piecesFor(this.#join(path, signal), path, window);
  }

  async *#piecesFor(joined: Follower, path: string, window: LogWindow): AsyncGenerator<string, void, void> {
    using follower = joined;
    const file = this.#open.get(path);
    const before = file?.size; // the follower receives the bytes after this position
    await file?.flushed();
    const text = follower.isOver ? '' : await readWindow(path, window, before);
    if (text !== '') yield text;
    yield* follower.pieces();
  }

  /** A follower of new bytes until it is disposed of, or the signal aborts. Throws `unavailable` if there are too many. */
  #join(path: string, signal: AbortSignal): Follower {
    this.#requireRoom();
    const room = (): number => maxWaitingBytes / Math.max(1, this.#following / fullFollowers);
    const follower: Follower = new Follower(room, signal, () => {
      this.#following -= 1;
      const followers = this.#followers.get(path);
      followers?.delete(follower);
      if (followers?.size === 0) this.#followers.delete(path);
    });
    if (follower.isOver) return follower;
    this.#following += 1;
    this.#followers.set(path, (this.#followers.get(path) ?? new Set()).add(follower));
    return follower;
  }

  #requireRoom(): void {
    if (this.#following < maxFollowers) return;
    throw unavailable(`${maxFollowers} callers already follow logs`, { hint: 'close one of these clients' });
  }

  /** Removes both logs of a workload. Followers have received the end. */
  async remove(name: string): Promise<void> {
    await this.clear(name);
    this.endFollowing(name);
  }

  /** Empties both logs for another server of the same name. Followers stay. */
  async clear(name: string): Promise<void> {
    for (const kind of kinds) {
      const path = this.#path(name, kind);
      for (const file of [path, `${path}.1`]) await rm(file, { force: true });
      this.#removed.delete(path);
    }
  }

  /** Ends the followers of a removed workload's logs. */
  endFollowing(name: string): void {
    for (const kind of kinds)
      this.#followers.get(this.#path(name, kind))?.forEach((follower) => follower.end());
  }

  /** Removes the logs that belong to none of these workloads, and returns the paths of their files. */
  async prune(names: readonly string[]): Promise<string[]> {
    const kept = new Set(
      names.flatMap((name) =>
        kinds.map((kind) => fileName(name, kind)).flatMap((file) => [file, `${file}.1`]),
      ),
    );
    const found = await readdir(this.#directory).catch(() => []); // no workload has ever had a log
    const removed = found
      .filter((file) => /\.log(\.1)?$/.test(file) && !kept.has(file))
      .map((file) => join(this.#directory, file))
      .filter((path) => !this.#open.has(path))
      .toSorted();
    for (const path of removed) await rm(path, { force: true });
    return removed;
  }

  #path(name: string, kind: LogKind): string {
    return join(this.#directory, fileName(name, kind));
  }
}

/** The name of a log's file, which no other log has. Letter case is ignored, as some file systems do. */
function fileName(name: string, kind: LogKind): string {
  const isAmbiguous = kind === 'proxy' && name.toLowerCase().endsWith('.server');
  return `${name}${isAmbiguous ? endingAfterServer : endings[kind]}`;
}

interface LogHooks {
  written: (chunk: Buffer) => void;
  /** The older of the two files is about to be replaced, which has this size. */
  rotated: (bytes: number) => void;
  closed: () => void;
}

/** One log, open for writing. */
export class LogFile implements AsyncDisposable {
  readonly #path: string;
  readonly #hooks: LogHooks;
  #stream: WriteStream | undefined;
  #bytes: number;
  #dropped = 0;
  /** The end of the dropped output, which is its most informative part. */
  #lastDropped: Buffer[] = [];
  #lastDroppedBytes = 0;
  /** The dropped output's end starts in the middle of a line. */
  #isCut = false;
  #allowance = burstBytes;
  #allowedMs = performance.now();
  readonly #closing = new AbortController();
  #isInLine = false;
  /** The file that is open. Unknown until the system has opened it. */
  #inode: number | undefined;
  #checkedMs = performance.now();
  #rotating: Promise<void> | undefined;
  #catchingUp: Promise<void> | undefined;

  private constructor(path: string, bytes: number, hooks: LogHooks) {
    this.#path = path;
    this.#bytes = bytes;
    this.#hooks = hooks;
    this.#stream = this.#open();
  }

  static async open(path: string, hooks: LogHooks): Promise<LogFile> {
    return new LogFile(path, await sizeOf(path), hooks);
  }

  /** The file size, including the bytes that wait to be written. */
  get size(): number {
    return this.#bytes;
  }

  write(text: Buffer | string): void {
    const chunk = Buffer.from(text);
    this.#hooks.written(chunk);
    const stream = this.#stream;
    const isFlooded = stream === undefined || stream.writableLength > maxWaitingBytes || !this.#isAllowed();
    if (isFlooded || this.#dropped > 0) {
      this.#keepLast(chunk);
      return this.#noteDropped(chunk.length);
    }
    this.#append(stream, chunk);
    if (this.#bytes > maxFileBytes) this.#change(() => this.#rotate());
    else if (performance.now() - this.#checkedMs > checkMs) this.#change(() => this.#reopenIfGone());
  }

  /** Ends an unfinished line, so that other output does not continue it. */
  endLine(): void {
    if (this.#isInLine) this.write('\n');
  }

  #change(change: () => Promise<void>): void {
    this.#rotating ??= change().finally(() => (this.#rotating = undefined));
  }

  #isAllowed(): boolean {
    const nowMs = performance.now();
    this.#allowance = Math.min(
      burstBytes,
      this.#allowance + ((nowMs - this.#allowedMs) / 1000) * bytesPerSecond,
    );
    this.#allowedMs = nowMs;
    return this.#allowance > 0;
  }

  #noteDropped(bytes: number): void {
    this.#dropped += bytes;
    this.#catchingUp ??= this.#catchUp().finally(() => (this.#catchingUp = undefined));
  }

  #keepLast(chunk: Buffer): void {
    this.#lastDropped.push(chunk);
    this.#lastDroppedBytes += chunk.length;
    // Not for every chunk: there may be very many, and very small ones.
    if (this.#lastDroppedBytes < 8 * keptBytes) return;
    const last = Buffer.concat(this.#lastDropped).subarray(-keptBytes);
    this.#lastDropped = [Buffer.from(last)];
    this.#lastDroppedBytes = last.length;
    this.#isCut = true;
  }

  /** Reports dropped output as soon as space is available, even if no more output arrives. */
  async #catchUp(): Promise<void> {
    const { signal } = this.#closing;
    while (this.#dropped > 0) {
      await this.flushed();
      if (this.#stream === undefined || !this.#isAllowed())
        await delay(retryMs, undefined, { signal, ref: false }).catch(() => {}); // the log is being closed
      await this.#reopen();
      if (this.#stream === undefined) {
        if (signal.aborted) return;
      } else if (this.#isAllowed() || signal.aborted) this.#tellDropped(this.#stream);
    }
  }

  /** Reopens the file after a write error, because its state is unknown. */
  async #reopen(): Promise<void> {
    await this.#rotating;
    if (this.#stream !== undefined) return;
    this.#bytes = await sizeOf(this.#path);
    this.#isInLine = false;
    this.#stream = this.#open();
    await new Promise<void>((resolve) => this.#stream?.once('ready', resolve).once('close', resolve));
  }

  #tellDropped(stream: WriteStream): void {
    const last = Buffer.concat(this.#lastDropped).subarray(-keptBytes);
    const isCut = this.#isCut || last.length < this.#lastDroppedBytes;
    const kept = isCut ? last.subarray(last.indexOf(0x0a) + 1) : last;
    const lost = this.#dropped - kept.length;
    const note = lost === 0 ? '' : `${this.#isInLine ? '\n' : ''}(${lost} bytes were dropped here)\n`;
    this.#dropped = 0;
    this.#lastDropped = [];
    this.#lastDroppedBytes = 0;
    this.#isCut = false;
    if (note !== '') this.#append(stream, Buffer.from(note));
    this.#append(stream, kept);
  }

  /** Returns when everything written so far is in the file. */
  async flushed(): Promise<void> {
    this.#change(() => this.#reopenIfGone());
    await this.#rotating;
    const stream = this.#stream;
    if (stream === undefined || stream.destroyed) return;
    await new Promise<void>((resolve) => {
      stream.write('', () => resolve());
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#catchingUp;
    await this.#rotating;
    await this.#close();
    this.#hooks.closed();
  }

  #append(stream: WriteStream, chunk: Buffer): void {
    if (chunk.length === 0) return;
    const stamped = this.#stamp(chunk);
    // A full disk must not stop a server. Its output is lost, which is noted as soon as possible.
    stream.write(stamped, (error) => {
      if (error) this.#noteDropped(stamped.length);
    });
    this.#bytes += stamped.length;
    this.#allowance -= stamped.length;
  }

  /** Adds the time before every line that begins in this chunk. In Latin-1, every character is one byte. */
  #stamp(chunk: Buffer): Buffer {
    const stamp = `${new Date().toISOString()} `;
    const endsLine = chunk.at(-1) === 0x0a;
    const lines = chunk.toString('latin1', 0, endsLine ? chunk.length - 1 : chunk.length);
    const stamped = `${this.#isInLine ? '' : stamp}${lines.replaceAll('\n', `\n${stamp}`)}`;
    this.#isInLine = !endsLine;
    return Buffer.from(endsLine ? `${stamped}\n` : stamped, 'latin1');
  }

  async #rotate(): Promise<void> {
    await this.#close();
    this.#hooks.rotated(await sizeOf(`${this.#path}.1`));
    await rename(this.#path, `${this.#path}.1`).catch(() => {}); // the file was removed, so a new one begins
    this.#bytes = 0;
    this.#isInLine = false;
    this.#stream = this.#open();
  }

  /** Continues at the same path if a user or a clean-up has removed or replaced the file. */
  async #reopenIfGone(): Promise<void> {
    this.#checkedMs = performance.now();
    const inode = this.#inode;
    if (inode === undefined || this.#stream === undefined) return;
    const there = await inodeOf(this.#path);
    if (there === undefined || there === inode) return;
    await this.#close();
    this.#hooks.rotated(this.#bytes);
    this.#isInLine = false;
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o750 }).catch(() => {}); // writing reports the reason
    this.#bytes = await sizeOf(this.#path);
    this.#stream = this.#open();
  }

  #open(): WriteStream {
    const stream = createWriteStream(this.#path, { flags: 'a', mode: 0o600 });
    this.#inode = undefined;
    stream.once('open', (descriptor: number) =>
      fstat(descriptor, (error, stats) => {
        if (!error && this.#stream === stream) this.#inode = stats.ino;
      }),
    );
    stream.on('error', () => {
      if (this.#stream === stream) this.#stream = undefined;
    });
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

/** The file at a path. 0 if there is none, and undefined if that is not known. */
async function inodeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ ino }) => ino,
    (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? 0 : undefined),
  );
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0, // there is none yet
  );
}

/** A reader that follows at its own pace, with limited memory. */
class Follower implements Disposable {
  readonly #decoder = new StringDecoder('utf8');
  readonly #room: () => number;
  readonly #signal: AbortSignal;
  readonly #leave: () => void;
  #waiting: string[] = [];
  #waitingLength = 0;
  #dropped = 0;
  #isOver: boolean;
  #hasLeft: boolean;
  #wake = (): void => {};

  /** `room` returns how much may wait. `leave` is called once, unless the signal has aborted already. */
  constructor(room: () => number, signal: AbortSignal, leave: () => void) {
    this.#room = room;
    this.#signal = signal;
    this.#leave = leave;
    this.#isOver = this.#hasLeft = signal.aborted;
    signal.addEventListener('abort', this.#givenUp, { once: true });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  take(chunk: Buffer): void {
    const text = this.#decoder.write(chunk);
    if (this.#waitingLength + text.length > this.#room()) this.#dropped += text.length;
    else {
      this.#waiting.push(text);
      this.#waitingLength += text.length;
    }
    this.#wake();
  }

  /** Waiting output is still read. */
  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  [Symbol.dispose](): void {
    this.#signal.removeEventListener('abort', this.#givenUp);
    if (!this.#hasLeft) this.#leave();
    this.#hasLeft = true;
  }

  /** A follower that no reader has begun to read is disposed of by no reader. */
  readonly #givenUp = (): void => {
    this.end();
    this[Symbol.dispose]();
  };

  async *pieces(): AsyncGenerator<string, void, void> {
    while (true) {
      const text = this.#waiting.join('');
      const dropped = this.#dropped;
      this.#waiting = [];
      this.#waitingLength = 0;
      this.#dropped = 0;
      if (text !== '') yield text;
      if (dropped > 0) yield `(${dropped} characters were dropped here)\n`;
      if (this.#waitingLength > 0) continue;
      if (this.#isOver) return;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

const stampPattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) /;

/** Whether lines are searched, so that the older file is needed, too. */
function isFiltered({ since, until, search }: LogWindow): boolean {
  return since !== undefined || until !== undefined || search !== undefined;
}

/** Whether a line, with its time, is meant. `decoded` returns its text. */
function filterOf(
  { since, until, search }: LogWindow,
  decoded: (line: string) => string = (line) => line,
): (line: string) => boolean {
  const [from, to] = [since?.toISOString() ?? '', until?.toISOString() ?? '\uffff'];
  const searched = search?.toLowerCase();
  return (line) => {
    // Lines of earlier versions bear no time: they count as old.
    const at = stampPattern.exec(line)?.[1] ?? '';
    if (at < from || at >= to) return false;
    // Without the time, which a search for a number would find.
    return searched === undefined || decoded(line).replace(stampPattern, '').toLowerCase().includes(searched);
  };
}

async function readWindow(path: string, window: LogWindow, end?: number): Promise<string> {
  const { lines } = window;
  if (lines === 0) return '';
  const newest = await readLines(path, end);
  const all =
    newest.length < lines || isFiltered(window) ? [...(await readLines(`${path}.1`)), ...newest] : newest;
  const wanted = isFiltered(window) ? all.filter(filterOf(window)) : all;
  const last = wanted.slice(-lines).map((line) => line.replace(stampPattern, ''));
  return last.length === 0 ? '' : `${last.join('\n')}\n`;
}

interface PlacedLine {
  text: string;
  /** How many bytes of the log are before the line. */
  position: number;
}

/** The lines of a file that begins at a position of its log. In Latin-1, every character is one byte. */
async function readPlaced(path: string, start: number): Promise<PlacedLine[]> {
  let position = start;
  return linesOf((await readBytes(path)).toString('latin1')).map((text) => {
    const placed = { text, position };
    position += text.length + 1;
    return placed;
  });
}

async function readLines(path: string, end = Infinity): Promise<string[]> {
  return linesOf(new StringDecoder('utf8').write(await readBytes(path, end)));
}

function linesOf(text: string): string[] {
  if (text === '') return [];
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
}

/** The bytes of a file up to `end`. Empty if the file does not exist. */
async function readBytes(path: string, end = Infinity): Promise<Buffer> {
  try {
    await using file = await open(path, 'r');
    const size = Math.min((await file.stat()).size, end);
    const length = Math.min(size, maxFileBytes * 2);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}
