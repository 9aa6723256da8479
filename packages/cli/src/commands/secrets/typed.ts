import { invalid } from '@toolhive/contract/failure';
import { ask, canAsk } from '../../prompt.ts';
import { readStandardInput } from '../../read-text.ts';

/** Hidden input from a terminal. Without a terminal, the complete standard input without a final newline. */
export async function readHidden(question: string, { signal }: { signal: AbortSignal }): Promise<string> {
  if (canAsk()) return ask(question, { signal, hidden: true });
  if (process.stdin.isTTY) throw noTerminal('write it to standard input');
  return (await readStandardInput(signal)).replace(/\r?\n$/, '');
}

/** Without a terminal, throws with an alternative. */
export function noTerminal(hint: string): Error {
  return invalid('no terminal available', { hint });
}
