import { isLoopback } from '@toolhive/contract/loopback';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { RuntimeLimit } from '@toolhive/runtime/runtime';
import { packageNote } from '../registry/registry.ts';
import { inboundHostsOf, inboundRuleOf } from './inbound-hosts.ts';
import { mountWarnings } from './mount-warnings.ts';
import { mountsOf } from './mounts.ts';
import { networkOf } from './network.ts';
import { sentByProxy } from './sent-secrets.ts';

/** What a person should know of a workload's permissions, because it is less safe than it could be. */
export function warningsOf(runConfig: RunConfig, limits: readonly RuntimeLimit[]): string[] {
  const profile = runConfig.permission_profile ?? {};
  const mounts = mountsOf(profile, runConfig.volumes ?? []);
  const warnings = limitsOf(runConfig, limits);
  const { image = '', instead_of_image: insteadOf } = runConfig;
  if (insteadOf !== undefined) warnings.unshift(packageNote(image, insteadOf));
  if (!isLoopback(runConfig.host)) {
    warnings.push(
      `WARNING: everybody who reaches ${runConfig.host} port ${runConfig.port} can use it without authentication`,
    );
  }
  if (inboundRuleOf(runConfig)?.('localhost') === false) {
    warnings.push(
      `its profile accepts only requests for ${(inboundHostsOf(runConfig) ?? []).join(', ')}, so clients that connect to localhost are refused`,
    );
  }
  if (runConfig.learning !== undefined) {
    warnings.push(
      `WARNING: it is in learning mode since ${runConfig.learning.since} and reaches every public host; to end it: thv learn ${runConfig.name} --stop`,
    );
  }
  if (profile.privileged === true) warnings.push('it runs privileged: nothing of its container is hardened');
  if (profile.network?.mode === 'host') {
    warnings.push(
      'it shares this machine’s network, and reaches every service that listens here, ToolHive included',
    );
  }
  warnings.push(...sentByProxy(runConfig));
  warnings.push(...mountWarnings(mounts.map(({ source }) => source)));
  return [...new Set(warnings)];
}

/** The warnings that hold for all workloads of the same kind on this machine, whatever they are. */
export function limitsOf(runConfig: RunConfig, limits: readonly RuntimeLimit[]): string[] {
  const profile = runConfig.permission_profile ?? {};
  const network = networkOf(runConfig);
  const { kind } = network;
  const reachesPrivate = network.kind === 'open' && network.privateAddresses === 'all';
  const isConcerned: Record<RuntimeLimit['concerns'], boolean> = {
    'every server': true,
    'servers with mounts': mountsOf(profile, runConfig.volumes ?? []).length > 0,
    'servers with network rules': kind === 'rules',
    'servers with an open network': kind === 'open',
    'servers with public hosts only': kind === 'open' && !reachesPrivate,
    'servers without network isolation': reachesPrivate,
  };
  const outbound = profile.network?.outbound;
  const namesHosts = (outbound?.allow_host ?? []).length > 0 || (outbound?.allow_port ?? []).length > 0;
  const isOpen = kind === 'open' && namesHosts && outbound?.insecure_allow_all !== true;
  return [
    ...limits.filter(({ concerns }) => isConcerned[concerns]).map(({ text }) => text),
    ...(isOpen
      ? [
          'WARNING: it reaches every host, because network isolation is turned off: the hosts and ports of its profile are not enforced',
        ]
      : []),
  ];
}
