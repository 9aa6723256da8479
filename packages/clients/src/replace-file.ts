import type { BigIntStats } from 'node:fs';
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  fsyncSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { open, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { conflict } from '@toolhive/contract/failure';
import type { ThvError } from '@toolhive/contract/failure';
import { holdFolder } from './held-folder.ts';

/** A file as of the last read. */
export interface Snapshot {
  text: string;
  stats: BigIntStats;
}

/** A file that was read, and that nothing else may have changed since. */
interface Replaced {
  path: string;
  /** The path without links. */
  target: string;
  /** Undefined if the file did not exist. */
  before: Snapshot | undefined;
}

/** A file that is about to be replaced, with its path in the folder that is held open. */
interface Held extends Replaced {
  place: string;
}

/** Replaces a file with a text. Returns false if the file has changed since it was read, and leaves it unchanged. */
export async function replaceFile(file: Replaced, text: string): Promise<boolean> {
  const { path, target, before } = file;
  await using folder = await holdFolder(dirname(target));
  if (folder.real !== dirname(target)) return false; // a link is in its place, which may lead to any folder of the user
  const held = { ...file, place: folder.at(basename(target)) };
  await using temporary = await writeBeside(path, held.place, before?.stats, text);
  if (before !== undefined && before.stats.nlink > 1n) return rewrite(held, before, text); // another name has the same content
  const result = move(temporary.path, held);
  if (result === 'mounted') return before !== undefined && rewrite(held, before, text);
  if (result === 'changed') return false;
  await folder.sync();
  return true;
}

/** Without a pause between the comparison and the change, in which another program could write the file. */
function move(from: string, file: Held): 'moved' | 'changed' | 'mounted' {
  if (!isUnchanged(file)) return 'changed';
  try {
    renameSync(from, file.place);
    return 'moved';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EBUSY') return 'mounted'; // as single files in a container are
    throw error;
  }
}

/**
 * Writes into the file itself, which is not atomic: a power cut can damage the file. Restores its content if the disk
 * becomes full.
 */
function rewrite(file: Held, before: Snapshot, text: string): boolean {
  const descriptor = openSync(file.place, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    // The path may have led to another file for a moment.
    const opened = fstatSync(descriptor, { bigint: true });
    if (versionOf(opened) !== versionOf(before.stats) || !isUnchanged(file)) return false;
    try {
      overwrite(descriptor, text);
    } catch (error) {
      overwrite(descriptor, before.text);
      throw error;
    }
    return true;
  } finally {
    closeSync(descriptor);
  }
}

function overwrite(descriptor: number, text: string): void {
  const bytes = Buffer.from(text);
  let written = 0;
  while (written < bytes.length)
    written += writeSync(descriptor, bytes, written, bytes.length - written, written);
  ftruncateSync(descriptor, bytes.length);
  fsyncSync(descriptor);
}

function isUnchanged({ path, target, place, before }: Held): boolean {
  const now = lstatSync(place, { bigint: true, throwIfNoEntry: false });
  if (before === undefined) {
    const isMissing = now === undefined && lstatSync(path, { throwIfNoEntry: false }) === undefined;
    return isMissing && join(realpathSync(dirname(path)), basename(path)) === target;
  }
  return now !== undefined && versionOf(now) === versionOf(before.stats) && realpathSync(path) === target;
}

/** Identifies the state of a file. Empty without a file. */
export function versionOf(stats: BigIntStats | undefined): string {
  return stats === undefined
    ? ''
    : [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ');
}

/** Writes a temporary file that can replace another file. Removes it again unless it was moved. */
export async function writeBeside(
  path: string,
  target: string,
  before: BigIntStats | undefined,
  text: string,
): Promise<AsyncDisposable & { path: string }> {
  if (before !== undefined && (before.mode & 0o222n) === 0n) throw readOnly(path);
  const temporary = temporaryOf(target);
  const remove = (): Promise<void> => rm(temporary, { force: true });
  await remove();
  try {
    const owner = before ?? (await ownerOfNew(target));
    await writeAs(temporary, text, owner, before === undefined ? 0o600 : Number(before.mode & 0o777n));
  } catch (error) {
    await remove();
    throw error;
  }
  return { path: temporary, [Symbol.asyncDispose]: remove };
}

/** A fixed name is safe while holding the lock, and leftovers from a crash are found again. */
export function temporaryOf(target: string): string {
  return join(dirname(target), `.${basename(target)}.toolhive-tmp`);
}

/**
 * Preserves the owner when ToolHive runs as root for another user's home directory, so that the user can use the
 * file.
 */
async function ownerOfNew(target: string): Promise<BigIntStats | undefined> {
  return process.getuid?.() === 0 ? stat(dirname(target), { bigint: true }) : undefined;
}

async function writeAs(
  path: string,
  text: string,
  owner: BigIntStats | undefined,
  mode: number,
): Promise<void> {
  await using file = await open(path, 'wx', 0o600);
  const own = await file.stat({ bigint: true });
  if (owner !== undefined && (owner.uid !== own.uid || owner.gid !== own.gid)) {
    await file.chown(Number(owner.uid), Number(owner.gid));
  }
  await file.chmod(mode);
  await file.writeFile(text);
  await file.sync();
}

/** Generated files are links to files that only their generator changes. */
const generated = /^\/(?:nix|gnu)\/store\//;

/** The error about a file that this user cannot write. */
export function readOnly(path: string, cause?: unknown): ThvError {
  const target = targetOf(path);
  const name = target === path ? path : `${path}, a link to ${target},`;
  const hint = generated.test(target)
    ? 'add the entry to the configuration that generates the file, such as that of Home Manager. To see the entry, run thv client preview CLIENT'
    : 'allow your user to write to the file and to its folder';
  return conflict(`${name} is read-only or belongs to another user`, { hint, cause });
}

function targetOf(path: string): string {
  try {
    return lstatSync(path).isSymbolicLink() ? realpathSync(path) : path;
  } catch {
    return path; // a folder that cannot be read
  }
}
