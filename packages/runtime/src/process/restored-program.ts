import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, readlink, rename, symlink } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import { conflict } from '@toolhive/contract/failure';
import { openDirectory } from './measure.ts';

interface Directories {
  /** The verified directory, which nothing can write to. */
  verified: string;
  /** Its copy, which a server writes to, also at this moment. */
  layer: string;
  /** The names in both that are mounted from elsewhere. */
  inner: readonly string[];
  /** The stamp of a file in the copy when nothing had written to it. */
  stampOf: (path: string) => string | undefined;
}

interface Restoration {
  /** The directory that receives everything that must not stay. Created when needed. */
  trash: string;
  /** Whether the changes are only reported. */
  isDry: boolean;
}

/**
 * Python takes compiled files from here in place of the verified modules, so a copy never contains any. They are removed
 * without a note, because Python creates them itself.
 */
export const COMPILED = '__pycache__';

/** The most entries that are compared, so that a server cannot delay its next start for long. */
const MOST_ENTRIES = 50_000;
const DEEPEST = 64;

/**
 * Puts the program files of a copy back to the verified ones, and removes new program files. Returns their paths. Each
 * step starts from an open directory, because the server can put links into the copy in the meantime.
 */
export async function restoreProgram(directories: Directories, restoration: Restoration): Promise<string[]> {
  const comparison = new Comparison(directories, restoration);
  await comparison.visit({ place: directories.layer, original: directories.verified, path: '' });
  return comparison.changed;
}

class Comparison {
  readonly changed: string[] = [];
  readonly #directories: Directories;
  readonly #restoration: Restoration;
  #entries = 0;

  constructor(directories: Directories, restoration: Restoration) {
    this.#directories = directories;
    this.#restoration = restoration;
  }

  async visit({ place, original, path }: Entry): Promise<void> {
    await using directory = await openDirectory(place);
    if (directory === undefined) return; // replaced in the meantime, and found again at the next start
    await directory.chmod(0o700); // or nothing in it could be replaced
    const base = `/proc/self/fd/${directory.fd}`;
    const { layer, inner } = this.#directories;
    const isInner = (name: string): boolean => path === '' && inner.includes(name);
    const names = new Set<string>();
    for (const bytes of await readdir(base, { encoding: 'buffer' })) {
      this.#entries += 1;
      if (this.#entries > MOST_ENTRIES || path.split('/').length > DEEPEST) throw tooMany(layer);
      const name = bytes.toString();
      names.add(name);
      const entry = { place: join(base, name), original: join(original, name), path: join(path, name) };
      if (isInner(name)) await requireEmpty(base, name);
      else if (name === COMPILED) await this.#throwAway(entry);
      else if (Buffer.from(name).equals(bytes)) await this.#compare(entry);
      else await this.#replace({ ...entry, place: Buffer.concat([Buffer.from(`${base}/`), bytes]) });
    }
    for (const name of await readdir(original).catch(() => [])) {
      if (names.has(name) || isInner(name) || name === COMPILED) continue;
      const entry = { place: join(base, name), original: join(original, name), path: join(path, name) };
      await this.#bringBack(entry, { isKnown: false });
    }
  }

  async #compare(entry: Entry): Promise<void> {
    const found = await statOf(entry.place);
    if (found === undefined || stampFrom(found) === this.#directories.stampOf(entry.path)) return;
    const expected = await statOf(entry.original);
    const isNew = expected === undefined;
    if (found.isDirectory() && (isNew || expected.isDirectory())) {
      if (isNew && entry.path.split('/').at(-1) === 'node_modules') await this.#replace(entry);
      else await this.visit(entry);
      return;
    }
    if (await isUnchanged(entry, found, expected)) return;
    await this.#replace(entry);
    if (!isNew) await this.#bringBack(entry, { isKnown: true });
  }

  async #replace(entry: Discarded): Promise<void> {
    this.changed.push(entry.path);
    await this.#discard(entry);
  }

  async #discard(entry: Discarded): Promise<void> {
    if (!this.#restoration.isDry) await this.#throwAway(entry);
  }

  async #throwAway({ place }: Discarded): Promise<void> {
    const { trash } = this.#restoration;
    this.#entries += 1;
    await mkdir(trash, { recursive: true, mode: 0o700 });
    await rename(place, join(trash, String(this.#entries)));
  }

  /** Copies a published entry that is missing. Data that the server deleted stays deleted, unless the change is known. */
  async #bringBack({ place, original, path }: Entry, { isKnown }: { isKnown: boolean }): Promise<void> {
    const { isDry } = this.#restoration;
    const expected = await statOf(original);
    if (expected?.isDirectory() === true) {
      if (!isDry) await mkdir(place, { mode: 0o700 });
      await using directory = isDry ? undefined : await openDirectory(place);
      const base = directory === undefined ? place : `/proc/self/fd/${directory.fd}`;
      for (const name of await readdir(original)) {
        if (name === COMPILED) continue;
        const inner = { place: join(base, name), original: join(original, name), path: join(path, name) };
        await this.#bringBack(inner, { isKnown });
      }
      return;
    }
    if (expected?.isSymbolicLink() === true) {
      if (!isDry) await symlink(await readlink(original), place);
      return;
    }
    await using published = await open(original, READ);
    if (!isKnown && !(await isProgram(path, published))) return;
    if (!isKnown) this.changed.push(path);
    if (isDry) return;
    await using file = await open(place, CREATE, Number(expected?.mode ?? 0o600) & 0o700);
    await file.writeFile(await published.readFile());
  }
}

/** Whether an entry is as published, or data. */
async function isUnchanged(
  entry: Entry,
  found: BigIntStats,
  expected: BigIntStats | undefined,
): Promise<boolean> {
  if (found.isSymbolicLink()) {
    const isLink = expected?.isSymbolicLink() === true;
    return isLink && (await readlink(entry.place)) === (await readlink(entry.original));
  }
  if (!found.isFile() || (expected !== undefined && !expected.isFile())) return false;
  if ((found.mode & 0o400n) === 0n) return false; // its owner cannot read it, so nothing is known about it
  await using file = await open(entry.place, READ);
  if (expected === undefined) return !(await isProgram(entry.path, file));
  await using published = await open(entry.original, READ);
  const [is, was] = [await isProgram(entry.path, file), await isProgram(entry.path, published)];
  // Data stays data, and a program stays the published one.
  return is === was && (!is || (await isSameContent(file, published)));
}

type Discarded = Pick<Entry, 'path'> & { place: string | Buffer };

interface Entry {
  /** In an open directory of the copy. */
  place: string;
  original: string;
  /** For messages. */
  path: string;
}

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

const statOf = (path: string): Promise<BigIntStats | undefined> =>
  lstat(path, { bigint: true }).catch(() => undefined);

/**
 * Changes with every write to a file and its attributes. Unlike the time of the last write, no program can set the time
 * of the last change. Null for directories, whose entries are compared one by one.
 */
const stampFrom = (found: BigIntStats): string | null =>
  found.isDirectory() ? null : `${found.ino} ${found.size} ${found.ctimeNs}`;

/** The stamps of all files in a directory that nothing writes to now, by path. */
export async function stampsIn(root: string): Promise<Map<string, string>> {
  const stamps = new Map<string, string>();
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const place = join(entry.parentPath, entry.name);
    const found = await statOf(place);
    const stamp = found === undefined ? null : stampFrom(found);
    if (stamp !== null) stamps.set(relative(root, place), stamp);
  }
  return stamps;
}

const tooMany = (layer: string) =>
  conflict(`the server stored too many files beside its program (${layer})`, {
    hint: 'delete files there, or remove the workload',
  });

/** A mount point is a real, empty directory. Anything else could lead a mount to another place in the sandbox. */
async function requireEmpty(base: string, name: string): Promise<void> {
  const found = await statOf(join(base, name));
  if (found?.isDirectory() === true && (await readdir(join(base, name))).length === 0) return;
  throw conflict(`the server has replaced the directory ${name} of its package`, {
    hint: 'remove the workload and create it again',
  });
}

/** The names of files that Node.js, Python, and shells execute, and of the manifest of Node.js. */
const programNames =
  /^(?:\.?[cm]?[jt]sx?|\.node|\.wasm|\.py[cdiowx]?|\.pth|\.egg|\.so|\.dylib|\.dll|\.exe|\.(?:ba|z|k)?sh|\.rb|\.pl|\.lua|\.php|\.jar|\.class)$/i;

async function isProgram(path: string, file: FileHandle): Promise<boolean> {
  const name = path.split('/').at(-1) ?? '';
  if (name === 'package.json' || programNames.test(extname(name)) || /\.so\.\d/.test(name)) return true;
  if (((await file.stat()).mode & 0o111) !== 0) return true;
  const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
  return /^(?:#!|\x7fELF|\0asm)/.test(buffer.toString('latin1'));
}

const CHUNK = 256 * 1024;

async function isSameContent(one: FileHandle, other: FileHandle): Promise<boolean> {
  const [{ size }, { size: expected }] = [await one.stat(), await other.stat()];
  if (size !== expected) return false;
  const [a, b] = [Buffer.alloc(CHUNK), Buffer.alloc(CHUNK)];
  for (let at = 0; at < size; at += CHUNK) {
    const [{ bytesRead }, { bytesRead: read }] = [
      await one.read(a, 0, CHUNK, at),
      await other.read(b, 0, CHUNK, at),
    ];
    if (bytesRead !== read || !a.subarray(0, bytesRead).equals(b.subarray(0, read))) return false;
  }
  return true;
}
