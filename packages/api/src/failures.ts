import { ThvError, invalid } from '@toolhive/contract/failure';
import type { FailureKind } from '@toolhive/contract/failure';
import { failureStatus, internalFailure, writeFailure } from '@toolhive/contract/wire';
import type { Logger } from 'pino';
import { ZodError } from 'zod';

/** Turns whatever was thrown into an answer: its status, and its message as plain text. */
export function failureResponse(thrown: unknown, log: Logger): Response {
  const failure = expectedFailure(thrown);
  const headers: Record<string, string> = {
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
  };
  if (failure !== undefined) {
    return new Response(writeFailure(failure), {
      status: failureStatus[failure.kind].status,
      headers: { ...headers, ...extraHeaders[failure.kind] },
    });
  }
  log.error({ err: thrown }, 'unexpected failure');
  return new Response(`${internalFailure.text}\n`, { status: internalFailure.status, headers });
}

/** What the standards ask answers of some kinds to say beside their text (RFC 9110, RFC 6750). */
const extraHeaders: Partial<Record<FailureKind, Record<string, string>>> = {
  unauthorized: { 'www-authenticate': 'Bearer realm="toolhive"' },
  'too-many-requests': { 'retry-after': '1' },
};

/** The failure that may be told to a caller; undefined for a bug. */
export function expectedFailure(thrown: unknown): ThvError | undefined {
  if (thrown instanceof ThvError) return thrown;
  if (thrown instanceof ZodError) return invalidInput(thrown);
  return undefined;
}

/** What was wrong with an input, field by field, in one line. */
function invalidInput(error: ZodError): ThvError {
  const problems = error.issues
    .slice(0, 5)
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`));
  return invalid(problems.join('; '), { cause: error });
}
