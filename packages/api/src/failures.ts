import { ThvError, invalid } from '@toolhive/contract/failure';
import type { FailureKind, InputProblem } from '@toolhive/contract/failure';
import { escaped } from '@toolhive/contract/printable';
import { systemFailure } from '@toolhive/contract/system-failure';
import { jsonPointer } from '@toolhive/contract/json-pointer';
import {
  failureStatus,
  internalFailure,
  problemMediaType,
  writeFailure,
  writeProblem,
} from '@toolhive/contract/wire';
import { parseAccept } from 'hono/utils/accept';
import type { Logger } from 'pino';
import { ZodError } from 'zod';
import type { ZodType } from 'zod';

/** The media type of texts for users. */
export const plainText = 'text/plain; charset=utf-8';

/**
 * Turns whatever was thrown into an answer: its status, and its message as plain text. Callers whose `accept` header
 * prefers problem details get those instead.
 */
export function failureResponse(thrown: unknown, log: Logger, accept: string | undefined): Response {
  const failure = expectedFailure(thrown);
  if (failure === undefined) log.error({ err: thrown }, 'unexpected failure');
  const [mediaType, text] = prefersProblem(accept)
    ? [problemMediaType, `${JSON.stringify(writeProblem(failure))}\n`]
    : [plainText, failure === undefined ? `${internalFailure.text}\n` : writeFailure(failure)];
  return new Response(text, {
    status: failure === undefined ? internalFailure.status : failureStatus[failure.kind].status,
    headers: { 'content-type': mediaType, ...(failure && extraHeaders[failure.kind]) },
  });
}

/** Whether an Accept header (RFC 9110, section 12.5.1) names problem details, and does not prefer plain text. */
function prefersProblem(accept = ''): boolean {
  const named = parseAccept(accept.slice(0, maxAcceptLength));
  const quality = (type: string): number => named.find((each) => each.type.toLowerCase() === type)?.q ?? 0;
  return quality(problemMediaType) > 0 && quality(problemMediaType) >= quality('text/plain');
}

/** Longer than the Accept header of any program, in characters. */
const maxAcceptLength = 2_000;

/** The headers that standards require for some kinds of failures (RFC 9110, RFC 6750). */
const extraHeaders: Partial<Record<FailureKind, Record<string, string>>> = {
  unauthorized: { 'www-authenticate': 'Bearer realm="toolhive"' },
  'too-many-requests': { 'retry-after': '1' },
};

/** The failure for the caller, or undefined for a bug. */
export function expectedFailure(thrown: unknown): ThvError | undefined {
  const failure = thrown instanceof ZodError ? invalidInput(thrown) : (systemFailure(thrown) ?? thrown);
  if (!(failure instanceof ThvError)) return undefined;
  const { kind, message, hint, fixes, cause, problems } = failure;
  return new ThvError(kind, readable(message), {
    hint: hint && readable(hint),
    fixes: fixes.map((fix) => ({ ...fix, label: readable(fix.label) })),
    problems: problems.map(({ detail, ...place }) => ({ ...place, detail: readable(detail) })),
    cause,
  });
}

/** The maximum length of a message, which can contain long input of callers. */
const maxTextLength = 1_500;

/** Returns a text in one line, so that no part looks like a hint, and without characters that move a cursor or change the text direction. */
function readable(text: string): string {
  const short = text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text;
  return escaped(short.toWellFormed().replace(/\s*[\r\n]\s*/g, ' '));
}

/** Parses a part of a request. Throws `invalid` with the problem of each field. */
export function parseInput(
  schema: ZodType | undefined,
  value: unknown,
  part: 'body' | 'parameters',
): unknown {
  const parsed = schema?.safeParse(value);
  if (parsed === undefined || parsed.success) return parsed?.data;
  const complete = part === 'body' ? withoutNulls(value, parsed.error.issues) : undefined;
  const again = complete === undefined ? undefined : schema?.safeParse(complete);
  if (again?.success === true) return again.data;
  const problems = parsed.error.issues.slice(0, maxProblems).flatMap(problemsOf);
  throw invalidInput(
    parsed.error,
    problems.map(({ path, detail }) => ({
      ...(part === 'body' ? { pointer: jsonPointer(path) } : { parameter: path.join('.') }),
      detail,
    })),
  );
}

/**
 * Returns the value without members that are null where the schema knows no null, because programs in several languages write
 * null for absent members, and the original accepts that. Undefined if there are none.
 */
function withoutNulls(value: unknown, issues: ZodError['issues']): unknown {
  const copy: unknown = structuredClone(value);
  let isChanged = false;
  for (const { path } of issues) {
    const last = path.at(-1);
    const parent = path.slice(0, -1).reduce<unknown>((part, step) => memberOf(part, step), copy);
    if (last === undefined || memberOf(parent, last) !== null || Array.isArray(parent)) continue;
    delete (parent as Record<PropertyKey, unknown>)[last]; // it has the member
    isChanged = true;
  }
  return isChanged ? copy : undefined;
}

function memberOf(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<PropertyKey, unknown>)[key]
    : undefined;
}

/** The maximum number of problems in a response. */
const maxProblems = 50;

/** The fields that an issue is about: usually one, but one issue can name several unknown members. */
function problemsOf({ path, message, ...issue }: ZodError['issues'][number]): {
  path: PropertyKey[];
  detail: string;
}[] {
  if (issue.code !== 'unrecognized_keys') return [{ path, detail: message }];
  return issue.keys.slice(0, maxProblems).map((key) => ({ path: [...path, key], detail: 'unknown field' }));
}

/** The problems of an input, field by field, in one line. */
function invalidInput(error: ZodError, problems: readonly InputProblem[] = []): ThvError {
  const lines = error.issues
    .slice(0, 5)
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`));
  return invalid(lines.join('; '), { problems, cause: error });
}
