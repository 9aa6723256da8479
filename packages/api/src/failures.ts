import { ThvError, invalid } from '@toolhive/contract/failure';
import type { FailureKind } from '@toolhive/contract/failure';
import { escaped } from '@toolhive/contract/printable';
import { failureStatus, internalFailure, writeFailure } from '@toolhive/contract/wire';
import type { Logger } from 'pino';
import { ZodError } from 'zod';

/** The media type of everything that is for a person to read. */
export const plainText = 'text/plain; charset=utf-8';

/** Turns whatever was thrown into an answer: its status, and its message as plain text. */
export function failureResponse(thrown: unknown, log: Logger): Response {
  const failure = expectedFailure(thrown);
  const headers = { 'content-type': plainText };
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

/** The failure as it may be told to a caller; undefined for a bug. */
export function expectedFailure(thrown: unknown): ThvError | undefined {
  const failure = thrown instanceof ZodError ? invalidInput(thrown) : thrown;
  if (!(failure instanceof ThvError)) return undefined;
  const { kind, message, hint, cause } = failure;
  return new ThvError(kind, readable(message), { hint: hint && readable(hint), cause });
}

/** Longer than anybody reads; what callers sent may stand in a message, however much it was. */
const maxTextLength = 1_500;

/** In one line, so that nothing in it passes for a hint, and without what would move a cursor or turn a text around. */
function readable(text: string): string {
  const short = text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text;
  return escaped(short.toWellFormed().replace(/\s*[\r\n]\s*/g, ' '));
}

/** What was wrong with an input, field by field, in one line. */
function invalidInput(error: ZodError): ThvError {
  const problems = error.issues
    .slice(0, 5)
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`));
  return invalid(problems.join('; '), { cause: error });
}
