import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { conflict, invalid, unavailable, unsupported } from '@toolhive/contract/failure';
import type { Exit, Instance, Launch, LaunchNetwork, ResourceLimits } from '../runtime.ts';
import { Cgroup } from './cgroup.ts';
import type { Machine } from './check.ts';
import { Door, type SocketPlace, forwarderOptions, forwarderShare, forwarderSource } from './forwarder.ts';
import { ProcessInstance } from './instance.ts';
import { markOf } from './mark.ts';
import { checkMounts } from './mounts.ts';
import { type SandboxPlan, inside, planSandbox } from './plan.ts';
import { openFilesCeiling } from './proc.ts';
import type { Binary } from './programs.ts';
import { Sandbox } from './sandbox.ts';
import type { InstalledPackage } from './store.ts';
import { Watchdog, tooMuchMemory } from './watchdog.ts';

export interface Start {
  machine: Machine;
  launch: Launch;
  installed: InstalledPackage;
  place: SocketPlace;
  signal: AbortSignal;
}

/** Starts an installed package in a sandbox of its own. Whatever fails on the way, nothing of it stays. */
export async function startInstance(start: Start): Promise<Instance> {
  const { machine, launch, place, signal } = start;
  const network = networkOf(launch);
  const speaks = launch.transport.kind === 'stdio';
  const forwarded = launch.transport.kind === 'http' && network === 'none';
  const plan = await planLaunch(start, network, forwarded);
  if (launch.transport.kind === 'http' && !forwarded) await requireFreePort(launch.transport.targetPort);

  await using undo = new AsyncDisposableStack();
  const door = forwarded ? undo.use(await Door.open(place)) : undefined;
  const limits = forwarded ? withForwarder(launch.limits) : launch.limits;
  const cgroup = undo.use(await Cgroup.open(machine.cgroups, groupName(place.hiveId), limits));
  const sandbox = undo.use(
    await Sandbox.start({
      bwrap: machine.bwrap,
      plan,
      speaks,
      log: launch.log,
      beforeStart: (pid) => cgroup.add(pid),
      signal,
    }),
  );
  await door?.handTo(sandbox.bwrap);

  const resources = undo.move();
  const watched = watch(sandbox, machine, launch.limits);
  const exited = sandbox.ended.then(async (exit): Promise<Exit> => {
    const reason =
      watched.reason() ??
      ((await diedOfMemory(exit, cgroup)) ? tooMuchMemory(launch.limits.memoryBytes) : undefined);
    await resources.disposeAsync();
    return reason === undefined ? exit : { ...exit, reason };
  });
  return new ProcessInstance({ sandbox, speaks, exited, address: addressOf(launch, door) });
}

/** Names of control groups, by which a later hive recognises those that this one left. */
export const groupPrefix = (hiveId: string) => `toolhive-${markOf(hiveId)}-`;

const groupName = (hiveId: string) => `${groupPrefix(hiveId)}${randomUUID().slice(0, 8)}`;

function networkOf({ network, privileged }: Launch): 'none' | 'open' {
  if (privileged) {
    throw unsupported('a sandboxed process cannot run privileged', {
      hint: 'turn `privileged` off in the permission profile, or run the workload with a container engine',
    });
  }
  const kind = network.kind === 'mode' ? modes[network.mode] : network.kind;
  if (kind !== undefined) return kind;
  throw unsupported(`a sandboxed process knows no network mode ${describeMode(network)}`, {
    hint: 'use host or none, or run the workload with a container engine',
  });
}

/** What the two network modes mean that every container engine has. */
const modes: Record<string, 'none' | 'open' | undefined> = { none: 'none', host: 'open' };

const describeMode = (network: LaunchNetwork) => (network.kind === 'mode' ? network.mode : network.kind);

async function planLaunch(
  { machine, launch, installed }: Start,
  network: 'none' | 'open',
  forwarded: boolean,
): Promise<SandboxPlan> {
  const { install, folder } = installed;
  const needsNode = install.command === 'node' || forwarded;
  const node = needsNode ? requireNode(machine) : undefined;
  const { transport } = launch;
  const server = [
    install.command === 'node' ? inside.node : `${inside.package}/${install.command}`,
    ...install.args.map((path) => `${inside.package}/${path}`),
    ...launch.args.map(withoutNul),
  ];
  return planSandbox({
    architecture: machine.architecture,
    command: [
      ...limited(machine, forwarded ? withForwarder(launch.limits) : launch.limits),
      ...(forwarded && transport.kind === 'http' ? behindForwarder(transport.targetPort) : []),
      ...server,
    ],
    env: { ...launch.env, ...(transport.kind === 'http' ? { MCP_HOST: '127.0.0.1' } : {}) },
    network,
    mounts: await checkMounts(launch.mounts),
    packageFolder: folder,
    readOnlyPaths: install.readOnlyPaths,
    files: forwarded ? { [inside.forwarder]: forwarderSource } : {},
    channel: forwarded,
    ...(node === undefined ? {} : { node }),
  });
}

function requireNode({ node }: Machine): Binary {
  if (node !== undefined) return node;
  throw unavailable('node is not installed', {
    hint: 'install Node.js from https://nodejs.org and see that it is on PATH',
  });
}

function withoutNul(argument: string): string {
  if (argument.includes('\0')) throw invalid('an argument of the server holds a NUL character');
  return argument;
}

const behindForwarder = (port: number) => [inside.node, ...forwarderOptions, inside.forwarder, String(port)];

const LARGEST_FILE_BYTES = 4 * 1024 ** 3;

/** Limits that the kernel keeps for each process or user; `prlimit` sets them and becomes the server. */
function limited(
  { prlimit, cgroups, countsProcesses }: Machine,
  { openFiles, processes }: ResourceLimits,
): string[] {
  if (prlimit === undefined) return [];
  const files = Math.min(openFiles, openFilesCeiling());
  return [
    prlimit,
    `--nofile=${files}:${files}`,
    `--fsize=${LARGEST_FILE_BYTES}`,
    '--core=0',
    ...(cgroups.pids === undefined && countsProcesses ? [`--nproc=${processes}`] : []),
    '--',
  ];
}

const withForwarder = (limits: ResourceLimits): ResourceLimits => ({
  ...limits,
  memoryBytes: limits.memoryBytes + forwarderShare.memoryBytes,
  processes: limits.processes + forwarderShare.processes,
});

/** A server with the machine's network finds its port taken only when it is up, and then says so in its own words. */
async function requireFreePort(port: number): Promise<void> {
  const probe = createServer().listen({ host: '127.0.0.1', port, exclusive: true });
  try {
    await once(probe, 'listening');
  } catch (error) {
    const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    const message = taken ? `port ${port} is in use` : `a server cannot listen on port ${port}`;
    throw conflict(message, { hint: 'choose another target port', cause: error });
  } finally {
    probe.close();
  }
}

function addressOf({ transport }: Launch, door: Door | undefined) {
  if (transport.kind === 'stdio') return undefined;
  if (door !== undefined) return { kind: 'socket' as const, path: door.path };
  return { kind: 'tcp' as const, host: '127.0.0.1', port: transport.targetPort };
}

/** Watches what the kernel does not limit here. */
function watch(sandbox: Sandbox, { cgroups }: Machine, { memoryBytes, processes }: ResourceLimits) {
  const unlimited = {
    ...(cgroups.memory === undefined ? { memoryBytes } : {}),
    ...(cgroups.pids === undefined ? { processes } : {}),
  };
  let reason: string | undefined;
  const watchdog = new Watchdog(sandbox.init, unlimited, (excess) => {
    reason = excess;
    sandbox.kill();
  });
  void sandbox.ended.then(() => watchdog[Symbol.dispose]());
  return { reason: () => reason };
}

async function diedOfMemory(exit: Exit, cgroup: Cgroup): Promise<boolean> {
  return exit.signal === 'SIGKILL' && (await cgroup.ranOutOfMemory());
}
