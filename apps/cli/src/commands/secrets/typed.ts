import { invalid } from '@toolhive/contract/failure';
import { ask, canAsk } from '../../prompt.ts';
import { readStandardInput } from '../../read-text.ts';

/**
 * What somebody types without showing it; or, when standard input is no terminal, all that comes from there, without
 * a newline at its end.
 */
export async function readHidden(question: string, { signal }: { signal: AbortSignal }): Promise<string> {
  if (canAsk()) return ask(question, { signal, hidden: true });
  if (process.stdin.isTTY) throw noTerminal('write it to standard input');
  return (await readStandardInput(signal)).replace(/\r?\n$/, '');
}

/** Nobody can be asked, and it is said what to do instead. */
export function noTerminal(hint: string): Error {
  return invalid('there is no terminal to ask on', { hint });
}
