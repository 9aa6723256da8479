import { type ThvError, cancelled, timedOut, unavailable } from '@toolhive/contract/failure';
import { isLoopback } from '@toolhive/contract/loopback';
import { describeExcess } from '../../exceeded.ts';
import { installationLimits as limits } from '../../installation-limits.ts';
import type { PackageContents, Progress } from '../../runtime.ts';
import type { PackageSource } from '../../source.ts';
import { Cgroup } from '../cgroup.ts';
import type { Machine } from '../check.ts';
import type { SocketPlace } from '../../published-socket.ts';
import { groupName, inheritedLimits, watchLimits } from '../limits.ts';
import { inside, planSandbox } from '../plan.ts';
import { findProgram, requireNode } from '../../programs.ts';
import { Sandbox } from '../sandbox.ts';
import { Gateway } from './gateway.ts';
import { embeddedProgram } from '../../embedded-program.ts';

/** What an installer works with. */
export interface InstallContext {
  /** The daemon's environment. Sandboxes receive only the variables that an installer selects. */
  env: NodeJS.ProcessEnv;
  machine: Machine;
  place: SocketPlace;
  /** An empty directory of the daemon's, which is the package's in the sandbox. */
  folder: string;
  /** A download directory that no other package shares. */
  downloads: string;
  /** The package cache, for the daemon's files besides packages. */
  cacheDir: string;
  /** Certificate authorities, as PEM, that replace a tool's defaults. */
  certificates: string | undefined;
  /** Whether no version of the package is installed, so that its installation follows in any case. */
  isFirst: boolean;
  /** Ends before the directories are removed. */
  background: Set<Promise<unknown>>;
  /** Sources of dependencies besides the registries that the user has allowed, as `HOST/PATH`. */
  allowed: readonly string[];
  /** Inspects the download before any of its code runs. Throws if the package must not be installed. */
  inspect: (source: PackageSource, contents: PackageContents) => Promise<void>;
  report: Progress;
  signal: AbortSignal;
}

/** One run of a tool in a sandbox. Paths are those inside. */
export interface ToolCall {
  /** For messages. */
  name: string;
  command: readonly string[];
  env?: Readonly<Record<string, string>>;
  files?: Readonly<Record<string, string>>;
  /** Paths of this machine that the tool consists of. */
  readOnlyPaths?: readonly string[];
  /** Directories that may be written besides the package's and the downloads', by their place inside. */
  writable?: Readonly<Record<string, string>>;
  cwd?: string;
  /** The package registries as `HOST:PORT`. Without registries, the tool has no network access. */
  registries?: ReadonlySet<string>;
  /**
   * Whether network access is limited to the registries, because package code or a package file may choose other
   * hosts.
   */
  registriesOnly?: boolean;
  onLine?: (line: string) => void;
}

export interface ToolResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

const TIMEOUT_MS = 20 * 60_000;
const PROXY_PORTS = [3128, 3129, 3130];

/**
 * Runs a tool to completion in a separate sandbox: without a home directory or the machine's network, and with write
 * access only to the package's directory and its downloads. An abort kills all its processes.
 */
export async function runTool(call: ToolCall, context: InstallContext): Promise<ToolResult> {
  const { machine, place, folder, downloads, certificates } = context;
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const signal = AbortSignal.any([context.signal, timeout]);
  if (context.signal.aborted) throw cancelled('the installation was cancelled');
  await using undo = new AsyncDisposableStack();
  const { registries = new Set(), registriesOnly: isLimited = false } = call;
  const gateway =
    registries.size === 0
      ? undefined
      : undo.use(await Gateway.open({ place, registries, isLimited, env: context.env }));
  const way = gateway === undefined ? undefined : wayOut(registries);
  const plan = await planSandbox({
    architecture: machine.architecture,
    command: [...(way?.command ?? []), ...call.command],
    env: { ...call.env, ...way?.env, ...(certificates === undefined ? {} : trusting) },
    network: 'none',
    mounts: [],
    writable: {
      ...call.writable,
      [inside.package]: folder,
      [inside.downloads]: downloads,
      ...(gateway === undefined ? {} : { [inside.gateway]: gateway.path }),
    },
    readOnlyPaths: (call.readOnlyPaths ?? []).filter((path) => !isInSystem(path)),
    node: requireNode(machine),
    ...(call.cwd === undefined ? {} : { cwd: call.cwd }),
    files: {
      ...call.files,
      ...(gateway === undefined ? {} : { [inside.tunnel]: embeddedProgram('installer-tunnel.ts') }),
      ...(certificates === undefined ? {} : { [inside.certificates]: certificates }),
    },
  });
  const stderr = new Capture(call.onLine);
  const stdout = new Capture();
  const cgroup = undo.use(await Cgroup.open(machine.cgroups, groupName(place.daemonId), limits));
  const inherited = inheritedLimits(machine, limits, plan);
  const started = Sandbox.start({
    bwrap: machine.bwrap,
    plan,
    wrapper: inherited.wrapper,
    speaks: true,
    log: (chunk) => stderr.add(chunk),
    output: (chunk) => stdout.add(chunk),
    beforeStart: async (pid) => {
      await cgroup.add(pid);
      await inherited.set(pid);
    },
    signal,
  });
  const sandbox = undo.use(await started);
  const kill = () => sandbox.kill();
  signal.addEventListener('abort', kill);
  if (signal.aborted) kill();
  sandbox.bwrap.stdin?.end();
  const watched = watchLimits(sandbox, machine, limits);
  const { code } = await sandbox.ended;
  signal.removeEventListener('abort', kill);
  if (context.signal.aborted) throw cancelled('the installation was cancelled');
  if (timeout.aborted) throw timedOut(`${call.name} did not finish within ${TIMEOUT_MS / 60_000} minutes`);
  const exceeded = watched.exceeded() ?? ((await cgroup.ranOutOfMemory()) ? 'memory' : undefined);
  if (exceeded !== undefined)
    throw unavailable(`${call.name} ${describeExcess(exceeded, limits)} and was stopped`);
  return { code, stdout: stdout.text, stderr: stderr.text };
}

/** How the tool in a sandbox reaches the gateway: through a program that passes its connections on. */
function wayOut(registries: ReadonlySet<string>) {
  const local = [...registries].filter((origin) => isLoopback(origin.replace(/:\d+$/, '')));
  const taken = new Set(local.map((origin) => Number(/\d+$/.exec(origin)?.[0])));
  const port = String(PROXY_PORTS.find((candidate) => !taken.has(candidate)));
  const proxy = `http://127.0.0.1:${port}`;
  const exceptions = 'localhost,127.0.0.0/8,127.0.0.1,::1';
  return {
    command: [inside.node, inside.tunnel, inside.gateway, port, local.join(',')],
    env: {
      HTTP_PROXY: proxy,
      HTTPS_PROXY: proxy,
      NO_PROXY: exceptions,
      http_proxy: proxy,
      https_proxy: proxy,
      no_proxy: exceptions,
    },
  };
}

const trusting = Object.fromEntries(
  ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'GIT_SSL_CAINFO', 'CURL_CA_BUNDLE', 'REQUESTS_CA_BUNDLE'].map(
    (name) => [name, inside.certificates],
  ),
);

/** Every sandbox has these anyway. */
const isInSystem = (path: string) => /^\/(?:usr|bin|sbin|lib|lib32|lib64|libx32)(?:\/|$)/.test(path);

/** The path of a tool's program, or why there is none. */
export async function requireProgram(
  name: string,
  { env }: Pick<InstallContext, 'env'>,
  missing: string,
): Promise<string> {
  const program = await findProgram(name, env);
  if (program === undefined) throw unavailable(`${name} is not installed`, { hint: missing });
  return program;
}

/** A registry whose certificate the tool does not trust, usually because a corporate proxy inspects TLS traffic. */
export function distrustIn(said: string): ThvError | undefined {
  const [reason] = certificateTrouble.exec(said) ?? [];
  if (reason === undefined) return undefined;
  return unavailable(`cannot reach the package registry: ${reason}`, {
    hint: 'if a corporate proxy inspects TLS traffic, configure its CA certificate with thv config set-ca-cert FILE',
  });
}

/** In the words of Node.js, rustls and Go. */
const certificateTrouble =
  /self.signed certificate(?: in certificate chain)?|unable to (?:get local issuer certificate|verify the first certificate)|invalid peer certificate: \w+|certificate signed by unknown authority/i;

const CAPTURE_LIMIT = 4 * 1024 * 1024;

/** Keeps the start of a tool's output, and reports it line by line. */
class Capture {
  text = '';
  readonly #onLine: ((line: string) => void) | undefined;
  #rest = '';

  constructor(onLine?: (line: string) => void) {
    this.#onLine = onLine;
  }

  add(chunk: Buffer): void {
    const text = chunk.toString();
    if (this.text.length < CAPTURE_LIMIT) this.text += text;
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop()?.slice(-1000) ?? '';
    for (const line of lines) this.#onLine?.(line.trim());
  }
}
