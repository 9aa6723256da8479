import { notFound, unavailable } from '@toolhive/contract/failure';
import * as z from 'zod';
import type { PrepareOptions } from '../runtime.ts';
import type { ImageSource } from '../source.ts';
import { registryAuth } from './credentials.ts';
import { callEngine, followProgress, isFailure, type Engine, type ProgressLine } from './engine.ts';

/** An image reference in its parts. */
export interface ImageReference {
  /** The registry host. The default is `docker.io`. */
  host: string;
  /** The original reference without its tag and digest. */
  repository: string;
  tag: string | undefined;
  digest: string | undefined;
}

/** Takes apart a reference that `parseSource` accepted. */
export function splitReference(image: string): ImageReference {
  const [, repository = image, tag, digest] = /^(.+?)(?::([\w][\w.-]*))?(?:@(.+))?$/.exec(image) ?? [];
  const first = repository.includes('/') ? repository.slice(0, repository.indexOf('/')) : '';
  const host = /[.:]|^localhost$/.test(first) ? first : 'docker.io';
  return { host, repository, tag, digest };
}

/** Whether a reference may later mean a newer image: it has no digest and no tag other than `latest`. */
export function isMoving({ tag, digest }: ImageReference): boolean {
  return digest === undefined && (tag === undefined || tag === 'latest');
}

/** What a pull needs of the daemon's world. */
export interface PullOptions extends PrepareOptions {
  env: NodeJS.ProcessEnv;
}

/**
 * Ensures that the image is on this machine. Pulls a moving reference every time and falls back to the local copy.
 * Pulls any other reference only if the image is missing. Returns the image digest, or the image name if a local
 * build has no digest.
 */
export async function prepareImage(
  engine: Engine,
  source: ImageSource,
  options: PullOptions,
): Promise<ImageSource> {
  const { image } = source;
  const reference = splitReference(image);
  const local = await inspectImage(engine, image, options.signal);
  if (local !== undefined && !isMoving(reference)) return pinned(reference, local, source);

  try {
    await pullImage(engine, image, options);
  } catch (error) {
    if (local === undefined || isFailure(error, 'cancelled')) throw error;
    options.report(`using the local copy of ${image}, because the pull failed`);
    return pinned(reference, local, source);
  }
  const pulled = await inspectImage(engine, image, options.signal);
  if (pulled === undefined) throw unavailable(`${image} was pulled, but the container engine cannot find it`);
  return pinned(reference, pulled, source);
}

const ImageDetails = z.object({
  Id: z.string(),
  RepoDigests: z.array(z.string()).nullish(),
  Config: z
    .object({
      Entrypoint: z.array(z.string()).nullish(),
      Cmd: z.array(z.string()).nullish(),
      Env: z.array(z.string()).nullish(),
      Volumes: z.record(z.string(), z.unknown()).nullish(),
    })
    .nullish(),
});
type ImageDetails = z.infer<typeof ImageDetails>;

/** Looks for an image on this machine. Returns undefined if it is missing. */
export async function inspectImage(
  engine: Engine,
  image: string,
  signal: AbortSignal,
): Promise<ImageDetails | undefined> {
  try {
    return await callEngine(engine, ImageDetails, { method: 'GET', path: `/images/${image}/json`, signal });
  } catch (error) {
    if (isFailure(error, 'not-found')) return undefined;
    throw error;
  }
}

function pinned(reference: ImageReference, { RepoDigests }: ImageDetails, source: ImageSource): ImageSource {
  if (reference.digest !== undefined) return source;
  const { repository } = reference;
  // The engine may write the repository in full: `docker.io/library/redis` for `redis`.
  const digest = RepoDigests?.find((known) => {
    const full = splitReference(known).repository;
    return [repository, `docker.io/${repository}`, `docker.io/library/${repository}`].includes(full);
  })?.split('@')[1];
  return digest === undefined ? source : { kind: 'image', image: `${repository}@${digest}` };
}

async function pullImage(engine: Engine, image: string, options: PullOptions): Promise<void> {
  const { host, repository, tag, digest } = splitReference(image);
  const auth = await registryAuth(host, options.env, options.signal);
  const progress = pullProgress(image, options.report);
  try {
    const lines = followProgress(engine, {
      method: 'POST',
      path: '/images/create',
      // Without a tag the engine would pull every tag there is.
      query: { fromImage: repository, tag: digest ?? tag ?? 'latest' },
      headers: auth === undefined ? {} : { 'X-Registry-Auth': auth },
      signal: options.signal,
    });
    progress();
    for await (const line of lines) {
      if (line.error !== undefined) throw unavailable(line.error);
      progress(line);
    }
  } catch (error) {
    if (isFailure(error, 'cancelled') || !(error instanceof Error)) throw error;
    throw pullFailure(image, host, error);
  }
}

/** Registries give the same answer for missing and for forbidden images. */
const MISSING =
  /not found|manifest unknown|does not exist|name unknown|denied|unauthorized|no basic auth credentials|authentication required/i;

function pullFailure(image: string, host: string, cause: Error): Error {
  if (isFailure(cause, 'not-found') || MISSING.test(cause.message)) {
    return notFound(`the image ${image} was not found`, {
      hint: `check the name and the tag. If the image is private, log in to ${host} first`,
      cause,
    });
  }
  return unavailable(`the image ${image} could not be pulled: ${cause.message}`, {
    hint: `check the network and whether ${host} is up`,
    cause,
  });
}

/** Adds up the layers and reports each whole percent once. */
function pullProgress(image: string, report: (message: string) => void): (line?: ProgressLine) => void {
  const layers = new Map<string, Layer>();
  let reported: string | undefined;
  return (line) => {
    const { current, total } = line?.progressDetail ?? {};
    if (
      line?.id !== undefined &&
      line.status === 'Downloading' &&
      current !== undefined &&
      total !== undefined
    ) {
      layers.set(line.id, { current, total });
    }
    const [done, all] = sum(layers.values());
    const percent = all > 0 ? ` (${Math.floor((100 * done) / all)} %)` : '';
    const message = `pulling ${image}${percent}`;
    if (message !== reported) report(message);
    reported = message;
  };
}

interface Layer {
  current: number;
  total: number;
}

function sum(layers: Iterable<Layer>): [current: number, total: number] {
  let [done, all] = [0, 0];
  for (const { current, total } of layers) {
    done += current;
    all += total;
  }
  return [done, all];
}
