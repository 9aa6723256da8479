import { invalid } from '@toolhive/contract/failure';
import { forwardedHeaders } from '@toolhive/contract/header-forward';
import { defaultGroup } from '@toolhive/contract/names';
import { jsonPointer } from '@toolhive/contract/json-pointer';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { isSseUrl } from '@toolhive/contract/sse-url';
import { readSettings } from '@toolhive/remote/remote-settings';
import { checkHeaders } from '@toolhive/remote/static-headers';
import { formatReference, secretPlacesIn } from '@toolhive/secrets/reference';
import type { RunConfigSettings } from './draft.ts';
import { proxyModeOf, proxySettings } from './local-settings.ts';
import type { RemoteSource } from './source.ts';

/** The settings of a remote server: those of the request, and for the rest those of the registry entry. */
export function remoteSettings(request: CreateWorkload, { url, entry }: RemoteSource): RunConfigSettings {
  const usual = isSseUrl(url.href) ? 'sse' : 'streamable-http';
  const transport = (request.transport || entry?.transport || usual).toLowerCase();
  const oauth = { ...entry?.oauth_config, ...withoutEmpty(request.oauth_config ?? {}) };
  const { client_secret: secret, bearer_token: token } = request.oauth_config ?? {};
  const headers = requestedHeaders(request);
  const auth = {
    ...oauth,
    // Without a resource, a token is good for other servers too, so an entry cannot choose that.
    resource: request.oauth_config?.resource || undefined,
    // Only a request can choose stored secrets.
    client_secret: secret ? formatReference(secret) : undefined,
    bearer_token: token ? formatReference(token) : undefined,
    headers: headers.length > 0 ? headers : entryHeaders(entry),
  };
  return {
    remote_url: url.href,
    remote_auth_config: JSON.parse(JSON.stringify(auth)) as RunConfig['remote_auth_config'],
    transport: transport as RunConfig['transport'], // checked by requireRemoteSettings
    proxy_mode: proxyModeOf(transport, request.proxy_mode),
    permission_profile: {},
    env_vars: {},
    secrets: secretsOf(request, url),
    sessions: request.sessions === 'shared' ? 'shared' : 'own',
    ...proxySettings(request),
    group: request.group ?? defaultGroup,
  };
}

/** The headers of a request, from both places where it can name them. */
function requestedHeaders({
  headers,
  header_forward,
}: CreateWorkload): NonNullable<CreateWorkload['headers']> {
  const [own, forwarded] = [headers ?? [], forwardedHeaders(header_forward)];
  const all = [...own, ...forwarded];
  checkHeaders(all, (index) => {
    const { name = '', secret } = all[index] ?? {};
    if (index < own.length) return jsonPointer(['headers', index]);
    return jsonPointer([
      'header_forward',
      secret ? 'add_headers_from_secret' : 'add_plaintext_headers',
      name,
    ]);
  });
  return all;
}

/** A remote server gets secrets in its headers, and those that its URL has a place for. */
function secretsOf({ secrets }: CreateWorkload, url: URL): string[] {
  const places = secretPlacesIn(url.href);
  return (secrets ?? []).filter(({ target }) => places.includes(target)).map(formatReference);
}

/** The headers of an entry, which have no place in the request. */
function entryHeaders(entry: RemoteSource['entry']): NonNullable<CreateWorkload['headers']> {
  const headers = (entry?.headers ?? []).map(withoutSecret);
  checkHeaders(headers, () => undefined);
  return headers;
}

/** Anyone can publish an entry, so an entry cannot choose a stored secret and the host that receives it. */
function withoutSecret<Header extends { secret: boolean; default?: string | undefined }>(
  header: Header,
): Header {
  return header.secret ? { ...header, default: undefined } : header;
}

/** Returns a remote server's settings. Throws `invalid` for settings that no remote server can have. */
export function requireRemoteSettings(settings: RunConfigSettings): RunConfigSettings {
  const { transport, remote_auth_config: auth } = settings;
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
  // Those of a request were checked with their places in the request. The others are in a run config.
  checkHeaders(auth?.headers ?? [], (index) => jsonPointer(['remote_auth_config', 'headers', index]));
  return { ...settings, proxy_mode: proxyModeOf(transport, settings.proxy_mode) };
}

function withoutEmpty<Value extends object>(value: Value): Partial<Value> {
  const entries = Object.entries(value).filter(
    ([, part]) => part !== undefined && part !== null && part !== '',
  );
  return Object.fromEntries(entries) as Partial<Value>;
}
