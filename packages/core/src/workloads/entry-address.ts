import { lookup as systemLookup } from 'node:dns';
import { isIP } from 'node:net';
import { invalid } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import { refusalOf } from '@toolhive/runtime/addresses';
import type { Lookup } from '../fetch/guarded-fetch.ts';
import type { Settings } from '../state/settings.ts';
import type { Draft } from './draft.ts';
import type { RemoteSource } from './source.ts';

/** The settings of `oauth_config` that name a host. */
const oauthUrls = ['issuer', 'authorize_url', 'token_url'] as const;

/**
 * Refuses a web registry's entry that leads to this machine or a private network, because its author would choose
 * which of the user's services receives requests, including ToolHive. A registry file belongs to the user, and a
 * registry in a private network may have entries there. Returns the hosts that the entry names, which must be checked
 * again for each connection, because their names may resolve differently later. Throws `invalid`.
 */
export async function refusePrivateEntry(
  source: Pick<RemoteSource, 'url' | 'entry'>,
  draft: Pick<Draft, 'settings'>,
  settings: Settings,
  lookup: Lookup = systemLookup,
): Promise<string[]> {
  const { url, entry } = source;
  const isTrusted = settings.local_registry_path || settings.allow_private_registry_ip === true;
  if (entry === undefined || isTrusted) return [];
  const oauth = oauthUrlsOf(entry, draft);
  await refusePrivate(url, `if you trust that server, run it by its URL: thv run ${url.href}`);
  for (const named of oauth) {
    await refusePrivate(
      named,
      'if you trust that server, configure the issuer, or its authorize_url and token_url',
    );
  }
  return [...new Set([url, ...oauth].map(({ host }) => host))];

  async function refusePrivate({ hostname }: URL, hint: string): Promise<void> {
    const host = hostname.replace(/^\[|\]$/g, '');
    for (const address of isIP(host) === 0 ? await addressesOf(host, lookup) : [host]) {
      const what = refusalOf(address, false);
      if (what === undefined) continue;
      throw invalid(`the registry entry ${entry?.name} leads to ${host}, which is ${what}`, { hint });
    }
  }
}

/** Notes which hosts of a remote server a registry entry named, earlier or now. The others are the user's choice. */
export function withRegistryHosts<
  Part extends Pick<RunConfig, 'remote_url' | 'remote_auth_config' | 'registry_hosts'>,
>(runConfig: Part, named: readonly string[] | undefined = []): Part {
  const { remote_url, remote_auth_config: oauth } = runConfig;
  const urls = [remote_url, ...oauthUrls.map((key) => oauth?.[key])];
  const used = new Set(urls.flatMap((url) => URL.parse(url ?? '')?.host ?? []));
  const hosts = new Set([...(runConfig.registry_hosts ?? []), ...named]).intersection(used);
  return hosts.size === 0 ? runConfig : { ...runConfig, registry_hosts: [...hosts] };
}

/**
 * The entry's sign-in settings, for values missing in the request. A complete run config takes nothing from the
 * entry.
 */
function oauthUrlsOf(
  { oauth_config: oauth }: NonNullable<RemoteSource['entry']>,
  { settings }: Pick<Draft, 'settings'>,
): URL[] {
  if (settings.kind === 'complete') return [];
  const own = settings.request.oauth_config;
  const named = oauthUrls.filter((key) => !own?.[key]).map((key) => oauth?.[key]);
  return named.flatMap((url) => URL.parse(url ?? '') ?? []);
}

/** An unresolvable name is reported when connecting. */
function addressesOf(host: string, lookup: Lookup): Promise<string[]> {
  return new Promise((resolve) => {
    lookup(host, { all: true }, (error, found) => resolve(error ? [] : found.map(({ address }) => address)));
  });
}
