import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { messageOf, ThvError, unavailable, unsupported } from '@toolhive/contract/failure';
import * as z from 'zod';
import { recorded } from '../contents/recorded.ts';
import { pinLocal, requireLocal } from '../local-package.ts';
import type { PackageContents, Release } from '../runtime.ts';
import { formatSource, isLocalPath, parseSource, type PackageScheme, type PackageSource } from '../source.ts';
import { buildAuthorities } from './corporate-builds.ts';
import { buildImage } from './build.ts';
import { downloadDockerfileOf, finishDockerfileOf, lookUpDockerfileOf } from './checked-dockerfiles.ts';
import type { ContextParts, LocalFiles } from './context.ts';
import { baseImagesOf, DOCKERFILE, dockerfileOf, VERSION_PATH, type BaseImages } from './dockerfile.ts';
import { downloadedContents, foundRelease, temporaryName } from './downloads.ts';
import { callEngine, isFailure, type Engine } from './engine.ts';
import type { ImageRecord, ImageRecords } from './image-records.ts';
import { inspectImage, prepareImage, type PullOptions } from './images.ts';

/** What building a package needs of the daemon's world. */
export interface PackageOptions extends PullOptions {
  baseImages: Partial<Record<PackageScheme, BaseImages>>;
  daemonId: string;
  records: ImageRecords;
}

/**
 * Ensures that an image of the package exists whose content was checked by this daemon. Builds an exact version once.
 * Rebuilds anything that may resolve to a newer version. Falls back to the existing image if nothing can be fetched.
 * Returns the installed version.
 */
export async function preparePackage(
  engine: Engine,
  source: PackageSource,
  options: PackageOptions,
): Promise<PackageSource> {
  const { signal, report } = options;
  const image = packageImage(source, options.baseImages);
  const existing = await inspectImage(engine, image, signal);
  const record = existing && (await options.records.find(image, existing.Id));
  if (record !== undefined && isExact(source)) return source;
  try {
    return await buildPackage(engine, source, options);
  } catch (error) {
    const isUsable = existing !== undefined && !isLocalPath(source);
    if (!isUsable || !(error instanceof ThvError && fetchFailures.has(error.kind))) throw error;
    report(`using the copy of ${formatSource(source)} on this machine: ${messageOf(error)}`);
    if (isExact(source)) return source;
    const version = record?.contents?.artifacts[0].version;
    return await nameBuilt(engine, { source, id: existing.Id, record, version }, options);
  }
}

/** Failures that do not concern the content of a package. */
const fetchFailures: ReadonlySet<string> = new Set(['unavailable', 'not-found', 'timed-out']);

/** Lists the content of an exact version: downloads it into an image, and runs none of its code. */
export async function previewPackage(
  engine: Engine,
  source: PackageSource,
  options: PackageOptions,
): Promise<PackageContents | undefined> {
  const setup = await setUp(engine, source, options);
  const text = downloadDockerfileOf(source, setup.base, setup);
  await using downloaded = await buildTemporary(engine, { source, text, setup }, options);
  return await downloadedContents(engine, { source, image: downloaded.id }, options.signal);
}

/** Finds the newest version of a package. */
export async function newestPackage(
  engine: Engine,
  { scheme, name, options: wanted }: PackageSource,
  options: PackageOptions,
): Promise<Release> {
  const source: PackageSource = { kind: 'package', scheme, name, ...(wanted && { options: wanted }) };
  const setup = await setUp(engine, source, options);
  const text = isLocalPath(source)
    ? undefined
    : lookUpDockerfileOf(source, setup.base, { ...setup, at: Date.now() });
  if (text === undefined) {
    throw unsupported(`the newest version of ${formatSource(source)} cannot be looked up`);
  }
  await using found = await buildTemporary(engine, { source, text, setup }, options);
  return await foundRelease(engine, { source, image: found.id }, options.signal);
}

/**
 * The image name of a package. The hash distinguishes packages whose names become equal as image names, and changes
 * with the Dockerfile.
 */
export function packageImage(
  source: PackageSource,
  baseImages: Partial<Record<PackageScheme, BaseImages>> = {},
): string {
  const dockerfile = dockerfileOf(source, baseImagesOf(source, baseImages));
  const hash = createHash('sha256')
    .update(`${formatSource(source)}\n${dockerfile}`)
    .digest('hex')
    .slice(0, 12);
  const name = source.name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  const version = (source.version ?? 'latest').replaceAll(/[^\w.-]+/g, '-').replace(/^[.-]+/, '');
  return `toolhivelocal/${source.scheme}-${name.slice(0, 100) || 'package'}:${version.slice(0, 100)}-${hash}`;
}

/** The record of a package's image, if the image is the one that this daemon built. */
export async function recordOf(
  engine: Engine,
  source: PackageSource,
  { baseImages, records }: Pick<PackageOptions, 'baseImages' | 'records'>,
): Promise<ImageRecord | undefined> {
  const image = packageImage(source, baseImages);
  const existing = await inspectImage(engine, image, AbortSignal.timeout(INSPECTION_TIMEOUT_MS));
  return existing && records.find(image, existing.Id);
}

const INSPECTION_TIMEOUT_MS = 10_000;

function isExact({ version }: PackageSource): boolean {
  return version !== undefined && /^v?\d+\.\d+(?:\.\d+)*(?:[-+.]?[a-z0-9][\w.+-]*)?$/i.test(version);
}

/**
 * Builds a package in two steps: the first downloads it and runs none of its code. The image gets its name only after
 * the download was inspected. A local package is built in one step, because its files are the user's own.
 */
async function buildPackage(
  engine: Engine,
  source: PackageSource,
  options: PackageOptions,
): Promise<PackageSource> {
  const { inspect, report, signal } = options;
  const setup = await setUp(engine, source, options);
  if (isLocalPath(source)) {
    const local = await localOf(source, options);
    const text = dockerfileOf(source, setup.base, setup);
    await using built = await buildTemporary(engine, { source, text, setup: { ...setup, local } }, options);
    return await nameBuilt(engine, { source, id: built.id, record: { id: built.id } }, options);
  }
  const text = downloadDockerfileOf(source, setup.base, setup);
  const isFresh = !isExact(source); // the builder does not notice a newer version
  await using downloaded = await buildTemporary(engine, { source, text, setup, isFresh }, options);
  const contents = await downloadedContents(engine, { source, image: downloaded.id }, signal);
  const version = contents?.artifacts[0].version;
  if (contents !== undefined) await inspect?.({ ...source, version }, contents, { report, signal });
  const finish = finishDockerfileOf(source, setup.base, downloaded.id);
  await using built = await buildTemporary(engine, { source, text: finish, setup }, options);
  const record = { id: built.id, contents: recorded(contents) };
  return await nameBuilt(engine, { source, id: built.id, record, version }, options);
}

interface Built {
  source: PackageSource;
  id: string;
  /** Absent for an image that this daemon did not build. */
  record: ImageRecord | undefined;
  version?: string | undefined;
}

/** Gives an image the names of its source and of its exact version, and returns the exact version. */
async function nameBuilt(
  engine: Engine,
  { source, id, record, version }: Built,
  { baseImages, records, signal }: PackageOptions,
): Promise<PackageSource> {
  const isPinned = isExact(source) || isLocalPath(source);
  const pinned = isPinned
    ? source
    : { ...source, version: version ?? (await installedVersion(engine, id, signal)) };
  parseSource(formatSource(pinned));
  for (const name of new Set([source, pinned].map((one) => packageImage(one, baseImages)))) {
    if (record !== undefined) await records.save(name, record);
    await tagImage(engine, id, name, signal);
  }
  return pinned;
}

/** What all steps of a build need. */
interface Setup extends ContextParts {
  base: BaseImages;
  isTrusting: boolean;
  allowed: readonly string[];
}

/** Pulls the base images, and asks for the settings that concern the build. */
async function setUp(engine: Engine, source: PackageSource, options: PackageOptions): Promise<Setup> {
  const base = baseImagesOf(source, options.baseImages);
  // Pulled by us and not by the builder: with credentials, with progress, and with errors that name the image.
  for (const needed of new Set([base.build, base.run])) {
    await prepareImage(engine, { kind: 'image', image: needed }, options);
  }
  const certificates = await buildAuthorities(options.env, await options.trusted?.());
  const allowed = (await options.allowedSources?.()) ?? [];
  return { base, certificates, isTrusting: certificates !== undefined, allowed };
}

/** Builds an image with a name that it loses on disposal. */
async function buildTemporary(
  engine: Engine,
  build: { source: PackageSource; text: string; setup: Setup; isFresh?: boolean },
  { daemonId, env, report, signal }: PackageOptions,
): Promise<{ id: string } & AsyncDisposable> {
  const { buildContext } = await import('./context.ts'); // an idle daemon needs no archives
  const image = temporaryName(daemonId);
  await buildImage(engine, {
    title: formatSource(build.source),
    image,
    context: await buildContext(build.text, build.setup, signal),
    dockerfile: DOCKERFILE,
    fresh: build.isFresh === true,
    env,
    report,
    signal,
  });
  const built = await inspectImage(engine, image, signal);
  if (built === undefined) throw unavailable(`the container engine cannot find the image ${image}`);
  return { id: built.Id, [Symbol.asyncDispose]: () => untagImage(engine, image) };
}

/** The path of a local package without links, if the path is the one that the user granted. */
async function localOf(source: PackageSource, { granted }: PackageOptions): Promise<LocalFiles> {
  const { path } = await pinLocal(source.name, granted);
  const isDirectory = (await stat(path)).isDirectory();
  await requireLocal(source, isDirectory ? { directory: path } : { file: true });
  return { path, name: basename(source.name) };
}

/** Reads the version that the Dockerfile recorded, from an image without running it. */
async function installedVersion(engine: Engine, image: string, signal: AbortSignal): Promise<string> {
  const { readImageFiles } = await import('./image-files.ts'); // an idle daemon needs no archives
  const files = await readImageFiles(engine, { image, path: VERSION_PATH }, signal);
  const [version = ''] = [...files.values()];
  const text = version.slice(0, VERSION_LIMIT).trim(); // the package may have written this file
  if (text !== '') return text;
  throw unavailable(`the image ${image} does not record its package version`);
}

const VERSION_LIMIT = 256;

/** Gives an image another name, with a tag. */
export async function tagImage(
  engine: Engine,
  image: string,
  as: string,
  signal: AbortSignal,
): Promise<void> {
  const at = as.lastIndexOf(':');
  const query = { repo: as.slice(0, at), tag: as.slice(at + 1) };
  await callEngine(engine, z.unknown(), { method: 'POST', path: `/images/${image}/tag`, query, signal });
}

/** Takes a name from an image. The steps that built it stay, because the next build can reuse them. */
export async function untagImage(engine: Engine, name: string): Promise<void> {
  try {
    const query = { noprune: '1' };
    await callEngine(engine, z.unknown(), { method: 'DELETE', path: `/images/${name}`, query });
  } catch (error) {
    if (!isFailure(error, 'not-found')) throw error;
  }
}
