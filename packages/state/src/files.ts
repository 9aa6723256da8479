import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readFile, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readBounded } from '@toolhive/contract/bounded-read';
import { notWritten } from '@toolhive/contract/system-failure';

/**
 * Writes a file atomically: into a temporary file beside it, synced, then renamed over it. Readers see the old or the
 * new content, even after a crash. Only the owner may read the file. Throws `no-space` or `unavailable`, with the
 * path, if the file cannot be written.
 */
export async function writeWhole(path: string, content: string | Uint8Array): Promise<void> {
  const temporary = join(dirname(path), `.${randomBytes(6).toString('hex')}.tmp`);
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o750 });
    await writeSynced(temporary, content);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {}); // the next start removes the file
    throw notWritten(`cannot write ${path}`, error);
  }
  await syncDirectory(dirname(path));
}

/** Removes a file, if it exists. Throws `unavailable`, with the path, if it cannot be removed. */
export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true }).catch((error: unknown) => {
    throw notWritten(`cannot remove ${path}`, error);
  });
}

/** Removes the temporary files of a killed daemon. No process may be writing to the directory. */
export async function removeTemporaries(directory: string): Promise<void> {
  for (const file of await filesIn(directory)) {
    if (temporaryName.test(file)) await rm(join(directory, file), { recursive: true, force: true });
  }
}

const temporaryName = /^\.[0-9a-f]{12}\.tmp$/;

async function writeSynced(path: string, content: string | Uint8Array): Promise<void> {
  await using file = await open(path, 'wx', 0o600);
  await file.writeFile(content);
  await file.sync();
}

/** Makes a rename survive a power cut. File systems that cannot do that for directories say so, harmlessly. */
async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, 'r');
  await directory.sync().catch(() => {});
}

/** The sorted file names in a directory. Empty if the directory does not exist. */
export async function filesIn(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).toSorted();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** The text of a file, or undefined when there is none. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

interface ReadLimits {
  maxBytes: number;
  notAFile: () => Error;
  tooLarge: () => Error;
}

/** Reads a file that others may have put there. A pipe or a device is refused without waiting for its other end. */
export async function readBoundedFile(
  path: string,
  { maxBytes, notAFile, tooLarge }: ReadLimits,
): Promise<Buffer> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await file.stat();
  if (!stats.isFile()) throw notAFile();
  if (stats.size > maxBytes) throw tooLarge();
  const bytes = await readBounded(file.createReadStream({ autoClose: false }), maxBytes, tooLarge); // it may grow
  return Buffer.from(bytes.buffer);
}
