import type { GatewayProcess } from '../../egress/gateway-process.ts';
import type { PreparedNetworks } from '../../egress/prepared-networks.ts';
import type { SocketPlace } from '../../published-socket.ts';
import type { EnteredNetwork } from './entered.ts';

/** What the networks of all containers of one runtime have in common. */
export interface Networks {
  place: SocketPlace;
  env: NodeJS.ProcessEnv;
  /** The ongoing creation of the network for servers with open access, shared by all starts. */
  external: Promise<void> | undefined;
  /** A prepared network for each engine, by its socket. */
  prepared: Map<string, PreparedNetworks<EnteredNetwork>>;
  /** Why the daemon cannot restrict the networks of an engine to public hosts, by its socket. */
  problems: Map<string, string>;
  /** The sockets of engines whose containers run on another machine. */
  relayed: Set<string>;
  /** An image with Node.js and the program `ip`. */
  relayImage: string;
  /** Where the gateways run. */
  gateways: GatewayProcess;
}
