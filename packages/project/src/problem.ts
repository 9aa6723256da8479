import { ThvError } from '@toolhive/contract/failure';

/** Returns the problem that an error describes. Throws any other error. */
export function problemOf(thrown: unknown): { problem: string; hint?: string } {
  if (!(thrown instanceof ThvError)) throw thrown;
  const { message: problem, hint } = thrown;
  return { problem, ...(hint === undefined ? {} : { hint }) };
}
