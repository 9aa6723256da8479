import { readFile } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { invalid, messageOf, tooLarge } from '@toolhive/contract/failure';

/** Reads the file in a flag. `what` names the file in errors. */
export async function readText(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw invalid(`${what} ${path} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

/** More than any secret or configuration needs. Limits only the memory. */
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
