import { randomUUID } from 'node:crypto';
import { closeSync, openSync, statSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, unavailable, unsupported } from '@toolhive/contract/failure';
import * as z from 'zod';
import type { SocketPlace } from '../door.ts';
import { RESOLVER_ADDRESS, resolverSettings } from '../egress/helper.ts';
import { EgressNamespace } from '../egress/namespace.ts';
import { Spares } from '../egress/spares.ts';
import { type EgressTools, findEgressTools } from '../egress/tools.ts';
import { attach } from './attach.ts';
import { inspectContainer, removeContainer } from './container.ts';
import { type Engine, callEngine, isFailure } from './engine.ts';
import { DAEMON_LABEL, PAUSE_LABEL } from './ownership.ts';
import { PAUSE_PROGRAM, ensurePauseImage } from './pause.ts';

/** What makes networks with an egress gateway for containers. */
export interface ContainerEgress {
  place: SocketPlace;
  env: NodeJS.ProcessEnv;
  /** One spare network for each engine, by its socket. */
  spares: Map<string, Spares<GuardedNetwork>>;
  /** Why the daemon cannot guard the networks of an engine, by its socket. */
  problems: Map<string, string>;
}

/**
 * The network of one container with rules: a pause container whose only neighbor is the egress gateway. The server
 * joins this network, so the gateway exists before the server. The pause container ends with the daemon.
 */
class GuardedNetwork implements AsyncDisposable {
  readonly containerId: string;
  readonly namespace: EgressNamespace;
  /** Whether a server that joins finds the resolver of the gateway in its settings. */
  readonly hasResolver: boolean;
  readonly #engine: Engine;
  readonly #close: () => void;
  #isRunning = true;

  private constructor(
    engine: Engine,
    {
      containerId,
      namespace,
      hasResolver,
    }: Pick<GuardedNetwork, 'containerId' | 'namespace' | 'hasResolver'>,
    { closed, close }: { closed: Promise<void>; close: () => void },
  ) {
    this.#engine = engine;
    this.containerId = containerId;
    this.namespace = namespace;
    this.hasResolver = hasResolver;
    this.#close = close;
    void closed.then(() => (this.#isRunning = false));
  }

  /** Whether a server can join. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  static async open(
    engine: Engine,
    { tools, daemonId, ports }: { tools: EgressTools; daemonId: string; ports: readonly number[] },
  ): Promise<GuardedNetwork> {
    const signal = AbortSignal.timeout(START_TIMEOUT_MS);
    const image = await ensurePauseImage(engine, signal);
    const name = `toolhive-network-${randomUUID().slice(0, 13)}`;
    const { Id: containerId } = await callEngine(engine, z.object({ Id: z.string() }), {
      method: 'POST',
      path: '/containers/create',
      query: { name },
      body: { json: pauseSpec(image, { name, engine, daemonId }) },
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
      const { hasResolver, ...descriptors } = await enter(engine, { containerId, name }, signal);
      const namespace = await EgressNamespace.connect(tools, ports, descriptors);
      return new GuardedNetwork(engine, { containerId, namespace, hasResolver }, attachment);
    } catch (error) {
      await removeContainer(engine, containerId);
      close();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.namespace[Symbol.dispose]();
    await removeContainer(this.#engine, this.containerId);
    this.#close();
  }
}

const START_TIMEOUT_MS = 60_000;
const EXECUTION_TIMEOUT_MS = 2_000;
const EXECUTION_INTERVAL_MS = 5;

/** The pause container, which only waits. */
function pauseSpec(
  image: string,
  { name, engine: { kind }, daemonId }: { name: string; engine: Engine; daemonId: string },
): Record<string, unknown> {
  return {
    Image: image,
    Entrypoint: [PAUSE_PROGRAM],
    Cmd: [name], // which the program ignores, and by which its process is recognized
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    Labels: { toolhive: 'true', [DAEMON_LABEL]: daemonId, [PAUSE_LABEL]: 'true' },
    HostConfig: {
      NetworkMode: 'none',
      // A server shares these settings, unless the engine ignores them without a network, as Podman does.
      Dns: [RESOLVER_ADDRESS],
      DnsOptions: resolverSettings.options,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      ReadonlyRootfs: true,
      PidsLimit: 4,
      Memory: 16 * 1024 ** 2,
      Ulimits: ['nofile', 'nproc'].map((Name) => ({ Name, Soft: 1024, Hard: 1024 })),
      LogConfig: { Type: 'none', Config: {} },
      // Podman would remove the container at the same time, and one removal would fail. The next sweep removes any
      // remains.
      AutoRemove: kind === 'docker',
    },
  };
}

const elsewhere = 'the containers of this engine run on another machine';

interface Entered {
  /** Descriptors of the namespaces of the container. */
  network: number;
  user: number;
  hasResolver: boolean;
}

/**
 * Opens a container's namespaces. Throws `unsupported` if its processes run on another machine, and `unavailable` if
 * the container has ended.
 */
async function enter(
  engine: Engine,
  { containerId, name }: { containerId: string; name: string },
  signal: AbortSignal,
): Promise<Entered> {
  const pidOf = async (): Promise<number> =>
    (await inspectContainer(engine, containerId, signal))?.State.Pid ?? 0;
  const pid = await pidOf();
  if (pid <= 0) throw ended();
  try {
    return await openNamespaces(pid, name);
  } catch (error) {
    if ((await pidOf()) !== pid) throw ended();
    throw unsupported(elsewhere, { cause: error });
  }
}

const ended = (): Error => unavailable('the container that prepares a network ended at once');

async function openNamespaces(pid: number, name: string): Promise<Entered> {
  await using undo = new AsyncDisposableStack();
  const open = (namespace: string): number => {
    const descriptor = openSync(`/proc/${pid}/ns/${namespace}`, 'r');
    undo.defer(() => closeSync(descriptor));
    return descriptor;
  };
  const [network, user] = [open('net'), open('user')];
  // Opened first, so that the check applies to the opened file.
  const isOurs = statSync('/proc/self/ns/net').ino === statSync(`/proc/self/fd/${network}`).ino;
  if (isOurs || !(await runsPause(pid, name))) throw new Error(`the process ${pid} is not in the container`);
  const settings = await readFile(`/proc/${pid}/root/etc/resolv.conf`, 'utf8').catch(() => '');
  undo.move();
  return { network, user, hasResolver: settings.includes(RESOLVER_ADDRESS) };
}

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

/** Why the daemon cannot guard container networks. Undefined if no obstacle is known. */
export async function problemOf(egress: ContainerEgress, engine: Engine): Promise<string | undefined> {
  const tools = await toolsOf(egress, engine);
  return typeof tools === 'string' ? tools : egress.problems.get(engine.socket);
}

export interface TakenNetwork {
  network: GuardedNetwork;
  tools: EgressTools;
}

/** Takes a network with listeners for the ports. Returns the reason if this daemon can never make one here. */
export async function takeNetwork(
  egress: ContainerEgress,
  engine: Engine,
  ports: readonly number[],
): Promise<TakenNetwork | string> {
  const tools = await toolsOf(egress, engine);
  if (typeof tools === 'string') return tools;
  const spares = egress.spares.get(engine.socket) ?? new Spares<GuardedNetwork>();
  egress.spares.set(engine.socket, spares);
  const { daemonId } = egress.place;
  try {
    const network = await spares.take(
      ports,
      (wanted) => GuardedNetwork.open(engine, { tools, daemonId, ports: wanted }),
      { isUsable: ({ isRunning }) => isRunning, drop: discard },
    );
    egress.problems.delete(engine.socket);
    return { network, tools };
  } catch (error) {
    // Everything else may be gone the next time, and must not open the network.
    if (!isFailure(error, 'unsupported')) throw error;
    const problem = messageOf(error);
    egress.problems.set(engine.socket, problem);
    return problem;
  }
}

/** Closes a network that no container has joined. Its container has ended, or the next sweep removes it. */
function discard(network: GuardedNetwork): void {
  network.namespace.closeSockets();
  network[Symbol.asyncDispose]().catch(() => {});
}

async function toolsOf({ env }: ContainerEgress, engine: Engine): Promise<EgressTools | string> {
  if (process.platform !== 'linux') return elsewhere;
  if (!(await mayEnter(engine))) return 'the daemon is neither root nor the user of the container engine';
  const tools = await findEgressTools(env);
  return 'problem' in tools ? `${tools.problem}; ${tools.hint}` : tools;
}

/** Whether the daemon may enter container networks: as root, or as the creator of their user namespace. */
async function mayEnter({ socket }: Engine): Promise<boolean> {
  const own = process.getuid?.();
  return own === 0 || (await stat(socket)).uid === own;
}

/** A file that tells the programs of a container where names are resolved. */
export async function resolverFile({ tempDir }: SocketPlace): Promise<string> {
  const path = join(tempDir, 'resolv.conf');
  await mkdir(tempDir, { recursive: true, mode: 0o700 });
  await writeFile(path, resolverSettings.text, { mode: 0o644 });
  return path;
}
