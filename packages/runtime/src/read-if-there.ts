import { readFile } from 'node:fs/promises';

/** The text of a file. Empty if there is none, or if it cannot be read. */
export function readIfThere(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}
