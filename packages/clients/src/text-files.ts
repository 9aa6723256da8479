import { constants } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { lstat, open, realpath, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readBounded } from '@toolhive/contract/bounded-read';
import { conflict, ThvError, unavailable } from '@toolhive/contract/failure';
import { KeyedSerialQueue } from '@toolhive/contract/serial-queue';
import { sweepLocks, takeLock } from './file-lock.ts';
import { holdFolder } from './held-folder.ts';
import { readOnly, replaceFile, temporaryOf, versionOf, writeBeside } from './replace-file.ts';
import type { Snapshot } from './replace-file.ts';

/** A file's resolved path, and its state at that time. */
interface Found {
  target: string;
  stats: BigIntStats | undefined;
}

export interface TextFilesOptions {
  /** Larger files are refused. */
  maxBytes: number;
}

/** How often an edit restarts because another program wrote the file. */
const maxAttempts = 20;
const retryMs = 50;
/** A file that was written so shortly ago may not be whole yet, as not every program writes atomically. */
const settlesAfterMs = 500;

/**
 * Files that other programs may write at any time. Links stay links, an edit replaces the file atomically, and
 * concurrent changes are never lost. Throws `conflict` for problems that the user must solve, and otherwise
 * `unavailable`.
 */
export class TextFiles {
  readonly #edits = new KeyedSerialQueue();

  /** Identifies the state of a file. Undefined if the file does not exist or may be changing. */
  async version(path: string): Promise<string | undefined> {
    const { target, stats } = await explained(path, () => find(path));
    const isQuiet = stats !== undefined && !isFresh(stats.mtimeMs) && !isFresh(stats.ctimeMs);
    return isQuiet ? `${target} ${versionOf(stats)}` : undefined;
  }

  /** Reads and parses a file, or an empty file if none exists. */
  async read<T>(path: string, { maxBytes }: TextFilesOptions, parse: (text: string) => T): Promise<T> {
    return explained(path, async () => {
      for (let attempt = 1; ; attempt += 1) {
        const { target, stats } = await find(path);
        const snapshot = stats && (await read(path, target, maxBytes));
        try {
          if (!isUnfinished(snapshot) || attempt === maxAttempts) return parse(snapshot?.text ?? '');
        } catch (error) {
          if (!isFresh(snapshot?.stats.mtimeMs) || attempt === maxAttempts) throw error;
        }
        await pause(retryMs);
      }
    });
  }

  /**
   * Passes the text, or an empty text, to `change` and writes the result. Undefined leaves the file unchanged. Calls
   * `change` again if another program wrote the file in the meantime. `target` is the path without links of the file that
   * will be written.
   */
  async edit(
    path: string,
    options: TextFilesOptions,
    change: (text: string, target: string) => Promise<string | undefined>,
  ): Promise<void> {
    await explained(path, async () => {
      const { target } = await find(path);
      await this.#edits.run(target, async () => {
        await using _lock = await takeLock(path);
        for (let attempt = 1; !(await tryEdit(path, options, change)); attempt += 1) {
          if (attempt === maxAttempts)
            throw conflict(`${path} is constantly being written by another program`);
          await pause(retryMs);
        }
      });
    });
  }

  /** Throws if an existing file cannot be written. Goes as far as an edit can without visible changes. */
  async requireWritable(path: string, { maxBytes }: TextFilesOptions): Promise<void> {
    await explained(path, async () => {
      const { target, stats } = await find(path);
      if (stats === undefined) return;
      requireUsable(path, stats, maxBytes);
      await this.#edits.run(target, async () => {
        await using _lock = await takeLock(path);
        await using folder = await holdFolder(dirname(target));
        await using _temporary = await writeBeside(path, folder.at(basename(target)), stats, '');
      });
    });
  }

  /** Removes the temporary files that a killed ToolHive process left beside a file. Files of other programs stay. */
  async sweep(path: string): Promise<void> {
    await sweepLocks(path);
    const temporary = temporaryOf((await find(path)).target);
    if ((await lstat(temporary).catch(() => {})) === undefined) return;
    await using _lock = await takeLock(path); // the file may be about to be moved into place
    await rm(temporary, { force: true });
  }
}

/** Follows links. A dangling link may be another program's work in progress, so ToolHive does not create its target. */
async function find(path: string): Promise<Found> {
  try {
    const target = await realpath(path);
    return { target, stats: await stat(target, { bigint: true }) };
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  const link = await lstat(path).catch(() => {});
  if (link?.isSymbolicLink() === true) {
    throw conflict(`${path} is a link to a missing file`, { hint: 'fix or remove the link' });
  }
  const directory = await realpath(dirname(path)).catch((cause: unknown) => {
    throw unavailable(`${dirname(path)} not found`, { cause });
  });
  return { target: join(directory, basename(path)), stats: undefined };
}

async function read(path: string, target: string, maxBytes: number): Promise<Snapshot> {
  // A pipe would otherwise block until something writes to it.
  await using file = await open(target, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await file.stat({ bigint: true });
  requireUsable(path, stats, maxBytes);
  const stream = file.createReadStream({ autoClose: false });
  const bytes = await readBounded(stream, maxBytes, () => tooLarge(path, maxBytes)); // it may grow
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return { text, stats };
  } catch (cause) {
    throw conflict(`${path} is not UTF-8 text`, {
      hint: 'convert the file to UTF-8. ToolHive does not change it until then',
      cause,
    });
  }
}

function requireUsable(path: string, stats: BigIntStats, maxBytes: number): void {
  if (!stats.isFile()) throw conflict(`${path} is not a file`, { hint: 'move it to another place' });
  if (stats.size > maxBytes) throw tooLarge(path, maxBytes);
}

function tooLarge(path: string, maxBytes: number): Error {
  return conflict(`${path} is larger than ${maxBytes / 1024 ** 2} MiB`, { hint: 'reduce its size' });
}

/** Returns false if the file changed in the meantime and the edit must restart. */
async function tryEdit(
  path: string,
  { maxBytes }: TextFilesOptions,
  change: (text: string, target: string) => Promise<string | undefined>,
): Promise<boolean> {
  const { target, stats } = await find(path);
  const snapshot = stats && (await read(path, target, maxBytes));
  if (isUnfinished(snapshot)) return false;
  let text: string | undefined;
  try {
    text = await change(snapshot?.text ?? '', target);
  } catch (error) {
    if (isFresh(snapshot?.stats.mtimeMs)) return false;
    throw error;
  }
  if (text === undefined) return true;
  return replaceFile({ path, target, before: snapshot }, text);
}

function isUnfinished(snapshot: Snapshot | undefined): boolean {
  return snapshot?.text === '' && isFresh(snapshot.stats.mtimeMs);
}

function isFresh(timeMs: bigint | undefined): boolean {
  return timeMs !== undefined && Math.abs(Date.now() - Number(timeMs)) < settlesAfterMs;
}

/** Describes a system error code. */
async function explained<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof ThvError) throw cause;
    const code = codeOf(cause);
    if (code === undefined) throw cause;
    if (['EACCES', 'EPERM', 'EROFS'].includes(code)) throw readOnly(path, cause);
    if (code === 'ELOOP') throw conflict(`${path} is a symbolic link to itself`, { cause });
    throw unavailable(`${path} cannot be edited (${code})`, { cause });
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
