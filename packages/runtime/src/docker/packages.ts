import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { messageOf, unavailable } from '@toolhive/contract/failure';
import * as z from 'zod';
import { pinLocal, requireLocal } from '../local-package.ts';
import { formatSource, isLocalPath, parseSource, type PackageScheme, type PackageSource } from '../source.ts';
import { buildImage } from './build.ts';
import { removeContainer } from './container.ts';
import { baseImagesOf, DOCKERFILE, dockerfileOf, VERSION_PATH, type BaseImages } from './dockerfile.ts';
import type { LocalFiles } from './context.ts';
import { callEngine, isFailure, openStream, type Engine } from './engine.ts';
import { inspectImage, prepareImage, type PullOptions } from './images.ts';

/** What building a package needs of the daemon's world. */
export interface PackageOptions extends PullOptions {
  baseImages: Partial<Record<PackageScheme, BaseImages>>;
}

/**
 * Ensures that an image of the package exists. Builds an exact version once. Rebuilds anything that may resolve to a
 * newer version, and falls back to the existing image. Returns the installed version.
 */
export async function preparePackage(
  engine: Engine,
  source: PackageSource,
  options: PackageOptions,
): Promise<PackageSource> {
  const image = packageImage(source, options.baseImages);
  const built = await inspectImage(engine, image, options.signal);
  if (built !== undefined && isExact(source)) return source;
  try {
    await buildPackage(engine, source, image, options);
  } catch (error) {
    if (built === undefined || isLocalPath(source) || isFailure(error, 'cancelled')) throw error;
    options.report(`using the copy of ${formatSource(source)} on this machine: ${messageOf(error)}`);
  }
  if (isExact(source) || isLocalPath(source)) return source;

  const version = await installedVersion(engine, image, options.signal);
  const pinned = { ...source, version };
  parseSource(formatSource(pinned));
  await tagImage(engine, image, packageImage(pinned, options.baseImages), options.signal);
  return pinned;
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

function isExact({ version }: PackageSource): boolean {
  return version !== undefined && /^v?\d+\.\d+(?:\.\d+)*(?:[-+.]?[a-z0-9][\w.+-]*)?$/i.test(version);
}

const VERSION_LIMIT = 256;

async function buildPackage(
  engine: Engine,
  source: PackageSource,
  image: string,
  options: PackageOptions,
): Promise<void> {
  const base = baseImagesOf(source, options.baseImages);
  // Pulled by us and not by the builder: with credentials, with progress, and with errors that name the image.
  for (const needed of new Set([base.build, base.run])) {
    await prepareImage(engine, { kind: 'image', image: needed }, options);
  }
  const local = isLocalPath(source) ? await localOf(source, options) : undefined;
  const { report, signal } = options;
  const certificates = await options.trusted?.();
  const allowed = (await options.allowedSources?.()) ?? [];
  const { buildContext } = await import('./context.ts'); // an idle daemon needs no archives
  const dockerfile = dockerfileOf(source, base, { isTrusting: certificates !== undefined, allowed });
  await buildImage(engine, {
    title: formatSource(source),
    image,
    context: await buildContext(dockerfile, { local, certificates }, signal),
    dockerfile: DOCKERFILE,
    // The builder compares the content of a local package, but not the newest version of a registry package.
    fresh: local === undefined && !isExact(source),
    report,
    signal,
  });
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
  const json = { Image: image, HostConfig: { NetworkMode: 'none' } };
  const create = { method: 'POST', path: '/containers/create', body: { json } } as const;
  const { Id } = await callEngine(engine, z.object({ Id: z.string() }), create);
  try {
    const query = { path: VERSION_PATH };
    const archive = await openStream(engine, {
      method: 'GET',
      path: `/containers/${Id}/archive`,
      query,
      signal,
    });
    const { extract } = await import('tar-stream');
    for await (const entry of archive.pipe(extract())) {
      let text = '';
      // The package chose the size of this file.
      for await (const chunk of entry)
        if (text.length < VERSION_LIMIT) text += String(chunk).slice(0, VERSION_LIMIT);
      if (text.trim() !== '') return text.trim();
    }
  } finally {
    await removeContainer(engine, Id);
  }
  throw unavailable(`the image ${image} does not record its package version`);
}

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
