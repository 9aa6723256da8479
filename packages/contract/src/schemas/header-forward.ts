import * as z from 'zod';
import type { RegistryHeader } from './registry.ts';

/** A field name (RFC 9110). */
const Name = z
  .string()
  .max(256)
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'is not the name of a header');

/** The headers for a remote server, as later versions of the original write them. */
export const HeaderForward = z
  .object({
    add_plaintext_headers: z.record(Name, z.string()).nullish(),
    add_headers_from_secret: z.record(Name, z.string()).nullish(),
  })
  .meta({
    id: 'HeaderForward',
    description:
      'The headers for a remote server, as later versions of the original write them: their values, and the names of the secrets with their values.',
  });

type Header = z.infer<typeof RegistryHeader>;

/** A header with a value, or with a reference to the secret that contains the value. */
export const header = (name: string, secret: boolean, value: string): Header => ({
  name,
  description: '',
  required: true,
  secret,
  default: value,
});

/** The same as a list of headers. */
export function forwardedHeaders(forward: z.infer<typeof HeaderForward> | null | undefined): Header[] {
  return [
    ...Object.entries(forward?.add_plaintext_headers ?? {}).map(([name, value]) =>
      header(name, false, value),
    ),
    ...Object.entries(forward?.add_headers_from_secret ?? {}).map(([name, secret]) =>
      header(name, true, secret.includes(',target=') ? secret : `${secret},target=${name}`),
    ),
  ];
}

/** The same headers as these clients read them. Undefined without a header that has a value. */
export function headerForwardOf(headers: readonly Header[]): z.infer<typeof HeaderForward> | undefined {
  const given = headers.filter(({ default: value }) => value);
  if (given.length === 0) return undefined;
  const pairs = (isSecret: boolean): Record<string, string> =>
    Object.fromEntries(
      given
        .filter(({ secret }) => secret === isSecret)
        .map(({ name, default: value = '' }) => [name, isSecret ? value.replace(/,target=.*$/s, '') : value]),
    );
  return { add_plaintext_headers: pairs(false), add_headers_from_secret: pairs(true) };
}

interface RequestWithHeaders {
  headers?: Header[] | null | undefined;
  header_forward?: z.infer<typeof HeaderForward> | null | undefined;
}

/**
 * A request with the headers in one place. A description contains them in both places, so a client that changes one of them sends
 * the other one back unchanged. `present` are the headers of the workload, if it exists.
 */
export function withoutEchoedHeaders<Request extends RequestWithHeaders>(
  request: Request,
  present?: readonly Header[],
): Request {
  const { headers = null, header_forward: forward = null } = request;
  if (headers === null || forward === null) return request;
  if (isSame(forward, headerForwardOf(present ?? headers))) return { ...request, header_forward: undefined };
  return present !== undefined && isSame(headers, present) ? { ...request, headers: undefined } : request;
}

/** Names in an object have no order. */
function isSame(one: unknown, other: unknown): boolean {
  const sorted = (_key: string, value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  return JSON.stringify(one, sorted) === JSON.stringify(other, sorted);
}

interface WithHeaders {
  header_forward?: z.infer<typeof HeaderForward> | null | undefined;
  remote_auth_config?: { headers?: Header[] | null | undefined } | null | undefined;
}

/** A run config with its headers in one place. */
export function withForwardedHeaders<Settings extends WithHeaders>(settings: Settings): Settings {
  const { header_forward: forward, remote_auth_config: auth } = settings;
  const added = forwardedHeaders(forward);
  if (added.length === 0) return settings;
  const headers = [...(auth?.headers ?? []), ...added];
  return { ...settings, header_forward: undefined, remote_auth_config: { ...auth, headers } };
}
