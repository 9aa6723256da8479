import { isIP } from 'node:net';
import { invalid } from '@toolhive/contract/failure';
import { isLoopback } from '@toolhive/contract/loopback';
import { builtInProfiles } from '@toolhive/contract/permission-profile';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import type { Resolved } from './registry.ts';

/** Network modes of container engines that connect a server to nothing that belongs to this machine or others. */
const ownNetworks: readonly (string | undefined)[] = [undefined, '', 'none', 'bridge', 'default'];

/**
 * A registry entry's permission profile: its network rules. Throws `invalid` if the entry requests access to this
 * machine, which only the user can grant, because anyone can publish an entry.
 */
export function entryPermissions({ name, permissions }: NonNullable<Resolved['entry']>) {
  if (permissions === undefined) return undefined;
  const { privileged, read = [], write = [], network } = permissions;
  const hosts = network?.outbound?.allow_host ?? [];
  const inbound = network?.inbound?.allow_host ?? [];
  const asked = [
    ...(privileged === true ? ['to run privileged'] : []),
    ...read.map((mount) => `to read ${mount}`),
    ...write.map((mount) => `to write ${mount}`),
    ...(ownNetworks.includes(network?.mode) ? [] : [`for the network mode ${network?.mode}`]),
    ...hosts.filter(isAddress).map((host) => `to reach the address ${host}`),
    ...inbound.filter((host) => !isLoopback(host)).map((host) => `for requests that name the host ${host}`),
  ];
  if (asked.length === 0) return withoutEverything(permissions);
  throw invalid(`the registry entry ${name} asks ${asked.join(', ')}, which a registry cannot grant`, {
    hint: 'if you trust the server, grant the access in your own permission profile (--permission-profile FILE). To run it without this access, use --permission-profile network',
  });
}

/** Addresses may be private, but names never resolve to private addresses. */
const isAddress = (host: string): boolean => isIP(host.split('/')[0] ?? '') !== 0;

/** An entry that asks for every host and port gets the public hosts: only the user can grant private networks. */
function withoutEverything(permissions: PermissionProfile): PermissionProfile {
  const { network } = permissions;
  if (network?.outbound?.insecure_allow_all !== true) return permissions;
  const { outbound } = builtInProfiles.public.network;
  return { ...permissions, network: { ...network, outbound } };
}
