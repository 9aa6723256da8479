import { randomUUID } from 'node:crypto';
import { unavailable } from '@toolhive/contract/failure';
import { parseJson } from '@toolhive/contract/json-text';
import * as z from 'zod';
import { goContents, goModulesIn } from '../contents/go.ts';
import { npmContents } from '../contents/npm.ts';
import { normalized, pythonContents, readPylock } from '../contents/python.ts';
import type { PackageContents, Release } from '../runtime.ts';
import type { PackageScheme, PackageSource } from '../source.ts';
import { FACTS_FILE, FACTS_PATH } from './checked-dockerfiles.ts';
import type { Engine } from './engine.ts';

/** What npm, uv, or Go recorded about a download, by file name. */
type Facts = ReadonlyMap<string, string>;

/** A name for an image that is being built. A daemon removes all of its own when it starts. */
export const temporaryName = (daemonId: string): string =>
  `${TEMPORARY}:${daemonId}-${randomUUID()}`.toLowerCase();

/** The repository of all images that are being built. */
export const TEMPORARY = 'toolhivelocal/building';

/**
 * What a download consists of. Only npm, uv, and Go have run in the image so far, so no package has written to the
 * record. Undefined for packages whose content cannot be pinned: they are built from source, or have no hashes.
 */
export async function downloadedContents(
  engine: Engine,
  { source, image }: { source: PackageSource; image: string },
  signal: AbortSignal,
): Promise<PackageContents | undefined> {
  return contentsIn[source.scheme](source, await factsIn(engine, image, signal));
}

/** The newest version that a look-up recorded. */
export async function foundRelease(
  engine: Engine,
  { source, image }: { source: PackageSource; image: string },
  signal: AbortSignal,
): Promise<Release> {
  const facts = await factsIn(engine, image, signal);
  const release = releaseIn[source.scheme]?.(source, facts);
  if (release !== undefined) return release;
  throw unavailable(`the newest version of ${source.name} was not found`);
}

async function factsIn(engine: Engine, image: string, signal: AbortSignal): Promise<Facts> {
  const { readImageFiles } = await import('./image-files.ts'); // an idle daemon needs no archives
  return readImageFiles(engine, { image, path: FACTS_PATH }, signal);
}

const NpmFacts = z.object({ lock: z.unknown(), time: z.unknown().optional(), registry: z.string() });
const NpmRelease = z.object({ version: z.string(), time: z.unknown().optional() });
const PythonFacts = z.object({
  lock: z.string(),
  tags: z.record(z.string(), z.array(z.string())),
  registry: z.string(),
});

const contentsIn: Record<
  PackageScheme,
  (source: PackageSource, facts: Facts) => PackageContents | undefined
> = {
  npx({ name }, facts) {
    const { lock, time, registry } = NpmFacts.parse(jsonIn(facts, FACTS_FILE));
    return npmContents(lock, { name, registry, publishedAt: timeOf(time) });
  },
  uvx({ name }, facts) {
    if (!facts.has(FACTS_FILE)) return undefined;
    const { lock, tags, registry } = PythonFacts.parse(jsonIn(facts, FACTS_FILE));
    const locked = readPylock(lock);
    return locked && pythonContents(name, { lock: locked, tags: new Map(Object.entries(tags)), registry });
  },
  go({ name }, facts) {
    const module = z.object({ Time: z.string().optional() }).safeParse(jsonIn(facts, 'module.json'));
    return goContents(name, goModulesIn(facts.get('modules') ?? ''), module.data?.Time);
  },
};

const releaseIn: Partial<
  Record<PackageScheme, (source: PackageSource, facts: Facts) => Release | undefined>
> = {
  npx(_source, facts) {
    const { version, time } = NpmRelease.parse(jsonIn(facts, FACTS_FILE));
    const publishedAt = timeOf(time);
    return { version, ...(publishedAt === undefined ? {} : { publishedAt }) };
  },
  uvx({ name }, facts) {
    const { lock } = PythonFacts.pick({ lock: true }).parse(jsonIn(facts, FACTS_FILE));
    const version = new RegExp(String.raw`^name = "(?<name>[^"]+)"\nversion = "(?<version>[^"]+)"$`, 'gm');
    const found = [...lock.matchAll(version)].find(
      ({ groups }) => normalized(groups?.['name'] ?? '') === normalized(name),
    );
    return found?.groups?.['version'] === undefined ? undefined : { version: found.groups['version'] };
  },
};

function timeOf(value: unknown): string | undefined {
  const at = typeof value === 'string' ? Date.parse(value) : NaN;
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}

/** Undefined for a missing or empty file. */
function jsonIn(facts: Facts, file: string): unknown {
  const text = facts.get(file) ?? '';
  return text === '' ? undefined : parseJson(text, file, { maxDepth: 64 });
}
