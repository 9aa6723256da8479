import { existsSync, readFileSync } from 'node:fs';
import { lstat, readlink } from 'node:fs/promises';
import { invalid } from '@toolhive/contract/failure';
import type { HiddenPath } from '../hidden-path.ts';
import type { OpenMount } from './mounts.ts';
import { resolverSettings } from '../egress/link-addresses.ts';
import { NAME_SERVER } from '../egress/user-network.ts';
import type { Binary } from '../programs.ts';
import type { LayerMount } from './package-layer.ts';
import { seccompFilter } from './seccomp.ts';
import type { Architecture } from './syscalls.ts';

/** The layout inside a sandbox, independent of the machine's layout. */
export const inside = {
  home: '/home/server',
  package: '/opt/toolhive/package',
  node: '/opt/toolhive/bin/node',
  forwarder: '/opt/toolhive/forwarder.cjs',
  /** For installers alone. */
  downloads: '/opt/toolhive/downloads',
  tunnel: '/opt/toolhive/tunnel.cjs',
  gateway: '/opt/toolhive/gateway.sock',
  certificates: '/opt/toolhive/certificates.pem',
};

/** The purpose of each bubblewrap descriptor, from the third on. Mount sources and file contents follow. */
export const descriptors = { options: 3, status: 4, release: 5, channel: 6, firstSource: 7 };

/** The descriptor of bubblewrap that carries a plan's first file content. */
export const firstContent = ({ sources }: Pick<SandboxPlan, 'sources'>) =>
  descriptors.firstSource + sources.length;

/** The bubblewrap options. They contain environment values, so they never appear in an argument list. */
export interface SandboxPlan {
  options: string[];
  command: string[];
  /** Descriptors of this process that bubblewrap inherits, from `firstSource` on. */
  sources: number[];
  /**
   * The content of the descriptors from `firstContent` on. The first is a file that bubblewrap reads in the new
   * namespaces and waits for.
   */
  contents: Buffer[];
  /** Whether the command is to have a message channel of Node's to the daemon. */
  channel: boolean;
}

/**
 * `rules` is a network whose only neighbor is the egress gateway, `open` one with user-mode networking, `host` that of the
 * machine.
 */
export type SandboxNetwork = 'none' | 'rules' | 'open' | 'host';

export interface Confinement {
  architecture: Architecture;
  command: readonly string[];
  env: Readonly<Record<string, string>>;
  network: SandboxNetwork;
  mounts: readonly OpenMount[];
  hidden?: readonly HiddenPath[];
  packageFolder?: string;
  /** Directories over parts of the package, by their path in it. */
  layers?: readonly LayerMount[];
  /** Directories and sockets of ToolHive's own that may be written, by their place inside. */
  writable?: Readonly<Record<string, string>>;
  node?: Binary;
  /** Further directories with programs that the server can start by their names. */
  programFolders?: readonly string[];
  /** Further parts of the machine that the package needs to start, at the same path inside. */
  readOnlyPaths: readonly string[];
  /** Files made up for this sandbox: contents by path. */
  files?: Readonly<Record<string, string>>;
  /** Programs made up for this sandbox, and links to them by path. */
  programs?: Readonly<Record<string, string>>;
  links?: Readonly<Record<string, string>>;
  /** The size of each writable directory in memory. */
  temporaryBytes?: number;
  channel?: boolean;
  /** The working directory. The default is the home directory. */
  cwd?: string;
}

/** Builds the server's environment from nothing: anything that is not named here does not exist inside. */
export async function planSandbox(confinement: Confinement): Promise<SandboxPlan> {
  const contents: Buffer[] = [];
  const sources = confinement.mounts.map(({ descriptor }) => descriptor);
  const descriptorOf = (content: Buffer | string) =>
    String(firstContent({ sources }) + contents.push(Buffer.from(content)) - 1);
  const options = [
    isolation(confinement.network),
    await systemFolders(),
    systemFiles(confinement.network, descriptorOf),
    kernelFolders(),
    scratchFolders(confinement.temporaryBytes ?? 256 * MEBIBYTE),
    programs(confinement),
    confinement.mounts.flatMap(({ target, readOnly }, index) => [
      readOnly ? '--ro-bind-fd' : '--bind-fd',
      String(descriptors.firstSource + index),
      target,
    ]),
    (confinement.hidden ?? []).flatMap(({ blank, target }) => ['--ro-bind', blank, target]),
    madeUp(confinement.files ?? {}, descriptorOf),
    Object.entries(confinement.programs ?? {}).flatMap(([path, content]) => [
      '--perms',
      '0755',
      '--ro-bind-data',
      descriptorOf(content),
      path,
    ]),
    Object.entries(confinement.links ?? {}).flatMap(([path, target]) => ['--symlink', target, path]),
    ['--remount-ro', '/'],
    environment(confinement),
    ['--chdir', confinement.cwd ?? inside.home],
    ['--seccomp', descriptorOf(seccompFilter(filterOptions(confinement)))],
    ['--json-status-fd', String(descriptors.status), '--block-fd', String(descriptors.release)],
  ].flat();
  const { command, channel } = confinement;
  return { options, command: [...command], sources, contents, channel: channel === true };
}

function isolation(network: SandboxNetwork): string[] {
  return [
    ['--unshare-all'],
    // With rules, bubblewrap itself is started in the network of the sandbox.
    network === 'host' || network === 'rules' ? ['--share-net'] : [],
    ['--unshare-user', '--uid', '65534', '--gid', '65534', '--disable-userns'],
    ['--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--hostname', HOST_NAME],
  ].flat();
}

async function systemFolders(): Promise<string[]> {
  const aliases = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
  return [...bindReadOnly('/usr'), ...(await Promise.all(aliases.map(systemFolder))).flat()];
}

/**
 * On most distributions, `/bin` and similar directories are links into `/usr`. On others, they are separate
 * directories.
 */
async function systemFolder(path: string): Promise<string[]> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return [];
  return found.isSymbolicLink() ? ['--symlink', await readlink(path), path] : bindReadOnly(path);
}

/** Files in /etc that programs read and that reveal nothing about the machine's users. */
const harmlessFiles = [
  'alternatives',
  'ca-certificates/extracted',
  'crypto-policies',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'mime.types',
  'os-release',
  'pki/ca-trust/extracted',
  'pki/tls/certs',
  'protocols',
  'services',
  'ssl/cert.pem',
  'ssl/certs',
  'ssl/openssl.cnf',
];
const accounts = {
  '/etc/passwd': `server:x:65534:65534:server:${inside.home}:/bin/sh\n`,
  '/etc/group': 'server:x:65534:\n',
};

/** The name of the machine in the sandbox, which programs look up to find their own address. */
const HOST_NAME = 'toolhive';
const ownNames = `127.0.0.1 localhost ${HOST_NAME}\n::1 localhost ${HOST_NAME}\n`;

/** The machine's names, with that of the sandbox. */
function allNames(): string {
  const hosts = existsSync('/etc/hosts') ? readFileSync('/etc/hosts', 'utf8').trimEnd() : '';
  return `${hosts}\n127.0.0.1 ${HOST_NAME}\n`;
}

/** The name resolution in each network: with files from the machine, or with generated files. */
const resolvers: Record<SandboxNetwork, { real: string[]; own: Record<string, string>; all?: true }> = {
  none: { real: [], own: { '/etc/hosts': ownNames } },
  rules: {
    real: ['gai.conf'],
    own: {
      '/etc/hosts': ownNames, // rules cannot allow the names in the machine's own file
      '/etc/nsswitch.conf': 'hosts: files dns\n',
      '/etc/resolv.conf': resolverSettings.text,
    },
  },
  open: {
    real: ['gai.conf', 'host.conf'],
    all: true,
    own: {
      '/etc/nsswitch.conf': 'hosts: files dns\n', // the services that the machine may ask besides are out of reach
      '/etc/resolv.conf': `nameserver ${NAME_SERVER}\n`,
    },
  },
  host: { real: ['gai.conf', 'host.conf', 'nsswitch.conf', 'resolv.conf'], all: true, own: {} },
};

function systemFiles(network: SandboxNetwork, descriptorOf: DescriptorOf): string[] {
  const { real, own, all } = resolvers[network];
  const names: Record<string, string> = all === true ? { '/etc/hosts': allNames() } : {};
  return [
    ...[...harmlessFiles, ...real].flatMap((file) => ['--ro-bind-try', `/etc/${file}`, `/etc/${file}`]),
    ...madeUp({ ...accounts, ...own, ...names }, descriptorOf),
  ];
}

type DescriptorOf = (content: string) => string;

function madeUp(files: Readonly<Record<string, string>>, descriptorOf: DescriptorOf): string[] {
  return Object.entries(files).flatMap(([path, content]) => ['--ro-bind-data', descriptorOf(content), path]);
}

/** Views of the whole machine that /proc offers to root, in case the daemon runs as root. */
const hiddenInProc = [
  'kcore',
  'key-users',
  'keys',
  'kpagecgroup',
  'kpagecount',
  'kpageflags',
  'latency_stats',
  'sched_debug',
  'slabinfo',
  'sysrq-trigger',
  'timer_list',
  'vmallocinfo',
].map((file) => `/proc/${file}`);

const MEBIBYTE = 1024 * 1024;

function kernelFolders(): string[] {
  return [
    ['--proc', '/proc'],
    hiddenInProc.filter(existsSync).flatMap((file) => ['--ro-bind', '/dev/null', file]),
    // No server needs to write to /proc, and much of it is writable for root's processes.
    ['--remount-ro', '/proc'],
    ['--dev', '/dev', ...scratch('/dev/shm', 64 * MEBIBYTE), '--remount-ro', '/dev'],
  ].flat();
}

function scratchFolders(bytes: number): string[] {
  return [...scratch('/tmp', bytes), ...scratch(inside.home, bytes)];
}

const scratch = (folder: string, bytes: number) => ['--size', String(bytes), '--tmpfs', folder];

function programs({ packageFolder, layers, writable, node, readOnlyPaths }: Confinement): string[] {
  return [
    ...Object.entries(writable ?? {}).flatMap(([target, source]) => ['--bind', source, target]),
    ...(packageFolder === undefined ? [] : ['--ro-bind', packageFolder, inside.package]),
    ...(layers ?? []).flatMap(({ source, path, readOnly }) => [
      readOnly ? '--ro-bind' : '--bind',
      source,
      path === '' ? inside.package : `${inside.package}/${path}`,
    ]),
    ...(node === undefined
      ? []
      : ['--ro-bind', node.path, inside.node, ...node.libraries.flatMap(bindReadOnly)]),
    ...readOnlyPaths.flatMap(bindReadOnly),
  ];
}

const bindReadOnly = (path: string) => ['--ro-bind', path, path];

function environment({ env, channel, programFolders = [] }: Confinement): string[] {
  const folders = [
    inside.node.replace(/\/node$/, ''),
    ...programFolders,
    '/usr/local/bin',
    '/usr/bin',
    '/bin',
  ];
  const all = {
    // Node removes this variable from its environment before starting anything.
    ...(channel ? { NODE_CHANNEL_FD: String(descriptors.channel) } : {}),
    PATH: folders.join(':'),
    HOME: inside.home,
    ...env,
  };
  return ['--clearenv', ...Object.entries(all).flatMap(([name, value]) => ['--setenv', name, value])];
}

/** Throws `invalid` for a value that no environment can contain. */
export function requireVariable(name: string, value: string): void {
  if (name === '' || /[=\0]/.test(name))
    throw invalid(`${JSON.stringify(name)} cannot name an environment variable`);
  if (value.includes('\0'))
    throw invalid(`the value of the environment variable ${name} contains a NUL character`);
}

/**
 * On the machine's network, Unix sockets reach every listener with an abstract address, including a desktop's display
 * and message bus. On that network, only servers with a granted socket may use Unix sockets. A separate network has
 * no such listeners.
 */
function filterOptions({ architecture, network, mounts }: Confinement) {
  return { architecture, unixSockets: network !== 'host' || mounts.some(({ isSocket }) => isSocket) };
}
