import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, open, opendir } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';

/** Something in a directory. */
interface WalkEntry {
  /** The path below the root. */
  path: string;
  /** Whether the path is exact: a name that is not UTF-8 cannot be written as text. */
  isExact: boolean;
  /** The path for lookups during the visit, which stays valid if the parent directories change. */
  place: Buffer;
  isDirectory: boolean;
  isLink: boolean;
}

interface Walk {
  visit: (entry: WalkEntry) => Promise<void>;
  /** Whether a directory that was visited is left out. */
  skips: (path: string) => boolean;
  /** Called for a directory below the root that the daemon may not read. */
  onUnreadable: (entry: WalkEntry, found: BigIntStats) => void;
}

/** A directory that is not searched to its end. */
export class Unsearchable extends Error {}

const MAX_ENTRIES = 500_000;
const MAX_DEPTH = 100;
const MAX_MS = 20_000;

/**
 * Visits everything below a directory that a server may be changing. Opens every directory without following links,
 * and looks up its entries relative to it. Throws `Unsearchable` for too many entries.
 */
export async function walkDirectory(root: string, { visit, skips, onUnreadable }: Walk): Promise<void> {
  const deadline = performance.now() + MAX_MS;
  let entries = 0;
  await walk({ path: '', isExact: true, place: Buffer.from(root), isDirectory: true, isLink: false }, 0);

  async function walk(entry: WalkEntry, depth: number): Promise<void> {
    if (depth > MAX_DEPTH) throw new Unsearchable(`the directory is more than ${MAX_DEPTH} levels deep`);
    await using directory = await openDirectory(entry.place).catch(() => unreadable(entry, depth));
    if (directory === undefined) return; // replaced or removed after the listing
    const prefix = isLinux ? Buffer.from(`/proc/self/fd/${directory.fd}`) : entry.place;
    const listed = await opendir(prefix, listing);
    for await (const found of listed) {
      if (++entries > MAX_ENTRIES)
        throw new Unsearchable(`the directory contains more than ${MAX_ENTRIES} files`);
      if (performance.now() > deadline)
        throw new Unsearchable(`applying ignore files takes more than ${MAX_MS / 1000} seconds`);
      const bytes = found.name as unknown as Buffer; // as `listing` asks for
      const name = bytes.toString();
      const below: WalkEntry = {
        path: entry.path === '' ? name : `${entry.path}/${name}`,
        isExact: entry.isExact && Buffer.from(name).equals(bytes),
        place: Buffer.concat([prefix, Buffer.from('/'), bytes]),
        isDirectory: found.isDirectory(),
        isLink: found.isSymbolicLink(),
      };
      await visit(below);
      if (below.isDirectory && !skips(below.path)) await walk(below, depth + 1);
    }
  }

  async function unreadable(entry: WalkEntry, depth: number): Promise<undefined> {
    const found = await lstat(entry.place, { bigint: true }).catch(() => undefined);
    if (found === undefined || !found.isDirectory()) return;
    if (depth === 0) throw new Unsearchable('the directory cannot be read');
    onUnreadable(entry, found);
  }
}

const isLinux = process.platform === 'linux';
const listing = { encoding: 'buffer' as BufferEncoding, bufferSize: 256 };

function openDirectory(place: Buffer): Promise<FileHandle> {
  return open(place, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}
