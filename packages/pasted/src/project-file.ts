import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { invalid, messageOf } from '@toolhive/contract/failure';

const maxFileBytes = 4 * 1024 * 1024;

/**
 * Reads a text file of a project or an installation. These directories can come from others, and contain links to devices
 * and pipes, which never end. Throws `invalid` for anything but a file of at most `maxBytes`.
 */
export function readProjectFile(path: string, maxBytes = maxFileBytes): string {
  const file = opened(path);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw invalid(`${path} is not a file`, { hint: 'replace it with a file' });
    if (stats.size > maxBytes)
      throw invalid(`${path} is larger than ${maxBytes} bytes`, { hint: 'use a smaller file' });
    const bytes = Buffer.alloc(stats.size);
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, 0));
  } finally {
    closeSync(file);
  }
}

function opened(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    throw invalid(`${path} cannot be read: ${messageOf(cause)}`, { hint: 'check its permissions', cause });
  }
}
