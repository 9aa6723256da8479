import { invalid } from '@toolhive/contract/failure';
import { defaultGroup } from '@toolhive/contract/names';
import type { Registry, RegistryRemoteServer } from '@toolhive/contract/registry';
import { runConfigVersion } from '@toolhive/contract/run-config';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { readSettings } from '../remote/settings.ts';
import { parseReference, formatReference } from '../secrets/reference.ts';
import { callSettingsOf } from './build-run-config.ts';

/** A server that somebody else runs. */
export interface Remote {
  url: URL;
  /** The registry's entry, if that is how it was named. */
  entry?: RegistryRemoteServer & { name: string };
}

/** The remote server that is asked for: by its URL, or by the name of an entry of the registry. */
export function remoteOf(registry: Registry, request: CreateWorkload | RunConfig): Remote | undefined {
  const asked = request.schema_version === undefined ? request.url : request.remote_url;
  if (asked) {
    if (request.image) throw invalid('a workload has an image or the URL of a remote server, not both');
    return { url: checkedUrl(asked) };
  }
  const name = request.image ?? '';
  const entry = Object.hasOwn(registry.remote_servers, name) ? registry.remote_servers[name] : undefined;
  const isLocal = Object.hasOwn(registry.servers, name);
  return entry === undefined || isLocal
    ? undefined
    : { url: checkedUrl(entry.url), entry: { ...entry, name } };
}

function checkedUrl(text: string): URL {
  const url = URL.parse(text);
  if (
    url === null ||
    (url.protocol !== 'https:' && url.protocol !== 'http:') ||
    url.username ||
    url.password
  ) {
    // It may hold a password, so that only an innocent one is repeated.
    const named = /[@?]/.test(text) ? 'this' : JSON.stringify(text);
    throw invalid(`${named} is not the URL of a remote server`, {
      hint: 'use an http or https URL without user name and password; those go into headers',
    });
  }
  url.hash = '';
  return url;
}

/** Everything but names and addresses that is needed to reach a remote server again and again. */
export function remoteConfigOf(request: CreateWorkload, { url, entry }: Remote) {
  const transport = (request.transport || entry?.transport || 'streamable-http').toLowerCase();
  const oauth = { ...entry?.oauth_config, ...withoutEmpty(request.oauth_config ?? {}) };
  const secret = request.oauth_config?.client_secret;
  const auth = {
    ...oauth,
    ...(secret ? { client_secret: formatReference(secret) } : { client_secret: undefined }),
    headers: request.headers?.length ? request.headers : (entry?.headers ?? []),
  };
  return {
    schema_version: runConfigVersion as typeof runConfigVersion,
    remote_url: url.href,
    remote_auth_config: JSON.parse(JSON.stringify(auth)) as RunConfig['remote_auth_config'],
    transport: transport as RunConfig['transport'],
    host: '127.0.0.1',
    permission_profile: {},
    env_vars: {},
    secrets: [],
    sessions: request.sessions ?? 'own',
    ...callSettingsOf(request),
    group: request.group ?? defaultGroup,
  };
}

/** The same, or `invalid` for what cannot be. */
export function remoteRunConfig(config: RunConfig): RunConfig {
  const { transport, remote_auth_config: auth } = config;
  if (transport === 'stdio') {
    throw invalid('remote servers do not support the stdio transport', {
      hint: 'use streamable-http or sse',
    });
  }
  if (transport !== 'sse' && transport !== 'streamable-http') {
    throw invalid(`${JSON.stringify(transport)} is not a transport of remote servers`, {
      hint: 'use streamable-http or sse',
    });
  }
  readSettings(auth ?? {});
  for (const { default: value, secret } of auth?.headers ?? []) if (secret && value) parseReference(value);
  return { ...config, proxy_mode: transport };
}

function withoutEmpty<Value extends object>(value: Value): Partial<Value> {
  const entries = Object.entries(value).filter(
    ([, part]) => part !== undefined && part !== null && part !== '',
  );
  return Object.fromEntries(entries) as Partial<Value>;
}
