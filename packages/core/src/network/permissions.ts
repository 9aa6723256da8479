import { conflict, invalid } from '@toolhive/contract/failure';
import { advice, fixes } from '@toolhive/contract/fixes';
import type {
  NetworkAccess,
  NetworkDecision,
  PermissionChange,
  Permissions,
} from '@toolhive/contract/network';
import type { RunConfig } from '@toolhive/contract/run-config';
import { parseHostPattern } from '@toolhive/runtime/host-patterns';
import { Rules } from '@toolhive/runtime/outbound-rules';
import type { OutboundRules } from '@toolhive/runtime/outbound-rules';
import type { RuntimeLimit } from '@toolhive/runtime/runtime';
import { inboundHostsOf } from '../permissions/inbound-hosts.ts';
import { mountsOfRunConfig } from '../permissions/mounts.ts';
import { enforcesRules, grantedNetworkOf, networkOf, webPorts } from '../permissions/network.ts';
import type { NetworkGrant } from '../permissions/network.ts';
import { coveringRules, listedHosts } from './covering-rules.ts';

/** What a run config grants, in the form that callers read. */
export function permissionsOf(
  runConfig: RunConfig,
  { warnings, limits }: { warnings: readonly string[]; limits: readonly RuntimeLimit[] },
): Permissions {
  const inboundHosts = inboundHostsOf(runConfig);
  return {
    network: accessOf(runConfig, limits),
    ...(inboundHosts === undefined ? {} : { inbound_hosts: [...inboundHosts] }),
    mounts: mountsOfRunConfig(runConfig).map(({ source, target, readOnly }) => ({
      source,
      target,
      read_only: readOnly,
    })),
    privileged: runConfig.permission_profile?.privileged === true,
    ...(runConfig.learning === undefined ? {} : { learning: runConfig.learning }),
    ...(runConfig.learned === undefined ? {} : { learned: runConfig.learned }),
    warnings: [...warnings],
  };
}

/** What a run config lets a server reach. */
export function accessOf(
  runConfig: Pick<RunConfig, 'permission_profile' | 'isolate_network' | 'local_ports' | 'learning'>,
  limits: readonly RuntimeLimit[],
): NetworkAccess {
  const grant = networkOf(runConfig);
  if (grant.kind === 'mode') return { ...grant, enforced: true };
  if (grant.kind === 'none') return { ...grant, enforced: true };
  if (grant.kind === 'open') return openAccessOf(grant, limits);
  const { hosts, everyPublicHost = false, ports, localPorts = [] } = grant.rules;
  return {
    kind: 'rules',
    ...(hosts === undefined || everyPublicHost ? {} : { hosts: [...hosts] }),
    ports: [...ports],
    ...(localPorts.length === 0 ? {} : { local_ports: [...localPorts] }),
    enforced: enforcesRules(limits),
  };
}

function openAccessOf(
  { kind, privateAddresses }: Extract<NetworkGrant, { kind: 'open' }>,
  limits: readonly RuntimeLimit[],
): NetworkAccess {
  if (privateAddresses === 'all') return { kind, enforced: true };
  const enforced = !limits.some(({ concerns }) => concerns === 'servers with public hosts only');
  return { kind, private_hosts: [...privateAddresses], enforced };
}

/** A run config with other outbound rules. Throws `invalid` for hosts that are none, `conflict` if it has no rules. */
export function withChange(
  runConfig: RunConfig,
  change: PermissionChange,
  decisions: readonly NetworkDecision[],
): RunConfig {
  const grant = grantedNetworkOf(runConfig);
  if (grant.kind !== 'rules' && grant.kind !== 'none') {
    throw conflict(`${runConfig.name} reaches the network without rules`, {
      hint: `run it again with --permission-profile public or a profile that lists hosts`,
    });
  }
  const before: OutboundRules = grant.kind === 'rules' ? grant.rules : { hosts: [], ports: [] };
  const tightened = change.tighten === true ? tighten(runConfig, decisions) : before;
  const allowed = (change.allow ?? []).map(parsePlace);
  const denied = (change.deny ?? []).map(parsePlace);
  if (denied.length > 0 && tightened.hosts === undefined) {
    throw conflict(
      `${runConfig.name} can reach every public host, so no host can be denied`,
      advice(
        `first restrict it to the hosts that it uses: thv permission tighten ${runConfig.name}`,
        fixes.tighten(runConfig.name),
      ),
    );
  }
  const missing = denied.find(({ host }) => tightened.hosts?.includes(host) !== true);
  if (missing !== undefined) {
    throw invalid(`${missing.host} is not in the allowlist of ${runConfig.name}`, {
      hint: `the allowed hosts are ${tightened.hosts?.join(', ') || 'none'}`,
    });
  }
  const rules = applied(tightened, allowed, denied);
  return withRules(runConfig, rules);
}

/** The fewest hosts and ports that cover the server's allowed connections. */
function tighten(runConfig: RunConfig, decisions: readonly NetworkDecision[]): OutboundRules {
  const { name, learning } = runConfig;
  if (learning !== undefined) {
    throw conflict(
      `${name} is in learning mode`,
      advice(`end learning mode with the recorded hosts: thv learn ${name} --stop`, fixes.stopLearning(name)),
    );
  }
  const rules = coveringRules(decisions, listedHosts(runConfig));
  if (rules.hosts.length > 0) return rules;
  throw conflict(`${name} has not connected to any host yet`, {
    hint: 'use the server first, so that its hosts are recorded',
  });
}

interface Place {
  host: string;
  port?: number;
}

/** Parses `HOST` or `HOST:PORT`. An IPv6 address with a port is in brackets. */
function parsePlace(text: string): Place {
  const [, bracketed, plain = '', port] = /^(?:\[([^\]]+)\]|(.*?))(?::(\d{1,5}))?$/s.exec(text) ?? [];
  const isBareAddress = bracketed === undefined && text.split(':').length > 2;
  const host = bracketed ?? (isBareAddress ? text : plain);
  parseHostPattern(host); // throws
  if (port === undefined || isBareAddress) return { host };
  if (Number(port) < 1 || Number(port) > 65_535) {
    throw invalid(`${JSON.stringify(text)} has no valid port`, { hint: 'ports are from 1 to 65535' });
  }
  return { host, port: Number(port) };
}

function applied(
  { hosts, ports }: OutboundRules,
  allowed: readonly Place[],
  denied: readonly Place[],
): OutboundRules {
  const added = allowed.map(({ host }) => host);
  const addedPorts = allowed.flatMap(({ port }) =>
    port === undefined ? (ports.length > 0 ? [] : webPorts) : [port],
  );
  const removed = new Set(denied.map(({ host }) => host));
  const removedPorts = new Set(denied.flatMap(({ port }) => port ?? []));
  // Every public host can be reached already, unless the added one is an address.
  const isCovered = (host: string): boolean =>
    hosts === undefined && !parseHostPattern(host).matchesAddress(host.split('/')[0] ?? '');
  const uncovered = added.filter((host) => !isCovered(host));
  if (hosts === undefined && uncovered.length > 0) {
    throw conflict(`${uncovered.join(', ')} cannot be added while every public host is allowed`, {
      hint: 'first restrict the workload to the hosts that it uses: thv permission tighten NAME',
    });
  }
  return {
    ...(hosts === undefined ? {} : { hosts: union(hosts, added).filter((host) => !removed.has(host)) }),
    ports: union(ports, addedPorts).filter((port) => !removedPorts.has(port)),
  };
}

const union = <Value>(one: readonly Value[], other: readonly Value[]): Value[] => [
  ...new Set([...one, ...other]),
];

/**
 * A run config with other outbound rules. Without hosts, the server has no network access. Throws `invalid` for an
 * invalid host.
 */
export function withRules(runConfig: RunConfig, rules: OutboundRules): RunConfig {
  void new Rules(rules); // throws for a host that is none
  const profile = runConfig.permission_profile ?? {};
  const isEmpty = rules.hosts?.length === 0;
  const outbound = isEmpty
    ? {}
    : {
        ...(rules.hosts === undefined ? {} : { allow_host: [...rules.hosts] }),
        allow_port: [...rules.ports],
      };
  const { name, ...rest } = profile;
  const { mode, ...network } = profile.network ?? {};
  const isInTheWay = mode === 'none' && !isEmpty; // of the rules
  const isBuiltIn = name === 'none' || name === 'public' || name === 'network';
  return {
    ...runConfig,
    permission_profile: {
      ...(name === undefined || isBuiltIn ? {} : { name }),
      ...rest,
      network: { ...network, ...(mode === undefined || isInTheWay ? {} : { mode }), outbound },
    },
  };
}
