import { randomUUID } from 'node:crypto';
import { closeSync, openSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { uptime } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { unavailable, unsupported } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import * as z from 'zod';
import { RESOLVER_ADDRESS, resolverSettings } from '../../egress/link-addresses.ts';
import { NAME_SERVER } from '../../egress/user-network.ts';
import { attach } from '../attach.ts';
import { inspectContainer, removeContainer } from '../container.ts';
import { type Engine, callEngine } from '../engine.ts';
import { DAEMON_LABEL, NETWORK_LABEL } from '../ownership.ts';
import { small } from './small.ts';
import { WAITING_PROGRAM, ensureWaitingImage } from './waiting-image.ts';

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
  Labels: { toolhive: 'true', [DAEMON_LABEL]: daemonId, [NETWORK_LABEL]: 'true' },
  HostConfig: {
    ...small,
    NetworkMode: 'none',
    // A server shares these settings, unless the engine ignores them without a network, as Podman does.
    Dns: [resolver.address],
    DnsOptions: resolver.options,
    SecurityOpt: ['no-new-privileges'],
  },
});

/** A container that only waits, and whose network the container of a server joins. It ends with the daemon. */
export class NetworkContainer implements AsyncDisposable {
  readonly containerId: string;
  readonly image: string;
  readonly name: string;
  readonly #engine: Engine;
  readonly #close: () => void;
  #isRunning = true;

  private constructor(
    engine: Engine,
    { containerId, image, name }: Pick<NetworkContainer, 'containerId' | 'image' | 'name'>,
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
  ): Promise<NetworkContainer> {
    const image = await ensureWaitingImage(engine, signal);
    const name = networkName();
    const { Id: containerId } = await callEngine(engine, z.object({ Id: z.string() }), {
      method: 'POST',
      path: '/containers/create',
      query: { name },
      body: { json: specOf(image, { name, engine, daemonId, resolver }) },
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
      return new NetworkContainer(engine, { containerId, image, name }, attachment);
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

function specOf(
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
    Entrypoint: [WAITING_PROGRAM],
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

/** As long as a loaded machine may take. Giving up early would keep the engine out of its fast networks for good. */
const EXECUTION_TIMEOUT_MS = 30_000;
const EXECUTION_INTERVAL_MS = 5;

/** Why the daemon cannot enter the networks of an engine in a virtual machine. */
export const elsewhere = 'the containers of this engine run on another machine';

/** The namespaces of a network container that the daemon can enter. */
export interface Entered {
  /** Descriptors of the namespaces of the container. */
  network: number;
  user: number;
  hasResolver: boolean;
}

/**
 * Looks at the process of a network container. Throws `unsupported` if its processes run on another machine, and
 * `unavailable` if the container has ended.
 */
export async function findProcess<Found>(
  engine: Engine,
  { containerId, name }: NetworkContainer,
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

export async function openNamespaces(pid: number, name: string, resolver: string): Promise<Entered> {
  await using undo = new AsyncDisposableStack();
  const open = (namespace: string): number => {
    const descriptor = openSync(`/proc/${pid}/ns/${namespace}`, 'r');
    undo.defer(() => closeSync(descriptor));
    return descriptor;
  };
  const [network, user] = [open('net'), open('user')];
  // Opened first, so that the check applies to the opened file.
  if (statSync('/proc/self/ns/net').ino === statSync(`/proc/self/fd/${network}`).ino) throw notInside(pid);
  await requireWaiting(pid, name);
  const settings = await readFile(`/proc/${pid}/root/etc/resolv.conf`, 'utf8').catch(() => '');
  undo.move();
  return { network, user, hasResolver: settings.includes(resolver) };
}

export async function requireWaiting(pid: number, name: string): Promise<void> {
  if (!(await isWaiting(pid, name))) throw notInside(pid);
}

const notInside = (pid: number): Error => new Error(`the process ${pid} is not in the container`);

/**
 * Whether a process is that of a network container. An engine may answer before the program runs, so a process that
 * could be the container's is given time. An older one is not: the engine runs in a virtual machine,
 * and its number means another process here.
 */
async function isWaiting(pid: number, name: string): Promise<boolean> {
  const deadline = performance.now() + EXECUTION_TIMEOUT_MS;
  for (;;) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8');
    if (command === `${WAITING_PROGRAM}\0${name}\0`) return true;
    if (performance.now() > deadline || (await ageOf(pid)) > EXECUTION_TIMEOUT_MS) return false;
    await delay(EXECUTION_INTERVAL_MS);
  }
}

/** The age of a process in milliseconds, from `/proc/PID/stat` (proc_pid_stat(5), field 22, in hundredths of a second). */
async function ageOf(pid: number): Promise<number> {
  const fields = await readFile(`/proc/${pid}/stat`, 'utf8');
  const afterName = fields.slice(fields.lastIndexOf(')') + 2).split(' ');
  return uptime() * 1000 - Number(afterName[19]) * 10;
}
