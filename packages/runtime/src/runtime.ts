import type { Readable, Writable } from 'node:stream';
import type { ConfigValues } from '@toolhive/bundles/template';
import type { Egress } from './egress.ts';
import type { HiddenPath } from './hidden-path.ts';
import type { PinnedMount, SourcePin } from './mount-source.ts';
import type { InstallableSource, PackageSource, ServerSource } from './source.ts';

/**
 * An execution environment for servers. Every runtime enforces the same launch: the mounts, the network, the limits,
 * and no other access to the machine. A runtime reports the settings that it cannot enforce. All runtimes pass one
 * conformance suite (`testing/conformance.ts`).
 */
export interface Runtime {
  /** A word that run configs and `TOOLHIVE_RUNTIME` contain. */
  readonly name: string;

  readonly capabilities: RuntimeCapabilities;

  /** Inspects the machine: whether and how servers can run, and which settings cannot be enforced. Never throws. */
  check(signal?: AbortSignal): Promise<RuntimeReport>;

  /**
   * Prepares the source on this machine (pull, build, install) and returns it pinned to exact content, so that a
   * later start needs no network. Cheap if already prepared. Throws `not-found` for a missing source, and
   * `unavailable` for a missing tool chain or network.
   */
  prepare(source: ServerSource, options: PrepareOptions): Promise<ServerSource>;

  /**
   * Finds the newest release of a package without installing it. Absent in runtimes without lookups. Throws
   * `unsupported` for packages whose newest release only an installation can find.
   */
  newest?(source: PackageSource, options: PrepareOptions): Promise<Release>;

  /**
   * Lists the content of an exact version without installing it. Absent in runtimes without inspection. Undefined for
   * packages that must be installed first.
   */
  preview?(source: PackageSource, options: PrepareOptions): Promise<PackageContents | undefined>;

  /** The content of an installed package, if the installation recorded it. Absent in runtimes without records. */
  contents?(source: InstallableSource): Promise<PackageContents | undefined>;

  /**
   * Throws `invalid` for a launch that `start` would always refuse, before any preparation. Absent in runtimes that
   * leave the check to an engine.
   */
  refuseImpossible?(launch: Pick<Launch, 'network' | 'privileged'>): void;

  /** Starts one instance of a prepared source. Throws if the start fails, and then leaves nothing behind. */
  start(launch: Launch, signal: AbortSignal): Promise<Instance>;

  /**
   * Ends and removes everything that an earlier daemon with the same state directory left running or lying
   * about. Called once, before anything else, by the only daemon that owns the directory, also where the runtime is not
   * available.
   */
  sweep(): Promise<void>;

  /** The files that servers keep between their starts. */
  readonly homes: Homes;

  /** Builds container images from packages. Absent in runtimes without images. */
  readonly images?: ImageBuilder;
}

/** A package version, as described by its registry. */
export interface Release {
  version: string;
  /** The publication time (RFC 3339), if the registry reports it. */
  publishedAt?: string;
}

/** What an installed package consists of. */
export interface PackageContents {
  /** The URL of the configured package registry. Empty if several are configured. */
  registry: string;
  /** When the version was published (RFC 3339), if the registry says so. */
  publishedAt?: string | undefined;
  /** The package itself first, then its dependencies. */
  artifacts: readonly [Artifact, ...Artifact[]];
  /**
   * Every archive that the registry publishes of the same versions, with the hash of each, where a version has several.
   * Only for inspections, and not recorded with the installation.
   */
  published?: readonly Artifact[] | undefined;
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
  /** Whether a workload may have stored files, without measuring them. */
  exists(workload: string): Promise<boolean>;
  /** Measures a workload's files without following links. Returns undefined if the workload has none. */
  measure(workload: string): Promise<StoredHome | undefined>;
  /** Deletes the files of a stopped workload. */
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
  /** Builds the image, adds the name `tag` if given, and returns the image name. */
  build(source: PackageSource, options: PrepareOptions & { tag?: string | undefined }): Promise<string>;
}

/** What differs between runtimes, apart from the rules that they enforce. No other code asks for a runtime's name. */
export interface RuntimeCapabilities {
  /** Container images and packages, which become images, or only packages. */
  runs: 'images' | 'packages';
  /** Whether bundles run, too. */
  runsBundles: boolean;
  /** Whether an HTTP server is reached at a port that its network publishes, so that it needs a network. */
  publishesPorts: boolean;
  /** Whether a run config records that its user asked for network isolation, as container engines expect. */
  recordsIsolation: boolean;
  /**
   * Whether mount sources are looked up by their path when a server starts, by a program that takes no open
   * file: then a server that can write to a directory above a source could put a link in its place.
   */
  mountsByPath: boolean;
}

export interface RuntimeReport {
  runtime: string;
  available: boolean;
  /** What answered: `Docker Engine 28.2.2 at /var/run/docker.sock`, `bubblewrap 0.8.0`. */
  detail: string;
  /** Why the runtime is unavailable, and the fix. */
  hint?: string;
  /** What cannot be enforced on this machine. */
  limits: RuntimeLimit[];
}

/** A setting that a runtime cannot enforce, and the affected workloads. */
export interface RuntimeLimit {
  concerns:
    | 'every server'
    | 'servers with mounts'
    | 'servers with network rules'
    | 'servers with an open network'
    | 'servers with public hosts only'
    | 'servers without network isolation';
  /** A sentence that works alone and after a workload name. */
  text: string;
}

export interface PrepareOptions {
  report: Progress;
  signal: AbortSignal;
  /** Additional certificate authorities, as PEM, for fetching a package. Read only when something is fetched. */
  trusted?: (() => Promise<string | undefined>) | undefined;
  /**
   * Where dependencies of packages may come from besides package registries, as `HOST/PATH`. Asked for only when
   * something is installed.
   */
  allowedSources?: (() => Promise<readonly string[]> | readonly string[]) | undefined;
  /**
   * Called with a downloaded package before any of its code runs and before it is kept. The installation fails if
   * this function throws.
   */
  inspect?:
    ((source: PackageSource, contents: PackageContents, call: InspectionCall) => Promise<void>) | undefined;
  /** How the server will be connected, so that the runtime can prepare the connection. */
  network?: LaunchNetwork['kind'] | undefined;
  /** The pin of a local package's path at the time of the grant. If absent, the current content is granted. */
  granted?: SourcePin | undefined;
}

/** The content that a server must have, as an earlier installation recorded it, perhaps on another machine. */
export interface PackageLock {
  /** The exact source to install in place of one that leaves the version open. */
  pin: (source: ServerSource) => ServerSource;
  /** Throws if a source, or its content as far as that is known, differs. Called before any of its code runs. */
  check: (source: ServerSource, contents: PackageContents | undefined) => void;
}

/** The installation that an inspection belongs to. */
export type InspectionCall = Pick<PrepareOptions, 'report' | 'signal'>;

/** Receives a short description of a long step, such as `installing example 1.2.0`. */
export type Progress = (message: string) => void;

/** The complete configuration of an instance. An instance receives nothing else. */
export interface Launch {
  /** The workload name, from which instance and container names derive. A workload may have several instances. */
  workload: string;
  source: ServerSource;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /** The user's values for the fields of a bundle, including secret ones. */
  userConfig?: ConfigValues;
  /**
   * Additional environment variables that must stay private: they appear neither in an argument list nor in the
   * engine's container description. They precede `env`. Their names contain only letters, digits, and underscores.
   */
  secrets: Readonly<Record<string, string>>;
  transport: LaunchTransport;
  /** The server's ports that programs of this machine reach at the loopback address. */
  published?: readonly PublishedPort[];
  mounts: readonly PinnedMount[];
  /** The paths to hide from the server. Each is inside exactly one mount. */
  hidden: readonly HiddenPath[];
  /** Whether a server that has changed its own program files must not start. By default, the files are restored. */
  refusesChangedCode?: boolean;
  /** Whether the home directory is kept for the next instance of the workload, or deleted with the instance. */
  home: 'persistent' | 'ephemeral';
  network: LaunchNetwork;
  limits: ResourceLimits;
  /** Extra labels for runtimes that have labels. */
  labels: Readonly<Record<string, string>>;
  /** Drop all hardening of the container. Runtimes that cannot do that on purpose refuse. */
  privileged: boolean;
  /** Receives all server output that is not protocol: stderr, and also stdout unless the server speaks stdio. */
  log: (chunk: Buffer) => void;
}

export type LaunchTransport =
  | { kind: 'stdio' }
  /** The server listens on this TCP port, as seen from inside. */
  | { kind: 'http'; targetPort: number };

export interface PublishedPort {
  /** A port of this machine. */
  port: number;
  /** The port that the server listens on, as seen from inside. */
  serverPort: number;
}

/**
 * - `none`: no network.
 * - `rules`: the hosts that the rules allow, through the egress gateway.
 * - `open`: every public address and the granted private addresses, but never the machine's loopback.
 * - `mode`: a network mode or network of the container engine. `host` shares the machine's network.
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
}

export interface ResourceLimits {
  memoryBytes: number;
  processes: number;
  openFiles: number;
  /** The number of cores. 2 means two complete cores. */
  cpus: number;
  /**
   * The size of all files in the persistent home directory. Core measures the total, and a runtime limits single
   * files to the same size.
   */
  diskBytes: number;
  /** Files in each writable directory that lives in memory: /tmp, and an ephemeral home directory. */
  temporaryBytes: number;
}

/** One running copy of a server. Disposal stops it immediately and removes it completely. */
export interface Instance extends AsyncDisposable {
  /** The process id or container id, for logs and status. */
  readonly id: string;
  /** The server's standard input and output, if it speaks stdio. */
  readonly stdio?: { input: Writable; output: Readable };
  /** The address at which the daemon reaches an HTTP server. Absent if the server ended first. */
  readonly address?: InstanceAddress;
  /** Unenforced settings of this instance, in addition to the runtime's report. */
  readonly limits?: readonly RuntimeLimit[];
  /** Settles once when the server has ended, for any reason. Never rejects. */
  readonly exited: Promise<Exit>;
  /** Measures the current resource use. Undefined if this machine cannot measure it. */
  usage?(): Promise<InstanceUsage | undefined>;
  /** Asks the server to stop, kills it after `graceMs`, and returns when nothing remains. Safe to call twice. */
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
