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
  #checkedMs = -Infinity;

  constructor(path: string, changes: Partial<typeof limits> = {}) {
    this.#path = path;
    this.#limits = { ...limits, ...changes };
  }

  /** Appends lines. Throws if the file cannot be written or is not a file of audit records. */
  async append(lines: readonly string[]): Promise<void> {
    const handle = await this.#opened();
    const text = `${lines.join('\n')}\n`;
    await handle.appendFile(text);
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
    const handle = await openAuditFile(this.#path);
    this.#bytes = (await handle.stat()).size;
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

/** Creates the file, and checks that it can contain records. Throws `invalid`. */
export async function requireLogFile(path: string): Promise<void> {
  await (await openAuditFile(path)).close();
}
