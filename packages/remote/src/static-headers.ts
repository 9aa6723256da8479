import { invalid, invalidField } from '@toolhive/contract/failure';
import type { FailureDetails } from '@toolhive/contract/failure';
import { hopHeaders } from '@toolhive/proxy/hop-headers';
import { isReference, parseReference } from '@toolhive/secrets/reference';
import type { RemoteAuthConfig } from './settings.ts';

type Headers = NonNullable<RemoteAuthConfig['headers']>;

/** Headers about the connection or the sender, which only the proxy may set. */
const reserved: ReadonlySet<string> = new Set([
  ...hopHeaders,
  'content-length',
  'content-type',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
]);

/**
 * Throws `invalid` for the first header that no request can have, or that another header replaces. `place` is the JSON pointer
 * of a header. A missing value and the values of secrets are not checked, because they can change until the start.
 */
export function checkHeaders(headers: Headers, place: (index: number) => string | undefined): void {
  const known = new Map<string, string>();
  for (const [index, { name, default: value = '', secret }] of headers.entries()) {
    const key = name.toLowerCase();
    const before = known.get(key);
    known.set(key, name);
    const found = problemOfName(name) ?? problemOfPair(name, before) ?? problemOfValue(name, value, secret);
    if (found === undefined) continue;
    const [message, details] = found;
    const pointer = place(index);
    throw pointer === undefined ? invalid(message, details) : invalidField(pointer, message, details);
  }
}

/**
 * The headers of every request, by lowercase names. The run config contains a secret header only as a reference,
 * `NAME,target=HEADER`.
 */
export async function staticHeaders(
  headers: RemoteAuthConfig['headers'],
  resolveSecret: (name: string) => Promise<string>,
): Promise<Record<string, string>> {
  const resolved: Record<string, string> = {};
  for (const { name, default: given, secret, required } of headers ?? []) {
    const found = problemOfName(name);
    if (found !== undefined) throw invalid(...found);
    if (!given && required) throw invalid(`the header ${name} needs a value`);
    if (!given) continue;
    const value = (secret ? await resolveSecret(parseReference(given).name) : given).trim();
    const unsendable = problemOfText(name, value);
    if (unsendable !== undefined) throw invalid(...unsendable);
    resolved[name.toLowerCase()] = value;
  }
  return resolved;
}

/** The value of `authorization` with a stored token, which can begin with its scheme. */
export function bearerOf(token: string): string {
  const value = token.trim().replace(/^bearer(?:\s+|$)/i, '');
  // RFC 6750, section 2.1
  if (/^[\w.~+/-]+=*$/.test(value)) return `Bearer ${value}`;
  throw invalid(`the secret with the bearer token ${value === '' ? 'is empty' : 'is not a token'}`, {
    hint: 'store the token alone, without quotation marks and line breaks',
  });
}

type Problem = [message: string, details?: FailureDetails];

function problemOfName(name: string): Problem | undefined {
  if (!reserved.has(name.toLowerCase())) return undefined;
  return [`the header ${name} cannot be configured`, { hint: 'omit it, because ToolHive sets it itself' }];
}

function problemOfPair(name: string, before: string | undefined): Problem | undefined {
  if (before === undefined) return undefined;
  const hint = 'omit one of them, because letter case makes no difference in header names';
  const message =
    before === name
      ? `the header ${name} occurs twice`
      : `the headers ${before} and ${name} are the same header`;
  return [message, { hint }];
}

function problemOfValue(name: string, value: string, secret: boolean): Problem | undefined {
  if (!secret) return problemOfText(name, value.trim());
  if (value === '' || isReference(value)) return undefined;
  // The text could be the secret itself.
  return [`the header ${name} does not refer to a secret`, { hint: `use the form SECRET,target=${name}` }];
}

/** The reason why a header cannot contain a text (RFC 9110, section 5.5). It does not repeat the text, which can be a secret. */
function problemOfText(name: string, value: string): Problem | undefined {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return undefined;
  const what = /[\r\n]/.test(value)
    ? 'a line break'
    : // oxlint-disable-next-line no-control-regex -- it finds these
      /[\0-\x1f\x7f]/.test(value)
      ? 'a control character'
      : 'characters that no header can contain';
  return [`the value of the header ${name} contains ${what}`, { hint: 'use only ASCII characters' }];
}
