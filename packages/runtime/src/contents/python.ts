import { parse } from 'smol-toml';
import * as z from 'zod';
import type { Artifact, PackageContents } from '../runtime.ts';

/** The used parts of the lock file that uv writes for one installation (PEP 751). */
const Pylock = z.object({
  packages: z.array(
    z.looseObject({
      name: z.string().regex(/^[\w.-]+$/),
      version: z.string().regex(/^[\w.+!-]+$/),
      wheels: z.unknown(),
    }),
  ),
});

const Wheel = z.looseObject({
  name: z.string().optional(),
  url: z.string().optional(),
  'upload-time': z.date().optional().catch(undefined),
  hashes: z.looseObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
});

interface LockedWheel {
  file: string;
  sha256: string;
  publishedAt: string | undefined;
}

export interface LockedPackage {
  name: string;
  version: string;
  /** All wheels of the version, for every platform. */
  wheels: LockedWheel[];
}

/** Reads a lock file of uv. Undefined unless every package has wheels with hashes. */
export function readPylock(text: string): LockedPackage[] | undefined {
  const lock = Pylock.safeParse(parseToml(text));
  const packages = lock.data?.packages.map(({ name, version, wheels }) => {
    const found = z.array(Wheel).min(1).safeParse(wheels);
    return { name, version, wheels: (found.data ?? []).map(lockedWheel) };
  });
  return packages?.every(({ wheels }) => wheels.length > 0) === true ? packages : undefined;
}

function lockedWheel({ name, url = '', hashes, ...wheel }: z.infer<typeof Wheel>): LockedWheel {
  const file = name ?? decodeURIComponent(URL.parse(url)?.pathname.split('/').at(-1) ?? '');
  return { file, sha256: hashes.sha256, publishedAt: wheel['upload-time']?.toISOString() };
}

function parseToml(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

interface InstalledWheel {
  artifact: Artifact;
  publishedAt: string | undefined;
}

/**
 * What was installed of a lock, by the tags that each installed wheel has in its metadata. `tags` contains the tags of
 * each `.dist-info` directory. Undefined without the package itself.
 */
export function pythonContents(
  name: string,
  { lock, tags, registry }: { lock: readonly LockedPackage[]; tags: WheelTags; registry: string },
): PackageContents | undefined {
  const wheels = installedWheels(lock, tags);
  const own = wheels.find(({ artifact }) => normalized(artifact.name) === normalized(name));
  if (own === undefined) return undefined;
  const dependencies = wheels.filter((wheel) => wheel !== own).map(({ artifact }) => artifact);
  return {
    registry,
    publishedAt: own.publishedAt,
    artifacts: [own.artifact, ...dependencies],
    published: lock.flatMap(({ name: project, version, wheels: all }) =>
      all.map((wheel) => artifactOf({ name: project, version }, wheel)),
    ),
  };
}

/** The tags in a wheel's metadata, by the name of its `.dist-info` directory. */
export type WheelTags = ReadonlyMap<string, readonly string[]>;

/** The tags in the metadata file `WHEEL`. */
export const tagsIn = (metadata: string): string[] =>
  [...metadata.matchAll(/^Tag: *(\S+)/gm)].map(([, tag = '']) => tag);

function installedWheels(packages: readonly LockedPackage[], tags: WheelTags): InstalledWheel[] {
  const byProject = new Map([...tags].map(([info, own]) => [projectOf(info), own]));
  return packages.flatMap(({ name, version, wheels }) => {
    const own = byProject.get(normalized(name)) ?? [];
    const wheel = wheels.find(({ file }) => isSameSet(tagsOf(file), own));
    if (wheel === undefined) return [];
    return [{ artifact: artifactOf({ name, version }, wheel), publishedAt: wheel.publishedAt }];
  });
}

const artifactOf = (
  { name, version }: Pick<LockedPackage, 'name' | 'version'>,
  { file, sha256 }: LockedWheel,
): Artifact => ({ name, version, integrity: `sha256:${sha256}`, file });

/** `name-1.0-py2.py3-none-any.whl` is for `py2-none-any` and `py3-none-any`. */
function tagsOf(file: string): string[] {
  const parts = file
    .replace(/\.whl$/, '')
    .split('-')
    .slice(-3);
  const [pythons = [], abis = [], platforms = []] = parts.map((part) => part.split('.'));
  return pythons.flatMap((python) =>
    abis.flatMap((abi) => platforms.map((platform) => `${python}-${abi}-${platform}`)),
  );
}

const isSameSet = (one: readonly string[], other: readonly string[]): boolean =>
  new Set(one).symmetricDifference(new Set(other)).size === 0;

const projectOf = (info: string): string => normalized(info.split('-')[0] ?? '');

/** The name of a Python project in its one spelling (PEP 503). */
export const normalized = (name: string): string => name.toLowerCase().replace(/[-_.]+/g, '-');
