import { randomUUID } from 'node:crypto';
import { RESOLVER_ADDRESS, resolverSettings } from '../egress/link-addresses.ts';
import { NAME_SERVER } from '../egress/user-network.ts';
import { small } from './connector.ts';
import { DAEMON_LABEL, PAUSE_LABEL } from './ownership.ts';

/** Where the servers in a network resolve names. */
export interface Resolver {
  address: string;
  options: readonly string[];
}

export const gatewayResolver: Resolver = { address: RESOLVER_ADDRESS, options: resolverSettings.options };
export const forwardingResolver: Resolver = { address: NAME_SERVER, options: [] };

/** A new name for a container whose network a server joins. */
export const networkName = (): string => `toolhive-network-${randomUUID().slice(0, 13)}`;

/** The settings of a container whose network a server joins. It has none yet, and ends with the attached daemon. */
export const withoutNetwork = (daemonId: string, resolver: Resolver) => ({
  OpenStdin: true,
  StdinOnce: true,
  AttachStdin: true,
  Labels: { toolhive: 'true', [DAEMON_LABEL]: daemonId, [PAUSE_LABEL]: 'true' },
  HostConfig: {
    ...small,
    NetworkMode: 'none',
    // A server shares these settings, unless the engine ignores them without a network, as Podman does.
    Dns: [resolver.address],
    DnsOptions: resolver.options,
    SecurityOpt: ['no-new-privileges'],
  },
});
