/**
 * What can go wrong for a caller, in the product's words. Each kind maps to one HTTP status (in the API)
 * and one exit code (in the CLI); nothing else in the product mentions either.
 */
export const failureKinds = [
  'invalid',
  'unauthorized',
  'forbidden',
  'not-found',
  'unsupported',
  'conflict',
  'precondition-failed',
  'too-large',
  'unsupported-media-type',
  'too-many-requests',
  'not-implemented',
  'unavailable',
  'no-space',
  'timeout',
  'cancelled',
] as const;

export type FailureKind = (typeof failureKinds)[number];

/**
 * The one error of the product: a kind for programs, a message for a person, and perhaps a hint that says
 * what to do. Messages start in lower case, name the thing, and never hold secrets.
 * Anything thrown that is not a `ThvError` is a bug.
 */
export class ThvError extends Error {
  override readonly name = 'ThvError';
  readonly kind: FailureKind;
  readonly hint: string | undefined;
  /** The parts of the request that caused the failure, if they are known. */
  readonly problems: readonly InputProblem[];

  constructor(kind: FailureKind, message: string, details: FailureDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.hint = details.hint;
    this.problems = details.problems ?? [];
  }
}

/** A wrong part of a request. */
export interface InputProblem {
  /** The field of the request body, as a JSON pointer (RFC 6901). */
  pointer?: string | undefined;
  /** The name of the path parameter, query parameter, or header, for a problem outside the body. */
  parameter?: string | undefined;
  detail: string;
}

export interface FailureDetails {
  /** What the reader can do about it, as a sentence without a full stop. */
  hint?: string | undefined;
  problems?: readonly InputProblem[] | undefined;
  cause?: unknown;
}

type Failure = (message: string, details?: FailureDetails) => ThvError;

const failure =
  (kind: FailureKind): Failure =>
  (message, details) =>
    new ThvError(kind, message, details);

/** The request itself is wrong: a field, a name, a combination. */
export const invalid = failure('invalid');
/** The named thing does not exist. */
export const notFound = failure('not-found');
/** The name is taken, or the present state forbids it. */
export const conflict = failure('conflict');
/** The thing is not in the state that the caller names as the condition of the request. */
export const preconditionFailed = failure('precondition-failed');
/** The thing exists, and this cannot be done with it. */
export const unsupported = failure('unsupported');
/** The caller may not do this, whoever it is. */
export const forbidden = failure('forbidden');
/** The request is larger or deeper than the product accepts. */
export const tooLarge = failure('too-large');
/** The body is not of the media type that the operation takes. */
export const unsupportedMediaType = failure('unsupported-media-type');
/** The caller asks more often than the product answers. */
export const tooManyRequests = failure('too-many-requests');
/** The caller has not shown who it is, or not credibly. */
export const unauthorized = failure('unauthorized');
/** Part of the product that does not exist yet. */
export const notImplemented = failure('not-implemented');
/** Something the product needs is not there right now: a runtime, a tool chain, a network. */
export const unavailable = failure('unavailable');
/** The disk that the product writes to is full. */
export const noSpace = failure('no-space');
/** Something took longer than it may. */
export const timedOut = failure('timeout');
/** The caller gave up. */
export const cancelled = failure('cancelled');

/** The failures that a change of the request can fix. */
const fixableKinds: ReadonlySet<FailureKind> = new Set(['invalid', 'not-found', 'conflict', 'unsupported']);

/** Runs a check of one field of the request body, and adds the JSON pointer of the field to a failure of the check. */
export async function checkField<Result>(
  pointer: string,
  check: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await check();
  } catch (thrown) {
    if (!(thrown instanceof ThvError) || thrown.problems.length > 0 || !fixableKinds.has(thrown.kind))
      throw thrown;
    const { kind, message, hint, cause } = thrown;
    throw new ThvError(kind, message, { hint, cause, problems: [{ pointer, detail: message }] });
  }
}

/** The message of whatever was thrown, for a log line or a `cause` that a person reads. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
