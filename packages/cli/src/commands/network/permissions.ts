import type { NetworkAccess, Permissions } from '@toolhive/contract/network';
import { printable } from '@toolhive/contract/printable';
import type { Page } from '../../out.ts';

/** Prints a workload's permissions, one per line. */
export function showPermissions(page: Page, permissions: Permissions): void {
  const { network, inbound_hosts: inboundHosts, mounts, privileged, learned, warnings } = permissions;
  page.line(`Network: ${printable(describeNetwork(network))}`);
  if (inboundHosts !== undefined) page.line(`Requests: only for ${printable(inboundHosts.join(', '))}`);
  for (const { source, target, read_only: isReadOnly } of mounts) {
    const [from, to] = [source, target].map((path) => printable(path.replaceAll(/[\t\n]/g, '\ufffd'))); // in one line
    page.line(`${isReadOnly ? 'Reads' : 'Reads and writes'} ${from} as ${to}`);
  }
  if (mounts.length === 0) page.line('Files: none of this machine');
  if (privileged) page.line('Privileged: nothing of its container is hardened');
  if (learned !== undefined)
    page.line(`Learning mode: ended at ${learned.until}. Apply or discard its record with thv learn`);
  for (const warning of warnings) page.line(`Note: ${printable(warning)}`);
}

/** Describes a server's network access in one line. */
export function describeNetwork(network: NetworkAccess): string {
  const { kind, hosts, ports = [], local_ports: localPorts = [], private_hosts: privateHosts } = network;
  const { mode, enforced } = network;
  if (kind === 'none') return 'none';
  if (kind === 'mode') return `the network ${mode ?? ''} of the container engine`;
  const note = enforced ? '' : ' (not enforced)';
  if (kind === 'open') {
    if (privateHosts === undefined) return 'everything that this machine reaches';
    return `${['every public host', ...privateHosts].join(', ')} on every port${note}`;
  }
  const local = localPorts.length === 0 ? [] : [`localhost of this machine on port ${localPorts.join(', ')}`];
  const where = hosts === undefined ? 'every public host' : hosts.join(', ');
  const outside = hosts?.length === 0 ? [] : [`${where} on port ${ports.join(', ')}`];
  return `${[...outside, ...local].join(', and ')}${note}`;
}
