import { invalid } from '@toolhive/contract/failure';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import type { RegistryServer } from '@toolhive/contract/registry';

/** Network modes of container engines that connect a server to nothing that belongs to this machine or others. */
const ownNetworks: readonly (string | undefined)[] = [undefined, '', 'none', 'bridge', 'default'];

/**
 * The permission profile of a registry entry: its network rules. Throws `invalid` if the entry asks for anything of
 * this machine, which only the user can grant: anybody can publish an entry.
 */
export function registryPermissions({ name, permissions }: RegistryServer): PermissionProfile | undefined {
  if (permissions === undefined) return undefined;
  const { privileged, read = [], write = [], network } = permissions;
  const asked = [
    ...(privileged === true ? ['to run privileged'] : []),
    ...read.map((mount) => `to read ${mount}`),
    ...write.map((mount) => `to write ${mount}`),
    ...(ownNetworks.includes(network?.mode) ? [] : [`for the network mode ${network?.mode}`]),
  ];
  if (asked.length === 0) return permissions;
  throw invalid(`the registry entry ${name} asks ${asked.join(', ')}, which registries cannot grant`, {
    hint: 'if you trust the server, grant it in a permission profile of your own (--permission-profile FILE); to run it without, use --permission-profile network',
  });
}
