import { closeSync } from 'node:fs';
import { messageOf } from '@toolhive/contract/failure';
import { enteringUser } from '../../egress/namespace.ts';
import type { EgressTools } from '../../egress/tools.ts';
import { NAME_SERVER, type NetworkTools, OwnNetwork, findNetwork } from '../../egress/user-network.ts';
import type { OpenNetwork } from '../../runtime.ts';
import { type Engine, isFailure } from '../engine.ts';
import { type ContainerNetwork, type LaunchedNetwork, targetPortOf } from './container-network.ts';
import { meansFor } from './means.ts';
import type { Networks } from './networks.ts';
import {
  type Entered,
  NetworkContainer,
  findProcess,
  forwardingResolver,
  openNamespaces,
} from './network-container.ts';
import { PortForwarder } from './port-forwarder.ts';
import { resolverFile } from './resolver-file.ts';

/** Opens a network that reaches only public hosts. Undefined if none can be made here, which the status reports. */
export async function openPublicNetwork(
  networks: Networks,
  engine: Engine,
  { network, transport }: Omit<LaunchedNetwork<OpenNetwork>, 'published'>,
): Promise<ContainerNetwork | undefined> {
  await using undo = new AsyncDisposableStack();
  const opened = await openRestricted(networks, engine, network);
  if (typeof opened === 'string') return undefined;
  const { containerId, network: descriptor, user, hasResolver, ended } = undo.use(opened.network);
  const { place } = networks;
  const port = targetPortOf(transport);
  const side = { network: descriptor, user, side: 'server' } as const;
  const published =
    port === undefined
      ? undefined
      : undo.use(await PortForwarder.open(place, opened.tools, { ...side, port }));
  const file = hasResolver ? undefined : await resolverFile(place, 'public');
  const resources = undo.move();
  return {
    joined: { containerId, ...(file !== undefined && { resolverFile: file }) },
    ...(published && { published }),
    publishPort: (serverPort) => PortForwarder.open(place, opened.tools, { ...side, port: serverPort }),
    ended: Promise.race([ended, ...(published ? [published.ended] : [])]),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Why containers with an open network reach private addresses, and the fix if there is one. */
export async function publicNetworkProblem(networks: Networks, engine: Engine): Promise<string | undefined> {
  const means = await meansToRestrict(networks, engine);
  return typeof means === 'string' ? means : networks.problems.get(engine.socket);
}

/** Opens a network that reaches public hosts. Returns the reason if this daemon can never make one here. */
async function openRestricted(
  networks: Networks,
  engine: Engine,
  network: OpenNetwork,
): Promise<{ network: PublicNetwork; tools: EgressTools } | string> {
  const means = await meansToRestrict(networks, engine);
  if (typeof means === 'string') return means;
  const { daemonId } = networks.place;
  try {
    const restricted = await PublicNetwork.open(engine, { tools: means.network, daemonId, network });
    networks.problems.delete(engine.socket);
    return { network: restricted, tools: means.egress };
  } catch (error) {
    if (!isFailure(error, 'unsupported')) throw error;
    const problem = messageOf(error);
    networks.problems.set(engine.socket, problem);
    return problem;
  }
}

async function meansToRestrict(
  networks: Networks,
  engine: Engine,
): Promise<{ network: NetworkTools; egress: EgressTools } | string> {
  const means = await meansFor(networks, engine);
  if (typeof means === 'string') return means;
  if (means.way !== 'entering') return 'only root can enter the containers of this engine';
  const found = await findNetwork(networks.env);
  return 'problem' in found
    ? `${found.problem}; ${found.hint}`
    : { network: found.tools, egress: means.tools };
}

/**
 * The network of one container that may reach every public host: that of a network container, which slirp4netns connects.
 * Routes in it end at the addresses that the server may not reach (decision 41).
 */
class PublicNetwork implements AsyncDisposable {
  readonly containerId: string;
  /** Descriptors of the namespaces of the container. */
  readonly network: number;
  readonly user: number;
  readonly hasResolver: boolean;
  /** Settles when the server in it cannot reach anything any more. Never rejects. */
  readonly ended: Promise<unknown>;
  readonly #resources: AsyncDisposableStack;

  private constructor(
    { containerId }: NetworkContainer,
    { network, user, hasResolver }: Entered,
    { ended, resources }: { ended: Promise<unknown>; resources: AsyncDisposableStack },
  ) {
    this.containerId = containerId;
    this.network = network;
    this.user = user;
    this.hasResolver = hasResolver;
    this.ended = ended;
    this.#resources = resources;
  }

  static async open(
    engine: Engine,
    { tools, daemonId, network }: { tools: NetworkTools; daemonId: string; network: OpenNetwork },
  ): Promise<PublicNetwork> {
    const signal = AbortSignal.timeout(START_TIMEOUT_MS);
    await using undo = new AsyncDisposableStack();
    const container = undo.use(
      await NetworkContainer.start(engine, { daemonId, resolver: forwardingResolver, signal }),
    );
    const look = (pid: number, name: string): Promise<Entered> => openNamespaces(pid, name, NAME_SERVER);
    const entered = await findProcess(engine, container, signal, look);
    undo.defer(() => {
      closeSync(entered.network);
      closeSync(entered.user);
    });
    const own = undo.use(new OwnNetwork(tools, network));
    own.connect(entered, enteringUser);
    await own.ready();
    return new PublicNetwork(container, entered, { ended: own.ended, resources: undo.move() });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }
}

const START_TIMEOUT_MS = 60_000;
