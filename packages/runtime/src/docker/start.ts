import { readFile, readdir } from 'node:fs/promises';
import { cancelled, conflict, messageOf, notFound, unsupported } from '@toolhive/contract/failure';
import * as z from 'zod';
import { verifyHidden } from '../hidden-path.ts';
import { LocalListener } from '../local-listener.ts';
import { verifySource } from '../mount-source.ts';
import type { Instance, InstanceAddress, Launch, RuntimeLimit } from '../runtime.ts';
import { requireSecrets } from '../secrets.ts';
import { attach, type Attachment } from './attach.ts';
import { inspectContainer, removeContainer, signalContainer, type Inspected } from './container.ts';
import { declaredVolumes } from './declared-volumes.ts';
import { callEngine, isFailure, type Engine } from './engine.ts';
import { openInstance } from './instance.ts';
import { exposedSecrets, hasShell, planSecretInput } from './secret-input.ts';
import { ensureHomeVolumes } from './homes.ts';
import type { ContainerNetwork } from './network/container-network.ts';
import type { Networks } from './network/networks.ts';
import { openNetwork } from './network/open.ts';
import { DAEMON_LABEL } from './ownership.ts';
import { containerSpec, publishedPort, requireReachable, type Blueprint } from './spec.ts';

/** What all containers of one runtime have in common. */
export interface Containers {
  daemonId: string;
  /** The names of containers that run or start now. */
  names: Set<string>;
  /** Sockets of engines that have no init program to put into containers. */
  withoutInit: Set<string>;
  networks: Networks;
  log: (message: string, fields: Record<string, unknown>) => void;
}

/** Starts a container from a local image. Leaves nothing behind after a failure. */
export async function startContainer(
  engine: Engine,
  containers: Containers,
  {
    launch,
    image,
    limits,
    signal,
  }: { launch: Launch; image: string; limits: readonly RuntimeLimit[]; signal: AbortSignal },
): Promise<Instance> {
  requireReachable(launch);
  requireSecrets(launch);
  const name = reserveName(containers, launch.workload);
  await using undo = new AsyncDisposableStack();
  undo.defer(() => {
    containers.names.delete(name);
  });
  await verifyMounts(launch);
  await clearName(engine, containers, name, signal);
  const opened = undo.use(await openNetwork(containers.networks, engine, launch, signal));
  const network = await withPublished(opened, launch, undo);
  const resources = undo.move();
  const release = () => resources.disposeAsync();
  try {
    const instance = await createAndStart(engine, containers, {
      launch,
      image,
      limits,
      name,
      network,
      signal,
      release,
    });
    const { address } = instance;
    const isPublished = address?.kind === 'tcp' && !resources.disposed; // by its end
    if (isPublished) resources.use(containers.networks.gateways.ownPorts.add(address.port));
    return instance;
  } catch (error) {
    await release();
    throw error;
  }
}

/** The network with listeners of this machine for the ports that the engine does not publish. */
async function withPublished(
  network: ContainerNetwork,
  { published = [] }: Launch,
  undo: AsyncDisposableStack,
): Promise<ContainerNetwork> {
  if (network.publishPort === undefined || published.length === 0) return network;
  const ended = network.ended === undefined ? [] : [network.ended];
  for (const { port, serverPort } of published) {
    const socket = undo.use(await network.publishPort(serverPort));
    ended.push(socket.ended);
    undo.use(await LocalListener.open(port, socket.path));
  }
  return { ...network, ended: Promise.race(ended) };
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
function reserveName({ names }: Containers, workload: string): string {
  let name = workload.length > 1 ? workload : `${workload}-1`; // engines refuse names of one character
  for (let copy = 2; names.has(name); copy++) name = `${workload}-${copy}`;
  names.add(name);
  return name;
}

/** Frees the name: removes this daemon's remains, and refuses to touch other containers. */
async function clearName(
  engine: Engine,
  { daemonId }: Containers,
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
  network: ContainerNetwork;
  signal: AbortSignal;
  /** Called when nothing of the container is left. */
  release: () => Promise<void>;
}

async function createAndStart(engine: Engine, containers: Containers, starting: Starting): Promise<Instance> {
  const init = !containers.withoutInit.has(engine.socket);
  let id: string | undefined;
  let attachment: Attachment | undefined;
  try {
    const { launch, network, signal } = starting;
    let secretInput = await planSecretInput(engine, starting);
    const volumes = await ensureHomeVolumes(engine, containers.daemonId, starting);
    id = await create(engine, containers, { ...starting, init, secretInput, volumes });
    if (secretInput !== undefined && !(await hasShell(engine, id))) {
      await removeContainer(engine, id);
      secretInput = undefined;
      id = await create(engine, containers, { ...starting, init, secretInput, volumes });
    }
    const speaksStdio = launch.transport.kind === 'stdio';
    const listens = speaksStdio || secretInput !== undefined;
    attachment = await attach(engine, id, { speaksStdio, listens, log: launch.log, signal });
    await callEngine(engine, z.unknown(), { method: 'POST', path: `/containers/${id}/start` });
    await verifyMounts(launch);
    const inspected = await inspectContainer(engine, id, signal);
    if (inspected === undefined)
      throw conflict(`the container ${starting.name} was removed during its start`);
    const isVerified = await verifyCovered(launch, inspected);
    if (secretInput !== undefined) attachment.writeFirst(secretInput.input);
    if (signal.aborted) throw cancelled(`the start of ${launch.workload} was canceled`);
    const address = addressOf(starting, inspected);
    const stopSignal = inspected.Config.StopSignal || 'SIGTERM';
    const { release } = starting;
    const container = id;
    // A server that is not reached any more is started again. One that has ended already is left alone.
    void network.ended?.then(() => signalContainer(engine, container, 'SIGKILL')).catch(() => {});
    const isExposed = secretInput === undefined && Object.keys(launch.secrets).length > 0;
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
      volumes: declaredVolumes(inspected, volumes),
      stopSignal,
      release,
      log: containers.log,
    });
  } catch (error) {
    attachment?.close();
    if (id !== undefined) await removeContainer(engine, id);
    if (!init || !/docker-init|container-init|catatonit/.test(messageOf(error))) throw error;
    containers.withoutInit.add(engine.socket);
    return createAndStart(engine, containers, starting);
  }
}

/** Not interruptible, because giving up on the answer would leave an unknown container. */
async function create(
  engine: Engine,
  containers: Containers,
  {
    launch,
    image,
    name,
    network,
    init,
    secretInput,
    volumes,
  }: Starting & Pick<Blueprint, 'init' | 'secretInput' | 'volumes'>,
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
          daemonId: containers.daemonId,
          engine: engine.kind,
          joined: network.joined,
          init,
          secretInput,
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
  { launch, network }: Starting,
  { State, NetworkSettings }: Inspected,
): InstanceAddress | undefined {
  if (launch.transport.kind === 'stdio') return undefined;
  if (network.published !== undefined) {
    return { kind: 'socket', path: network.published.path, targetPort: launch.transport.targetPort };
  }
  const host = '127.0.0.1';
  const published = publishedPort({ launch, joined: network.joined });
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
