import * as z from 'zod';

const Status = z.looseObject({
  kind: z.literal('Status'),
  status: z.string().optional(),
  message: z.string().optional(),
  reason: z.string().optional(),
  code: z.int().optional(),
  details: z.looseObject({ retryAfterSeconds: z.number().optional() }).nullish(),
});

/** An answer of the API server, usually a refusal. `code` is the HTTP status, `reason` its name in the Kubernetes API. */
export class ApiStatus extends Error {
  override readonly name = 'ApiStatus';
  readonly code: number;
  /** For example `NotFound`, `AlreadyExists`, `Conflict`, `Expired`, or an empty string. */
  readonly reason: string;
  /** The delay that the server asked for, in seconds. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: number, reason: string, message: string, retryAfterSeconds?: number) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Converts a response body, or the object of an `ERROR` event, to an error. `code` applies if the body has none. */
export function statusOf(body: unknown, code = 500, retryAfterSeconds?: number): ApiStatus {
  const parsed = Status.safeParse(typeof body === 'string' ? jsonOf(body) : body);
  if (!parsed.success) {
    const text = typeof body === 'string' ? body.trim().slice(0, 500) : '';
    return new ApiStatus(code, '', text === '' ? `the API server answered ${code}` : text, retryAfterSeconds);
  }
  const { status, message = '', reason = '', details } = parsed.data;
  if (status === 'Success') return new ApiStatus(200, reason, message);
  return new ApiStatus(
    parsed.data.code ?? code,
    reason,
    message === '' ? `the API server answered ${parsed.data.code ?? code}` : message,
    details?.retryAfterSeconds ?? retryAfterSeconds,
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a proxy in between answered with text
  }
}

const hasCode =
  (...codes: number[]) =>
  (error: unknown): error is ApiStatus =>
    error instanceof ApiStatus && codes.includes(error.code);

/** Whether the object or its kind does not exist. */
export const isNotFound = hasCode(404);
/** Whether the object exists already, or another writer was faster. */
export const isConflict = hasCode(409);
/** Whether the version to continue from is too old. */
export const isGone = hasCode(410);
/** Whether the caller lacks a permission. */
export const isForbidden = hasCode(401, 403);
/** A field of the wrong type or without a definition is an internal error for server-side apply. */
const UNTYPED = /^failed to (create typed patch object|convert new object)\b/;

/** Whether the server refuses the content of the request. */
export function isRefused(error: unknown): error is ApiStatus {
  if (!(error instanceof ApiStatus)) return false;
  return error.code === 400 || error.code === 422 || (error.code === 500 && UNTYPED.test(error.message));
}
