import { readdir, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { conflict, invalid, tooLarge } from '@toolhive/contract/failure';
import { pack, type Pack } from 'tar-stream';
import { openInner } from '../inner-file.ts';
import { CERTIFICATES, DOCKERFILE } from './dockerfile.ts';

const MAX_CONTEXT_BYTES = 256 * 1024 * 1024;
/** What a build never needs and what may be huge or private. */
const LEFT_OUT = new Set(['.git', 'node_modules', '.env']);

/** What goes into an archive beside the Dockerfile. */
export interface ContextParts {
  /** Of this everything. */
  folder?: string | undefined;
  /** Whom to trust while it is built, as PEM. */
  certificates?: string | undefined;
}

/** An archive of a Dockerfile and what belongs to it. Nothing is written to disk. */
export async function buildContext(
  dockerfile: string,
  { folder, certificates }: ContextParts = {},
): Promise<Readable> {
  if (folder !== undefined && !(await isFolder(folder))) {
    throw invalid(`${folder} is not a folder`, { hint: 'name the folder of a Go module' });
  }
  const archive = pack();
  archive.entry({ name: DOCKERFILE, mode: 0o644 }, dockerfile);
  if (certificates !== undefined) archive.entry({ name: CERTIFICATES, mode: 0o644 }, certificates);
  // Whoever reads the archive gets the error; nobody else waits for this.
  void (folder === undefined ? Promise.resolve() : addFolder(archive, folder)).then(
    () => archive.finalize(),
    (error: Error) => archive.destroy(error),
  );
  return Readable.from(archive);
}

async function addFolder(archive: Pack, root: string): Promise<void> {
  let bytes = 0;
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(root.length).replace(/^\/+/, '');
    if (name.split('/').some((part) => LEFT_OUT.has(part))) continue;
    if (entry.isSymbolicLink()) {
      archive.entry({ name, type: 'symlink', linkname: await readlink(path) });
    } else if (entry.isFile()) {
      // A server may have been granted the folder: what it puts in the place of the file is not read.
      await using file = await openInner(root, name);
      if (file === undefined) throw conflict(`${path} was replaced while it was read`, { hint: 'try again' });
      const { mode, size } = await file.stat();
      bytes += size;
      if (bytes > MAX_CONTEXT_BYTES) {
        throw tooLarge(`${root} holds more than ${MAX_CONTEXT_BYTES / 1024 ** 2} MiB`, {
          hint: 'name the folder of the Go module alone',
        });
      }
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
      const content = buffer.subarray(0, bytesRead);
      await new Promise<void>((resolve, reject) => {
        archive.entry({ name, mode: mode & 0o777 }, content, (error) => (error ? reject(error) : resolve()));
      });
    }
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}
