import { addAbortSignal } from 'node:stream';
import { invalid, tooLarge } from '@toolhive/contract/failure';
import { ask, canAsk } from '../../prompt.ts';

/**
 * What somebody types without showing it; or, when standard input is no terminal, all that comes from there, without
 * a newline at its end.
 */
export async function readHidden(question: string, { signal }: { signal: AbortSignal }): Promise<string> {
  if (canAsk()) return ask(question, { signal, hidden: true });
  if (process.stdin.isTTY) throw noTerminal('write it to standard input');
  return (await readAll(signal)).replace(/\r?\n$/, '');
}

/** Nobody can be asked, and it is said what to do instead. */
export function noTerminal(hint: string): Error {
  return invalid('there is no terminal to ask on', { hint });
}

/** More than any secret may have; the daemon knows the limit, and this is only about memory. */
const mostCharacters = 1024 * 1024;

async function readAll(signal: AbortSignal): Promise<string> {
  addAbortSignal(signal, process.stdin);
  process.stdin.setEncoding('utf8');
  let text = '';
  for await (const piece of process.stdin) {
    text += String(piece);
    if (text.length > mostCharacters) throw tooLarge('standard input has more than 1 MiB');
  }
  return text;
}
