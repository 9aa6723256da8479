import { invalid } from '@toolhive/contract/failure';
import * as z from 'zod';
import { innerKeys, urlKeys } from './client-document.ts';
import { credentialFields, headersOf, keyFields, tokenFields } from './entry-credentials.ts';
import { oauthFields, oauthInnerFields, oauthOf } from './entry-oauth.ts';
import type { OAuthSettings } from './entry-oauth.ts';
import { unreadFields } from './entry-rest.ts';
import { toolFields, toolLimits } from './entry-tools.ts';
import type { ToolLimits } from './entry-tools.ts';
import { Command, OnlyText, Text, Texts, Words } from './entry-values.ts';
import { isObject } from './parse-document.ts';

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
  oauth: OAuthSettings;
  /** The product that starts the server, if the entry doesn't say how. */
  owner?: string | undefined;
  limits: ToolLimits;
  /** The fields that ToolHive does not have. See `unreadFields`. */
  unread: string[];
}

/** The other entry fields. Clients use different names for the same fields. */
const Fields = z.object({
  ...credentialFields,
  command: Command,
  cmd: Command,
  path: Text,
  args: Words,
  arguments: Words,
  env: Texts,
  envs: Texts,
  environment: Texts,
  env_vars: Texts,
  env_keys: z.array(z.string()).nullish().catch(undefined),
  envFile: Text,
  env_file: Text,
  cwd: Text,
  workingDirectory: Text,
  working_directory: Text,
  url: OnlyText,
  serverUrl: OnlyText,
  httpUrl: OnlyText,
  uri: OnlyText,
  baseUrl: OnlyText,
  endpoint: OnlyText,
  server_url: OnlyText,
  sse_url: OnlyText,
  spec_path: Text,
  uses: Text.catch(undefined),
  type: Text,
  transport: Text,
  transportType: Text,
});

const readFields = new Set([...Object.keys(Fields.shape), ...toolFields, ...oauthFields, ...innerKeys]);

function fieldsOf(entry: z.infer<typeof Fields>, raw: Readonly<Record<string, unknown>>): EntryFields {
  const { oauth, auth } = raw;
  return {
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
    cwd: entry.cwd ?? entry.workingDirectory ?? entry.working_directory,
    url: urlKeys.map((key) => bareUrl(entry[key])).find((url) => url !== undefined && url !== ''),
    oauth: oauthOf(raw),
    owner:
      entry.uses !== undefined
        ? 'a block of Continue'
        : raw['source'] === 'extension' || isObject(raw['settings'])
          ? 'an extension of Zed'
          : undefined,
    headers: headersOf(entry, auth),
    type: entry.spec_path === undefined ? (entry.type ?? entry.transport ?? entry.transportType) : 'openapi',
    limits: toolLimits(raw),
    unread: [
      ...unreadFields(raw, readFields),
      ...(isObject(auth) && isOtherSignIn(auth['type']) ? ['auth'] : []),
      ...[oauth, auth].flatMap((inner) => (isObject(inner) ? unreadFields(inner, readInner) : [])),
    ],
  };
}

/** Whether a sign-in is one that ToolHive does not have: `aws-sigv4`, `google_credentials`. */
const isOtherSignIn = (type: unknown): boolean =>
  typeof type === 'string' &&
  !/^(?:o?auth2?|oauth2?[-_.]\w+|oidc|none|bearer|basic|token|header|api[-_]?key|static|custom)?$/i.test(
    type,
  );

/** A URL without the marks of a page or a chat around it, and with the scheme that its author left out. */
function bareUrl(written: string | undefined): string | undefined {
  const text = written?.trim();
  const [, linked = text] =
    /^<(https?:\/\/[^<>\s]+)>$|^\[[^\]]*\]\((https?:\/\/[^()\s]+)\)$/
      .exec(text ?? '')
      ?.filter((part) => part !== undefined) ?? [];
  const bare = linked?.replace(/^https?:\/\/(?=https?:\/\/)/i, '');
  if (bare === undefined) return undefined;
  if (/^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?(?:\/|$)/i.test(bare)) return `http://${bare}`;
  return /^(?:[\w-]+\.)+[a-z]{2,}(?::\d{1,5})?(?:\/|$)/i.test(bare) ? `https://${bare}` : bare;
}

const readInner = new Set([...oauthInnerFields, ...tokenFields, ...keyFields]);

/** Reads the fields of an entry. Throws `invalid` without the values. */
export function readEntry(name: string, raw: Readonly<Record<string, unknown>>): EntryFields {
  const flat = flattened(raw);
  const parsed = Fields.safeParse(flat);
  if (parsed.success) return fieldsOf(parsed.data, flat);
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
