import { constants } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { invalid } from '@toolhive/contract/failure';

/** How large a file grows before another one is begun, and how many older ones are kept. */
const limits = { bytes: 10 * 1024 * 1024, older: 4 };

/** How often an open file is compared with the file at its path. */
const checkMs = 1_000;

/**
 * Copies of the lines in the database, in a rotated file for log collectors. Only the owner can read the file. The hash chain is
 * that of the database, so a file that gets the records of one workload contains parts of it.
 */
export class AuditFile {
  readonly #path: string;
  readonly #limits: typeof limits;
  #handle: FileHandle | undefined;
  #bytes = 0;
  /** The file ends within a line, which gets no other record. */
  #isTorn = false;
  #checkedMs = -Infinity;

  constructor(path: string, changes: Partial<typeof limits> = {}) {
    this.#path = path;
    this.#limits = { ...limits, ...changes };
  }

  /** Appends lines. Throws if the file cannot be written or is not a file of audit records. */
  async append(lines: readonly string[]): Promise<void> {
    const handle = await this.#opened();
    const text = `${this.#isTorn ? '\n' : ''}${lines.join('\n')}\n`;
    await handle.appendFile(text);
    this.#isTorn = false;
    this.#bytes += Buffer.byteLength(text);
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
    const { handle, isTorn } = await openAuditFile(this.#path);
    this.#bytes = (await handle.stat()).size;
    this.#isTorn = isTorn;
    this.#handle = handle;
    return handle;
  }

  async #rotate(): Promise<void> {
    await this.close();
    const { older: kept } = this.#limits;
    await rm(`${this.#path}.${kept}`, { force: true });
    for (let number = kept - 1; number >= 0; number -= 1) {
      const from = number === 0 ? this.#path : `${this.#path}.${number}`;
      await rename(from, `${this.#path}.${number + 1}`).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
    }
  }
}

/**
 * Opens or creates an audit file for appending. Because records contain client text, the file must not be one that
 * other programs interpret: only a regular file of this user that is empty or contains audit records is accepted, and
 * no symbolic link. Throws `invalid`.
 */
async function openAuditFile(path: string): Promise<{ handle: FileHandle; isTorn: boolean }> {
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
    return { handle, isTorn: await requireAuditFile(handle, path) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** How many bytes at the end of a file identify an audit file. They contain the record before a torn one. */
const tailBytes = 64 * 1024;

/** Returns whether the file ends within a line. */
async function requireAuditFile(handle: FileHandle, path: string): Promise<boolean> {
  const { size, uid, nlink } = await handle.stat().then((stats) => {
    if (stats.isFile()) return stats;
    throw invalid(`cannot write the audit log ${path}: not a regular file`);
  });
  const isForeign = (process.getuid !== undefined && uid !== process.getuid()) || nlink > 1;
  const length = Math.min(size, tailBytes);
  const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length);
  if (!isForeign && hasRecords(buffer, size)) {
    await handle.chmod(0o600);
    return size > 0 && buffer.at(-1) !== lineFeed;
  }
  throw invalid(`cannot write the audit log ${path}: the file belongs to another program or user`, {
    hint: 'choose a log_file that does not exist yet',
  });
}

const lineFeed = 0x0a;

/**
 * Whether a file of this size, which ends with `tail`, contains audit records. A power cut leaves a part of the last record, or
 * zeros in its place.
 */
function hasRecords(tail: Buffer, size: number): boolean {
  let end = tail.length;
  while (end > 0 && tail[end - 1] === 0) end -= 1;
  const text = tail.toString('latin1', 0, end);
  const complete = text.slice(0, text.lastIndexOf('\n') + 1);
  if (isRecord.test(text) || isRecord.test(complete)) return true;
  return complete === '' && size === tail.length && (text === '' || isBegun.test(text));
}

const isRecord = /,"previous":"[0-9a-f]{64}"\}\n?$/;
/** The first record of a file. */
const isBegun = /^\{"time":"[^"]{20,30}","level":"[^"]{1,10}","msg":"audit_event",/;

/** Creates the file, and checks that it can contain records. Throws `invalid`. */
export async function requireLogFile(path: string): Promise<void> {
  await (await openAuditFile(path)).handle.close();
}
