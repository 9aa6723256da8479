import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { unavailable, unsupported } from '@toolhive/contract/failure';
import type {
  RuntimeCapabilities,
  Instance,
  Launch,
  PackageContents,
  PrepareOptions,
  Release,
  Runtime,
  RuntimeReport,
} from '../runtime.ts';
import type { InstallableSource, PackageSource, ServerSource } from '../source.ts';
import { sweepCgroups } from './cgroup.ts';
import { type Inspection, type Machine, inspectMachine, reportOn } from './check.ts';
import { sweepSockets } from '../published-socket.ts';
import { ProcessHomes } from './homes.ts';
import { groupPrefix } from './limits.ts';
import { GatewayNetwork, type SandboxNamespace } from '../egress/gateway-network.ts';
import { GatewayProcess } from '../egress/gateway-process.ts';
import { PreparedNetworks } from '../egress/prepared-networks.ts';
import { networkOf, startInstance } from './start.ts';
import { PackageStore } from './store.ts';

export interface ProcessRuntimeOptions {
  /** Tells this daemon's leftovers from those of others. */
  daemonId: string;
  /**
   * The directory for installed packages, with one directory per version. Other daemons may use it at the same time.
   */
  cacheDir: string;
  /** The directory with the user's bundles, one file for each content. */
  bundlesDir: string;
  /** A directory for this daemon only. A sweep deletes its content. */
  tempDir: string;
  /** The parent directory of the workloads' home directories. Servers can access nothing else in it. */
  homesDir: string;
  /** PATH, HOME, and registry settings for installers. Servers receive none of them. */
  env: NodeJS.ProcessEnv;
  /** Where the egress gateways of servers run. Runtimes can share one. */
  gateways?: GatewayProcess;
  log?: (message: string, fields?: object) => void;
}

/** Runs servers from packages as sandboxed processes of this machine, without a container engine. */
export function openProcessRuntime(options: ProcessRuntimeOptions): Runtime {
  return new ProcessRuntime(options);
}

/** The machine's capabilities hardly change while the daemon runs, but the user may be fixing a missing one. */
const GOOD_NEWS_LASTS_MS = 60_000;
const BAD_NEWS_LASTS_MS = 5_000;
const INSPECTION_TIMEOUT_MS = 10_000;

class ProcessRuntime implements Runtime {
  readonly name = 'process';
  readonly capabilities: RuntimeCapabilities = {
    runs: 'packages',
    runsBundles: true,
    publishesPorts: false,
    recordsIsolation: false,
    mountsByPath: false,
  };
  readonly #options: ProcessRuntimeOptions;
  readonly #store: PackageStore;
  readonly homes: ProcessHomes;
  readonly #gateways: GatewayNetwork;
  /** The process of a workload is usually followed by one of its first session. */
  readonly #namespaces = new PreparedNetworks<SandboxNamespace>(2);
  #inspection: { expires: number; result: Promise<Inspection> } | undefined;

  constructor(options: ProcessRuntimeOptions) {
    this.#options = options;
    this.#store = new PackageStore(options, () => this.#requireMachine());
    this.homes = new ProcessHomes(options.homesDir);
    this.#gateways = new GatewayNetwork(options.gateways ?? new GatewayProcess());
  }

  async check(): Promise<RuntimeReport> {
    return reportOn(await this.#inspect());
  }

  newest(source: PackageSource, options: PrepareOptions): Promise<Release> {
    return this.#store.newest(source, options);
  }

  preview(source: PackageSource, options: PrepareOptions): Promise<PackageContents | undefined> {
    return this.#store.preview(source, options);
  }

  contents(source: InstallableSource): Promise<PackageContents | undefined> {
    return this.#store.contents(source);
  }

  async prepare(source: ServerSource, options: PrepareOptions): Promise<ServerSource> {
    const { inspect, network } = options;
    const inspected: PrepareOptions['inspect'] = async (...given) => {
      // The program of the gateways starts while the inspection waits for servers of the registry.
      if (network === 'rules') this.#gateways.prepare();
      await inspect?.(...given);
    };
    return this.#store.prepare(requirePackage(source), { ...options, inspect: inspected });
  }

  refuseImpossible(launch: Pick<Launch, 'network' | 'privileged'>): void {
    networkOf(launch);
  }

  async start(launch: Launch, signal: AbortSignal): Promise<Instance> {
    const source = requirePackage(launch.source);
    const machine = await this.#requireMachine();
    const installed = await this.#store.require(source);
    const instance = await startInstance({
      machine,
      launch,
      installed,
      place: this.#options,
      homes: this.homes,
      gateways: this.#gateways,
      namespaces: this.#namespaces,
      ...(this.#options.log === undefined ? {} : { log: this.#options.log }),
      signal,
    });
    this.#options.log?.('sandbox started', { workload: launch.workload, pid: instance.id });
    return instance;
  }

  async sweep(): Promise<void> {
    const { daemonId, tempDir } = this.#options;
    await sweepCgroups(groupPrefix(daemonId));
    await sweepSockets(daemonId);
    await this.#store.sweep();
    const left = await readdir(tempDir).catch(() => []);
    await Promise.all(left.map((entry) => rm(join(tempDir, entry), { recursive: true, force: true })));
  }

  async #requireMachine(): Promise<Machine> {
    const inspection = await this.#inspect();
    if ('problem' in inspection) throw unavailable(inspection.problem, { hint: inspection.hint });
    return inspection.machine;
  }

  #inspect(): Promise<Inspection> {
    if (this.#inspection !== undefined && performance.now() < this.#inspection.expires) {
      return this.#inspection.result;
    }
    const inspection = { expires: Infinity, result: this.#look() };
    this.#inspection = inspection;
    inspection.result.then(
      (found) => (inspection.expires = performance.now() + lastsMs(found)),
      () => (inspection.expires = 0),
    );
    return inspection.result;
  }

  #look(): Promise<Inspection> {
    const signal = AbortSignal.timeout(INSPECTION_TIMEOUT_MS);
    const keep = (made: SandboxNamespace): boolean => this.#namespaces.offer(made);
    return inspectMachine(this.#options.env, this.#gateways, signal, keep);
  }
}

const lastsMs = (found: Inspection) => ('problem' in found ? BAD_NEWS_LASTS_MS : GOOD_NEWS_LASTS_MS);

function requirePackage(source: ServerSource): InstallableSource {
  if (source.kind !== 'image') return source;
  throw unsupported(`the image ${source.image} cannot run as a process`, {
    hint: 'use a package (npx://, uvx:// or go://), or install Docker or Podman',
  });
}
