import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Opens a regular file in a directory that another party can write to. Returns undefined for a link, a pipe, another
 * kind of file, or a path outside the directory.
 */
export async function openInner(directory: string, path: string): Promise<FileHandle | undefined> {
  const root = await realpath(directory);
  const isInside = (place: string | undefined) => place?.startsWith(`${root}/`) === true;
  const real = await realpath(join(root, path)).catch(() => undefined);
  if (real === undefined || !isInside(real)) return undefined;
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(real, flags).catch(() => undefined);
  if (file === undefined) return undefined;
  // Directories on the way may have been replaced by links meanwhile. Where there is no /proc, that is not noticed.
  const opened = await realpath(`/proc/self/fd/${file.fd}`).catch(() => real);
  if (isInside(opened) && (await file.stat()).isFile()) return file;
  await file.close();
  return undefined;
}
