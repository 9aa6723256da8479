import { defaultRegistry } from '@toolhive/contract/names';
import type { RegistryRemoteServer, RegistryServer } from '@toolhive/contract/registry';
import { inOrder } from '@toolhive/contract/registry-order';
import type { CommandCall } from '../../command.ts';
import { oneLine } from '../../out.ts';

/** A registry entry, local or remote. */
export type Entry = RegistryServer | RegistryRemoteServer;

/** The registry entries by name, or by relevance, or one page of them. Reports problems with the registry on standard error. */
export async function listEntries(
  { client, flags, out, signal }: CommandCall,
  search?: string,
): Promise<{ entries: Entry[]; total: number }> {
  const daemon = await client();
  const [limit, offset] = [flags.number('limit'), flags.number('offset')];
  const found = await daemon.listRegistryServers(
    { params: { name: defaultRegistry }, query: { search, limit: limit || undefined, offset } },
    { signal },
  );
  const { registries } = await daemon.listRegistries({}, { signal });
  for (const { source, problem, stale, skipped_count: skipped } of registries) {
    if (problem !== undefined) out.note(`note: the registry ${source} cannot be read: ${problem}`);
    if (stale === true) out.note('note: this is the last known content');
    if (skipped !== undefined) out.note(`note: ${skipped} of its entries cannot be used`);
  }
  const [entries, { total }] = [inOrder(found), found];
  if (entries.length < total) {
    const first = (offset ?? 0) + 1;
    out.note(`note: entries ${first} to ${first + entries.length - 1} of ${total}; use --offset for others`);
  }
  return { entries, total };
}

/** The name of an entry, which every entry gets when the registry is read. */
export function nameOf({ name = '' }: Entry): string {
  return name;
}

/** Whether a server is local or remote. */
export function typeOf(entry: Entry): 'container' | 'remote' {
  return 'image' in entry ? 'container' : 'remote';
}

const widestDescription = 50;

/** What a server is for, short enough for a table. */
export function describe({ status, description }: Entry): string {
  return `${status === 'Deprecated' ? '(deprecated) ' : ''}${oneLine(description, widestDescription)}`;
}

/** A count that may be unknown. */
export function countOf(entry: Entry, what: 'stars' | 'pulls'): string {
  return String(entry.metadata?.[what] ?? 0);
}
