import { lstat, mkdir } from 'node:fs/promises';
import { unavailable } from '@toolhive/contract/failure';

/**
 * Creates a directory in a place that others can write to. Throws `unavailable` unless only this user can access the
 * directory, because another user may have created it first.
 */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await requirePrivateDirectory(path);
}

/** Throws `unavailable` if the directory exists and other users can write to it. */
export async function requirePrivateDirectory(path: string): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found === undefined) return;
  const isOwn = found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
  if (isOwn) return;
  throw unavailable(`${path} is not a directory that only this user can access`, {
    hint: 'remove it, or set XDG_STATE_HOME to a shorter path, so that the socket fits into the state directory',
  });
}
