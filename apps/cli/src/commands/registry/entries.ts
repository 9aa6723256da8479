import { defaultRegistry } from '@toolhive/contract/names';
import type { RegistryRemoteServer, RegistryServer } from '@toolhive/contract/registry';
import type { CommandCall } from '../../command.ts';
import { oneLine } from '../../out.ts';

/** A server of the registry, whoever runs it. */
export type Entry = RegistryServer | RegistryRemoteServer;

/** All servers of the registry by name. Says on standard error what is wrong with the registry. */
export async function listEntries({ client, out, signal }: CommandCall): Promise<Entry[]> {
  const daemon = await client();
  const { servers, remote_servers: remote } = await daemon.listRegistryServers(
    { params: { name: defaultRegistry } },
    { signal },
  );
  const { registries } = await daemon.listRegistries({}, { signal });
  for (const { source, problem, stale, skipped_count: skipped } of registries) {
    if (problem !== undefined) out.note(`note: the registry ${source} cannot be read: ${problem}`);
    if (stale === true) out.note('note: this is what it said last');
    if (skipped !== undefined) out.note(`note: ${skipped} of its entries cannot be used`);
  }
  return [...servers, ...remote].toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
}

/** The name of an entry, which every entry gets when the registry is read. */
export function nameOf({ name = '' }: Entry): string {
  return name;
}

/** Whether a server runs here, or somebody else runs it. */
export function typeOf(entry: Entry): 'container' | 'remote' {
  return 'image' in entry ? 'container' : 'remote';
}

const widestDescription = 50;

/** What a server is for, short enough for a table. */
export function describe({ status, description }: Entry): string {
  return `${status === 'Deprecated' ? '(deprecated) ' : ''}${oneLine(description, widestDescription)}`;
}

/** How often something was done that nobody may have counted. */
export function countOf(entry: Entry, what: 'stars' | 'pulls'): string {
  return String(entry.metadata?.[what] ?? 0);
}
