import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { readBounded } from '@toolhive/contract/bounded-read';
import { invalid } from '@toolhive/contract/failure';

/** What no secret reaches, and far less than a device or a pipe would give. */
const maxBytes = 1024 * 1024;

/** Reads a secret from a file, without the surrounding white space. Errors never quote the content. */
export async function readSecretFile(path: string): Promise<string> {
  if (!isAbsolute(path)) throw invalid('the path of a secret file must be absolute');
  // Opened so that a pipe or a device does not block.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(
    (cause: NodeJS.ErrnoException) => {
      throw invalid(`${path} cannot be read: ${cause.code}`, { cause });
    },
  );
  const stats = await file.stat();
  if (!stats.isFile()) throw invalid(`${path} is not a regular file`);
  const stream = file.createReadStream({ autoClose: false });
  const bytes = await readBounded(stream, maxBytes, () =>
    invalid(`${path} is larger than ${maxBytes} bytes`),
  );
  const value = new TextDecoder().decode(bytes).trim();
  if (value === '') throw invalid(`${path} is empty`);
  return value;
}
