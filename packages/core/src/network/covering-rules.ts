import { isIP } from 'node:net';
import type { LearnedRules, NetworkDecision } from '@toolhive/contract/network';
import type { RunConfig } from '@toolhive/contract/run-config';
import { refusalOf } from '@toolhive/runtime/addresses';
import { normalizeName, parseHostPattern } from '@toolhive/runtime/host-patterns';
import { grantedNetworkOf } from '../permissions/network.ts';

/**
 * The fewest hosts and ports that cover the allowed connections. The server chooses the host names, so only exact
 * names and public addresses are used. `listed` contains the hosts in the profile.
 */
export function coveringRules(
  decisions: readonly NetworkDecision[],
  listed: readonly string[],
): LearnedRules {
  const isListed = (host: string): boolean =>
    listed.some((text) => parseHostPattern(text).matchesAddress(host));
  const used = decisions.filter(
    ({ host, port, verdict }) =>
      verdict === 'allowed' &&
      port !== undefined &&
      host !== 'localhost' && // a port of this machine, which no rule for hosts allows
      (isIP(host) === 0
        ? normalizeName(host) === host
        : isListed(host) || refusalOf(host, false) === undefined),
  );
  const hosts = new Set(used.map(({ host }) => host));
  const usesNames = hosts.values().some((host) => isIP(host) === 0);
  // The record does not tell which address a name led to, so a name may need the addresses that are listed.
  const kept = usesNames ? listed.filter((text) => isIP(text.split('/')[0] ?? '') !== 0) : [];
  const isKept = (host: string): boolean => kept.some((text) => parseHostPattern(text).matchesAddress(host));
  return {
    hosts: [...new Set([...hosts].filter((host) => !isKept(host)).concat(kept))].toSorted(),
    ports: [...new Set(used.flatMap(({ port }) => port ?? []))].toSorted((one, other) => one - other),
  };
}

/** The hosts that the profile of a workload lists. */
export function listedHosts(runConfig: RunConfig): readonly string[] {
  const grant = grantedNetworkOf(runConfig);
  return grant.kind === 'rules' ? (grant.rules.hosts ?? []) : [];
}
