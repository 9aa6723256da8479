import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { writeWhole } from './files.ts';

const keyBytes = 32;

/**
 * Returns a secret key of this installation, and creates the key if the file has none. Only the owner can read the file.
 * Throws `unavailable` if the key cannot be stored.
 */
export async function ownKey(path: string): Promise<Uint8Array> {
  const stored = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (stored?.length === keyBytes && stored.some((byte) => byte !== 0)) return stored; // zeros are what a power cut leaves
  const key = randomBytes(keyBytes);
  await writeWhole(path, key);
  return key;
}
