import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { cancelled } from '@toolhive/contract/failure';
import { printable } from './out.ts';

/** Whether a person can be asked: both what is asked and what is typed go through a terminal. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Asks a person who can be asked before something that cannot be undone; throws `cancelled` unless it is a yes. */
export async function confirm(question: string, { signal }: { signal: AbortSignal }): Promise<void> {
  if (!canAsk()) return;
  const answer = await ask(`${question} [y/N]`, { signal });
  if (!/^y(es)?$/i.test(answer.trim())) throw cancelled('nothing was done');
}

/** Asks for a line. What is typed is not shown when it is `hidden`. */
export async function ask(
  question: string,
  { signal, hidden = false }: { signal: AbortSignal; hidden?: boolean },
): Promise<string> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  // The line editor echoes to its output; given none, nothing that is typed is seen.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const editor = createInterface({
    input: process.stdin,
    output: hidden ? nowhere : process.stderr,
    prompt: '',
    terminal: true,
    historySize: 0,
  });
  // Only now, as the editor has turned the echo of the terminal off: some people type fast.
  process.stderr.write(`${printable(question)} `);
  const giveUp = (): void => reject(cancelled('nothing was answered'));
  editor.once('line', resolve);
  editor.once('SIGINT', giveUp);
  editor.once('close', giveUp);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', giveUp);
    editor.close();
    if (hidden) process.stderr.write('\n');
  }
}
