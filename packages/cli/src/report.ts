import { ThvError, messageOf } from '@toolhive/contract/failure';
import type { FailureKind } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import { standardError } from './standard-streams.ts';
import { eraseLine, harmlessJson } from './out.ts';
import type { OutputFormat } from './out.ts';

/** The exit codes of specific failures. Every other failure is 1. */
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

/** Any error, for programs. */
export interface Failure {
  kind: FailureKind | 'internal';
  message: string;
  hint?: string | undefined;
}

/** Reports an error to programs, in the format of an API progress stream. */
export function failureOf(thrown: unknown): Failure {
  const message = messageOf(thrown);
  if (!(thrown instanceof ThvError)) return { kind: 'internal', message };
  return { kind: thrown.kind, message, hint: thrown.hint };
}

/** Prints an error and its fix, and returns the exit code. With `debug`, prints the cause, too. */
export function reportFailure(
  thrown: unknown,
  { debug, format }: { debug: boolean; format: OutputFormat },
): number {
  if (format === 'json') {
    const line = harmlessJson({ ...failureOf(thrown), ...(debug ? { reasons: reasonsOf(thrown) } : {}) });
    standardError.write(`${standardError.isTerminal ? eraseLine : ''}${line}\n`);
    return thrown instanceof ThvError ? exitCodeOf(thrown.kind) : 1;
  }
  const message = printable(messageOf(thrown));
  // A progress step may still be on the terminal's last line.
  standardError.write(`${standardError.isTerminal ? eraseLine : ''}Error: ${message}\n`);
  if (debug) for (const reason of reasonsOf(thrown)) standardError.write(`Reason: ${printable(reason)}\n`);
  if (!(thrown instanceof ThvError)) return 1;
  if (thrown.hint !== undefined) standardError.write(`Hint: ${printable(thrown.hint)}\n`);
  return exitCodeOf(thrown.kind);
}

/** What was behind a failure, step by step. Causes may go in circles, so there are not many. */
function reasonsOf(thrown: unknown): string[] {
  const reasons: string[] = [];
  let cause = thrown instanceof Error ? thrown.cause : undefined;
  while (cause !== undefined && reasons.length < 10) {
    reasons.push(messageOf(cause));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return reasons;
}
