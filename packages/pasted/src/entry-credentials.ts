import * as z from 'zod';
import { Headers, Text, Texts } from './entry-values.ts';
import { isObject } from './parse-document.ts';

const Inner = z.object({ headers: Headers }).nullish().catch(undefined);

/** The entry fields that become headers. */
export const credentialFields = {
  authorization_token: Text,
  authorization: Text.catch(undefined),
  bearerToken: Text,
  bearer_token: Text,
  api_key: Text.catch(undefined),
  authToken: Text,
  auth_token: Text,
  auth_type: Text,
  auth_value: Text.catch(undefined),
  key: Text.catch(undefined),
  apiKey: z
    .union([Text, z.object({ key: Text, authorization_type: Text, custom_header: Text })])
    .optional()
    .catch(undefined),
  api_key_env: Text,
  api_key_header: Text,
  api_key_format: Text,
  headers: Headers,
  http_headers: Headers,
  static_headers: Headers,
  requestInit: Inner,
  requestOptions: Inner,
  env_http_headers: Texts,
  bearer_token_env_var: Text,
  bearerTokenEnv: Text,
};

/** The fields inside of `auth` that become headers. */
export const tokenFields = ['token', 'access_token', 'api_key'] as const;
export const keyFields = ['api_key_env', 'api_key_header', 'api_key_format'] as const;

/** Mistral Vibe has these fields in the entry or in its `auth`. */
const Key = z.object({ api_key_env: Text, api_key_header: Text, api_key_format: Text });

const Credentials = z.object(credentialFields);
type Credentials = z.infer<typeof Credentials>;

/** An entry's headers, with its credentials. */
export function headersOf(entry: Credentials, auth: unknown): Record<string, string> {
  const variable = entry.bearer_token_env_var ?? entry.bearerTokenEnv;
  return {
    ...tokenOf(entry, auth),
    ...valueOf(entry),
    ...keyOf(entry),
    ...keyOf(Key.safeParse(auth).data ?? {}),
    ...(variable === undefined ? {} : { Authorization: `Bearer \${${variable}}` }),
    ...Object.fromEntries(
      Object.entries(entry.env_http_headers).map(([header, variable]) => [header, `\${${variable}}`]),
    ),
    ...entry.requestInit?.headers,
    ...entry.requestOptions?.headers,
    ...entry.static_headers,
    ...entry.http_headers,
    ...entry.headers,
  };
}

/** The header with the token from a separate field of the entry. The token may contain its scheme. */
function tokenOf(entry: Credentials, auth: unknown): Record<string, string> {
  const { apiKey } = entry;
  const token = [
    entry.authorization_token,
    entry.authorization,
    entry.bearerToken,
    entry.bearer_token,
    entry.api_key,
    entry.authToken,
    entry.auth_token,
    tokenIn(auth),
    entry.auth_type?.toLowerCase() === 'bearer' ? entry.key : undefined,
    typeof apiKey === 'string' ? apiKey : undefined,
  ].find((text) => text !== undefined && text !== '');
  if (token === undefined) return {};
  return { Authorization: /^(?:Bearer|Basic|Token)\s/i.test(token) ? token : `Bearer ${token}` };
}

/** A token that the client sends instead of signing in. A single word, such as `oauth`, is a method. */
function tokenIn(auth: unknown): string | undefined {
  if (typeof auth === 'string') return /^[a-z]{1,20}(?:[_-]?[a-z0-9]{1,10})?$/i.test(auth) ? undefined : auth;
  if (!isObject(auth)) return undefined;
  const token = tokenFields.map((field) => auth[field]).find((value) => value !== undefined);
  return typeof token === 'string' ? token : undefined;
}

/** A value with its kind in another field (LiteLLM, LibreChat). */
function valueOf({ auth_type, auth_value, apiKey }: Credentials): Record<string, string> {
  const {
    key = auth_value,
    authorization_type: kind = auth_type ?? '',
    custom_header: header,
  } = typeof apiKey === 'object' ? apiKey : {};
  if (key === undefined || key === '') return {};
  switch (kind.toLowerCase()) {
    case 'api_key':
      return { 'X-API-Key': key };
    case 'custom':
      return { [header ?? 'X-Api-Key']: key };
    case 'basic':
      return { Authorization: `Basic ${isUserAndPassword(key) ? Buffer.from(key).toString('base64') : key}` };
    case 'token':
      return { Authorization: `token ${key}` };
    case 'authorization':
      return { Authorization: key };
    default:
      return { Authorization: `Bearer ${key}` };
  }
}

function isUserAndPassword(text: string): boolean {
  return text.includes(':') && !/[${]/.test(text);
}

/** The key in a variable, and its place: `Authorization`, `Bearer {token}`. */
function keyOf(entry: {
  api_key_env?: string | undefined;
  api_key_header?: string | undefined;
  api_key_format?: string | undefined;
}): Record<string, string> {
  if (entry.api_key_env === undefined) return {};
  const { api_key_header: header = 'Authorization', api_key_format: format = 'Bearer {token}' } = entry;
  return { [header]: format.replaceAll('{token}', () => `\${${entry.api_key_env}}`) };
}
