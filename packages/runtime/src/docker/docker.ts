import { invalid, messageOf, ThvError, unsupported } from '@toolhive/contract/failure';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import { GatewayProcess } from '../egress/gateway-process.ts';
import type { PrepareOptions, Runtime, RuntimeLimit, RuntimeReport } from '../runtime.ts';
import { parseSource } from '../source.ts';
import type { InstallableSource, PackageScheme, PackageSource } from '../source.ts';
import type { Engine } from './engine.ts';
import { Engines } from './engines.ts';
import { baseImagesOf, dockerfileOf, nodeImageOf } from './dockerfile.ts';
import type { BaseImages } from './dockerfile.ts';
import { dockerHomes } from './homes.ts';
import { prepareImage } from './images.ts';
import { publicNetworkProblem } from './network/public.ts';
import { ImageRecords } from './image-records.ts';
import {
  newestPackage,
  packageImage,
  preparePackage,
  previewPackage,
  recordOf,
  tagImage,
  type PackageOptions,
} from './packages.ts';
import { reportOn } from './report.ts';
import { startContainer, type Containers } from './start.ts';
import { sweepEngine } from './sweep.ts';

/** The options of the Docker runtime. */
export interface DockerRuntimeOptions {
  /** Tells this daemon's containers from those of other daemons on the same engine. */
  daemonId: string;
  /** Where sockets, registry credentials and credential helpers are looked for. */
  env: NodeJS.ProcessEnv;
  /** The one socket to use, instead of looking for one. */
  socket?: string;
  /** The private directory of this daemon for sockets and other temporary files. */
  tempDir: string;
  /** The daemon's records of the images that it built. */
  recordsDir: string;
  /** Where the egress gateways of servers run. Runtimes can share one. */
  gateways?: GatewayProcess;
  /** Other base images for packages than the ones of their ecosystem. */
  baseImages?: Partial<Record<PackageScheme, BaseImages>>;
  log?: (message: string, fields: Record<string, unknown>) => void;
}

/**
 * Runs servers as containers in any engine with the Docker API on this machine: Docker, Podman, or Colima.
 */
export function openDockerRuntime(options: DockerRuntimeOptions): Runtime {
  const { daemonId, env, log = () => {} } = options;
  const engines = new Engines(env, options.socket);
  const containers = containersOf(options);
  const { baseImages = {} } = options;
  const records = new ImageRecords(options.recordsDir);
  const packageOptions = (preparing: PrepareOptions): PackageOptions => ({
    ...preparing,
    env,
    baseImages,
    daemonId,
    records,
  });
  /** One after the other: each of them starts containers. */
  const lookUps = new SerialQueue();
  const reports = new EngineReports(containers);

  return {
    name: 'docker',
    capabilities: {
      runs: 'images',
      runsBundles: false,
      publishesPorts: true,
      recordsIsolation: true,
      mountsByPath: true,
    },
    homes: dockerHomes(daemonId, () => engines.find()),

    check: (signal) => reports.of(() => engines.find(signal), signal),

    async prepare(source, preparing) {
      if (source.kind !== 'image') refuseBundle(source);
      const using = await engines.find(preparing.signal);
      if (source.kind === 'image') return prepareImage(using, source, { ...preparing, env });
      return preparePackage(using, source, packageOptions(preparing));
    },

    async newest(source, looking) {
      return lookUps.run(async () =>
        newestPackage(await engines.find(looking.signal), source, packageOptions(looking)),
      );
    },

    async preview(source, looking) {
      return lookUps.run(async () =>
        previewPackage(await engines.find(looking.signal), source, packageOptions(looking)),
      );
    },

    async contents(source) {
      refuseBundle(source);
      return (await recordOf(await engines.find(), source, { baseImages, records }))?.contents;
    },

    async start(launch, signal) {
      const { source } = launch;
      const using = await engines.find(signal);
      if (source.kind === 'image')
        return startContainer(using, containers, { launch, image: source.image, limits: [], signal });
      refuseBundle(source);
      const image = packageImage(source, baseImages);
      const record = await recordOf(using, source, { baseImages, records });
      return startContainer(using, containers, {
        launch,
        image,
        limits: record === undefined ? [uncheckedImage] : [],
        signal,
      });
    },

    images: {
      recipe: (source) => dockerfileOf(source, baseImagesOf(source, baseImages)),

      async build(source, { tag, ...preparing }) {
        const name = tag === undefined ? undefined : tagOf(tag);
        const using = await engines.find(preparing.signal);
        const pinned = await preparePackage(using, source, packageOptions(preparing));
        const image = packageImage(pinned, baseImages);
        if (name !== undefined) await tagImage(using, image, name, preparing.signal);
        return name ?? image;
      },
    },

    async sweep() {
      // A later start removes a stopped engine's leftovers by name.
      const failed = (socket: string, error: unknown): void =>
        log('container engine was not swept', { socket, error: messageOf(error) });
      for await (const engine of engines.all(failed))
        await sweepEngine(engine, daemonId).catch((error: unknown) => failed(engine.socket, error));
    },
  };
}

/** A bundle is built for the system that runs it, with programs that no base image has. */
function refuseBundle(source: InstallableSource): asserts source is PackageSource {
  if (source.kind === 'package') return;
  throw unsupported(`the bundle ${source.name} cannot run in a container`, {
    hint: 'run it in a sandbox: start the daemon with TOOLHIVE_RUNTIME=process, or omit that variable',
  });
}

function containersOf({
  daemonId,
  env,
  tempDir,
  baseImages,
  gateways,
  log,
}: DockerRuntimeOptions): Containers {
  return {
    daemonId,
    names: new Set(),
    withoutInit: new Set(),
    networks: {
      place: { daemonId, tempDir },
      env,
      external: undefined,
      prepared: new Map(),
      problems: new Map(),
      relayed: new Set(),
      relayImage: nodeImageOf(baseImages ?? {}),
      gateways: gateways ?? new GatewayProcess(),
    },
    log: log ?? (() => {}),
  };
}

/** How long the description of an engine is reused. Whether the engine answers is checked each time. */
const REPORT_AGE_MS = 30_000;

/** Describes the engine that is used, and remembers the description for a while. */
class EngineReports {
  readonly #containers: Containers;
  #last: { socket: string; until: number; value: RuntimeReport } | undefined;

  constructor(containers: Containers) {
    this.#containers = containers;
  }

  async of(find: () => Promise<Engine>, signal: AbortSignal | undefined): Promise<RuntimeReport> {
    try {
      const engine = await find();
      const { socket } = engine;
      if (this.#last?.socket === socket && performance.now() < this.#last.until) return this.#last.value;
      const networkProblem = await publicNetworkProblem(this.#containers.networks, engine);
      const value = await reportOn(engine, { networkProblem, signal });
      this.#last = { socket, until: performance.now() + REPORT_AGE_MS, value };
      return value;
    } catch (error) {
      this.#last = undefined;
      const hint = error instanceof ThvError ? error.hint : undefined;
      const detail = messageOf(error);
      return { runtime: 'docker', available: false, detail, ...(hint !== undefined && { hint }), limits: [] };
    }
  }
}

/** A warning about an image that was not built here, or by an earlier version. */
const uncheckedImage: RuntimeLimit = {
  concerns: 'every server',
  text: 'its image was built without checks of the package. With a network connection, a restart builds and checks it again',
};

/** A name for an image, with its tag written out. */
function tagOf(name: string): string {
  if (parseSource(name).kind !== 'image' || name.includes('@')) {
    throw invalid(`${JSON.stringify(name)} is not an image name`, { hint: 'use the form NAME:TAG' });
  }
  return name.lastIndexOf(':') > name.lastIndexOf('/') ? name : `${name}:latest`;
}
