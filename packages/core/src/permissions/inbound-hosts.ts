import { isIP } from 'node:net';
import type { RunConfig } from '@toolhive/contract/run-config';
import { normalizeName, parseHostPattern } from '@toolhive/runtime/host-patterns';

type WithProfile = Pick<RunConfig, 'permission_profile'>;

/**
 * Returns the only hosts that requests to a workload's proxy may name. Undefined for the default hosts of this
 * machine.
 */
export function inboundHostsOf({ permission_profile: profile }: WithProfile): readonly string[] | undefined {
  const hosts = profile?.network?.inbound?.allow_host ?? [];
  return hosts.length === 0 ? undefined : hosts;
}

/**
 * Returns a function that decides whether the profile lists the host of a `Host` header, without its port. Undefined
 * if the profile lists no hosts. Throws `invalid` for an invalid pattern.
 */
export function inboundRuleOf(runConfig: WithProfile): ((host: string) => boolean) | undefined {
  const patterns = inboundHostsOf(runConfig)?.map(parseHostPattern);
  if (patterns === undefined) return undefined;
  return (host) => {
    const address = host.replace(/^\[(.*)\]$/, '$1');
    if (isIP(address) !== 0) return patterns.some((pattern) => pattern.matchesAddress(address));
    const name = normalizeName(host);
    return name !== undefined && patterns.some((pattern) => pattern.matchesName(name));
  };
}
