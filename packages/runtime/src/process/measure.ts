import { type Stats, constants, readdirSync } from 'node:fs';
import { type FileHandle, chmod, lstat, open, opendir, stat } from 'node:fs/promises';
import { O_PATH } from '../mount-source.ts';
import { familyOf } from '../proc.ts';

interface Measured {
  /** What the files occupy on the disk. */
  bytes: number;
  /** Whether there are directories only. */
  isEmpty: boolean;
  /** The number of entries besides directories, and the sum of their sizes. Both are the same on every file system. */
  files: number;
  size: number;
  /** Why the walk ended early, as a phrase that continues "the server". */
  excess?: string;
}

/** The most that one walk looks at, so that a server cannot keep the daemon busy with millions of small files. */
const MOST_FILES = 200_000;
const DEEPEST = 64;
const BLOCK = 512;

/**
 * Measures a directory that a server may be writing to. Opens every directory without following links, and resolves
 * its content relative to that directory.
 */
export async function measureFiles(root: string): Promise<Measured> {
  const seen = new Set<string>();
  const total: Measured & { entries: number } = { bytes: 0, isEmpty: true, files: 0, size: 0, entries: 0 };
  await walk(Buffer.from(root), 0);
  const { entries: _, ...measured } = total;
  return measured;

  async function walk(path: Buffer, depth: number): Promise<void> {
    if (depth > DEEPEST) total.excess = `nested more than ${DEEPEST} directories in its home directory`;
    if (total.excess !== undefined) return;
    await using directory = await openDirectory(path);
    if (directory === undefined) return; // replaced or removed after the listing
    const prefix = Buffer.from(`/proc/self/fd/${directory.fd}/`);
    for await (const entry of await opendir(prefix.toString(), { encoding: 'buffer' as BufferEncoding })) {
      total.entries += 1;
      if (total.entries > MOST_FILES)
        total.excess = `stored more than ${MOST_FILES} files in its home directory`;
      if (total.excess !== undefined) return;
      // The names are bytes, because a name that is not valid UTF-8 could not be opened otherwise.
      const place = Buffer.concat([prefix, entry.name as unknown as Buffer]);
      const found = await lstat(place).catch(() => undefined);
      if (found === undefined) continue;
      count(found);
      if (found.isDirectory()) await walk(place, depth + 1);
    }
  }

  function count(found: Stats): void {
    if (!found.isDirectory()) {
      total.isEmpty = false;
      total.files += 1;
      total.size += found.size;
    }
    // Several names of one file occupy its space once.
    const identity = `${found.dev}:${found.ino}`;
    if (found.nlink > 1 && !found.isDirectory()) {
      if (seen.has(identity)) return;
      seen.add(identity);
    }
    total.bytes += found.blocks * BLOCK;
  }
}

const AS_DIRECTORY = constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Opens a directory. Makes an unreadable directory readable first, because files could hide in it. */
export async function openDirectory(path: Buffer | string): Promise<FileHandle | undefined> {
  try {
    return await open(path, AS_DIRECTORY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') return undefined;
  }
  await using named = await open(path, O_PATH | AS_DIRECTORY).catch(() => undefined);
  if (named === undefined) return undefined;
  const place = `/proc/self/fd/${named.fd}`;
  await chmod(place, 0o700);
  return open(place, constants.O_DIRECTORY);
}

/** The maximum number of open files of a workload that are inspected. */
const MOST_OPEN_FILES = 20_000;

/** Measures the files on a device that processes of sandboxes hold open after they have deleted them. */
export async function measureUnlinked(inits: readonly number[], device: number): Promise<number> {
  const paths = inits.flatMap(familyOf).flatMap(openFilesOf).slice(0, MOST_OPEN_FILES);
  const sizes = new Map<number, number>();
  for (const path of paths) {
    const found = await stat(path).catch(() => undefined);
    if (found?.isFile() === true && found.nlink === 0 && found.dev === device)
      sizes.set(found.ino, found.blocks * BLOCK);
  }
  return [...sizes.values()].reduce((total, size) => total + size, 0);
}

function openFilesOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((descriptor) => `/proc/${pid}/fd/${descriptor}`);
  } catch {
    return []; // it has ended
  }
}
