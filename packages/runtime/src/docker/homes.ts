import { createHash } from 'node:crypto';
import { normalize } from 'node:path';
import { conflict } from '@toolhive/contract/failure';
import * as z from 'zod';
import type { Homes, Launch, StoredHome } from '../runtime.ts';
import { callEngine, isFailure, type Engine } from './engine.ts';
import { PACKAGE_HOME } from './dockerfile.ts';
import { inspectImage } from './images.ts';
import { DAEMON_LABEL } from './ownership.ts';
import { withRetries } from './retry.ts';

/** An engine volume and its path in the container. */
export interface HomeVolume {
  name: string;
  target: string;
}

const HOME_LABEL = 'toolhive-home';
const MOST_VOLUMES = 16;
/** Container paths that ToolHive or the engine provides, regardless of the image's declarations. */
const reserved = ['/proc', '/sys', '/dev', '/tmp', '/run'];

/**
 * Creates the volumes that a workload keeps between its containers: the home directory of a package, or the paths that
 * an image declares with VOLUME. A granted mount takes precedence over a volume at the same path.
 */
export async function ensureHomeVolumes(
  engine: Engine,
  daemonId: string,
  { launch, image, signal }: { launch: Launch; image: string; signal: AbortSignal },
): Promise<HomeVolume[]> {
  if (launch.home === 'ephemeral') return [];
  const declared =
    launch.source.kind === 'package'
      ? [PACKAGE_HOME]
      : Object.keys((await inspectImage(engine, image, signal))?.Config?.Volumes ?? {});
  const targets = declared
    .filter((target) => isVolumePath(target) && !isCovered(target, launch))
    .slice(0, MOST_VOLUMES);
  return Promise.all(targets.map((target) => ensureVolume(engine, daemonId, launch.workload, target)));
}

/** The persistent files of workloads, as volumes of the engine that `connect` finds. */
export function dockerHomes(daemonId: string, connect: () => Promise<Engine>): Homes {
  const list = async (engine: Engine, workload: string): Promise<z.infer<typeof Volume>[]> => {
    const label = [`${DAEMON_LABEL}=${daemonId}`, `${HOME_LABEL}=${workload}`];
    const query = { filters: JSON.stringify({ label }) };
    const { Volumes } = await callEngine(engine, VolumeList, { method: 'GET', path: '/volumes', query });
    // An engine that ignores a filter lists everything.
    return (Volumes ?? []).filter(({ Labels }) => isOwn(Labels, daemonId, workload));
  };
  return {
    exists: async (workload) => (await list(await connect(), workload)).length > 0,

    async measure(workload): Promise<StoredHome | undefined> {
      const engine = await connect();
      const names = (await list(engine, workload)).map(({ Name }) => Name);
      if (names.length === 0) return undefined;
      const bytes = await volumeSizes(engine, names);
      return { place: names.join(', '), bytes, isEmpty: bytes === 0 };
    },

    async remove(workload) {
      const engine = await connect();
      for (const { Name } of await list(engine, workload)) {
        await callEngine(engine, z.unknown(), { method: 'DELETE', path: `/volumes/${Name}` }).catch(
          (error) => {
            if (!isFailure(error, 'not-found')) throw error;
          },
        );
      }
    },
  };
}

/** The bytes in volumes. */
export async function volumeSizes(engine: Engine, names: readonly string[]): Promise<number> {
  const { Volumes } = await diskUsage(engine);
  const own = (Volumes ?? []).filter(({ Name }) => names.includes(Name)); // Podman tells no labels here
  return own.reduce((total, { UsageData }) => total + Math.max(UsageData?.Size ?? 0, 0), 0);
}

const Labels = z.record(z.string(), z.string()).nullish();
const Volume = z.object({ Name: z.string(), Labels });
const VolumeList = z.object({ Volumes: z.array(Volume).nullish() });
const DiskUsage = z.object({
  Volumes: z
    .array(z.object({ Name: z.string(), UsageData: z.object({ Size: z.number() }).nullish() }))
    .nullish(),
});

async function ensureVolume(
  engine: Engine,
  daemonId: string,
  workload: string,
  target: string,
): Promise<HomeVolume> {
  const digest = createHash('sha256').update(`${daemonId}\n${target}`).digest('hex').slice(0, 12);
  const json = {
    Name: `toolhive-${workload}-${digest}`,
    Driver: 'local',
    Labels: { toolhive: 'true', [DAEMON_LABEL]: daemonId, [HOME_LABEL]: workload },
  };
  const volume = await callEngine(engine, Volume, {
    method: 'POST',
    path: '/volumes/create',
    body: { json },
  });
  if (isOwn(volume.Labels, daemonId, workload)) return { name: volume.Name, target };
  throw conflict(`the volume ${volume.Name} of the container engine exists and does not belong to ToolHive`, {
    hint: `remove it: docker volume rm ${volume.Name}`,
  });
}

function isOwn(labels: z.infer<typeof Labels>, daemonId: string, workload: string): boolean {
  return labels?.[DAEMON_LABEL] === daemonId && labels[HOME_LABEL] === workload;
}

/** The image author chooses these declarations. */
function isVolumePath(path: string): boolean {
  const isPlain =
    path.startsWith('/') && path.length < 1024 && normalize(path) === path && !path.includes('\0');
  return isPlain && path !== '/' && !reserved.some((own) => path === own || path.startsWith(`${own}/`));
}

const isCovered = (path: string, { mounts }: Launch) =>
  mounts.some(({ target }) => path === target || path.startsWith(`${target}/`));

/** Podman cannot measure while a container is being removed. */
function diskUsage(engine: Engine): Promise<z.infer<typeof DiskUsage>> {
  return withRetries(/no such container/, () =>
    callEngine(engine, DiskUsage, {
      method: 'GET',
      path: '/system/df',
      query: { type: 'volume' }, // engines before API 1.42 measure everything
    }),
  );
}
