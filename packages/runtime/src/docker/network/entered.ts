import type { Egress } from '../../egress.ts';
import type { GatewaySockets } from '../../egress/gateway.ts';
import type { GatewayProcess, OpenGateway } from '../../egress/gateway-process.ts';
import { RESOLVER_ADDRESS } from '../../egress/link-addresses.ts';
import { EgressNamespace } from '../../egress/namespace.ts';
import type { EgressTools } from '../../egress/tools.ts';
import type { SocketPlace } from '../../published-socket.ts';
import type { Engine } from '../engine.ts';
import type { IsolatedNetwork } from './container-network.ts';
import type { Way } from './means.ts';
import { moveInterface } from './move-interface.ts';
import {
  NetworkContainer,
  findProcess,
  gatewayResolver,
  openNamespaces,
  requireWaiting,
} from './network-container.ts';
import { PortForwarder } from './port-forwarder.ts';

/**
 * The network of one container with rules: that of a network container, whose only neighbor is the egress gateway. The
 * server joins this network, so the gateway exists before the server.
 */
export class EnteredNetwork implements IsolatedNetwork {
  readonly namespace: EgressNamespace;
  readonly hasResolver: boolean;
  readonly #container: NetworkContainer;
  readonly #tools: EgressTools;

  private constructor(
    container: NetworkContainer,
    { namespace, hasResolver }: Connected,
    tools: EgressTools,
  ) {
    this.#container = container;
    this.namespace = namespace;
    this.hasResolver = hasResolver;
    this.#tools = tools;
  }

  async openGateway(gateways: GatewayProcess, egress: Egress): Promise<OpenGateway> {
    const { namespace } = this;
    const sockets = await namespace.withLocal(this.#tools, egress.rules.localPorts);
    const reopen = (): Promise<GatewaySockets> => namespace.reopen(this.#tools);
    return gateways.open(egress, { kind: 'sockets', sockets, reopen });
  }

  publishPort(place: SocketPlace, port: number): Promise<PortForwarder> {
    const { network, user, side } = this.namespace;
    return PortForwarder.open(place, this.#tools, { network, user, side, port });
  }

  get containerId(): string {
    return this.#container.containerId;
  }

  /** Whether a server can join. */
  get isRunning(): boolean {
    return this.#container.isRunning;
  }

  static async open(
    engine: Engine,
    {
      tools,
      way,
      daemonId,
      ports,
    }: { tools: EgressTools; way: Way; daemonId: string; ports: readonly number[] },
  ): Promise<EnteredNetwork> {
    const signal = AbortSignal.timeout(START_TIMEOUT_MS);
    await using undo = new AsyncDisposableStack();
    const container = undo.use(
      await NetworkContainer.start(engine, { daemonId, resolver: gatewayResolver, signal }),
    );
    const made =
      way === 'entering'
        ? await enterNetwork(engine, tools, { container, ports, signal })
        : await connectNetwork(engine, tools, { container, ports, daemonId, signal });
    undo.move();
    return new EnteredNetwork(container, made, tools);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.namespace[Symbol.dispose]();
    await this.#container[Symbol.asyncDispose]();
  }
}

const START_TIMEOUT_MS = 60_000;

type Connected = Pick<EnteredNetwork, 'namespace' | 'hasResolver'>;

async function enterNetwork(
  engine: Engine,
  tools: EgressTools,
  {
    container,
    ports,
    signal,
  }: { container: NetworkContainer; ports: readonly number[]; signal: AbortSignal },
): Promise<Connected> {
  const { hasResolver, ...descriptors } = await findProcess(engine, container, signal, (pid, name) =>
    openNamespaces(pid, name, RESOLVER_ADDRESS),
  );
  return { namespace: await EgressNamespace.connect(tools, ports, descriptors), hasResolver };
}

async function connectNetwork(
  engine: Engine,
  tools: EgressTools,
  {
    container,
    ports,
    daemonId,
    signal,
  }: { container: NetworkContainer; ports: readonly number[]; daemonId: string; signal: AbortSignal },
): Promise<Connected> {
  await findProcess(engine, container, signal, requireWaiting);
  const namespace = await EgressNamespace.openGateway(tools, ports, (end) =>
    moveInterface(engine, tools, { container, end, daemonId, signal }),
  );
  return { namespace, hasResolver: engine.kind === 'docker' };
}
