import { invalid, messageOf, ThvError } from '@toolhive/contract/failure';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import * as z from 'zod';
import { GatewayProcess } from '../egress/gateway-process.ts';
import type { PrepareOptions, Runtime, RuntimeLimit, RuntimeReport } from '../runtime.ts';
import { parseSource } from '../source.ts';
import type { PackageScheme } from '../source.ts';
import { removeContainer } from './container.ts';
import { callEngine, connectEngine, type Engine } from './engine.ts';
import { baseImagesOf, dockerfileOf, nodeImageOf } from './dockerfile.ts';
import type { BaseImages } from './dockerfile.ts';
import { withRetries } from './retry.ts';
import { dockerHomes } from './homes.ts';
import { prepareImage } from './images.ts';
import { sweepNetworks } from './network/external.ts';
import { publicNetworkProblem } from './network/public.ts';
import { NETWORK_LABEL, ownedBy } from './ownership.ts';
import { TEMPORARY } from './downloads.ts';
import { ImageRecords } from './image-records.ts';
import {
  newestPackage,
  packageImage,
  preparePackage,
  previewPackage,
  recordOf,
  tagImage,
  untagImage,
  type PackageOptions,
} from './packages.ts';
import { reportOn } from './report.ts';
import { candidateSockets, findEngine } from './sockets.ts';
import { startContainer, type Containers } from './start.ts';

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

/** How long the description of an engine is reused. Whether the engine answers is checked each time. */
const REPORT_AGE_MS = 30_000;

/**
 * Runs servers as containers in any engine with the Docker API on this machine: Docker, Podman, or Colima. Looks for
 * the engine at each call, so an engine that starts or restarts later is found. Prefers the engine that answered
 * last.
 */
export function openDockerRuntime(options: DockerRuntimeOptions): Runtime {
  const { daemonId, env, log = () => {} } = options;
  const place = { daemonId, tempDir: options.tempDir };
  const containers: Containers = {
    daemonId,
    names: new Set(),
    withoutInit: new Set(),
    networks: {
      place,
      env,
      external: undefined,
      prepared: new Map(),
      problems: new Map(),
      relayed: new Set(),
      relayImage: nodeImageOf(options.baseImages ?? {}),
      gateways: options.gateways ?? new GatewayProcess(),
    },
    log,
  };
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
  let last: string | undefined;
  let report: { socket: string; until: number; value: RuntimeReport } | undefined;

  async function sockets(): Promise<string[]> {
    if (options.socket !== undefined) return [options.socket];
    const found = await candidateSockets(env);
    return last === undefined ? found : [last, ...found.filter((socket) => socket !== last)];
  }

  async function engine(signal?: AbortSignal): Promise<Engine> {
    const found = await findEngine(await sockets(), signal);
    last = found.socket;
    return found;
  }

  return {
    name: 'docker',
    capabilities: {
      runs: 'images',
      publishesPorts: true,
      recordsIsolation: true,
      mountsByPath: true,
    },
    homes: dockerHomes(daemonId, () => engine()),

    async check(signal): Promise<RuntimeReport> {
      try {
        const using = await engine(signal);
        if (report?.socket === using.socket && performance.now() < report.until) return report.value;
        const networkProblem = await publicNetworkProblem(containers.networks, using);
        const value = await reportOn(using, { networkProblem, signal });
        report = { socket: using.socket, until: performance.now() + REPORT_AGE_MS, value };
        return value;
      } catch (error) {
        report = undefined;
        const hint = error instanceof ThvError ? error.hint : undefined;
        return {
          runtime: 'docker',
          available: false,
          detail: messageOf(error),
          ...(hint !== undefined && { hint }),
          limits: [],
        };
      }
    },

    async prepare(source, preparing) {
      const using = await engine(preparing.signal);
      if (source.kind === 'image') return prepareImage(using, source, { ...preparing, env });
      return preparePackage(using, source, packageOptions(preparing));
    },

    async newest(source, looking) {
      return lookUps.run(async () =>
        newestPackage(await engine(looking.signal), source, packageOptions(looking)),
      );
    },

    async preview(source, looking) {
      return lookUps.run(async () =>
        previewPackage(await engine(looking.signal), source, packageOptions(looking)),
      );
    },

    async contents(source) {
      return (await recordOf(await engine(), source, { baseImages, records }))?.contents;
    },

    async start(launch, signal) {
      const { source } = launch;
      const using = await engine(signal);
      if (source.kind === 'image')
        return startContainer(using, containers, { launch, image: source.image, limits: [], signal });
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
        const using = await engine(preparing.signal);
        const pinned = await preparePackage(using, source, packageOptions(preparing));
        const image = packageImage(pinned, baseImages);
        if (name !== undefined) await tagImage(using, image, name, preparing.signal);
        return name ?? image;
      },
    },

    async sweep() {
      for (const socket of await sockets()) {
        let found: Engine;
        try {
          found = await connectEngine(socket);
        } catch (error) {
          // Without an engine, nothing can be swept. A later start removes a stopped engine's leftovers by name.
          log('container engine was not swept', { socket, error: messageOf(error) });
          continue;
        }
        await sweepEngine(found, daemonId);
      }
    },
  };
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

const Listed = z.array(z.object({ Id: z.string(), Labels: z.record(z.string(), z.string()).nullish() }));

async function sweepEngine(engine: Engine, daemonId: string): Promise<void> {
  await withRetries(changedMeanwhile, () => sweepContainers(engine, daemonId));
  await sweepNetworks(engine, daemonId);
  await sweepImages(engine, daemonId);
}

/** Podman fails to list a container that is being removed, and to remove one that another one has just joined. */
const changedMeanwhile = /container not known|has dependent containers|dependency exists/;

async function sweepContainers(engine: Engine, daemonId: string): Promise<void> {
  const query = { ...ownedBy(daemonId), all: '1' };
  const found = await callEngine(engine, Listed, { method: 'GET', path: '/containers/json', query });
  // Podman removes no container that another one has joined.
  const joined = Map.groupBy(found, ({ Labels }) => Labels?.[NETWORK_LABEL] !== undefined);
  for (const group of [joined.get(false), joined.get(true)]) {
    await Promise.all((group ?? []).map(({ Id }) => removeContainer(engine, Id)));
  }
}

const Images = z.array(z.object({ RepoTags: z.array(z.string()).nullish() }));

/** Removes the names of images whose build was interrupted. */
async function sweepImages(engine: Engine, daemonId: string): Promise<void> {
  const query = { filters: JSON.stringify({ reference: [TEMPORARY] }) };
  const images = await callEngine(engine, Images, { method: 'GET', path: '/images/json', query });
  const own = `${TEMPORARY}:${daemonId}-`.toLowerCase();
  const names = images.flatMap(({ RepoTags }) => RepoTags ?? []).filter((name) => name.includes(own));
  for (const name of names) await untagImage(engine, name);
}
