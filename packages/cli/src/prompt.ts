import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { cancelled } from '@toolhive/contract/failure';
import type { ThvError } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import { standardError } from './standard-streams.ts';

/** Whether a user can answer: questions and answers both need a terminal. */
export function canAsk(): boolean {
  return process.stdin.isTTY && standardError.isTerminal;
}

/**
 * Asks before an irreversible operation. Throws `cancelled` unless the user agrees. Without a terminal, continues,
 * or, if `unanswered` describes the missing answer, reads it from standard input.
 */
export async function confirm(
  question: string,
  { signal, unanswered }: { signal: AbortSignal; unanswered?: ThvError },
): Promise<void> {
  if (!canAsk() && unanswered === undefined) return;
  const answer = await ask(`${question} [y/N]`, { signal }).catch((thrown: unknown) => {
    throw canAsk() || signal.aborted ? thrown : unanswered;
  });
  if (!/^y(es)?$/i.test(answer.trim())) throw cancelled('nothing was done');
}

/** Asks for a line. A `hidden` answer is not shown. */
export async function ask(
  question: string,
  { signal, hidden = false }: { signal: AbortSignal; hidden?: boolean },
): Promise<string> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  // The line editor echoes to its output, so without an output nothing is shown.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const editor = createInterface({
    input: process.stdin,
    output: hidden ? nowhere : standardError.stream,
    prompt: '',
    terminal: canAsk(),
    historySize: 0,
  });
  // Only now, as the editor has turned the echo of the terminal off: some people type fast.
  standardError.write(`${printable(question)} `);
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
    // Without a terminal, no Enter has ended the line of the question.
    if (hidden || !canAsk()) standardError.write('\n');
  }
}
