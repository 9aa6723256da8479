import { type FileHandle, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { Readable } from 'node:stream';
import { conflict } from '@toolhive/contract/failure';
import { pack, type Pack } from 'tar-stream';
import { openInner } from '../inner-file.ts';
import { localEntries, requireSmall } from '../local-files.ts';
import { CERTIFICATES, DOCKERFILE } from './dockerfile.ts';

/** What goes into an archive beside the Dockerfile. */
export interface ContextParts {
  local?: LocalFiles | undefined;
  /** The certificate authorities to trust during the build, as PEM. */
  certificates?: string | undefined;
}

/** A local package: a directory or a file by its path without links, and the name that the file has in the archive. */
export interface LocalFiles {
  path: string;
  name: string;
}

/** An archive with a Dockerfile and the files that it needs. Nothing is written to disk. */
export async function buildContext(
  dockerfile: string,
  { local, certificates }: ContextParts = {},
  signal?: AbortSignal,
): Promise<Readable> {
  const archive = pack();
  archive.entry({ name: DOCKERFILE, mode: 0o644 }, dockerfile);
  if (certificates !== undefined) archive.entry({ name: CERTIFICATES, mode: 0o644 }, certificates);
  // The reader of the archive receives the error, and no other code waits for this promise.
  void (local === undefined ? Promise.resolve() : addLocal(archive, local, signal)).then(
    () => archive.finalize(),
    (error: Error) => archive.destroy(error),
  );
  return Readable.from(archive);
}

async function addLocal(
  archive: Pack,
  { path, name }: LocalFiles,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!(await stat(path)).isDirectory()) {
    await using file = await openInner(dirname(path), basename(path));
    if (file === undefined) throw conflict(`${path} was replaced while being read`, { hint: 'try again' });
    const { size } = await file.stat();
    requireSmall(path, size);
    return addFile(archive, file, { path: name, size, isExecutable: false });
  }
  for await (const entry of localEntries(path, path, signal)) {
    if (entry.kind === 'file') await addFile(archive, entry.file, entry);
    else archive.entry({ name: entry.path, type: 'symlink', linkname: entry.target });
  }
}

async function addFile(
  archive: Pack,
  file: FileHandle,
  { path, size, isExecutable }: { path: string; size: number; isExecutable: boolean },
): Promise<void> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
  const header = { name: path, mode: isExecutable ? 0o755 : 0o644 };
  await new Promise<void>((resolve, reject) => {
    archive.entry(header, buffer.subarray(0, bytesRead), (error) => (error ? reject(error) : resolve()));
  });
}
