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

/** The same as a list of headers. */
export function forwardedHeaders(forward: z.infer<typeof HeaderForward> | null | undefined): Header[] {
  const header = (name: string, secret: boolean, value: string): Header => ({
    name,
    description: '',
    required: true,
    secret,
    default: value,
  });
  return [
    ...Object.entries(forward?.add_plaintext_headers ?? {}).map(([name, value]) =>
      header(name, false, value),
    ),
    ...Object.entries(forward?.add_headers_from_secret ?? {}).map(([name, secret]) =>
      header(name, true, secret.includes(',target=') ? secret : `${secret},target=${name}`),
    ),
  ];
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
