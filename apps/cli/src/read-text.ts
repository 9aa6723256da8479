import { readFile } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { invalid, messageOf, tooLarge } from '@toolhive/contract/failure';

/** Reads a file that a flag names; `what` says which one that is when it cannot be read. */
export async function readText(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw invalid(`${what} ${path} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

/** More than any secret or configuration may have; this is only about memory. */
const mostCharacters = 1024 * 1024;

/** Reads all of standard input. */
export async function readStandardInput(signal: AbortSignal): Promise<string> {
  addAbortSignal(signal, process.stdin);
  process.stdin.setEncoding('utf8');
  let text = '';
  for await (const piece of process.stdin) {
    text += String(piece);
    if (text.length > mostCharacters) throw tooLarge('standard input has more than 1 MiB');
  }
  return text;
}
