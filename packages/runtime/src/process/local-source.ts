import { type Hash, createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, realpath, rm, stat, symlink } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, normalize } from 'node:path';
import { cancelled, conflict, invalid, notFound, unsupported } from '@toolhive/contract/failure';
import { openInner } from '../inner-file.ts';
import { localEntries, requireSmall } from '../local-files.ts';
import { type SourcePin, openSource, pinSource } from '../mount-source.ts';
import type { PackageScheme, PackageSource } from '../source.ts';

interface CopyOptions {
  /** What the user granted; absent for what is there now. */
  granted: SourcePin | undefined;
  signal: AbortSignal;
}

/**
 * Copies a local package into an empty directory of the daemon, and returns its version, which is made from its content.
 * Installers and servers see only the copy. Throws if the path is no package, has special files or links that lead
 * out of it, is too large, or is not what the user granted.
 */
export async function copyLocal(
  { scheme, name: path }: PackageSource,
  into: string,
  { granted, signal }: CopyOptions,
): Promise<string> {
  const pin = await pinLocal(path, granted);
  await using source = await openSource({ source: path, target: '/', readOnly: true, pin });
  const held = `/proc/self/fd/${source.descriptor}`;
  const hash = createHash('sha256');
  if (source.isDirectory) {
    await requireManifest(scheme, path, held);
    await copyDirectory(held, path, { into, hash, signal });
  } else {
    if (!files[scheme].test(path)) throw notRunnable(scheme, path);
    await using file = await open(held, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await file.stat();
    if (!found.isFile()) throw invalid(`${path} is neither a file nor a directory`);
    requireSmall(path, found.size);
    await copyFile(
      file,
      { path: basename(path), size: found.size, isExecutable: false },
      { into, hash, signal },
    );
  }
  return `local-${hash.digest('hex').slice(0, 16)}`;
}

/** The files besides directories that each kind of package may be. */
const files: Record<PackageScheme, RegExp> = {
  npx: /(?:\.[cm]?[jt]s|\.tgz|\.tar\.gz)$/,
  uvx: /(?:\.py|\.whl)$/,
  go: /(?!)/,
};
const manifests: Record<PackageScheme, readonly string[]> = {
  npx: ['package.json'],
  uvx: ['pyproject.toml', 'setup.py'],
  go: ['go.mod'],
};
const expected: Record<PackageScheme, string> = {
  npx: 'a directory with a package.json, a script (.js, .mjs, .cjs, .ts), or an archive that npm pack made (.tgz)',
  uvx: 'a directory with a pyproject.toml, a script (.py), or a wheel (.whl)',
  go: 'a directory with a go.mod',
};

/** Resolves the path now, and compares it with what was granted. An editor may have saved a file under a new inode. */
async function pinLocal(path: string, granted: SourcePin | undefined): Promise<SourcePin> {
  if (!isAbsolute(path)) {
    throw invalid(`the path ${path} is not absolute`, { hint: 'begin it with a slash' });
  }
  const found = await stat(path).catch(() => undefined);
  if (found === undefined)
    throw notFound(`${path} not found`, { hint: 'check the path, or restore the files' });
  const now = await pinSource(path);
  if (granted === undefined) return now;
  const isSame = now.device === granted.device && now.inode === granted.inode;
  if (now.path === granted.path && (isSame || !found.isDirectory())) return now;
  throw conflict(`${path} is no longer the directory or file that was granted (${granted.path})`, {
    hint: 'if you replaced it yourself, confirm that with `thv restart`, or create the workload again',
  });
}

async function requireManifest(scheme: PackageScheme, path: string, held: string): Promise<void> {
  for (const name of manifests[scheme]) {
    await using file = await openInner(held, name);
    if (file !== undefined) return;
  }
  throw notRunnable(scheme, path);
}

const notRunnable = (scheme: PackageScheme, path: string) =>
  unsupported(`${path} is not a package for ${scheme}://`, { hint: `name ${expected[scheme]}` });

interface Copy {
  into: string;
  hash: Hash;
  signal: AbortSignal;
}

async function copyDirectory(held: string, title: string, copy: Copy): Promise<void> {
  const links: string[] = [];
  for await (const entry of localEntries(held, title, copy.signal)) {
    if (entry.kind === 'file') {
      await copyFile(entry.file, entry, copy);
      continue;
    }
    const { path, target } = entry;
    if (isAbsolute(target) || normalize(join(dirname(path), target)).startsWith('..')) {
      throw leadsOut(title, path);
    }
    copy.hash.update(`link ${JSON.stringify([path, target])}\n`);
    await mkdir(dirname(join(copy.into, path)), { recursive: true });
    await symlink(target, join(copy.into, path));
    links.push(path);
  }
  const root = await realpath(copy.into);
  for (const path of links) {
    // Links to files that are not copied are left out, too.
    const real = await realpath(join(root, path)).catch(() => undefined);
    if (real === undefined) await rm(join(root, path));
    else if (real !== root && !real.startsWith(`${root}/`)) throw leadsOut(title, path);
  }
}

const leadsOut = (title: string, path: string) =>
  unsupported(`${join(title, path)} is a symbolic link that leads out of ${title}`, {
    hint: 'replace the link by the file or directory that it leads to',
  });

const CHUNK_BYTES = 256 * 1024;

/** Copies as much of a file as was announced, however it grows meanwhile. */
async function copyFile(
  file: FileHandle,
  { path, size, isExecutable }: { path: string; size: number; isExecutable: boolean },
  { into, hash, signal }: Copy,
): Promise<void> {
  hash.update(`file ${JSON.stringify([path, size, isExecutable])}\n`);
  await mkdir(dirname(join(into, path)), { recursive: true });
  await using copied = await open(join(into, path), 'wx', isExecutable ? 0o755 : 0o644);
  const buffer = Buffer.alloc(Math.min(size, CHUNK_BYTES));
  for (let at = 0; at < size;) {
    if (signal.aborted) throw cancelled('the installation was cancelled');
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, size - at), at);
    if (bytesRead === 0) throw conflict(`${path} was changed while it was read`, { hint: 'try again' });
    const content = buffer.subarray(0, bytesRead);
    hash.update(content);
    await copied.writeFile(content);
    at += bytesRead;
  }
}
