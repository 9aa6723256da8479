import { ThvError, failureKinds } from './failure.ts';
import type { FailureKind } from './failure.ts';

/** The path that every operation but the unversioned ones stands under. */
export const apiBase = '/api/v1beta';

/** The HTTP status of each kind of failure, and what that status means here. No status stands for two kinds. */
export const failureStatus: Record<FailureKind, { status: number; meaning: string }> = {
  invalid: { status: 400, meaning: 'The request is wrong; the body says what.' },
  unauthorized: { status: 401, meaning: 'The request carries no valid credentials.' },
  forbidden: { status: 403, meaning: 'The request comes from where it may not come from.' },
  'not-found': { status: 404, meaning: 'There is no such thing.' },
  unsupported: { status: 405, meaning: 'This cannot be done with it.' },
  timeout: { status: 504, meaning: 'It took longer than it may.' },
  conflict: { status: 409, meaning: 'The name is taken, or the present state forbids it.' },
  'precondition-failed': {
    status: 412,
    meaning: 'It was changed by another caller: its ETag is not one that If-Match names.',
  },
  'too-large': { status: 413, meaning: 'The body is larger than accepted.' },
  'unsupported-media-type': { status: 415, meaning: 'The body is not application/json.' },
  'too-many-requests': { status: 429, meaning: 'Too many requests; Retry-After says when to try again.' },
  'not-implemented': { status: 501, meaning: 'Not implemented.' },
  unavailable: { status: 503, meaning: 'Something that it needs is not there right now.' },
  'no-space': { status: 507, meaning: 'The disk is full; the body names the path.' },
  cancelled: { status: 499, meaning: 'The caller gave up.' },
};

/** A bug of the daemon. Nothing of it is told. */
export const internalFailure = { status: 500, text: 'internal server error' } as const;

/** A failure as the plain text of an error response. */
export function writeFailure(failure: ThvError): string {
  return failure.hint === undefined ? `${failure.message}\n` : `${failure.message}\nhint: ${failure.hint}\n`;
}

/** The failure that an error response stands for; the reverse of `writeFailure` and `failureStatus`. */
export function readFailure(status: number, text: string): Error {
  const kind = failureKinds.find((candidate) => failureStatus[candidate].status === status);
  const [message = '', hint] = text.trimEnd().split('\nhint: ');
  if (kind === undefined) return new Error(message || `the daemon answered with status ${status}`);
  return new ThvError(kind, message || failureStatus[kind].meaning, { hint });
}

/**
 * One line of a progress stream (`application/x-ndjson`): any number of `progress`; among them, once, what the
 * operation answers with when it goes on from there by itself; then one of the others.
 */
export type ProgressLine<Result> =
  | { progress: string }
  | { accepted: Result }
  | { result: Result }
  | { failure: { kind: FailureKind | 'internal'; message: string; hint?: string | undefined } };

/** The media type that asks for a progress stream instead of a single answer. */
export const progressMediaType = 'application/x-ndjson';
