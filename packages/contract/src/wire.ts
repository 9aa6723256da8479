import { ThvError, failureKinds } from './failure.ts';
import type { FailureKind, InputProblem } from './failure.ts';
import type { Fix } from './schemas/fix.ts';
import type { Problem } from './schemas/problem.ts';

/** The base path of all versioned operations. */
export const apiBase = '/api/v1beta';

/** The HTTP status of each kind of failure, the name of that status, and its meaning here. Each status has one kind. */
export const failureStatus: Record<FailureKind, { status: number; title: string; meaning: string }> = {
  invalid: {
    status: 400,
    title: 'Bad Request',
    meaning: 'The request is invalid. The body describes the problem.',
  },
  unauthorized: { status: 401, title: 'Unauthorized', meaning: 'The request carries no valid credentials.' },
  forbidden: {
    status: 403,
    title: 'Forbidden',
    meaning: 'The caller is not allowed to send this request.',
  },
  'not-found': { status: 404, title: 'Not Found', meaning: 'The requested resource does not exist.' },
  unsupported: {
    status: 405,
    title: 'Method Not Allowed',
    meaning: 'The resource does not support this operation.',
  },
  timeout: { status: 504, title: 'Gateway Timeout', meaning: 'The operation exceeded its time limit.' },
  conflict: {
    status: 409,
    title: 'Conflict',
    meaning: 'The name is in use, or the current state does not allow the operation.',
  },
  'precondition-failed': {
    status: 412,
    title: 'Precondition Failed',
    meaning: 'Another caller changed the resource, so If-Match does not contain its current ETag.',
  },
  'too-large': { status: 413, title: 'Content Too Large', meaning: 'The request body is too large.' },
  'unsupported-media-type': {
    status: 415,
    title: 'Unsupported Media Type',
    meaning: 'The request body is not application/json.',
  },
  'too-many-requests': {
    status: 429,
    title: 'Too Many Requests',
    meaning: 'Too many requests. Retry-After contains the time to wait, in seconds.',
  },
  'not-implemented': {
    status: 501,
    title: 'Not Implemented',
    meaning: 'The operation is not implemented.',
  },
  unavailable: {
    status: 503,
    title: 'Service Unavailable',
    meaning: 'A required program or service is not available.',
  },
  'no-space': {
    status: 507,
    title: 'Insufficient Storage',
    meaning: 'The disk is full. The body contains the path.',
  },
  cancelled: { status: 499, title: 'Client Closed Request', meaning: 'The caller canceled the request.' },
};

/** A bug in the daemon. The response contains no details. */
export const internalFailure = {
  status: 500,
  title: 'Internal Server Error',
  text: 'internal server error',
} as const;

/** A failure as the plain text of an error response. */
export function writeFailure(failure: ThvError): string {
  return failure.hint === undefined ? `${failure.message}\n` : `${failure.message}\nhint: ${failure.hint}\n`;
}

/** Returns the failure of an error response, the reverse of `writeFailure` and `failureStatus`. */
export function readFailure(status: number, text: string): Error {
  const kind = failureKinds.find((candidate) => failureStatus[candidate].status === status);
  const [message = '', hint] = text.trimEnd().split('\nhint: ');
  if (kind === undefined) return new Error(message || `the daemon returned status ${status}`);
  return new ThvError(kind, message || failureStatus[kind].meaning, { hint });
}

/** The media type of an error as problem details (RFC 9457). */
export const problemMediaType = 'application/problem+json';

/** A failure as problem details. Without a failure, those of a bug. */
export function writeProblem(failure: ThvError | undefined): Problem {
  const type = 'about:blank';
  if (failure === undefined) {
    const { title, status, text } = internalFailure;
    return { type, title, status, detail: text, kind: 'internal' };
  }
  const { kind, message, hint, fixes, problems } = failure;
  const { title, status } = failureStatus[kind];
  return {
    type,
    title,
    status,
    detail: message,
    kind,
    ...(hint === undefined ? {} : { hint }),
    ...(fixes.length === 0 ? {} : { fixes: [...fixes] }),
    ...(problems.length === 0 ? {} : { errors: [...problems] }),
  };
}

/** Returns the failure of problem details, the reverse of `writeProblem`. */
export function readProblem({ kind, detail, hint, fixes, errors }: Problem): Error {
  return kind === 'internal'
    ? new Error(detail)
    : new ThvError(kind, detail, { hint, fixes, problems: errors });
}

/**
 * A line of a progress stream (`application/x-ndjson`): any number of `progress`, among them one `accepted` if
 * the operation continues in the background, then a `result` or a `failure`.
 */
export type ProgressLine<Result> =
  { progress: string } | { accepted: Result } | { result: Result } | { failure: FailureLine };

/** A failure in a progress stream. */
export interface FailureLine {
  kind: FailureKind | 'internal';
  message: string;
  hint?: string | undefined;
  fixes?: readonly Fix[] | undefined;
  errors?: readonly InputProblem[] | undefined;
}

/** The media type that asks for a progress stream instead of a single answer. */
export const progressMediaType = 'application/x-ndjson';
