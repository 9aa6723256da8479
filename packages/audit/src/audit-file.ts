import { constants, createReadStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { createInterface } from 'node:readline';
import type { CheckedChain } from '@toolhive/contract/audit';
import { invalid } from '@toolhive/contract/failure';
import { chainStart, chained, hashOf, previousOf } from './chain.ts';

/** How large a file grows before another one is begun, and how many older ones are kept. */
const limits = { bytes: 10 * 1024 * 1024, older: 4 };

/** How often an open file is compared with the file at its path. */
const checkMs = 1_000;

/** Hashes of lines, stored outside the file. */
interface Anchor {
  /** The last line that was written. */
  last: string;
  /** The last line of each older file, the newest first. */
  older: string[];
  /** The hash of the last line that rotation removed. */
  floor: string;
}

/** Where the anchors of files are kept. */
export interface Anchors {
  anchorOf(path: string): string | undefined;
  setAnchor(path: string, anchor: string): void;
}

/** Audit records as lines of a rotated file. The lines form a separate hash chain. Only the owner can read the file. */
export class AuditFile {
  readonly #path: string;
  readonly #anchors: Anchors;
  readonly #limits: typeof limits;
  #anchor: Anchor | undefined;
  #handle: FileHandle | undefined;
  #bytes = 0;
  #checkedMs = -Infinity;

  constructor(path: string, anchors: Anchors, changes: Partial<typeof limits> = {}) {
    this.#path = path;
    this.#anchors = anchors;
    this.#limits = { ...limits, ...changes };
  }

  /** Appends records, given as JSON texts. Throws if the file cannot be written or is not a file of audit records. */
  async append(records: readonly string[]): Promise<void> {
    const handle = await this.#opened();
    const anchor = (this.#anchor ??= await this.#resume());
    let previous = anchor.last;
    const lines = records.map((record) => {
      const line = chained(record, previous);
      previous = hashOf(line);
      return line;
    });
    const text = `${lines.join('\n')}\n`;
    await handle.appendFile(text);
    this.#bytes += Buffer.byteLength(text);
    this.#remember({ ...anchor, last: previous });
    if (this.#bytes > this.#limits.bytes) await this.#rotate();
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  /** Opens the file, and again within a second of its removal or replacement. */
  async #opened(): Promise<FileHandle> {
    if (this.#handle !== undefined) {
      const nowMs = performance.now();
      if (nowMs - this.#checkedMs < checkMs) return this.#handle;
      this.#checkedMs = nowMs;
      const [there, ours] = await Promise.all([stat(this.#path).catch(() => undefined), this.#handle.stat()]);
      if (there?.ino === ours.ino && there.dev === ours.dev) return this.#handle;
      await this.close();
    }
    const handle = await openAuditFile(this.#path);
    this.#bytes = (await handle.stat()).size;
    this.#handle = handle;
    return handle;
  }

  /**
   * Returns the end of the chain. After a crash, the file may be ahead of the anchor. If the file does not contain
   * the anchor, the chain continues from the anchor, so that a verification detects the gap.
   */
  async #resume(): Promise<Anchor> {
    const known = readAnchor(this.#anchors.anchorOf(this.#path));
    let isThere = known === undefined || known.last === chainStart || known.older[0] === known.last;
    let last = known?.older[0] ?? known?.floor ?? chainStart;
    for await (const line of linesOf(this.#path)) {
      last = hashOf(line);
      isThere ||= last === known?.last;
    }
    const anchor = known ?? { last: chainStart, older: [], floor: chainStart };
    return isThere ? { ...anchor, last } : anchor;
  }

  #remember(anchor: Anchor): void {
    this.#anchor = anchor;
    this.#anchors.setAnchor(this.#path, JSON.stringify(anchor));
  }

  async #rotate(): Promise<void> {
    const { last, older, floor } = this.#anchor ?? { last: chainStart, older: [], floor: chainStart };
    await this.close();
    const { older: kept } = this.#limits;
    await rm(`${this.#path}.${kept}`, { force: true });
    for (let number = kept - 1; number >= 0; number -= 1) {
      const from = number === 0 ? this.#path : `${this.#path}.${number}`;
      await rename(from, `${this.#path}.${number + 1}`).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
    }
    const ends = [last, ...older];
    this.#remember({ last, older: ends.slice(0, kept), floor: ends[kept] ?? floor });
  }
}

/** Follows the chain through the files of a rotation, the oldest first. */
export async function verifyAuditFile(
  path: string,
  anchors: Anchors,
  signal: AbortSignal,
): Promise<CheckedChain> {
  const anchor = readAnchor(anchors.anchorOf(path));
  if (anchor === undefined) return { place: path, records: 0 };
  const { last, older, floor } = anchor;
  let previous = floor;
  let records = 0;
  let isEndThere = last === floor;
  const files = [...older.map((_end, index) => `${path}.${index + 1}`).toReversed(), path];
  for (const [index, file] of files.entries()) {
    let position = 0;
    for await (const line of linesOf(file)) {
      signal.throwIfAborted();
      position += 1;
      if (previousOf(line) !== previous) {
        const reason =
          position === 1 && records === 0
            ? 'the preceding records are missing'
            : 'the record does not continue the preceding record';
        return { place: path, records, broken: { position, file, reason } };
      }
      previous = hashOf(line);
      isEndThere ||= previous === last;
      records += 1;
    }
    const end = index < older.length ? older[older.length - 1 - index] : undefined;
    if (end !== undefined && end !== previous) {
      const reason = 'records at the end of the file are missing or were changed';
      return { place: path, records, broken: { position: position + 1, file, reason } };
    }
    if (file === path && !isEndThere) {
      const reason = 'records at the end are missing or were changed';
      return { place: path, records, broken: { position: position + 1, file, reason } };
    }
  }
  return { place: path, records };
}

/**
 * Opens or creates an audit file for appending. Because records contain client text, the file must not be one that
 * other programs interpret: only a regular file of this user that is empty or contains audit records is accepted, and
 * no symbolic link. Throws `invalid`.
 */
async function openAuditFile(path: string): Promise<FileHandle> {
  if (!isAbsolute(path)) throw invalid(`log_file ${path} is not an absolute path`);
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;
  const handle = await open(path, O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_RDWR, 0o600).catch(
    (error: NodeJS.ErrnoException) => {
      const why = error.code === 'ELOOP' ? 'the path is a symbolic link' : error.message;
      throw invalid(`cannot write the audit log ${path}: ${why}`, {
        hint: 'choose another log_file, or omit it',
        cause: error,
      });
    },
  );
  try {
    await requireAuditFile(handle, path);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** How many bytes at the end of a file identify an audit file. */
const tailBytes = 4096;

async function requireAuditFile(handle: FileHandle, path: string): Promise<void> {
  const { size, uid, nlink } = await handle.stat().then((stats) => {
    if (stats.isFile()) return stats;
    throw invalid(`cannot write the audit log ${path}: not a regular file`);
  });
  const isForeign = (process.getuid !== undefined && uid !== process.getuid()) || nlink > 1;
  const length = Math.min(size, tailBytes);
  const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length);
  const isOther = size > 0 && !/,"previous":"[0-9a-f]{64}"\}\n?$/.test(buffer.toString('latin1'));
  if (!isForeign && !isOther) {
    await handle.chmod(0o600);
    return;
  }
  throw invalid(`cannot write the audit log ${path}: the file belongs to another program or user`, {
    hint: 'choose a log_file that does not exist yet',
  });
}

/** Yields the lines of a file, or none if the file does not exist. */
async function* linesOf(path: string): AsyncGenerator<string, void, void> {
  const exists = await stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
  if (!exists) return;
  yield* createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Infinity });
}

/** Creates the file, and checks that it can contain records. Throws `invalid`. */
export async function requireLogFile(path: string): Promise<void> {
  await (await openAuditFile(path)).close();
}

function readAnchor(text: string | undefined): Anchor | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as Anchor); // written by `#remember`
}
