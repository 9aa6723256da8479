import { isLoopback } from '@toolhive/contract/loopback';
import { publishedPortOf } from '@toolhive/contract/names';
import type { LearningMode } from '@toolhive/contract/network';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { RuntimeLimit } from '@toolhive/runtime/runtime';
import { packageNote } from '@toolhive/registry/registry';
import { inboundHostsOf, inboundRuleOf } from './inbound-hosts.ts';
import { ungrantedWishes } from './later-wishes.ts';
import { mountWarnings } from './mount-warnings.ts';
import { mountsOf } from './mounts.ts';
import { networkOf } from './network.ts';
import { sentByProxy } from './sent-secrets.ts';

/** Warnings about permissions that are less safe than possible. */
export function warningsOf(runConfig: RunConfig, limits: readonly RuntimeLimit[]): string[] {
  const profile = runConfig.permission_profile ?? {};
  const mounts = mountsOf(profile, runConfig.volumes ?? []);
  const warnings = limitsOf(runConfig, limits);
  const { image = '', instead_of_image: insteadOf } = runConfig;
  if (insteadOf !== undefined) warnings.unshift(packageNote(image, insteadOf));
  warnings.push(...(runConfig.not_granted ?? []), ...ungrantedWishes(runConfig));
  if (!isLoopback(runConfig.host)) {
    warnings.push(
      `WARNING: anyone who can reach ${runConfig.host} port ${runConfig.port} can use the workload without authentication`,
    );
  }
  if (inboundRuleOf(runConfig)?.('localhost') === false) {
    warnings.push(
      `its profile accepts only requests for ${(inboundHostsOf(runConfig) ?? []).join(', ')}, so clients that connect to localhost are refused`,
    );
  }
  if (runConfig.learning !== undefined) {
    warnings.push(
      `WARNING: learning mode ${timeOf(runConfig.learning)}: the server reaches every public host. To end learning mode: thv learn ${runConfig.name} --stop`,
    );
  }
  if (profile.privileged === true) warnings.push('the container runs privileged, without any hardening');
  if (profile.network?.mode === 'host') {
    warnings.push(
      'the server shares this machine’s network and reaches every local service, including ToolHive',
    );
  }
  if (runConfig.local_ports?.length) {
    warnings.push(
      `WARNING: the server reaches the programs that listen on ${portsOf(runConfig.local_ports)} of this machine`,
    );
  }
  if (runConfig.publish?.length) {
    const ports = runConfig.publish.map((text) => publishedPortOf(text).port);
    warnings.push(
      `WARNING: the server itself answers on ${portsOf(ports)}, past its proxy, to local programs and browsers`,
    );
  }
  if (runConfig.allowed_origins?.length) {
    warnings.push(
      `WARNING: web pages from ${runConfig.allowed_origins.join(', ')} can use the server from a local browser`,
    );
  }
  warnings.push(...sentByProxy(runConfig));
  warnings.push(...mountWarnings(mounts));
  return [...new Set(warnings)];
}

const portsOf = (ports: readonly number[]): string => `port ${ports.join(', ')}`;

const timeOf = ({ since, until }: LearningMode): string =>
  `since ${since}${until === undefined ? '' : ` until ${until}`}`;

/** The warnings that apply to all workloads of the same kind on this machine. */
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
          'WARNING: the server reaches every host, because network isolation is turned off and the rules of its profile are not enforced',
        ]
      : []),
  ];
}
