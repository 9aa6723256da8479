import { invalid } from '@toolhive/contract/failure';
import type { PermissionChange } from '@toolhive/contract/network';
import type { CommandCall, FlagValues } from '../../command.ts';
import { localPortsFrom } from '../port.ts';
import { showPermissions } from './permissions.ts';

/** A command that changes a workload's network access, and shows the result. */
export function changeWith(changeFor: (hosts: string[], flags: FlagValues) => PermissionChange) {
  return async (call: CommandCall): Promise<void> => {
    const {
      arguments: [name = '', ...hosts],
      flags,
      out,
      client,
      signal,
    } = call;
    const body = changeFor([...hosts], flags);
    const daemon = await client();
    const changed = await daemon.changePermissions({ params: { name }, body }, { signal });
    out.result(changed, (page) => {
      showPermissions(page, changed.permissions);
      if (changed.restarted)
        out.note(`${name} was restarted, because its network needs a port that was not in use.`);
    });
  };
}

/** Adds hosts, and local ports. The user has typed each port, which is the consent. */
export const allow = changeWith((hosts, flags) => {
  const ports = portsBeside(hosts, flags);
  return {
    allow: hosts,
    ...(ports.length === 0 ? {} : { allow_local_ports: ports, accepted_risks: ['local-ports'] }),
  };
});

/** Removes hosts, and local ports. */
export const deny = changeWith((hosts, flags) => {
  const ports = portsBeside(hosts, flags);
  return { deny: hosts, ...(ports.length === 0 ? {} : { deny_local_ports: ports }) };
});

/** The local ports of a command that names them, hosts, or both. */
function portsBeside(hosts: readonly string[], flags: FlagValues): number[] {
  const ports = localPortsFrom(flags.list('local-port'), 'local-port');
  if (hosts.length > 0 || ports.length > 0) return ports;
  throw invalid('no host is named', { hint: 'name a host, or a port of this machine with --local-port' });
}
