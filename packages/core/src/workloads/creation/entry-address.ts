import { lookup as systemLookup } from 'node:dns';
import { isIP } from 'node:net';
import { invalid } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import { isLoopback } from '@toolhive/contract/loopback';
import { refusalOf } from '@toolhive/runtime/addresses';
import type { PrivateReach } from '@toolhive/runtime/addresses';
import type { Lookup } from '@toolhive/outgoing/way-out';
import type { Settings } from '@toolhive/state/settings-file';
import type { Draft } from './draft.ts';
import type { RemoteSource } from './source.ts';

/** The settings of `oauth_config` that name a host. */
const oauthUrls = ['issuer', 'authorize_url', 'token_url'] as const;

/**
 * Refuses a web registry's entry that leads to this machine or a private network, because its author would choose
 * which of the user's services receives requests, including ToolHive. A registry file belongs to the user, a registry in
 * a private network may have entries there, and a registry on this machine also entries on this machine. Returns the
 * hosts that must have a public address, which must be checked again for each connection, because their names may resolve
 * differently later. Throws `invalid`.
 */
export async function refusePrivateEntry(
  source: Pick<RemoteSource, 'url' | 'entry'>,
  draft: Pick<Draft, 'settings'>,
  settings: Settings,
  lookup: Lookup = systemLookup,
): Promise<string[]> {
  const { url, entry } = source;
  if (entry === undefined) return [];
  const reach = reachOf(settings);
  const oauth = oauthUrlsOf(entry, draft);
  await refusePrivate(url, `if you trust that server, run it by its URL: thv run ${url.href}`);
  for (const named of oauth) {
    await refusePrivate(
      named,
      'if you trust that server, configure the issuer, or its authorize_url and token_url',
    );
  }
  return reach === false ? [...new Set([url, ...oauth].map(({ host }) => host))] : [];

  async function refusePrivate({ hostname }: URL, hint: string): Promise<void> {
    const host = hostname.replace(/^\[|\]$/g, '');
    for (const address of isIP(host) === 0 ? await addressesOf(host, lookup) : [host]) {
      const what = refusalOf(address, reach);
      if (what === undefined) continue;
      throw invalid(`the registry entry ${entry?.name} leads to ${host}, which is ${what}`, { hint });
    }
  }
}

/** Where the entries of the user's registry may lead. */
function reachOf({
  local_registry_path: path,
  registry_url: url,
  allow_private_registry_ip: isPrivate,
}: Settings): PrivateReach {
  if (path) return true;
  const host = URL.parse(url ?? '')?.hostname.replace(/^\[|\]$/g, '') ?? '';
  return isPrivate === true && (isLoopback(host) || 'others');
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
