import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { release } from 'node:os';
import { promisify } from 'node:util';
import { messageOf } from '@toolhive/contract/failure';
import type { RuntimeLimit, RuntimeReport } from '../runtime.ts';
import { type CgroupPlaces, findCgroups } from './cgroup.ts';
import {
  type NetworkInspection,
  type NetworkTools,
  OwnNetwork,
  findNetwork,
  networkHint,
} from '../egress/user-network.ts';
import { planSandbox } from './plan.ts';
import type { GatewayNetwork, SandboxNamespace } from '../egress/gateway-network.ts';
import { type EgressTools, findEgressTools } from '../egress/tools.ts';
import { type Binary, findNode, findProgram, installWith } from '../programs.ts';
import { openFilesCeiling } from '../open-files.ts';
import { Sandbox } from './sandbox.ts';
import { openFilesHint } from '../spawn.ts';
import { type Architecture, auditArchitecture } from './syscalls.ts';

/** What the machine offers for sandboxes. */
export interface Machine {
  architecture: Architecture;
  bwrap: string;
  bwrapVersion: string;
  prlimit: string | undefined;
  node: Binary | undefined;
  /** User-mode networking, for servers that may reach everything. */
  network: NetworkInspection;
  /** The egress gateway, for servers with rules. */
  egress: EgressInspection;
  cgroups: CgroupPlaces;
  /** Whether the kernel's limit on a user's processes counts those of a sandbox alone, and binds. */
  countsProcesses: boolean;
}

/** The machine's capabilities if it can confine servers. Otherwise the reason why not and the fix. */
export type Inspection = { machine: Machine } | { problem: string; hint: string };

type EgressInspection = { tools: EgressTools } | { problem: string; hint: string };

/** What the daemon and one server with its sandbox need. */
const FEWEST_OPEN_FILES = 128;

/**
 * Inspects the machine and runs a sandbox once with the real options, which reveals missing features. A network namespace
 * is made for the same reason, and passed to `keep`, which returns whether it is needed.
 */
export async function inspectMachine(
  env: NodeJS.ProcessEnv,
  gateways: GatewayNetwork,
  signal: AbortSignal,
  keep: (made: SandboxNamespace) => boolean = () => false,
): Promise<Inspection> {
  if (process.platform !== 'linux') {
    return { problem: `the sandbox does not support ${process.platform}`, hint: 'install Docker or Podman' };
  }
  const architecture: string = process.arch;
  if (!isKnown(architecture)) {
    return {
      problem: `the sandbox does not support ${process.arch} processors`,
      hint: 'install Docker or Podman',
    };
  }
  const openFiles = openFilesCeiling();
  if (openFiles < FEWEST_OPEN_FILES) {
    return { problem: `the daemon may open only ${openFiles} files at once`, hint: openFilesHint };
  }
  const bwrap = await findProgram('bwrap', env);
  if (bwrap === undefined) return { problem: 'bubblewrap is not installed', hint: installWith('bubblewrap') };
  const details = Promise.all([
    versionOf(bwrap),
    findProgram('prlimit', { PATH: '/usr/bin:/bin' }),
    findNode(env),
    findCgroups(),
  ]);
  details.catch(() => {}); // where no sandbox works, the reason for that matters
  const [complaint, network, egress] = await Promise.all([
    tryOut(bwrap, architecture, signal),
    inspectNetwork(bwrap, architecture, env, signal),
    inspectEgress(env, gateways, keep),
  ]);
  if (complaint !== undefined) return { problem: complaint, hint: await hintFor(complaint, readSetting) };
  const [bwrapVersion, prlimit, node, cgroups] = await details;
  const countsProcesses = prlimit !== undefined && !isRoot() && countsByNamespace(release());
  const machine = { architecture, bwrap, bwrapVersion, prlimit, node, cgroups, countsProcesses };
  return { machine: { ...machine, network, egress } };
}

export function reportOn(inspection: Inspection): RuntimeReport {
  if ('problem' in inspection) {
    const { problem, hint } = inspection;
    return { runtime: 'process', available: false, detail: problem, hint, limits: [] };
  }
  const { machine } = inspection;
  return {
    runtime: 'process',
    available: true,
    detail: `${machine.bwrapVersion} at ${machine.bwrap}`,
    limits: limitsOf(machine),
  };
}

const isKnown = (architecture: string): architecture is Architecture =>
  Object.hasOwn(auditArchitecture, architecture);

/** Bubblewrap's error for a program that does nothing. */
async function tryOut(
  bwrap: string,
  architecture: Architecture,
  signal: AbortSignal,
  tools?: NetworkTools,
): Promise<string | undefined> {
  await using own = tools === undefined ? undefined : new OwnNetwork(tools, { kind: 'open' });
  const said: Buffer[] = [];
  try {
    const plan = await planSandbox({
      architecture,
      command: ['true'],
      env: {},
      network: own === undefined ? 'none' : 'open',
      mounts: [],
      readOnlyPaths: [],
    });
    const log = (chunk: Buffer) => said.push(chunk);
    const sandbox = await Sandbox.start({
      bwrap,
      plan,
      speaks: false,
      log,
      ...(own === undefined ? {} : { inNamespaces: (pid) => own.attach(pid) }),
      beforeStart: async () => own?.ready(),
      signal,
    });
    const { code } = await sandbox.ended;
    if (code === 0) return undefined;
    return `bubblewrap cannot run a program: ${Buffer.concat(said).toString().trim()}`;
  } catch (error) {
    return messageOf(error);
  }
}

async function inspectNetwork(
  bwrap: string,
  architecture: Architecture,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<NetworkInspection> {
  const found = await findNetwork(env);
  if ('problem' in found) return found;
  const problem = await tryOut(bwrap, architecture, signal, found.tools);
  return problem === undefined ? found : { problem, hint: networkHint };
}

/**
 * Looks for the programs, and creates a namespace once, which reveals restrictions by the kernel or a security
 * policy.
 */
async function inspectEgress(
  env: NodeJS.ProcessEnv,
  gateways: GatewayNetwork,
  keep: (made: SandboxNamespace) => boolean,
): Promise<EgressInspection> {
  const tools = await findEgressTools(env);
  if ('problem' in tools) return tools;
  try {
    const made = await gateways.makeNamespace(tools);
    if (!keep(made)) gateways.drop(made);
    return { tools };
  } catch (error) {
    const problem = messageOf(error);
    return { problem, hint: await hintFor(problem, readSetting) };
  }
}

async function versionOf(bwrap: string): Promise<string> {
  const { stdout } = await promisify(execFile)(bwrap, ['--version'], { env: {} });
  return stdout.trim();
}

/** Reads a kernel setting. Returns undefined if the kernel lacks it. */
type ReadSetting = (name: string) => Promise<string | undefined>;

const readSetting: ReadSetting = (name) =>
  readFile(`/proc/sys/${name.replaceAll('.', '/')}`, 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );

/** Settings with which distributions deny namespaces to ordinary users, and how to change them. */
const restrictions = [
  {
    setting: 'kernel.apparmor_restrict_unprivileged_userns',
    forbids: '1',
    hint: 'AppArmor restricts user namespaces: give bubblewrap a profile that allows them, or run: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
  },
  {
    setting: 'kernel.unprivileged_userns_clone',
    forbids: '0',
    hint: 'user namespaces are switched off: run: sudo sysctl -w kernel.unprivileged_userns_clone=1',
  },
  {
    setting: 'user.max_user_namespaces',
    forbids: '0',
    hint: 'user namespaces are switched off: run: sudo sysctl -w user.max_user_namespaces=15000',
  },
];

/** What to do about a complaint of bubblewrap's on this machine. */
export async function hintFor(complaint: string, setting: ReadSetting): Promise<string> {
  if (/unknown option/i.test(complaint))
    return 'bubblewrap 0.8 or newer is required. Update bubblewrap, or install Docker or Podman';
  if (/EMFILE|ENFILE|too many open files/i.test(complaint)) {
    return openFilesHint;
  }
  for (const { setting: name, forbids, hint } of restrictions) {
    if ((await setting(name)) === forbids) return hint;
  }
  return 'user namespaces may be forbidden here, as inside most containers: allow them, or install Docker or Podman';
}

/** Since Linux 5.14, the process limit applies per user namespace. Earlier kernels count all processes of the user. */
function countsByNamespace(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map(Number);
  return major > 5 || (major === 5 && minor >= 14);
}

const isRoot = () => process.getuid?.() === 0;

const concernsOpen = 'servers with an open network';
const concernsRules = 'servers with network rules';

function limitsOf({ cgroups, network, egress, prlimit, countsProcesses }: Machine): RuntimeLimit[] {
  const limits: [boolean, string, RuntimeLimit['concerns']?][] = [
    'problem' in network
      ? [
          true,
          `servers with open network access cannot run on this machine: ${network.problem}; ${network.hint}`,
          concernsOpen,
        ]
      : [
          true,
          'without network isolation, a server reaches every host that this machine reaches, and services on this machine’s own addresses other than loopback',
          'servers without network isolation',
        ],
    'problem' in egress
      ? [
          true,
          `servers with network rules cannot run on this machine: ${egress.problem}; ${egress.hint}`,
          concernsRules,
        ]
      : [false, ''],
    [
      isRoot(),
      'ToolHive runs as root, so servers read and write their granted files as root',
      'servers with mounts',
    ],
    [
      cgroups.memory === undefined,
      'ToolHive checks memory use once per second, because the kernel cannot limit it on this machine. Files in the sandbox’s temporary directories do not count',
    ],
    [
      cgroups.pids === undefined && !countsProcesses,
      'ToolHive checks the number of processes once per second, because the kernel cannot limit it on this machine',
    ],
    [cgroups.cpu === undefined, 'processor time is not limited'],
    [
      prlimit === undefined,
      'the numbers of open files and the sizes of files are not limited (prlimit is not installed)',
    ],
  ];
  return limits
    .filter(([applies]) => applies)
    .map(([, text, concerns = 'every server']) => ({ concerns, text }));
}
