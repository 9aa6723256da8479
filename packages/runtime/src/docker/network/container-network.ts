import type { Egress } from '../../egress.ts';
import type { GatewayProcess, OpenGateway } from '../../egress/gateway-process.ts';
import type { SocketPlace } from '../../published-socket.ts';
import type { Launch } from '../../runtime.ts';

/** The network of one container. It is opened before the container, and disposed after it. */
export interface ContainerNetwork extends AsyncDisposable {
  /** The network that the container joins. Absent if the engine makes the network. */
  joined?: JoinedNetwork;
  /** How an HTTP server is reached that has no port that the engine could publish. */
  published?: ServerSocket;
  /** Opens the way to a further port of the server. Absent if the engine publishes ports. */
  publishPort?: (serverPort: number) => Promise<ServerSocket>;
  /** Settles when the server cannot reach anything, or cannot be reached, any more. Never rejects. */
  ended?: Promise<unknown>;
}

export interface JoinedNetwork {
  /** The container that has the network. */
  containerId: string;
  /** The file that tells where names are resolved, if the engine does not write one. */
  resolverFile?: string;
}

/** The Unix socket that leads to a port of a server. */
export interface ServerSocket extends AsyncDisposable {
  readonly path: string;
  /** Settles when the server is unreachable. Never rejects. */
  readonly ended: Promise<unknown>;
}

/** A network from which a container reaches only its egress gateway. */
export interface IsolatedNetwork extends AsyncDisposable {
  /** The container that has the network, which the container of the server joins. */
  readonly containerId: string;
  /** Whether a server that joins finds the resolver of the gateway in its settings. */
  readonly hasResolver: boolean;
  /** Settles when the network has ended, if the server would not notice. Never rejects. */
  readonly ended?: Promise<unknown>;
  /** Opens the gateway that everything in the network leads to. */
  openGateway(gateways: GatewayProcess, egress: Egress): Promise<OpenGateway>;
  /** Opens a socket that leads to a port of the server. */
  publishPort(place: SocketPlace, port: number): Promise<ServerSocket>;
}

/** The parts of a launch that concern its network. */
export interface LaunchedNetwork<Network> {
  network: Network;
  transport: Launch['transport'];
  published: Launch['published'];
}

/** The port on which a server listens. Undefined if it speaks stdio. */
export const targetPortOf = (transport: Launch['transport']): number | undefined =>
  transport.kind === 'http' ? transport.targetPort : undefined;
