import { invalid } from '@toolhive/contract/failure';
import * as z from 'zod';
import { innerKeys, urlKeys } from './client-document.ts';
import { isObject } from './parse-document.ts';
import { wordsIn } from './words.ts';

/** An entry's fields, under the names that this product uses. */
export interface EntryFields {
  command?: string | string[] | undefined;
  args?: string[] | undefined;
  env: Record<string, string>;
  envFile?: string | undefined;
  cwd?: string | undefined;
  url?: string | undefined;
  headers: Record<string, string>;
  type?: string | undefined;
  oauth?: OAuthFields | undefined;
  /** The tools that the client uses. */
  tools?: string[] | undefined;
  /** The tools that the client does not use, although it uses all others. */
  withoutTools?: string[] | undefined;
}

/** The client that is registered where the user signs in. */
export interface OAuthFields {
  clientId?: string | undefined;
  callbackPort?: number | undefined;
  scopes?: string[] | undefined;
  hasSecret: boolean;
  /** A token that the client sends instead of signing in. */
  token?: string | undefined;
}

const Scalar = z.union([z.string(), z.number(), z.boolean(), z.bigint()]).transform(String);
/** Null is absent, in lists and maps too. */
const Text = Scalar.nullish().transform((value) => value ?? undefined);
/** Some clients have all arguments in one text. */
const Words = z
  .union([
    Scalar.transform((text) => wordsIn(text) ?? [text]),
    z.array(Scalar.nullable()).transform((words) => words.filter((word) => word !== null)),
  ])
  .nullish()
  .transform((words) => words ?? undefined);
/** A list in another form belongs to another feature of its client. */
const Tools = z
  .array(z.string())
  .optional()
  .catch(undefined)
  .transform((names) =>
    names === undefined || names.length === 0 || names.includes('*') ? undefined : names,
  );
const Command = z
  .union([Scalar, z.array(Scalar.nullable()).transform((words) => words.filter((word) => word !== null))])
  .nullish();
const Map = z
  .record(z.string(), Scalar.nullable())
  .transform((map) =>
    Object.entries(map).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
  );
/** Some clients write `["NAME=value"]`, or a list of objects with a name and a value. */
const Pairs = z.array(
  z.union([
    z.null().transform(() => undefined),
    z.string().transform((text) => {
      const [name = ''] = text.split('=', 1);
      return [name, text.includes('=') ? text.slice(name.length + 1) : `\${${name}}`] as const;
    }),
    z
      .object({ name: z.string().nullish(), key: z.string().nullish(), value: Scalar.nullish() })
      .transform(({ name, key, value }) => {
        const written = name ?? key ?? '';
        return value === null ? undefined : ([written, value ?? `\${${written}}`] as const);
      }),
  ]),
);
const Texts = z
  .union([Map, Pairs])
  .nullish()
  .transform((pairs): Record<string, string> =>
    Object.fromEntries((pairs ?? []).flatMap((pair) => (pair && pair[0] !== '' ? [pair] : []))),
  );

const Scopes = z
  .union([z.array(z.string()), z.string().transform((text) => text.split(/[\s,]+/).filter(Boolean))])
  .optional()
  .catch(undefined);
const Port = z.coerce.number().int().min(1).max(65_535).optional().catch(undefined);

/** `false` turns the sign-in off, which a server without one does not need. */
const OAuth = z
  .object({
    clientId: Text,
    client_id: Text,
    CLIENT_ID: Text,
    callbackPort: Port,
    callback_port: Port,
    scopes: Scopes,
    scope: Scopes,
    clientSecret: Text,
    client_secret: Text,
    CLIENT_SECRET: Text,
    token: Text,
    access_token: Text,
  })
  .transform((oauth) => ({
    token: oauth.token ?? oauth.access_token,
    clientId: [oauth.clientId, oauth.client_id, oauth.CLIENT_ID].find(Boolean),
    callbackPort: oauth.callbackPort ?? oauth.callback_port,
    scopes: oauth.scopes ?? oauth.scope,
    hasSecret: [oauth.clientSecret, oauth.client_secret, oauth.CLIENT_SECRET].some(Boolean),
  }))
  .optional()
  .catch(undefined);

/** An entry in the clients' formats, which use different names for the same fields. */
const Entry = z
  .object({
    command: Command,
    cmd: Command,
    path: Text,
    args: Words,
    arguments: Words,
    env: Texts,
    envs: Texts,
    environment: Texts,
    env_vars: Texts,
    envFile: Text,
    env_file: Text,
    cwd: Text,
    workingDirectory: Text,
    url: Text,
    serverUrl: Text,
    httpUrl: Text,
    uri: Text,
    baseUrl: Text,
    endpoint: Text,
    server_url: Text,
    sse_url: Text,
    authorization_token: Text,
    authorization: Text.catch(undefined),
    bearerToken: Text,
    bearer_token: Text,
    authToken: Text,
    auth_token: Text,
    auth_type: Text,
    key: Text.catch(undefined),
    tool_configuration: z.object({ allowed_tools: Tools }).nullish().catch(undefined),
    allowed_tools: Tools,
    api_key_env: Text,
    api_key_header: Text,
    api_key_format: Text,
    oauth: OAuth,
    auth: OAuth,
    oauthClientId: Text,
    headers: Texts,
    http_headers: Texts,
    requestInit: z.object({ headers: Texts }).nullish().catch(undefined),
    requestOptions: z.object({ headers: Texts }).nullish().catch(undefined),
    env_keys: z.array(z.string()).nullish().catch(undefined),
    tools: z.union([z.object({ include: Tools, exclude: Tools }), Tools]),
    includeTools: Tools,
    enabledTools: Tools,
    enabled_tools: Tools,
    available_tools: Tools,
    excludeTools: Tools,
    disabledTools: Tools,
    disabled_tools: Tools,
    env_http_headers: Texts,
    bearer_token_env_var: Text,
    type: Text,
    transport: Text,
    transportType: Text,
  })
  .transform((entry): EntryFields => ({
    command: entry.command ?? entry.cmd ?? undefined,
    args: entry.args ?? entry.arguments,
    env: {
      ...Object.fromEntries((entry.env_keys ?? []).map((name) => [name, `\${${name}}`])),
      ...entry.env_vars,
      ...entry.environment,
      ...entry.envs,
      ...entry.env,
    },
    envFile: entry.envFile ?? entry.env_file,
    cwd: entry.cwd ?? entry.workingDirectory,
    url: urlKeys.map((key) => entry[key]).find((url) => url !== undefined && url !== ''),
    oauth: entry.oauth ?? entry.auth ?? { clientId: entry.oauthClientId, hasSecret: false },
    headers: {
      ...tokenOf(entry),
      ...keyOf(entry),
      ...(entry.bearer_token_env_var === undefined
        ? {}
        : { Authorization: `Bearer \${${entry.bearer_token_env_var}}` }),
      ...Object.fromEntries(
        Object.entries(entry.env_http_headers).map(([header, variable]) => [header, `\${${variable}}`]),
      ),
      ...entry.requestInit?.headers,
      ...entry.requestOptions?.headers,
      ...entry.http_headers,
      ...entry.headers,
    },
    type: entry.type ?? entry.transport ?? entry.transportType,
    tools:
      entry.includeTools ??
      entry.enabledTools ??
      entry.enabled_tools ??
      entry.available_tools ??
      entry.allowed_tools ??
      entry.tool_configuration?.allowed_tools ??
      (Array.isArray(entry.tools) ? entry.tools : entry.tools?.include),
    withoutTools:
      entry.excludeTools ??
      entry.disabledTools ??
      entry.disabled_tools ??
      (Array.isArray(entry.tools) ? undefined : entry.tools?.exclude),
  }));

interface Tokens {
  authorization_token?: string | undefined;
  authorization?: string | undefined;
  bearerToken?: string | undefined;
  bearer_token?: string | undefined;
  authToken?: string | undefined;
  auth_token?: string | undefined;
  auth_type?: string | undefined;
  key?: string | undefined;
  auth?: OAuthFields | undefined;
}

/** The header with the token from a separate field of the entry. The token may contain its scheme. */
function tokenOf(entry: Tokens): Record<string, string> {
  const token = [
    entry.authorization_token,
    entry.authorization,
    entry.bearerToken,
    entry.bearer_token,
    entry.authToken,
    entry.auth_token,
    entry.auth?.token,
    entry.auth_type?.toLowerCase() === 'bearer' ? entry.key : undefined,
  ].find((text) => text !== undefined && text !== '');
  if (token === undefined) return {};
  return { Authorization: /^(?:Bearer|Basic|Token)\s/i.test(token) ? token : `Bearer ${token}` };
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

/** Reads the fields of an entry. Throws `invalid` without the values. */
export function readEntry(name: string, raw: Readonly<Record<string, unknown>>): EntryFields {
  const parsed = Entry.safeParse(flattened(raw));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw invalid(`invalid entry ${name}: ${issue?.path.join('.')} has the wrong type`);
}

/** Inner objects' fields, such as `"command": {"path": …}` and `"transport": {"url": …}`, beside the others. */
function flattened(written: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const raw = withLowerCase(written);
  const inner = innerKeys.filter((key) => isObject(raw[key]));
  if (inner.length === 0) return { ...raw };
  const outer = Object.fromEntries(Object.entries(raw).filter(([key]) => !inner.includes(key)));
  const parts = inner.map((key) => {
    const part = raw[key] as Record<string, unknown>; // filtered
    return typeof part['path'] === 'string' && part['command'] === undefined
      ? { ...part, command: part['path'] }
      : part;
  });
  const defined = Object.entries(outer).filter(([, value]) => value !== null && value !== undefined);
  return Object.assign({}, ...parts, Object.fromEntries(defined)) as Record<string, unknown>;
}

/** Some programs write `Command` and `Args`. */
function withLowerCase(raw: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(raw).map(([key, value]) => {
      const lower = key.toLowerCase();
      return [/^[A-Z]/.test(key) && !Object.hasOwn(raw, lower) ? lower : key, value];
    }),
  );
}
