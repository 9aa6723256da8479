import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { cancelled } from '@toolhive/contract/failure';
import type { ThvError } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';

/** Whether a person can be asked: both what is asked and what is typed go through a terminal. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/**
 * Asks before something that cannot be undone; throws `cancelled` unless the answer is a yes. Without a terminal it goes
 * on; or, where `unanswered` says what is wrong without an answer, that is read from standard input.
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
    terminal: canAsk(),
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
    // Without a terminal, no Enter has ended the line of the question.
    if (hidden || !canAsk()) process.stderr.write('\n');
  }
}
