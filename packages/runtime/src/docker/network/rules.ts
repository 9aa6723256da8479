import { unavailable } from '@toolhive/contract/failure';
import { closeSockets, noLocalPorts } from '../../egress/namespace.ts';
import { PreparedNetworks } from '../../egress/prepared-networks.ts';
import type { RulesNetwork } from '../../runtime.ts';
import { type Engine, isFailure } from '../engine.ts';
import { prepareImage } from '../images.ts';
import {
  type ContainerNetwork,
  type IsolatedNetwork,
  type LaunchedNetwork,
  targetPortOf,
} from './container-network.ts';
import { EnteredNetwork } from './entered.ts';
import { meansFor } from './means.ts';
import type { Networks } from './networks.ts';
import { RelayedNetwork } from './relayed.ts';
import { resolverFile } from './resolver-file.ts';

/** Opens a network that reaches the hosts that rules allow, through an egress gateway. */
export async function openRulesNetwork(
  networks: Networks,
  engine: Engine,
  { network: { egress }, transport, published: others = [] }: LaunchedNetwork<RulesNetwork>,
  signal: AbortSignal,
): Promise<ContainerNetwork> {
  await using undo = new AsyncDisposableStack();
  const { place, gateways } = networks;
  const ownPort = targetPortOf(transport);
  const { ports, localPorts } = egress.rules;
  const ownPorts = [ownPort, ...others.map(({ serverPort }) => serverPort)].filter(
    (port) => port !== undefined,
  );
  const network = undo.use(await takeNetwork(networks, engine, { ports, ownPorts, signal }));
  if (localPorts.length > 0 && network instanceof RelayedNetwork)
    throw unavailable(noLocalPorts.message, { hint: noLocalPorts.hint });
  const gateway = undo.use(await network.openGateway(gateways, egress));
  const published = ownPort === undefined ? undefined : undo.use(await network.publishPort(place, ownPort));
  const { containerId, hasResolver, ended } = network;
  const file = hasResolver ? undefined : await resolverFile(place, 'gateway');
  const resources = undo.move();
  return {
    joined: { containerId, ...(file !== undefined && { resolverFile: file }) },
    ...(published && { published }),
    publishPort: (port) => network.publishPort(place, port),
    ended: Promise.race([gateway.failed, ...(ended ? [ended] : []), ...(published ? [published.ended] : [])]),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

interface Taking {
  /** The ports that the rules allow. */
  ports: readonly number[];
  /** The ports on which the server listens. */
  ownPorts: readonly number[];
  signal: AbortSignal;
}

/** Takes a network with listeners for the ports: a prepared one, if there is one. */
async function takeNetwork(
  networks: Networks,
  engine: Engine,
  { ports, ownPorts, signal }: Taking,
): Promise<IsolatedNetwork> {
  const means = await meansFor(networks, engine);
  if (typeof means === 'string' || networks.relayed.has(engine.socket))
    return relayNetwork(networks, engine, { ports, ownPorts, signal });
  const prepared = networks.prepared.get(engine.socket) ?? new PreparedNetworks<EnteredNetwork>();
  networks.prepared.set(engine.socket, prepared);
  const { daemonId } = networks.place;
  try {
    return await prepared.take(
      ports,
      (wanted) => EnteredNetwork.open(engine, { ...means, daemonId, ports: wanted }),
      { isUsable: ({ isRunning }) => isRunning, drop: discard },
    );
  } catch (error) {
    // Everything else may be gone the next time.
    if (!isFailure(error, 'unsupported')) throw error;
    networks.relayed.add(engine.socket);
    return relayNetwork(networks, engine, { ports, ownPorts, signal });
  }
}

/** For an engine in a virtual machine, or with another owner, or on a machine without the programs. */
async function relayNetwork(
  { place: { daemonId }, env, relayImage, gateways }: Networks,
  engine: Engine,
  { ports, ownPorts, signal }: Taking,
): Promise<IsolatedNetwork> {
  const source = { kind: 'image', image: relayImage } as const;
  const { image } = await prepareImage(engine, source, { env, signal, report: () => {} });
  return RelayedNetwork.open(engine, { gateways, image, daemonId, ports, ownPorts, signal });
}

/** Closes a network that no container has joined. Its container has ended, or the next sweep removes it. */
function discard(network: EnteredNetwork): void {
  closeSockets(network.namespace.sockets);
  network[Symbol.asyncDispose]().catch(() => {});
}
