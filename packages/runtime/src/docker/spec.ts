import { unsupported } from '@toolhive/contract/failure';
import type { Launch, LaunchNetwork, ResourceLimits } from '../runtime.ts';
import type { Engine } from './engine.ts';
import { PACKAGE_HOME } from './dockerfile.ts';
import type { SecretInput } from './secret-input.ts';
import type { HomeVolume } from './homes.ts';
import type { JoinedNetwork } from './network/container-network.ts';
import { externalNetwork } from './network/external.ts';
import { DAEMON_LABEL } from './ownership.ts';
import { seccompProfile } from './seccomp.ts';

/** What a container is made from. */
export interface Blueprint {
  launch: Launch;
  image: string;
  /** The container name. By default the workload name, unless that name is in use. */
  name: string;
  daemonId: string;
  engine: Engine['kind'];
  /** How the container receives its secrets. If absent, they appear in the container settings. */
  secretInput?: SecretInput | undefined;
  /** The volumes that are kept when the container is removed. */
  volumes: readonly HomeVolume[];
  /** The network that the container joins. Absent if the engine makes the network. */
  joined?: JoinedNetwork | undefined;
  /** Whether the engine has an init process that reaps the server's children. */
  init: boolean;
}

/**
 * The process limit per user for Podman. It counts all processes of that user on the machine, so it is not a limit on
 * the server (`PidsLimit` is), but Podman 4 does not start without both this limit and `nofile`.
 */
const PROCESSES_OF_THE_USER = 4096;
const LOOPBACK = '127.0.0.1';
const PERIOD_US = 100_000;

/** The body of the engine's "create container" call. It contains the launch and nothing else from the machine. */
export function containerSpec(blueprint: Blueprint): Record<string, unknown> {
  const { launch, image, engine, init, secretInput, volumes, joined } = blueprint;
  const listens = launch.transport.kind === 'stdio' || secretInput !== undefined;
  const env = { ...environmentOf(blueprint), ...(secretInput === undefined && launch.secrets) };
  const ports = enginePorts(blueprint);
  return {
    Image: image,
    ...(launch.args.length > 0 && { Cmd: launch.args }),
    ...(secretInput && { Entrypoint: secretInput.entrypoint, Cmd: secretInput.command }),
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    Labels: labelsOf(blueprint),
    Tty: false,
    OpenStdin: listens,
    // The container's input ends with our connection, and a stdio server with its input: none outlives its daemon.
    StdinOnce: listens,
    AttachStdin: listens,
    AttachStdout: true,
    AttachStderr: true,
    ...(ports.length > 0 && { ExposedPorts: Object.fromEntries(ports.map(([port]) => [port, {}])) }),
    HostConfig: {
      ...hardening(blueprint),
      ...limitsOf(launch.limits, engine),
      Init: init,
      NetworkMode: networkModeOf(blueprint),
      ...(ports.length > 0 && { PortBindings: bindingsOf(ports) }),
      Mounts: [
        ...launch.mounts.map(({ pin, target, readOnly }) => ({
          Type: 'bind',
          Source: pin.path,
          Target: target,
          ReadOnly: readOnly,
        })),
        ...launch.hidden.map(({ blank, target }) => ({
          Type: 'bind',
          Source: blank,
          Target: target,
          ReadOnly: true,
        })),
        ...resolverMounts(joined, launch.mounts),
        ...volumes.map(({ name, target }) => ({ Type: 'volume', Source: name, Target: target })),
      ],
      // ToolHive collects the output, so a second copy would only use disk space.
      LogConfig: { Type: 'none', Config: {} },
      RestartPolicy: { Name: 'no' },
      AutoRemove: false,
    },
  };
}

/** The container port to publish on loopback, in the engine's format. Absent if no port is published. */
export function publishedPort({
  launch: { transport, network },
  joined,
}: Pick<Blueprint, 'launch' | 'joined'>): string | undefined {
  if (transport.kind === 'stdio' || joined !== undefined || isHostNetwork(network)) return undefined;
  return `${transport.targetPort}/tcp`;
}

/** The container ports that the engine publishes, each with the port of this machine: empty for a free one. */
function enginePorts(blueprint: Blueprint): [port: string, hostPort: string][] {
  const own = publishedPort(blueprint);
  const { launch, joined } = blueprint;
  const { published = [] } = joined === undefined ? launch : {};
  return [
    ...(own === undefined ? [] : [[own, ''] satisfies [string, string]]),
    ...published.map(({ port, serverPort }): [string, string] => [`${serverPort}/tcp`, String(port)]),
  ];
}

/** A container port can have several ports of this machine. */
function bindingsOf(
  ports: readonly (readonly [string, string])[],
): Record<string, { HostIp: string; HostPort: string }[]> {
  const hostPorts = Object.groupBy(ports, ([port]) => port);
  return Object.fromEntries(
    Object.entries(hostPorts).map(([port, bindings = []]) => [
      port,
      bindings.map(([, HostPort]) => ({ HostIp: LOOPBACK, HostPort })),
    ]),
  );
}

/** Refuses a launch that could never be reached. */
export function requireReachable({ transport, network, published = [] }: Launch): void {
  if (transport.kind === 'stdio' && published.length === 0) return;
  const mode = modeOf(network);
  if (mode !== 'none' && !mode.startsWith('container:')) return;
  if (transport.kind === 'stdio') {
    throw unsupported(`a container with the network mode ${mode} cannot publish ports`, {
      hint: 'allow the server a network, or publish no port',
    });
  }
  throw unsupported(`a server that speaks HTTP cannot be reached with the network mode ${mode}`, {
    hint: 'use the stdio transport, or allow the server a network',
  });
}

function isHostNetwork(network: LaunchNetwork): boolean {
  return network.kind === 'mode' && network.mode === 'host';
}

function networkModeOf({ launch: { network }, joined, daemonId }: Blueprint): string {
  if (joined !== undefined) return `container:${joined.containerId}`;
  return network.kind === 'open' ? externalNetwork(daemonId) : modeOf(network);
}

const RESOLVER_FILE = '/etc/resolv.conf';

function resolverMounts(joined: JoinedNetwork | undefined, mounts: Launch['mounts']): object[] {
  const source = joined?.resolverFile;
  if (source === undefined || mounts.some(({ target }) => target === RESOLVER_FILE)) return [];
  return [{ Type: 'bind', Source: source, Target: RESOLVER_FILE, ReadOnly: true }];
}

function modeOf(network: LaunchNetwork): string {
  return network.kind === 'mode' ? network.mode : network.kind;
}

/**
 * A published port leads to the container's address, and so may the forwarder in a network with rules, so a server must
 * not listen only on the container's loopback address. On the host network, the opposite is true: loopback keeps other
 * machines out.
 */
function environmentOf({ launch, joined }: Blueprint): Record<string, string> {
  const isForwarded = joined !== undefined && launch.transport.kind !== 'stdio';
  const isPublished = isForwarded || publishedPort({ launch, joined }) !== undefined;
  return isPublished ? { ...launch.env, MCP_HOST: '0.0.0.0' } : launch.env;
}

function labelsOf({ launch, name, daemonId }: Blueprint): Record<string, string> {
  return {
    'toolhive-transport': launch.transport.kind === 'stdio' ? 'stdio' : 'streamable-http',
    'toolhive-network-isolation': String(['none', 'rules'].includes(launch.network.kind)),
    ...launch.labels,
    toolhive: 'true',
    'toolhive-tool-type': 'mcp',
    'toolhive-name': name,
    'toolhive-basename': launch.workload,
    [DAEMON_LABEL]: daemonId,
  };
}

function hardening({
  launch: { privileged, mounts, home, source, limits },
  engine,
  joined,
}: Blueprint): Record<string, unknown> {
  if (privileged) return { Privileged: true };
  return {
    CapDrop: ['ALL'],
    SecurityOpt: [
      'no-new-privileges',
      // Podman reads this path on its own machine, which may be another one, so its default filter must suffice.
      ...(engine === 'docker' ? [`seccomp=${seccompProfile()}`] : []),
      // Where SELinux labels files, a granted folder carries its owner's label and could not be read otherwise.
      ...(mounts.length > 0 || joined?.resolverFile !== undefined ? ['label=disable'] : []),
    ],
    ReadonlyRootfs: true,
    Tmpfs: {
      '/tmp': `rw,exec,nosuid,nodev,mode=1777,size=${limits.temporaryBytes}`,
      '/run': 'rw,noexec,nosuid,nodev,mode=1777,size=16m',
      ...(home === 'ephemeral' &&
        source.kind === 'package' &&
        !mounts.some(({ target }) => target === PACKAGE_HOME) && {
          [PACKAGE_HOME]: `rw,exec,nosuid,nodev,mode=1777,size=${limits.temporaryBytes}`,
        }),
    },
  };
}

function limitsOf(limits: ResourceLimits, engine: Engine['kind']): Record<string, unknown> {
  return {
    Memory: limits.memoryBytes,
    // Memory and swap together: the same figure means no swap.
    MemorySwap: limits.memoryBytes,
    PidsLimit: limits.processes,
    // `NanoCpus` has the same effect, but Docker refuses a value above the number of cores.
    CpuPeriod: PERIOD_US,
    CpuQuota: Math.round(limits.cpus * PERIOD_US),
    Ulimits: [
      { Name: 'nofile', Soft: limits.openFiles, Hard: limits.openFiles },
      ...(engine === 'podman'
        ? [{ Name: 'nproc', Soft: PROCESSES_OF_THE_USER, Hard: PROCESSES_OF_THE_USER }]
        : []),
    ],
  };
}
