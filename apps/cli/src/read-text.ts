import { readFile } from 'node:fs/promises';
import { invalid, messageOf } from '@toolhive/contract/failure';

/** Reads a file that a flag names; `what` says which one that is when it cannot be read. */
export async function readText(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw invalid(`${what} ${path} cannot be read: ${messageOf(cause)}`, { cause });
  }
}
