import { closeSync, openSync, statSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, unavailable, unsupported } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import * as z from 'zod';
import type { SocketPlace } from '../door.ts';
import type { Egress } from '../egress.ts';
import { RESOLVER_ADDRESS, resolverSettings } from '../egress/link-addresses.ts';
import type { GatewaySockets } from '../egress/gateway.ts';
import { type GatewayProcess, type OpenGateway, closeSockets } from '../egress/gateway-process.ts';
import { EgressNamespace, enteringUser } from '../egress/namespace.ts';
import { Spares } from '../egress/spares.ts';
import { type EgressTools, findEgressTools } from '../egress/tools.ts';
import { NAME_SERVER, type NetworkTools, OwnNetwork, findNetwork } from '../egress/user-network.ts';
import type { OpenNetwork } from '../runtime.ts';
import { exitOf, spawnSealed } from '../spawn.ts';
import { attach } from './attach.ts';
import { fetchEnd } from './connector.ts';
import { inspectContainer, removeContainer } from './container.ts';
import { type Engine, callEngine, isFailure } from './engine.ts';
import { prepareImage } from './images.ts';
import { Ingress } from './ingress.ts';
import {
  type Resolver,
  forwardingResolver,
  gatewayResolver,
  networkName,
  withoutNetwork,
} from './network-container.ts';
import { PAUSE_PROGRAM, ensurePauseImage } from './pause.ts';
import { RelayedNetwork } from './relay.ts';

/** What makes networks with an egress gateway for containers. */
export interface ContainerEgress {
  place: SocketPlace;
  env: NodeJS.ProcessEnv;
  /** One spare network for each engine, by its socket. */
  spares: Map<string, Spares<GuardedNetwork>>;
  /** Why the daemon cannot fence the networks of an engine, by its socket. */
  problems: Map<string, string>;
  /** The sockets of engines whose containers run on another machine. */
  relayed: Set<string>;
  /** An image with Node.js and the program `ip`. */
  relayImage: string;
  /** Where the gateways run. */
  gateways: GatewayProcess;
}

/** A container that only waits, and whose network a server joins. It ends with the daemon. */
class Pause implements AsyncDisposable {
  readonly containerId: string;
  readonly image: string;
  readonly name: string;
  readonly #engine: Engine;
  readonly #close: () => void;
  #isRunning = true;

  private constructor(
    engine: Engine,
    { containerId, image, name }: Pick<Pause, 'containerId' | 'image' | 'name'>,
    { closed, close }: { closed: Promise<void>; close: () => void },
  ) {
    this.#engine = engine;
    this.containerId = containerId;
    this.image = image;
    this.name = name;
    this.#close = close;
    closed.then(() => (this.#isRunning = false)).catch(raiseFault);
  }

  /** Whether a server can join. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Starts one without a network. A server that joins asks `resolver` for names, if the engine tells it so. */
  static async start(
    engine: Engine,
    { daemonId, resolver, signal }: { daemonId: string; resolver: Resolver; signal: AbortSignal },
  ): Promise<Pause> {
    const image = await ensurePauseImage(engine, signal);
    const name = networkName();
    const { Id: containerId } = await callEngine(engine, z.object({ Id: z.string() }), {
      method: 'POST',
      path: '/containers/create',
      query: { name },
      body: { json: pauseSpec(image, { name, engine, daemonId, resolver }) },
      signal,
    });
    const silent = { speaksStdio: false, listens: true, log: () => {}, signal };
    let close = (): void => {};
    try {
      const attachment = await attach(engine, containerId, silent);
      close = attachment.close;
      attachment.unref();
      await callEngine(engine, z.unknown(), {
        method: 'POST',
        path: `/containers/${containerId}/start`,
        signal,
      });
      return new Pause(engine, { containerId, image, name }, attachment);
    } catch (error) {
      await removeContainer(engine, containerId);
      close();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await removeContainer(this.#engine, this.containerId);
    this.#close();
  }
}

/**
 * The network of one container with rules: that of a pause container, whose only neighbor is the egress gateway. The
 * server joins this network, so the gateway exists before the server.
 */
class GuardedNetwork implements TakenNetwork {
  readonly namespace: EgressNamespace;
  readonly hasResolver: boolean;
  readonly #pause: Pause;
  readonly #tools: EgressTools;

  private constructor(pause: Pause, { namespace, hasResolver }: Connected, tools: EgressTools) {
    this.#pause = pause;
    this.namespace = namespace;
    this.hasResolver = hasResolver;
    this.#tools = tools;
  }

  openGateway(gateways: GatewayProcess, egress: Egress): Promise<OpenGateway> {
    const { namespace } = this;
    const reopen = (): Promise<GatewaySockets> => namespace.reopen(this.#tools);
    return gateways.open(egress, { kind: 'sockets', sockets: namespace.sockets, reopen });
  }

  openIngress(place: SocketPlace, port: number): Promise<Ingress> {
    const { network, user, side } = this.namespace;
    return Ingress.open(place, this.#tools, { network, user, side, port });
  }

  get containerId(): string {
    return this.#pause.containerId;
  }

  /** Whether a server can join. */
  get isRunning(): boolean {
    return this.#pause.isRunning;
  }

  static async open(
    engine: Engine,
    {
      tools,
      way,
      daemonId,
      ports,
    }: { tools: EgressTools; way: Way; daemonId: string; ports: readonly number[] },
  ): Promise<GuardedNetwork> {
    const signal = AbortSignal.timeout(START_TIMEOUT_MS);
    await using undo = new AsyncDisposableStack();
    const pause = undo.use(await Pause.start(engine, { daemonId, resolver: gatewayResolver, signal }));
    const made =
      way === 'entering'
        ? await enterNetwork(engine, tools, { pause, ports, signal })
        : await connectNetwork(engine, tools, { pause, ports, daemonId, signal });
    undo.move();
    return new GuardedNetwork(pause, made, tools);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.namespace[Symbol.dispose]();
    await this.#pause[Symbol.asyncDispose]();
  }
}

/**
 * The network of one container that may reach every public host: that of a pause container, which slirp4netns connects.
 * Routes in it end at the addresses that the server may not reach (decision 41).
 */
export class FencedNetwork implements AsyncDisposable {
  readonly containerId: string;
  /** Descriptors of the namespaces of the container. */
  readonly network: number;
  readonly user: number;
  readonly hasResolver: boolean;
  /** Settles when the server in it cannot reach anything any more. Never rejects. */
  readonly ended: Promise<unknown>;
  readonly #resources: AsyncDisposableStack;

  private constructor(
    { containerId }: Pause,
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
  ): Promise<FencedNetwork> {
    const signal = AbortSignal.timeout(START_TIMEOUT_MS);
    await using undo = new AsyncDisposableStack();
    const pause = undo.use(await Pause.start(engine, { daemonId, resolver: forwardingResolver, signal }));
    const look = (pid: number, name: string): Promise<Entered> => openNamespaces(pid, name, NAME_SERVER);
    const entered = await findProcess(engine, pause, signal, look);
    undo.defer(() => {
      closeSync(entered.network);
      closeSync(entered.user);
    });
    const own = undo.use(new OwnNetwork(tools, network));
    own.connect(entered, enteringUser);
    await own.ready();
    return new FencedNetwork(pause, entered, { ended: own.ended, resources: undo.move() });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }
}

const START_TIMEOUT_MS = 60_000;
const EXECUTION_TIMEOUT_MS = 2_000;
const EXECUTION_INTERVAL_MS = 5;

/** The pause container, which only waits. */
function pauseSpec(
  image: string,
  {
    name,
    engine: { kind },
    daemonId,
    resolver,
  }: { name: string; engine: Engine; daemonId: string; resolver: Resolver },
): Record<string, unknown> {
  const waiting = withoutNetwork(daemonId, resolver);
  return {
    Image: image,
    Entrypoint: [PAUSE_PROGRAM],
    Cmd: [name], // which the program ignores, and by which its process is recognized
    ...waiting,
    HostConfig: {
      ...waiting.HostConfig,
      // Podman would remove the container at the same time, and one removal would fail. The next sweep removes any
      // remains.
      AutoRemove: kind === 'docker',
    },
  };
}

const elsewhere = 'the containers of this engine run on another machine';

/** How a daemon connects the network of a container: by entering it, or through the engine if only that one can. */
type Way = 'entering' | 'engine';

type Connected = Pick<GuardedNetwork, 'namespace' | 'hasResolver'>;

async function enterNetwork(
  engine: Engine,
  tools: EgressTools,
  { pause, ports, signal }: { pause: Pause; ports: readonly number[]; signal: AbortSignal },
): Promise<Connected> {
  const { hasResolver, ...descriptors } = await findProcess(engine, pause, signal, (pid, name) =>
    openNamespaces(pid, name, RESOLVER_ADDRESS),
  );
  return { namespace: await EgressNamespace.connect(tools, ports, descriptors), hasResolver };
}

async function connectNetwork(
  engine: Engine,
  tools: EgressTools,
  {
    pause,
    ports,
    daemonId,
    signal,
  }: { pause: Pause; ports: readonly number[]; daemonId: string; signal: AbortSignal },
): Promise<Connected> {
  await findProcess(engine, pause, signal, requirePause);
  const namespace = await EgressNamespace.openGateway(tools, ports, (end) =>
    fetchEnd(engine, tools, { pause, end, daemonId, signal }),
  );
  return { namespace, hasResolver: engine.kind === 'docker' };
}

interface Entered {
  /** Descriptors of the namespaces of the container. */
  network: number;
  user: number;
  hasResolver: boolean;
}

/**
 * Looks at the process of a pause container. Throws `unsupported` if its processes run on another machine, and
 * `unavailable` if the container has ended.
 */
async function findProcess<Found>(
  engine: Engine,
  { containerId, name }: Pause,
  signal: AbortSignal,
  look: (pid: number, name: string) => Promise<Found>,
): Promise<Found> {
  const pidOf = async (): Promise<number> =>
    (await inspectContainer(engine, containerId, signal))?.State.Pid ?? 0;
  const pid = await pidOf();
  if (pid <= 0) throw ended();
  try {
    return await look(pid, name);
  } catch (error) {
    if ((await pidOf()) !== pid) throw ended();
    throw unsupported(elsewhere, { cause: error });
  }
}

const ended = (): Error => unavailable('the container that prepares a network ended immediately');

async function openNamespaces(pid: number, name: string, resolver: string): Promise<Entered> {
  await using undo = new AsyncDisposableStack();
  const open = (namespace: string): number => {
    const descriptor = openSync(`/proc/${pid}/ns/${namespace}`, 'r');
    undo.defer(() => closeSync(descriptor));
    return descriptor;
  };
  const [network, user] = [open('net'), open('user')];
  // Opened first, so that the check applies to the opened file.
  if (statSync('/proc/self/ns/net').ino === statSync(`/proc/self/fd/${network}`).ino) throw notInside(pid);
  await requirePause(pid, name);
  const settings = await readFile(`/proc/${pid}/root/etc/resolv.conf`, 'utf8').catch(() => '');
  undo.move();
  return { network, user, hasResolver: settings.includes(resolver) };
}

async function requirePause(pid: number, name: string): Promise<void> {
  if (!(await runsPause(pid, name))) throw notInside(pid);
}

const notInside = (pid: number): Error => new Error(`the process ${pid} is not in the container`);

/** Whether a process belongs to a pause container. An engine may answer shortly before the program runs. */
async function runsPause(pid: number, name: string): Promise<boolean> {
  const deadline = performance.now() + EXECUTION_TIMEOUT_MS;
  for (;;) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8');
    if (command === `${PAUSE_PROGRAM}\0${name}\0`) return true;
    if (performance.now() > deadline) return false;
    await delay(EXECUTION_INTERVAL_MS);
  }
}

/** A network from which a container reaches only its gateway. */
export interface TakenNetwork extends AsyncDisposable {
  /** The container whose network the server joins. */
  readonly containerId: string;
  /** Opens the gateway that everything in the network leads to. */
  openGateway(gateways: GatewayProcess, egress: Egress): Promise<OpenGateway>;
  /** Whether a server that joins finds the resolver of the gateway in its settings. */
  readonly hasResolver: boolean;
  /** Settles when the network has ended, if the server would not notice. Never rejects. */
  readonly ended?: Promise<unknown>;
  /** Opens the way to a port of the server, which has no port that the engine could publish. */
  openIngress(place: SocketPlace, port: number): Promise<OpenIngress>;
}

/** The Unix socket that leads to a server, and when the way has ended. */
export interface OpenIngress extends AsyncDisposable {
  readonly path: string;
  readonly ended: Promise<unknown>;
}

interface Taking {
  /** The ports that the rules allow. */
  ports: readonly number[];
  /** The port on which the server listens. */
  ownPort: number | undefined;
  signal: AbortSignal;
}

/** Takes a network with listeners for the ports. */
export async function takeNetwork(
  egress: ContainerEgress,
  engine: Engine,
  { ports, ownPort, signal }: Taking,
): Promise<TakenNetwork> {
  const means = await meansFor(egress, engine);
  if (typeof means === 'string' || egress.relayed.has(engine.socket))
    return relayNetwork(egress, engine, { ports, ownPort, signal });
  const spares = egress.spares.get(engine.socket) ?? new Spares<GuardedNetwork>();
  egress.spares.set(engine.socket, spares);
  const { daemonId } = egress.place;
  try {
    return await spares.take(
      ports,
      (wanted) => GuardedNetwork.open(engine, { ...means, daemonId, ports: wanted }),
      { isUsable: ({ isRunning }) => isRunning, drop: discard },
    );
  } catch (error) {
    // Everything else may be gone the next time.
    if (!isFailure(error, 'unsupported')) throw error;
    egress.relayed.add(engine.socket);
    return relayNetwork(egress, engine, { ports, ownPort, signal });
  }
}

/** For an engine in a virtual machine, or with another owner, or on a machine without the programs. */
async function relayNetwork(
  { place: { daemonId }, env, relayImage, gateways }: ContainerEgress,
  engine: Engine,
  { ports, ownPort, signal }: Taking,
): Promise<TakenNetwork> {
  const source = { kind: 'image', image: relayImage } as const;
  const { image } = await prepareImage(engine, source, { env, signal, report: () => {} });
  return RelayedNetwork.open(engine, { gateways, image, daemonId, ports, ownPort, signal });
}

/** Why containers with an open network reach private addresses, and the fix if there is one. */
export async function fenceProblemOf(egress: ContainerEgress, engine: Engine): Promise<string | undefined> {
  const means = await meansToFence(egress, engine);
  return typeof means === 'string' ? means : egress.problems.get(engine.socket);
}

/** Opens a network that reaches public hosts. Returns the reason if this daemon can never make one here. */
export async function openFenced(
  egress: ContainerEgress,
  engine: Engine,
  network: OpenNetwork,
): Promise<{ network: FencedNetwork; tools: EgressTools } | string> {
  const means = await meansToFence(egress, engine);
  if (typeof means === 'string') return means;
  const { daemonId } = egress.place;
  try {
    const fenced = await FencedNetwork.open(engine, { tools: means.network, daemonId, network });
    egress.problems.delete(engine.socket);
    return { network: fenced, tools: means.egress };
  } catch (error) {
    if (!isFailure(error, 'unsupported')) throw error;
    const problem = messageOf(error);
    egress.problems.set(engine.socket, problem);
    return problem;
  }
}

async function meansToFence(
  egress: ContainerEgress,
  engine: Engine,
): Promise<{ network: NetworkTools; egress: EgressTools } | string> {
  const means = await meansFor(egress, engine);
  if (typeof means === 'string') return means;
  if (means.way !== 'entering') return 'only root can enter the containers of this engine';
  const found = await findNetwork(egress.env);
  return 'problem' in found
    ? `${found.problem}; ${found.hint}`
    : { network: found.tools, egress: means.tools };
}

/** Closes a network that no container has joined. Its container has ended, or the next sweep removes it. */
function discard(network: GuardedNetwork): void {
  closeSockets(network.namespace.sockets);
  network[Symbol.asyncDispose]().catch(() => {});
}

/** How the daemon makes networks with a gateway, or why it cannot. */
async function meansFor(
  { env }: ContainerEgress,
  engine: Engine,
): Promise<{ tools: EgressTools; way: Way } | string> {
  if (process.platform !== 'linux') return elsewhere;
  const way = await wayInto(engine);
  if (way === undefined) return 'the container engine belongs to another user, who is not root';
  const tools = await findEgressTools(env);
  if ('problem' in tools) return `${tools.problem}; ${tools.hint}`;
  if (way === 'engine' && !(await canMakeNamespaces(tools)))
    return 'ordinary users may not create network namespaces on this machine';
  return { tools, way };
}

/** Root and the creator of the user namespace of a rootless engine may enter its networks. */
async function wayInto({ socket }: Engine): Promise<Way | undefined> {
  const own = process.getuid?.();
  const { uid: owner } = await stat(socket);
  if (own === 0 || owner === own) return 'entering';
  return owner === 0 ? 'engine' : undefined;
}

async function canMakeNamespaces({ unshare }: EgressTools): Promise<boolean> {
  const { code } = await exitOf(
    spawnSealed(unshare, ['--user', '--map-root-user', '--net', unshare, '--version'], []),
  );
  return code === 0;
}

/** A file that tells the programs of a container with rules, or with a fenced network, where names are resolved. */
export async function resolverFile({ tempDir }: SocketPlace, kind: 'gateway' | 'fenced'): Promise<string> {
  const path = join(tempDir, kind === 'gateway' ? 'resolv.conf' : 'resolv-fenced.conf');
  await mkdir(tempDir, { recursive: true, mode: 0o700 });
  const text = kind === 'gateway' ? resolverSettings.text : `nameserver ${NAME_SERVER}\n`;
  await writeFile(path, text, { mode: 0o644 });
  return path;
}
