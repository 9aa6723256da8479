import type { RegistryRemoteServer, RegistryServer, RegistryServers } from './schemas/registry.ts';

/** Local and remote entries in one list: by rank after a search, otherwise by name. */
export function inOrder({
  servers,
  remote_servers: remote,
  ranking,
}: RegistryServers): (RegistryServer | RegistryRemoteServer)[] {
  const all = [...servers, ...remote];
  const ranks = new Map(ranking?.map((name, rank) => [name, rank]));
  const rankOf = ({ name = '' }: { name?: string | undefined }): number => ranks.get(name) ?? 0;
  return all.toSorted(
    (one, other) => rankOf(one) - rankOf(other) || ((one.name ?? '') < (other.name ?? '') ? -1 : 1),
  );
}
