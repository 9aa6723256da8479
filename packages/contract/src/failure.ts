import type { Fix } from './schemas/fix.ts';

/**
 * The kinds of failures. Each kind maps to one HTTP status (in the API)
 * and one exit code (in the CLI). No other code refers to statuses or exit codes.
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
 * The error class of ToolHive: a kind for programs, a message for users, and an optional hint that describes a fix.
 * Messages start in lower case, name the object, and never contain secrets.
 * Anything thrown that is not a `ThvError` is a bug.
 */
export class ThvError extends Error {
  override readonly name = 'ThvError';
  readonly kind: FailureKind;
  readonly hint: string | undefined;
  /** The operations for what the hint says. */
  readonly fixes: readonly Fix[];
  /** The parts of the request that caused the failure, if they are known. */
  readonly problems: readonly InputProblem[];

  constructor(kind: FailureKind, message: string, details: FailureDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.hint = details.hint;
    this.fixes = details.fixes ?? [];
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
  /** An action that fixes the problem, as a sentence without a period. */
  hint?: string | undefined;
  fixes?: readonly Fix[] | undefined;
  problems?: readonly InputProblem[] | undefined;
  cause?: unknown;
}

type Failure = (message: string, details?: FailureDetails) => ThvError;

const failure =
  (kind: FailureKind): Failure =>
  (message, details) =>
    new ThvError(kind, message, details);

/** The request is invalid, for example a field, a name, or a combination. */
export const invalid = failure('invalid');
/** The named object does not exist. */
export const notFound = failure('not-found');
/** The name is taken, or the current state does not allow the operation. */
export const conflict = failure('conflict');
/** The object is not in the state that the request requires. */
export const preconditionFailed = failure('precondition-failed');
/** The object exists but does not support the operation. */
export const unsupported = failure('unsupported');
/** The caller is not allowed to do this. */
export const forbidden = failure('forbidden');
/** The request is larger or deeper than ToolHive accepts. */
export const tooLarge = failure('too-large');
/** The body has a media type that the operation does not accept. */
export const unsupportedMediaType = failure('unsupported-media-type');
/** The caller exceeds the rate limit. */
export const tooManyRequests = failure('too-many-requests');
/** The caller is not authenticated. */
export const unauthorized = failure('unauthorized');
/** The feature is not available yet. */
export const notImplemented = failure('not-implemented');
/** A required runtime, tool chain, or network is not available. */
export const unavailable = failure('unavailable');
/** The disk is full. */
export const noSpace = failure('no-space');
/** The time limit was exceeded. */
export const timedOut = failure('timeout');
/** The caller canceled the operation. */
export const cancelled = failure('cancelled');

/** An invalid field of the request body, with its JSON pointer (RFC 6901). */
export function invalidField(pointer: string, message: string, details: FailureDetails = {}): ThvError {
  return invalid(message, { ...details, problems: [{ pointer, detail: message }] });
}

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
    const { kind, message, hint, fixes, cause } = thrown;
    throw new ThvError(kind, message, { hint, fixes, cause, problems: [{ pointer, detail: message }] });
  }
}

/** Returns the message of a thrown value, for a log line or a `cause`. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
