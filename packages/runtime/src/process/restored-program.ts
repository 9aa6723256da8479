import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, readlink, rename, symlink } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import { conflict } from '@toolhive/contract/failure';

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

/** The most entries that are compared, so that a server cannot delay its next start for long. */
const MOST_ENTRIES = 50_000;
const DEEPEST = 64;

/**
 * Puts the program files of a copy back to the verified ones, and removes new program files. Returns their paths. Each
 * step starts from an open directory, because the server can put links into the copy in the meantime.
 */
export async function restoreProgram(
  { verified, layer, inner, stampOf }: Directories,
  { trash, isDry }: Restoration,
): Promise<string[]> {
  const changed: string[] = [];
  let entries = 0;

  async function visit(place: string, original: string, path: string): Promise<void> {
    await using directory = await openDirectory(place);
    if (directory === undefined) return; // replaced in the meantime, and found again at the next start
    const base = `/proc/self/fd/${directory.fd}`;
    const isRoot = path === '';
    const names = await readdir(base);
    for (const name of names) {
      entries += 1;
      if (entries > MOST_ENTRIES || path.split('/').length > DEEPEST) throw tooMany(layer);
      if (isRoot && inner.includes(name)) await requireEmpty(base, name);
      else await compare({ place: join(base, name), original: join(original, name), path: join(path, name) });
    }
    for (const name of await readdir(original).catch(() => [])) {
      if (names.includes(name) || (isRoot && inner.includes(name))) continue;
      await bringBack({ place: join(base, name), original: join(original, name), path: join(path, name) });
    }
  }

  async function compare(entry: Entry): Promise<void> {
    const found = await statOf(entry.place);
    if (found === undefined || stampFrom(found) === stampOf(entry.path)) return;
    const expected = await statOf(entry.original);
    const isNew = expected === undefined;
    if (found.isDirectory() && (isNew || expected.isDirectory())) {
      // Python would take compiled files from here in place of the verified ones.
      if (entry.path.endsWith('__pycache__')) await discard(entry);
      else if (isNew && entry.path.split('/').at(-1) === 'node_modules') await replace(entry);
      else await visit(entry.place, entry.original, entry.path);
      return;
    }
    if (await isUnchanged(entry, found, expected)) return;
    await replace(entry);
    if (!isNew) await bringBack(entry, true);
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
    await using file = await open(entry.place, READ);
    if (expected === undefined) return !(await isProgram(entry.path, file));
    await using published = await open(entry.original, READ);
    const [is, was] = [await isProgram(entry.path, file), await isProgram(entry.path, published)];
    // Data stays data, and a program stays the published one.
    return is === was && (!is || (await isSameContent(file, published)));
  }

  async function replace(entry: Entry): Promise<void> {
    changed.push(entry.path);
    await discard(entry);
  }

  async function discard({ place }: Entry): Promise<void> {
    if (isDry) return;
    await mkdir(trash, { recursive: true, mode: 0o700 });
    await rename(place, join(trash, String((entries += 1))));
  }

  /** Copies a published entry that is missing. Data that the server deleted stays deleted, unless the change is known. */
  async function bringBack(entry: Entry, isKnown = false): Promise<void> {
    const expected = await statOf(entry.original);
    if (expected?.isDirectory() === true) {
      const names = await readdir(entry.original);
      if (!isDry) await mkdir(entry.place, { mode: 0o700 });
      await using directory = isDry ? undefined : await openDirectory(entry.place);
      const base = directory === undefined ? entry.place : `/proc/self/fd/${directory.fd}`;
      for (const name of names) {
        const inner = { place: join(base, name), original: join(entry.original, name) };
        await bringBack({ ...inner, path: join(entry.path, name) }, isKnown);
      }
      return;
    }
    if (expected?.isSymbolicLink() === true) {
      if (!isDry) await symlink(await readlink(entry.original), entry.place);
      return;
    }
    await using published = await open(entry.original, READ);
    if (!isKnown && !(await isProgram(entry.path, published))) return;
    if (!isKnown) changed.push(entry.path);
    if (isDry) return;
    await using file = await open(entry.place, CREATE, Number(expected?.mode ?? 0o600) & 0o700);
    await file.writeFile(await published.readFile());
  }

  await visit(layer, verified, '');
  return changed;
}

interface Entry {
  /** In an open directory of the copy. */
  place: string;
  original: string;
  /** For messages. */
  path: string;
}

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

const openDirectory = (path: string): Promise<FileHandle | undefined> =>
  open(path, constants.O_DIRECTORY | constants.O_NOFOLLOW).catch(() => undefined);

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

/** The names of files that Node.js, Python, and shells execute, and of the manifest that decides what Node.js executes. */
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
