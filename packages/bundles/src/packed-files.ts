import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { readBounded } from '@toolhive/contract/bounded-read';
import { conflict, tooLarge } from '@toolhive/contract/failure';

const WITHOUT_WAITING = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * Reads a small file of a directory that may come from others, with links to devices and pipes in it. Undefined if it is not a
 * file.
 */
export async function readSmall(path: string, maxBytes: number): Promise<Buffer | undefined> {
  await using file = await open(path, WITHOUT_WAITING).catch(() => undefined);
  if (file === undefined || !(await file.stat()).isFile()) return undefined;
  const excess = (): Error => tooLarge(`${path} is larger than ${maxBytes / 1024 ** 2} MiB`);
  const bytes = await readBounded(file.createReadStream({ autoClose: false }), maxBytes, excess);
  return Buffer.from(bytes.buffer);
}

/** The first bytes of a file. None if it is not a file. */
export async function beginningOf(path: string, bytes: number): Promise<Buffer> {
  await using file = await open(path, WITHOUT_WAITING).catch(() => undefined);
  if (file === undefined || !(await file.stat()).isFile()) return Buffer.alloc(0);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0);
  return buffer.subarray(0, bytesRead);
}

/**
 * Opens a file that was found in a directory without links. Another program may have put a link to a file of the user in its
 * place meanwhile, or in the place of a directory above it.
 */
export async function openFound(path: string, root: string): Promise<FileHandle> {
  const replaced = (cause?: unknown): Error =>
    conflict(`${path} was replaced while the bundle was packed`, { hint: 'try again', cause });
  const file = await open(path, WITHOUT_WAITING | constants.O_NOFOLLOW).catch((cause: unknown) => {
    throw replaced(cause);
  });
  // Where there is no /proc, a replaced directory is not noticed.
  const opened = await realpath(`/proc/self/fd/${file.fd}`).catch(() => `${root}/`);
  if (opened.startsWith(`${root}/`) && (await file.stat()).isFile()) return file;
  await file.close();
  throw replaced();
}
