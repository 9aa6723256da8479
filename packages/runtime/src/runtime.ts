import type { Readable, Writable } from 'node:stream';
import type { Egress } from './egress.ts';
import type { HiddenPath } from './hidden-path.ts';
import type { PinnedMount, SourcePin } from './mount-source.ts';
import type { PackageSource, ServerSource } from './source.ts';

/**
 * Where servers run. Every runtime enforces the same launch: the mounts, the network, the limits and nothing
 * else of the machine; what it cannot enforce here it says in its report. All of them pass one conformance
 * suite (`testing/conformance.ts`).
 */
export interface Runtime {
  readonly name: RuntimeName;

  /** Looks at the machine now: can servers run here, how, and what cannot be enforced. Never throws. */
  check(signal?: AbortSignal): Promise<RuntimeReport>;

  /**
   * Gets the source ready to start on this machine (pull, build, install) and returns it pinned: exactly what
   * will run, so that a later start needs no network. Cheap when it was done before.
   * Throws `not-found` for a source that does not exist, `unavailable` for a missing tool chain or network.
   */
  prepare(source: ServerSource, options: PrepareOptions): Promise<ServerSource>;

  /**
   * Finds the newest release of a package without installing it. Absent in runtimes that look up none. Throws
   * `unsupported` for packages whose newest release only an installation tells.
   */
  newest?(source: PackageSource, options: PrepareOptions): Promise<Release>;

  /**
   * Finds out what an exact version would consist of, without installing it. Absent in runtimes that cannot. Undefined
   * for packages of which only an installation tells.
   */
  preview?(source: PackageSource, options: PrepareOptions): Promise<PackageContents | undefined>;

  /**
   * What an installed package consists of, if that was recorded when it was installed. Absent in runtimes that record
   * nothing.
   */
  contents?(source: PackageSource): Promise<PackageContents | undefined>;

  /**
   * Throws `invalid` for what `start` would refuse whenever it is asked, so that nothing is made ready for it. Absent
   * in runtimes that leave that to an engine.
   */
  refuseImpossible?(launch: Pick<Launch, 'network' | 'privileged'>): void;

  /** Starts one instance of a prepared source. Throws when it could not be started at all; leaves nothing then. */
  start(launch: Launch, signal: AbortSignal): Promise<Instance>;

  /**
   * Ends and removes everything that an earlier daemon with the same state directory left running or lying
   * about. Called once, before the first start, by the only daemon that owns the directory.
   */
  sweep(): Promise<void>;

  /**
   * Whether mount sources are looked up by their path when a server starts, by a program that takes no open
   * file: then a server that can write to a directory above a source could put a link in its place.
   */
  readonly mountsByPath: boolean;

  /** The files that servers keep between their starts. */
  readonly homes: Homes;

  /** Makes container images of packages; absent in runtimes that have none. */
  readonly images?: ImageBuilder;
}

/** A version of a package, as its registry describes it. */
export interface Release {
  version: string;
  /** When it was published (RFC 3339), if the registry tells. */
  publishedAt?: string;
}

/** What an installed package consists of. */
export interface PackageContents {
  /** The URL of the package registry that the user has configured for it. Empty if there are several. */
  registry: string;
  /** When the version was published (RFC 3339), if the registry says so. */
  publishedAt?: string | undefined;
  /** The package itself first, then its dependencies. */
  artifacts: readonly [Artifact, ...Artifact[]];
}

/** One downloaded archive. */
export interface Artifact {
  name: string;
  version: string;
  /** The hash of its content in the notation of its ecosystem: `sha512-…` for npm, `sha256:…` for Python, `h1:…` for Go. */
  integrity: string;
  /** The name of the archive, where a version has several. */
  file?: string;
}

/** The persistent home directories of workloads, which outlive instances and are deleted only on request. */
export interface Homes {
  /** Tells whether something may be stored for a workload, without measuring it. */
  exists(workload: string): Promise<boolean>;
  /** Measures the files of a workload without following links. Returns undefined if the workload has none. */
  measure(workload: string): Promise<StoredHome | undefined>;
  /** Deletes the files of a workload that no longer runs. */
  remove(workload: string): Promise<void>;
}

export interface StoredHome {
  /** The path of the directory, or the name of the volume in the container engine. */
  place: string;
  bytes: number;
  /** Whether the server has stored anything. */
  isEmpty: boolean;
  /** Why the files cannot be measured completely, as a phrase that continues "the server". */
  excess?: string;
}

export interface ImageBuilder {
  /** How the package becomes an image, as a Dockerfile. Needs no engine. */
  recipe(source: PackageSource): string;
  /** Builds the image, names it `tag` too if that is given, and returns its name. */
  build(source: PackageSource, options: PrepareOptions & { tag?: string | undefined }): Promise<string>;
}

export type RuntimeName = 'docker' | 'process' | 'memory';

export interface RuntimeReport {
  runtime: RuntimeName;
  available: boolean;
  /** What answered: `Docker Engine 28.2.2 at /var/run/docker.sock`, `bubblewrap 0.8.0`. */
  detail: string;
  /** Why it is not available, and what to do about it. */
  hint?: string;
  /** What cannot be enforced on this machine. */
  limits: RuntimeLimit[];
}

/** Something that a runtime cannot enforce, and whom that concerns. */
export interface RuntimeLimit {
  concerns:
    | 'every server'
    | 'servers with mounts'
    | 'servers with network rules'
    | 'servers with an open network'
    | 'servers with public hosts only'
    | 'servers without network isolation';
  /** A sentence that stands behind a workload's name as well as alone. */
  text: string;
}

export interface PrepareOptions {
  report: Progress;
  signal: AbortSignal;
  /**
   * Certificate authorities, as PEM, that are trusted while a package is fetched, beside those that are trusted
   * anyway. Asked for only when something is fetched.
   */
  trusted?: (() => Promise<string | undefined>) | undefined;
  /**
   * Where dependencies of packages may come from besides package registries, as `HOST/PATH`. Asked for only when
   * something is installed.
   */
  allowedSources?: (() => Promise<readonly string[]> | readonly string[]) | undefined;
  /**
   * Called with a downloaded package before any of its code runs and before it is kept. The installation fails if this
   * throws.
   */
  inspect?:
    ((source: PackageSource, contents: PackageContents, call: InspectionCall) => Promise<void>) | undefined;
  /** What the path of a local package was when the user granted it. If absent, what is there now is granted. */
  granted?: SourcePin | undefined;
}

/** What an inspection is told of the installation that it belongs to. */
export type InspectionCall = Pick<PrepareOptions, 'report' | 'signal'>;

/** Told what a long step is doing, in a few words: `installing example 1.2.0`. */
export type Progress = (message: string) => void;

/** Everything an instance is given. What is not in here, it does not get. */
export interface Launch {
  /** The workload's name; instances and containers are named after it. Several of one workload may live at once. */
  workload: string;
  source: ServerSource;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /**
   * Further variables of its environment, which nobody else may see: not in an argument list, not in what an
   * engine tells of a container. They go before `env`. Their names are letters, digits and underscores.
   */
  secrets: Readonly<Record<string, string>>;
  transport: LaunchTransport;
  mounts: readonly PinnedMount[];
  /** What the server must not see of the mounts. Each lies in one of them, and in no other that is mounted inside. */
  hidden: readonly HiddenPath[];
  /** Whether the home directory is kept for the next instance of the workload, or deleted with the instance. */
  home: 'persistent' | 'ephemeral';
  network: LaunchNetwork;
  limits: ResourceLimits;
  /** Extra labels for runtimes that have labels. */
  labels: Readonly<Record<string, string>>;
  /** Drop all hardening of the container. Runtimes that cannot do that on purpose refuse. */
  privileged: boolean;
  /** Told everything the server writes that is not protocol: stderr, and stdout too unless it speaks stdio. */
  log: (chunk: Buffer) => void;
}

export type LaunchTransport =
  | { kind: 'stdio' }
  /** The server listens on this TCP port, as seen from inside. */
  | { kind: 'http'; targetPort: number };

/**
 * - `none`: no network at all.
 * - `rules`: what the rules allow, through the egress gateway.
 * - `open`: every public address, and the private ones that are granted; never what listens on the machine's loopback.
 * - `mode`: a network mode or a network that the container engine knows; `host` shares the machine's own.
 */
export type LaunchNetwork = { kind: 'none' } | RulesNetwork | OpenNetwork | { kind: 'mode'; mode: string };

export interface OpenNetwork {
  kind: 'open';
  /** Patterns of hosts of which the addresses and ranges are granted, or all private addresses. By default, none. */
  privateAddresses?: 'all' | readonly string[];
}

export interface RulesNetwork {
  kind: 'rules';
  egress: Egress;
  /** Whether the server must not start where the rules cannot be enforced. */
  isRequired: boolean;
}

export interface ResourceLimits {
  memoryBytes: number;
  processes: number;
  openFiles: number;
  /** Shares of one core; 2 means two whole cores. */
  cpus: number;
  /** All files in the persistent home directory. Core measures them; a runtime only lets single files be as large. */
  diskBytes: number;
  /** Files in each writable directory that lives in memory: /tmp, and an ephemeral home directory. */
  temporaryBytes: number;
}

/** One running copy of a server. Disposing of it stops it at once and removes all of it. */
export interface Instance extends AsyncDisposable {
  /** The process id or container id, for logs and status. */
  readonly id: string;
  /** The server's standard input and output, when it speaks stdio. */
  readonly stdio?: { input: Writable; output: Readable };
  /** Where the daemon reaches it, when it speaks HTTP; absent if it ended before that could be told. */
  readonly address?: InstanceAddress;
  /** What could not be enforced for it, besides what the report of its runtime says. */
  readonly limits?: readonly RuntimeLimit[];
  /** Settles once when the server has ended, for whatever reason; never rejects. */
  readonly exited: Promise<Exit>;
  /** Measures what it uses now. Undefined if that cannot be measured here. */
  usage?(): Promise<InstanceUsage | undefined>;
  /** Asks it to end, insists after `graceMs`, and returns when nothing of it is left. Safe to call twice. */
  stop(graceMs: number): Promise<void>;
}

/** What an instance uses of the machine. */
export interface InstanceUsage {
  memoryBytes: number;
  /** The processor time since its start. */
  cpuMs: number;
  processes: number;
}

/** `targetPort` is the port that the server itself listens on, if that is known. */
export type InstanceAddress =
  | { kind: 'tcp'; host: string; port: number; targetPort?: number }
  /** A Unix socket behind which the server's own port is. */
  | { kind: 'socket'; path: string; targetPort?: number };

export interface Exit {
  code: number | null;
  signal: string | null;
  /** Why, when the runtime knows better than the code: `used more than 512 MiB of memory`. */
  reason?: string;
}

/** An exit as a phrase: `exited with code 1`, `was killed by SIGKILL`, `used more than 512 MiB of memory`. */
export function describeExit(exit: Exit): string {
  if (exit.reason !== undefined) return exit.reason;
  if (exit.signal !== null) return `was killed by ${exit.signal}`;
  return `exited with code ${exit.code ?? 'unknown'}`;
}
