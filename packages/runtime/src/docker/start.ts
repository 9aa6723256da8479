import { readFile, readdir } from 'node:fs/promises';
import { cancelled, conflict, messageOf, notFound, unsupported } from '@toolhive/contract/failure';
import * as z from 'zod';
import { verifyHidden } from '../hidden-path.ts';
import { verifySource } from '../mount-source.ts';
import type { EgressNamespace } from '../egress/namespace.ts';
import type { EgressTools } from '../egress/tools.ts';
import type {
  Instance,
  InstanceAddress,
  Launch,
  OpenNetwork,
  RuntimeLimit,
  RulesNetwork,
} from '../runtime.ts';
import { requireSecrets } from '../secrets.ts';
import { attach, type Attachment } from './attach.ts';
import { inspectContainer, removeContainer, signalContainer, type Inspected } from './container.ts';
import { callEngine, isFailure, type Engine } from './engine.ts';
import { openInstance } from './instance.ts';
import { type ContainerEgress, type OpenIngress, openFenced, resolverFile, takeNetwork } from './egress.ts';
import { exposedSecrets, hasShell, planHandover } from './handover.ts';
import { ensureHomeVolumes } from './homes.ts';
import { Ingress } from './ingress.ts';
import { ensureExternalNetwork } from './network.ts';
import { DAEMON_LABEL } from './ownership.ts';
import { containerSpec, publishedPort, requireReachable, type Blueprint } from './spec.ts';

/** What all containers of one runtime have in common. */
export interface Yard {
  daemonId: string;
  /** The names of containers that run or start now. */
  names: Set<string>;
  /** The ongoing creation of the network for servers with open access, shared by all starts. */
  network: Promise<void> | undefined;
  /** Sockets of engines that have no init program to put into containers. */
  withoutInit: Set<string>;
  /** The egress gateways of servers with network rules. */
  egress: ContainerEgress;
  log: (message: string, fields: Record<string, unknown>) => void;
}

/** Starts a container from a local image. Leaves nothing behind after a failure. */
export async function startContainer(
  engine: Engine,
  yard: Yard,
  {
    launch,
    image,
    limits,
    signal,
  }: { launch: Launch; image: string; limits: readonly RuntimeLimit[]; signal: AbortSignal },
): Promise<Instance> {
  requireReachable(launch);
  requireSecrets(launch);
  const name = reserveName(yard, launch.workload);
  await using undo = new AsyncDisposableStack();
  undo.defer(() => {
    yard.names.delete(name);
  });
  await verifyMounts(launch);
  await clearName(engine, yard, name, signal);
  const guard = undo.use(await openGuard(engine, yard, launch, signal));
  if (launch.network.kind === 'open' && guard.place === undefined) {
    yard.network ??= ensureExternalNetwork(engine, yard.daemonId).finally(() => (yard.network = undefined));
    await yard.network;
  }
  const resources = undo.move();
  const release = () => resources.disposeAsync();
  try {
    return await createAndStart(engine, yard, { launch, image, limits, name, guard, signal, release });
  } catch (error) {
    await release();
    throw error;
  }
}

/** What guards the network of a container with rules. */
interface Guard extends AsyncDisposable {
  /** What the container joins. */
  place?: Blueprint['guarded'];
  /** How an HTTP server is reached, which has no port that the engine could publish. */
  ingress?: OpenIngress;
  /** Settles when its way to the network has ended. Never rejects. */
  ended?: Promise<unknown>;
}

async function openGuard(engine: Engine, yard: Yard, launch: Launch, signal: AbortSignal): Promise<Guard> {
  const { network } = launch;
  if (network.kind === 'rules') return openRulesGuard(engine, yard, { ...launch, network, signal });
  if (network.kind === 'open' && network.privateAddresses !== 'all')
    return openFence(engine, yard, { ...launch, network });
  return unguarded();
}

const unguarded = (): Guard => ({ async [Symbol.asyncDispose]() {} });

async function openRulesGuard(
  engine: Engine,
  { egress: containers }: Yard,
  {
    network: { egress },
    transport,
    signal,
  }: Pick<Launch, 'transport'> & { network: RulesNetwork; signal: AbortSignal },
): Promise<Guard> {
  await using undo = new AsyncDisposableStack();
  const { place } = containers;
  const ownPort = transport.kind === 'http' ? transport.targetPort : undefined;
  const { ports } = egress.rules;
  const network = undo.use(await takeNetwork(containers, engine, { ports, ownPort, signal }));
  const gateway = undo.use(await network.openGateway(containers.gateways, egress));
  const ingress = ownPort === undefined ? undefined : undo.use(await network.openIngress(place, ownPort));
  const { containerId, hasResolver, ended } = network;
  const file = hasResolver ? undefined : await resolverFile(place, 'gateway');
  const guard = guardOf(
    { containerId, ...(file !== undefined && { resolverFile: file }) },
    ingress,
    undo.move(),
  );
  return { ...guard, ended: Promise.race([gateway.failed, ...(ended ? [ended] : [])]) };
}

/** A network that reaches public hosts. None where that cannot be made, which the status of the runtime says. */
async function openFence(
  engine: Engine,
  yard: Yard,
  { network, transport }: Launch & { network: OpenNetwork },
): Promise<Guard> {
  await using undo = new AsyncDisposableStack();
  const fenced = await openFenced(yard.egress, engine, network);
  if (typeof fenced === 'string') return unguarded();
  const { containerId, network: descriptor, user, hasResolver, ended } = undo.use(fenced.network);
  const namespace = { network: descriptor, user, side: 'server' } as const;
  const ingress = await openIngress(yard, fenced.tools, transport, namespace, undo);
  const file = hasResolver ? undefined : await resolverFile(yard.egress.place, 'fenced');
  const place = { containerId, ...(file !== undefined && { resolverFile: file }) };
  return { ...guardOf(place, ingress, undo.move()), ended };
}

const guardOf = (
  place: Guard['place'],
  ingress: OpenIngress | undefined,
  resources: AsyncDisposableStack,
): Guard => ({
  ...(place && { place }),
  ...(ingress && { ingress }),
  [Symbol.asyncDispose]: () => resources.disposeAsync(),
});

async function openIngress(
  yard: Yard,
  tools: EgressTools,
  transport: Launch['transport'],
  { network, user, side }: Pick<EgressNamespace, 'network' | 'user' | 'side'>,
  undo: AsyncDisposableStack,
): Promise<Ingress | undefined> {
  if (transport.kind === 'stdio') return undefined;
  const place = { network, user, side, port: transport.targetPort };
  return undo.use(await Ingress.open(yard.egress.place, tools, place));
}

/** The engine looks sources up by path, and Podman would create a directory where there is none. */
async function verifyMounts({ mounts, hidden }: Launch): Promise<void> {
  await Promise.all(mounts.map(verifySource));
  await verifyHidden(hidden);
}

/** How often hidden files are looked at, so that none is moved back and forth between two looks unnoticed. */
const LOOKS = 3;

/**
 * Inspects hidden files in the running container, if the daemon can see its processes. Returns false if it cannot and
 * another of the server's containers could have moved the files.
 */
async function verifyCovered({ hidden, mounts }: Launch, { Id, State }: Inspected): Promise<boolean> {
  if (hidden.length === 0 || !State.Running) return true;
  const processes = `/proc/${State.Pid}`;
  const groups = await readFile(`${processes}/cgroup`, 'utf8').catch(() => '');
  const isSeen = groups.includes(Id) && (await readdir(`${processes}/root`).catch(() => undefined));
  if (!isSeen) return mounts.every(({ readOnly }) => readOnly);
  for (let look = 0; look < LOOKS; look++) await verifyHidden(hidden, `${processes}/root`);
  return true;
}

const unverified: RuntimeLimit = {
  concerns: 'servers with mounts',
  text: 'the daemon cannot look into containers here: while a container starts, another one of the same server could move hidden files so that they are visible',
};

/** The workload name, or a derived name for an additional container. */
function reserveName({ names }: Yard, workload: string): string {
  let name = workload.length > 1 ? workload : `${workload}-1`; // engines refuse names of one character
  for (let copy = 2; names.has(name); copy++) name = `${workload}-${copy}`;
  names.add(name);
  return name;
}

/** Frees the name: removes this daemon's remains, and refuses to touch other containers. */
async function clearName(
  engine: Engine,
  { daemonId }: Yard,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const found = await inspectContainer(engine, name, signal);
  // The engine also finds containers whose ID starts with the name.
  if (found === undefined || found.Name.replace(/^\//, '') !== name) return;
  if (found.Config.Labels?.[DAEMON_LABEL] !== daemonId) {
    throw conflict(`a container named ${name} exists and does not belong to ToolHive`, {
      hint: `remove or rename the container ${name}, or choose another name for the workload`,
    });
  }
  await removeContainer(engine, found.Id);
}

interface Starting {
  launch: Launch;
  image: string;
  /** Unenforced settings that are known before the start. */
  limits: readonly RuntimeLimit[];
  name: string;
  guard: Guard;
  signal: AbortSignal;
  /** Called when nothing of the container is left. */
  release: () => Promise<void>;
}

async function createAndStart(engine: Engine, yard: Yard, starting: Starting): Promise<Instance> {
  const init = !yard.withoutInit.has(engine.socket);
  let id: string | undefined;
  let attachment: Attachment | undefined;
  try {
    const { launch, guard, signal } = starting;
    let handover = await planHandover(engine, starting);
    const volumes = await ensureHomeVolumes(engine, yard.daemonId, starting);
    id = await create(engine, yard, { ...starting, init, handover, volumes });
    if (handover !== undefined && !(await hasShell(engine, id))) {
      await removeContainer(engine, id);
      handover = undefined;
      id = await create(engine, yard, { ...starting, init, handover, volumes });
    }
    const speaksStdio = launch.transport.kind === 'stdio';
    const listens = speaksStdio || handover !== undefined;
    attachment = await attach(engine, id, { speaksStdio, listens, log: launch.log, signal });
    await callEngine(engine, z.unknown(), { method: 'POST', path: `/containers/${id}/start` });
    await verifyMounts(launch);
    const inspected = await inspectContainer(engine, id, signal);
    if (inspected === undefined)
      throw conflict(`the container ${starting.name} was removed during its start`);
    const isVerified = await verifyCovered(launch, inspected);
    if (handover !== undefined) attachment.handOver(handover.input);
    if (signal.aborted) throw cancelled(`the start of ${launch.workload} was canceled`);
    const address = addressOf(starting, inspected);
    const stopSignal = inspected.Config.StopSignal || 'SIGTERM';
    const { release } = starting;
    const container = id;
    // A server that is not reached any more is started again. One that has ended already is left alone.
    for (const ended of [guard.ingress?.ended, guard.ended])
      void ended?.then(() => signalContainer(engine, container, 'SIGKILL')).catch(() => {});
    const isExposed = handover === undefined && Object.keys(launch.secrets).length > 0;
    return openInstance(engine, {
      id,
      attachment,
      address,
      launch,
      limits: [
        ...starting.limits,
        ...(isExposed ? [exposedSecrets] : []),
        ...(isVerified ? [] : [unverified]),
      ],
      stopSignal,
      release,
      log: yard.log,
    });
  } catch (error) {
    attachment?.close();
    if (id !== undefined) await removeContainer(engine, id);
    if (!init || !/docker-init|container-init|catatonit/.test(messageOf(error))) throw error;
    yard.withoutInit.add(engine.socket);
    return createAndStart(engine, yard, starting);
  }
}

/** Not interruptible, because giving up on the answer would leave an unknown container. */
async function create(
  engine: Engine,
  yard: Yard,
  {
    launch,
    image,
    name,
    guard,
    init,
    handover,
    volumes,
  }: Starting & Pick<Blueprint, 'init' | 'handover' | 'volumes'>,
): Promise<string> {
  try {
    const { Id } = await callEngine(engine, z.object({ Id: z.string() }), {
      method: 'POST',
      path: '/containers/create',
      query: { name },
      body: {
        json: containerSpec({
          launch,
          image,
          name,
          daemonId: yard.daemonId,
          engine: engine.kind,
          guarded: guard.place,
          init,
          handover,
          volumes,
        }),
      },
    });
    return Id;
  } catch (error) {
    if (!isFailure(error, 'not-found')) throw error;
    throw notFound(`the image ${image} is not on this machine`, {
      hint: 'the image was removed after the pull or the build. Start the workload again to restore it',
      cause: error,
    });
  }
}

function addressOf(
  { launch, guard }: Starting,
  { State, NetworkSettings }: Inspected,
): InstanceAddress | undefined {
  if (launch.transport.kind === 'stdio') return undefined;
  if (guard.ingress !== undefined) {
    return { kind: 'socket', path: guard.ingress.path, targetPort: launch.transport.targetPort };
  }
  const host = '127.0.0.1';
  const published = publishedPort({ launch, guarded: guard.place });
  const { targetPort } = launch.transport;
  if (published === undefined) return { kind: 'tcp', host, port: targetPort, targetPort };
  const port = Number(NetworkSettings.Ports?.[published]?.[0]?.HostPort);
  if (port > 0) return { kind: 'tcp', host, port, targetPort };
  // The container has already ended and has no address. Its exit explains the rest.
  if (!State.Running) return undefined;
  throw unsupported(`the network of ${launch.workload} publishes no ports, so the server is unreachable`, {
    hint: 'an internal network does that: choose another network, or the stdio transport',
  });
}
