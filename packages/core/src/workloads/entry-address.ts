import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { invalid } from '@toolhive/contract/failure';
import { refusalOf } from '@toolhive/runtime/addresses';
import type { Settings } from '../state/settings.ts';
import type { RemoteSource } from './source.ts';

/**
 * Refuses an entry of a registry on the web that leads to this machine or a private network: the entry's author would
 * choose which of the user's own services gets requests, among them ToolHive's. A file is the user's own, and a
 * registry that may be in a private network has entries there, too. Throws `invalid`.
 */
export async function refusePrivateEntry(
  { url, entry }: Pick<RemoteSource, 'url' | 'entry'>,
  settings: Settings,
  resolve: (host: string) => Promise<string[]> = addressesOf,
): Promise<void> {
  const isTrusted = settings.local_registry_path || settings.allow_private_registry_ip === true;
  if (entry === undefined || isTrusted) return;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  for (const address of isIP(host) === 0 ? await resolve(host) : [host]) {
    // Only what could be reached there: other special addresses are nobody's.
    if (refusalOf(address, true) !== undefined) continue;
    const what = refusalOf(address, false);
    if (what === undefined) continue;
    throw invalid(`the registry entry ${entry.name} leads to ${host}, which is ${what}`, {
      hint: `if you trust that server, run it by its URL: thv run ${url.href}`,
    });
  }
}

/** A name that cannot be resolved now is told of when the server is reached. */
async function addressesOf(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}
