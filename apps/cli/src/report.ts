import { ThvError, messageOf } from '@toolhive/contract/failure';
import type { FailureKind } from '@toolhive/contract/failure';
import { eraseLine, printable } from './out.ts';

/** The exit codes that programs may tell failures apart by; every other failure is 1. */
const exitCodes: Partial<Record<FailureKind, number>> = {
  invalid: 2,
  conflict: 3,
  'not-found': 4,
  unavailable: 5,
  cancelled: 130,
};

/** The exit code of a kind of failure. */
export function exitCodeOf(kind: FailureKind): number {
  return exitCodes[kind] ?? 1;
}

/** Prints what went wrong and what to do about it, and gives the exit code. */
export function reportFailure(thrown: unknown): number {
  const message = printable(messageOf(thrown));
  // A step of something that took time may still stand in the last line of a terminal.
  process.stderr.write(`${process.stderr.isTTY ? eraseLine : ''}Error: ${message}\n`);
  if (!(thrown instanceof ThvError)) return 1;
  if (thrown.hint !== undefined) process.stderr.write(`Hint: ${printable(thrown.hint)}\n`);
  return exitCodeOf(thrown.kind);
}
