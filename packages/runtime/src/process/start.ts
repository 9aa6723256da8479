import { dirname } from 'node:path';
import { filled } from '@toolhive/bundles/template';
import { invalid, unavailable } from '@toolhive/contract/failure';
import { allowMore } from '@toolhive/contract/resources';
import { excessReason } from '../exceeded.ts';
import type { PinnedMount } from '../mount-source.ts';
import type { Exit, Instance, Launch, LaunchNetwork, ResourceLimits, RuntimeLimit } from '../runtime.ts';
import type { NamespaceToEnter } from './bubblewrap.ts';
import type { GatewayNetwork, SandboxNamespace } from '../egress/gateway-network.ts';
import type { PreparedNetworks } from '../egress/prepared-networks.ts';
import { requireSecrets } from '../secrets.ts';
import { browserFor } from './browsers.ts';
import { Cgroup } from './cgroup.ts';
import type { Machine } from './check.ts';
import { OutputWatch } from './closed-output.ts';
import { LocalListener } from '../local-listener.ts';
import { type Door, PublishedSocket, type SocketPlace, passSockets } from '../published-socket.ts';
import { embeddedProgram } from '../embedded-program.ts';
import { frugalNode } from '../frugal-node.ts';
import type { ProcessHomes } from './homes.ts';
import { ProcessInstance } from './instance.ts';
import { groupName, inheritedLimits, watchLimits } from './limits.ts';
import type { Install } from './installers/install.ts';
import { type OpenMount, isInside, openMounts, verifyInside } from './mounts.ts';
import { type NetworkTools, OwnNetwork, networkShare } from '../egress/user-network.ts';
import { type SandboxNetwork, type SandboxPlan, inside, planSandbox, requireVariable } from './plan.ts';
import { openFilesCeiling } from '../open-files.ts';
import { requireNode } from '../programs.ts';
import { formatSource } from '../source.ts';
import type { Layer, LayerMount } from './package-layer.ts';
import { Sandbox } from './sandbox.ts';
import type { InstalledPackage } from './store.ts';

export interface Start {
  machine: Machine;
  launch: Launch;
  installed: InstalledPackage;
  place: SocketPlace;
  homes: ProcessHomes;
  /** Where the connections of servers with network rules lead. */
  gateways: GatewayNetwork;
  /** Where servers with network rules run. */
  namespaces: PreparedNetworks<SandboxNamespace>;
  log?: (message: string, fields?: object) => void;
  signal: AbortSignal;
}

/** Starts an installed package in a new sandbox. After a failure, nothing remains. */
export async function startInstance(given: Start): Promise<Instance> {
  const browser = await browserFor(given.launch, given.installed.folder);
  const { args, env } = browser;
  const launch = {
    ...given.launch,
    args: [...args, ...given.launch.args],
    env: { ...env, ...given.launch.env },
  };
  const start = { ...given, launch };
  const { machine, place, signal } = start;
  requireSecrets(launch);
  const network = networkOf(launch);
  const speaks = launch.transport.kind === 'stdio';
  const own =
    launch.network.kind === 'open' ? new OwnNetwork(requireNetwork(machine), launch.network) : undefined;

  await using undo = new AsyncDisposableStack();
  await using opened = await openMounts(await mountsOf(start));
  const layer = await layerOf(start);
  for (const note of layer.notes) launch.log(Buffer.from(`[toolhive] ${note}\n`));
  const plan = await planLaunch(start, network, { mounts: opened.mounts, layers: layer.mounts, browser });
  const doors: Door[] = [];
  for (const { serverPort } of doorsOf(launch)) {
    const socket = undo.use(await PublishedSocket.open(place));
    doors.push({ socket, ...(serverPort === undefined ? {} : { serverPort }) });
  }
  const limits = groupLimits(launch, network);
  const cgroup = undo.use(await Cgroup.open(machine.cgroups, groupName(place.daemonId), limits));
  if (own !== undefined) undo.use(own);
  const inherited = inheritedLimits(machine, serverLimits(launch), plan);
  const egress = await openEgress(start);
  if (egress !== undefined) undo.use(egress.resources);
  const sandbox = undo.use(
    await Sandbox.start({
      bwrap: machine.bwrap,
      plan,
      wrapper: inherited.wrapper,
      speaks,
      entering: egress?.entering,
      log: launch.log,
      ...(own === undefined ? {} : { inNamespaces: (pid) => own.attach(pid) }),
      beforeStart: async (pid) => {
        // What a server makes slirp4netns use, the server uses.
        for (const member of [pid, own?.pid]) if (member !== undefined) await cgroup.add(member);
        await inherited.set(pid);
        await own?.ready();
        await verifyInside(opened.mounts, launch.hidden, pid);
      },
      signal,
    }),
  );
  if (doors.length > 0)
    await passSockets(sandbox.bwrap, doors, environmentOf(launch, templateOf(given.installed, launch).env));
  for (const { port, serverPort } of launch.published ?? []) {
    const door = doors.find((one) => one.serverPort === serverPort);
    if (door !== undefined) undo.use(await LocalListener.open(port, door.socket.path));
  }

  undo.use(start.homes.use(launch.workload, sandbox.init));
  const output = speaks ? undo.use(new OutputWatch(sandbox)) : undefined;
  const resources = undo.move();
  const watched = watchLimits(sandbox, machine, launch.limits);
  const lost =
    own === undefined
      ? egress?.failed
      : own.ended.then(() => ({ reason: 'lost its network', said: own.said }));
  const connection = lost === undefined ? undefined : watchNetwork(sandbox, lost, start);
  const exited = sandbox.ended.then(async (exit): Promise<Exit> => {
    const exceeded = watched.exceeded() ?? ((await diedOfMemory(exit, cgroup)) ? 'memory' : undefined);
    const reason =
      exceeded === undefined
        ? (connection?.reason() ?? output?.reason ?? (await processReason(exit, cgroup, launch.limits)))
        : excessReason(exceeded, launch.limits);
    await resources.disposeAsync();
    return reason === undefined ? exit : { ...exit, reason };
  });
  const { openFiles } = launch.limits;
  const unmet = [
    ...(openFiles > openFilesCeiling() ? [fewerFiles(openFiles)] : []),
    ...layer.notes.map((text): RuntimeLimit => ({ concerns: 'every server', text })),
  ];
  return new ProcessInstance({
    sandbox,
    speaks,
    exited,
    address: addressOf(doors[0]?.socket, launch),
    limits: unmet,
  });
}

/** What the user asked for and the daemon cannot give. */
function fewerFiles(openFiles: number): RuntimeLimit {
  const text = `the server can open ${openFilesCeiling()} files instead of ${openFiles}, because the daemon's own limit is not higher`;
  return { concerns: 'every server', text };
}

/** The gateway of a server with network rules, and the namespace that leads to the gateway. */
async function openEgress({ launch, machine, gateways, namespaces }: Start): Promise<OpenEgress | undefined> {
  if (launch.network.kind !== 'rules') return undefined;
  if ('problem' in machine.egress) {
    const { problem, hint } = machine.egress;
    throw unavailable(`a server with network rules cannot run here: ${problem}`, { hint });
  }
  const { tools } = machine.egress;
  const { egress } = launch.network;
  using undo = new DisposableStack();
  const listening = gateways.listen(tools, egress.rules.ports); // at the same time
  listening.catch(() => {}); // the error appears again below
  undo.defer(() => {
    listening.then((ports) => ports[Symbol.dispose]()).catch(() => {});
  });
  const sandbox = await namespaces.take([], () => gateways.makeNamespace(tools));
  // Its descriptors are needed again if the process of the gateways ends.
  const resources = undo.use(new DisposableStack());
  const { network, user } = resources.use(sandbox.namespace);
  const gateway = resources.use(await gateways.openGateway(tools, sandbox, egress));
  resources.use(await listening);
  undo.move();
  const failed = gateway.failed.then((reason) => ({ reason }));
  return { failed, resources, entering: { nsenter: tools.nsenter, network, user } };
}

interface OpenEgress {
  entering: NamespaceToEnter;
  /** Settles when the server cannot reach anything any more. Never rejects. */
  failed: Promise<LostNetwork>;
  resources: Disposable;
}

interface LostNetwork {
  reason: string;
  /** What a program said about it, for the log. */
  said?: string;
}

/** The granted mounts and the persistent home directory, unless a mount replaces it. */
async function mountsOf({ launch, homes }: Start): Promise<readonly PinnedMount[]> {
  const { mounts, home, workload } = launch;
  if (home === 'ephemeral' || mounts.some(({ target }) => isInside(inside.home, target))) return mounts;
  return [await homes.mount(workload, mounts), ...mounts];
}

/** The package's own directory, which the server may write to, unless nothing of the server is kept. */
async function layerOf({ launch, installed, homes }: Start): Promise<Layer> {
  const { workload, source, home, refusesChangedCode } = launch;
  if (home === 'ephemeral') return { mounts: [], notes: [] };
  return homes.layers.prepare({
    ...installed,
    workload,
    source: formatSource(source),
    refusesChanges: refusesChangedCode === true,
  });
}

/** The sandbox network for this launch. Throws `invalid` for a network mode that sandboxes do not support. */
export function networkOf({ network, privileged }: Pick<Launch, 'network' | 'privileged'>): SandboxNetwork {
  if (privileged) {
    throw invalid('a sandboxed process cannot run privileged', {
      hint: 'turn `privileged` off in the permission profile, or run the workload with a container engine',
    });
  }
  const kind = network.kind === 'mode' ? modes[network.mode] : network.kind;
  if (kind !== undefined) return kind;
  throw invalid(`the sandbox does not support the network mode ${describeMode(network)}`, {
    hint: 'use host or none, or run the workload with a container engine',
  });
}

/** What the two network modes mean that every container engine has. */
const modes: Record<string, SandboxNetwork | undefined> = { none: 'none', host: 'host' };

const describeMode = (network: LaunchNetwork) => (network.kind === 'mode' ? network.mode : network.kind);

interface PlannedPaths {
  mounts: readonly OpenMount[];
  layers: readonly LayerMount[];
  browser: Awaited<ReturnType<typeof browserFor>>;
}

async function planLaunch(
  { machine, launch, installed }: Start,
  network: SandboxNetwork,
  { mounts, layers, browser }: PlannedPaths,
): Promise<SandboxPlan> {
  const { install, folder } = installed;
  const forwarded = isForwarded(launch);
  const needsNode = install.command === 'node' || forwarded;
  const node = needsNode ? requireNode(machine) : undefined;
  const { transport } = launch;
  const template = templateOf(installed, launch);
  const server = [
    install.command === 'node' ? inside.node : `${inside.package}/${install.command}`,
    ...install.args.map((path) => `${inside.package}/${path}`),
    ...template.args.map(withoutNul),
    ...launch.args.map(withoutNul),
  ];
  return planSandbox({
    architecture: machine.architecture,
    command: [...(forwarded ? behindForwarder(targetPortOf(transport)) : []), ...server],
    env: forwarded ? {} : environmentOf(launch, template.env),
    network,
    mounts,
    ...(install.template === undefined ? {} : { cwd: `${inside.package}/${install.template.directory}` }),
    packageFolder: folder,
    layers,
    readOnlyPaths: [...install.readOnlyPaths, ...browser.readOnlyPaths],
    programs: browser.programs,
    links: browser.links,
    hidden: launch.hidden,
    temporaryBytes: launch.limits.temporaryBytes,
    files: forwarded ? { [inside.forwarder]: embeddedProgram('sandbox-forwarder.ts') } : {},
    channel: forwarded,
    programFolders: [ownPrograms(install)],
    ...(node === undefined ? {} : { node }),
  });
}

/** The programs of the package and its dependencies, which npx and uvx put on PATH, too. */
const ownPrograms = ({ command }: Install): string =>
  `${inside.package}/${command === 'node' ? 'node_modules/.bin' : dirname(command)}`;

/**
 * The server's environment. If a forwarder exists, it receives the environment with its socket and passes it on. The
 * forwarder has a channel to the daemon, so a variable such as NODE_OPTIONS must not influence it.
 */
function environmentOf(
  { source, env, secrets, transport }: Launch,
  ofBundle: Readonly<Record<string, string>>,
): Record<string, string> {
  // Compiled files beside the code could replace the verified code. Servers that do not flush their messages work in a terminal.
  const isPython = source.kind !== 'image' && source.scheme !== 'npx' && source.scheme !== 'go';
  const python: Record<string, string> = isPython
    ? { PYTHONDONTWRITEBYTECODE: '1', PYTHONUNBUFFERED: '1' }
    : {};
  const all = {
    ...python,
    ...ofBundle,
    ...env,
    ...secrets,
    ...(transport.kind === 'http' ? { MCP_HOST: '127.0.0.1' } : {}),
  };
  for (const [name, value] of Object.entries(all)) requireVariable(name, value);
  return all;
}

/** What a bundle says about its server, with the user's values. */
function templateOf(
  { install: { template } }: InstalledPackage,
  { userConfig = {} }: Launch,
): { args: string[]; env: Record<string, string> } {
  if (template === undefined) return { args: [], env: {} };
  const directory = `${inside.package}/${template.bundle}`;
  return filled(template, { directory, home: inside.home, config: userConfig });
}

/** Never the machine's network as a substitute. The user must request that explicitly. */
function requireNetwork({ network }: Machine): NetworkTools {
  if ('tools' in network) return network.tools;
  throw unavailable(`a server with a network cannot run here: ${network.problem}`, { hint: network.hint });
}

function withoutNul(argument: string): string {
  if (argument.includes('\0')) throw invalid('a server argument contains a NUL character');
  return argument;
}

/** The sockets of a launch: that of an HTTP server itself first, then one for each published port. */
const doorsOf = ({ transport, published = [] }: Launch): Omit<Door, 'socket'>[] => [
  ...(transport.kind === 'http' ? [{}] : []),
  ...[...new Set(published.map(({ serverPort }) => serverPort))].map((serverPort) => ({ serverPort })),
];

const isForwarded = (launch: Launch) => doorsOf(launch).length > 0;

/** 0 means no port: a server that speaks stdio has published ports only. */
const targetPortOf = (transport: Launch['transport']) =>
  transport.kind === 'http' ? transport.targetPort : 0;

const behindForwarder = (port: number) => [inside.node, ...frugalNode, inside.forwarder, String(port)];

/** What the forwarder itself uses of the sandbox's limits. */
const forwarderShare = { memoryBytes: 48 * 1024 * 1024, processes: 8 };

/** The limits inside the sandbox: for the server and its forwarder. */
const serverLimits = (launch: Launch) =>
  isForwarded(launch) ? plus(launch.limits, forwarderShare) : launch.limits;

/** The limits of all the sandbox's processes, inside and outside. */
const groupLimits = (launch: Launch, network: SandboxNetwork) =>
  network === 'open' ? plus(serverLimits(launch), networkShare) : serverLimits(launch);

const plus = (limits: ResourceLimits, share: Pick<ResourceLimits, 'memoryBytes' | 'processes'>) => ({
  ...limits,
  memoryBytes: limits.memoryBytes + share.memoryBytes,
  processes: limits.processes + share.processes,
});

const addressOf = (door: PublishedSocket | undefined, { transport }: Launch) =>
  door === undefined || transport.kind === 'stdio'
    ? undefined
    : { kind: 'socket' as const, path: door.path, targetPort: transport.targetPort };

/** A server that lost its network would wait forever, so it is stopped and can be started again. */
function watchNetwork(sandbox: Sandbox, lost: Promise<LostNetwork>, { launch, log }: Start) {
  let reason: string | undefined;
  const onLoss = (loss: LostNetwork | undefined) => {
    if (loss === undefined) return;
    ({ reason } = loss);
    log?.('the network of a sandbox ended', { workload: launch.workload, ...loss });
    sandbox.kill();
  };
  const ended = sandbox.ended.then(() => undefined);
  Promise.race([ended, lost]).then(onLoss, () => {}); // neither rejects
  return { reason: () => reason };
}

/** A server that could not start a process or thread may end for that reason, and rarely says so. */
async function processReason(
  { code, signal }: Exit,
  cgroup: Cgroup,
  { processes }: ResourceLimits,
): Promise<string | undefined> {
  const hasFailed = signal === null ? code !== 0 : signal !== 'SIGTERM' && signal !== 'SIGKILL';
  if (!hasFailed || !(await cgroup.ranOutOfProcesses())) return undefined;
  const how = signal === null ? `exited with code ${code}` : `was killed by ${signal}`;
  return `${how} after reaching the limit of ${processes} processes and threads; ${allowMore('pids')}`;
}

async function diedOfMemory(exit: Exit, cgroup: Cgroup): Promise<boolean> {
  return exit.signal === 'SIGKILL' && (await cgroup.ranOutOfMemory());
}
