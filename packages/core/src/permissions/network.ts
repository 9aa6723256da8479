import { isIP } from 'node:net';
import type { RunConfig } from '@toolhive/contract/run-config';
import { alwaysListening } from '@toolhive/runtime/egress';
import type { OutboundRules } from '@toolhive/runtime/outbound-rules';
import type { RuntimeLimit } from '@toolhive/runtime/runtime';

/** What a run config grants of the network. */
export type NetworkGrant =
  | { kind: 'none' }
  | { kind: 'rules'; rules: OutboundRules }
  /**
   * `privateAddresses`: the listed private addresses that the server reaches in addition to every public address, or
   * all private addresses.
   */
  | { kind: 'open'; privateAddresses: 'all' | readonly string[] }
  | { kind: 'mode'; mode: string };

/** The ports of a profile that lists hosts and no ports. */
export const webPorts = [80, 443];

/** A server's network: the one that its run config grants, or in learning mode every public host. */
export function networkOf(
  runConfig: Pick<RunConfig, 'permission_profile' | 'isolate_network' | 'local_ports' | 'learning'>,
): NetworkGrant {
  const granted = grantedNetworkOf(runConfig);
  if (runConfig.learning === undefined) return granted;
  const { hosts = [], ports } = granted.kind === 'rules' ? granted.rules : { ports: [] };
  const everywhere = { hosts, everyPublicHost: true, ports: [...new Set([...alwaysListening, ...ports])] };
  return { kind: 'rules', rules: { ...everywhere, ...localPortsOf(runConfig) } };
}

/**
 * The network that a run config grants. A profile that allows nothing gets no network. Rules are always enforced
 * unless isolation was explicitly turned off. A profile that allows everything allows only the private addresses that
 * it lists. Ports of this machine are rules, too.
 */
export function grantedNetworkOf(
  runConfig: Pick<RunConfig, 'permission_profile' | 'isolate_network' | 'local_ports'>,
): NetworkGrant {
  const { permission_profile: profile, isolate_network: isolate } = runConfig;
  const { mode, outbound } = profile?.network ?? {};
  const local = localPortsOf(runConfig);
  const none: NetworkGrant =
    'localPorts' in local ? { kind: 'rules', rules: { hosts: [], ports: [], ...local } } : { kind: 'none' };
  if (mode !== undefined && mode !== '' && mode !== 'bridge' && mode !== 'default') {
    return mode === 'none' ? none : { kind: 'mode', mode };
  }
  const isOpen = outbound?.insecure_allow_all === true;
  const hosts = outbound?.allow_host ?? [];
  const ports = outbound?.allow_port ?? [];
  if (!isOpen && hosts.length === 0 && ports.length === 0) return none;
  if (isolate === false) return { kind: 'open', privateAddresses: 'all' };
  if (isOpen) return { kind: 'open', privateAddresses: hosts.filter(isAddressPattern) };
  const rules = { ...(hosts.length > 0 ? { hosts } : {}), ports: ports.length > 0 ? ports : webPorts };
  return { kind: 'rules', rules: { ...rules, ...local } };
}

function localPortsOf({ local_ports: ports }: Pick<RunConfig, 'local_ports'>): { localPorts?: number[] } {
  return ports?.length ? { localPorts: ports } : {};
}

const isAddressPattern = (host: string): boolean => isIP(host.replace(/\/\d+$/, '')) !== 0;

/** Whether network rules are enforced where a workload runs, as far as its last start has shown. */
export const enforcesRules = (limits: readonly RuntimeLimit[]): boolean =>
  !limits.some(({ concerns }) => concerns === 'servers with network rules');

/** Whether the server has no network, or rules that are enforced. */
export function isIsolated(runConfig: RunConfig, limits: readonly RuntimeLimit[]): boolean {
  const { kind } = grantedNetworkOf(runConfig);
  return kind === 'none' || (kind === 'rules' && enforcesRules(limits));
}
