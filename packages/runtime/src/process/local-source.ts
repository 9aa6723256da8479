import { type Hash, createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, realpath, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { cancelled, conflict, invalid } from '@toolhive/contract/failure';
import { leadsOut, localEntries, requireSmall } from '../local-files.ts';
import { pinLocal, requireLocal } from '../local-package.ts';
import { type SourcePin, openSource } from '../mount-source.ts';
import type { PackageSource } from '../source.ts';

interface CopyOptions {
  /** The package that the user granted. If absent, the current one. */
  granted: SourcePin | undefined;
  signal: AbortSignal;
}

/**
 * Copies a local package into an empty daemon directory, and returns a version derived from its content. Installers
 * and servers see only the copy. Throws if the path is not a package, is too large, differs from the grant, or
 * contains special files or links out of the package.
 */
export async function copyLocal(
  source: PackageSource,
  into: string,
  { granted, signal }: CopyOptions,
): Promise<string> {
  const { name: path } = source;
  const pin = await pinLocal(path, granted);
  await using opened = await openSource({ source: path, target: '/', readOnly: true, pin });
  const held = `/proc/self/fd/${opened.descriptor}`;
  const hash = createHash('sha256');
  if (opened.isDirectory) {
    await requireLocal(source, { directory: held });
    await copyDirectory(held, path, { into, hash, signal });
  } else {
    await requireLocal(source, { file: true });
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

const CHUNK_BYTES = 256 * 1024;

/** Copies the announced size of a file, even if the file grows in the meantime. */
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
    if (bytesRead === 0) throw conflict(`${path} changed while being read`, { hint: 'try again' });
    const content = buffer.subarray(0, bytesRead);
    hash.update(content);
    await copied.writeFile(content);
    at += bytesRead;
  }
}
