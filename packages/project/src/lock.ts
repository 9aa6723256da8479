import { ThvError, conflict, invalid, tooLarge } from '@toolhive/contract/failure';
import type { LockRefusal } from '@toolhive/contract/project';
import { maxProjectLock } from '@toolhive/contract/project';
import { pinnedKinds } from '@toolhive/contract/tool-pins';
import type { PackageContents, PackageLock } from '@toolhive/runtime/runtime';
import { formatSource, isLocalPath, parseSource } from '@toolhive/runtime/source';
import type { ServerSource } from '@toolhive/runtime/source';
import * as z from 'zod';
import { hashOf, quoted } from './file.ts';

const digest = z.string().regex(/^[0-9a-f]{64}$/, 'is not a SHA-256 hash');

/** A server at the time of its lock. */
export const LockedServer = z.strictObject({
  /** The hash of the server's settings in the project file. */
  settings: digest,
  /** The source in the project file. */
  source: z.string().max(4096),
  /** The exact source. For a local package and a remote server, the same as `source`. */
  resolved: z.string().max(4096),
  /** The hash of the package's content. A commit, a digest of an image, and a hash of a bundle are in `resolved`. */
  integrity: z.string().max(1000).optional(),
  /** The hashes of the other packages, as `NAME@VERSION`. */
  dependencies: z.record(z.string().max(1000), z.string().max(1000)).optional(),
  /** The hash of the registry entry. */
  registry_entry: digest.optional(),
  /** The hashes of the tools and the like, by their kind and name. Absent if ToolHive does not record them. */
  tools: z.partialRecord(z.enum(pinnedKinds), z.record(z.string().max(1000), digest)).optional(),
  /** The hash of everything above, so that a change by hand is found. */
  checksum: digest,
});
export type LockedServer = z.infer<typeof LockedServer>;

const Lock = z.strictObject({ version: z.literal(1), servers: z.record(z.string(), LockedServer) });
export type Lock = z.infer<typeof Lock>;

export const emptyLock: Lock = { version: 1, servers: {} };

const lockName = 'toolhive.lock';

const newLock = 'to write a new lock file, delete it and run thv up';

/** Reads a lock file. Throws `invalid`, with the entry that is wrong. */
export function parseLock(text: string): Lock {
  if (text.length > maxProjectLock) throw tooLarge(`${lockName} has more than ${maxProjectLock} characters`);
  if (/^(?:<{7}|={7}|>{7})/m.test(text))
    throw invalid(`${lockName} contains the marks of a merge conflict`, {
      hint: 'resolve it, or delete the file and run thv up',
    });
  const value = parseJson(text);
  const parsed = Lock.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const place = issue?.path.join('.') ?? '';
    const keys = issue?.code === 'unrecognized_keys' ? ` ${issue.keys.map(quoted).join(', ')}` : '';
    throw invalid(
      `${lockName} is not valid: ${place === '' ? '' : `${place}: `}${issue?.message}${keys === '' || issue?.message.includes(keys.trim()) === true ? '' : keys}`,
      { hint: newLock },
    );
  }
  for (const [name, locked] of Object.entries(parsed.data.servers)) {
    if (checksumOf(locked) !== locked.checksum)
      throw invalid(
        `${lockName}: the entry of ${quoted(name)} was changed by hand, because its checksum differs`,
        { hint: newLock },
      );
  }
  return parsed.data;
}

function parseJson(text: string): unknown {
  const seen = new Set<string>();
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    // JSON.parse takes the last of two members with the same key, which a reader may not see.
    for (const [, key = ''] of text.matchAll(/^ {4}("(?:[^"\\]|\\.)*"): \{$/gm)) {
      if (seen.has(key)) throw invalid(`${lockName} has two entries for ${key}`, { hint: newLock });
      seen.add(key);
    }
    return value;
  } catch (cause) {
    if (cause instanceof ThvError) throw cause;
    throw invalid(`${lockName} is not JSON`, { hint: newLock, cause });
  }
}

export const checksumOf = ({
  checksum: _checksum,
  ...locked
}: Omit<LockedServer, 'checksum'> & { checksum?: string }): string => hashOf(locked);

/** The same content always gives the same text, with a line for each fact. */
export function formatLock({ servers }: Lock): string {
  return `${JSON.stringify({ version: 1, servers: sorted(servers) }, null, 2)}\n`;
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}

/** The present facts about a server in the project file and the registry. */
export interface Stated {
  settings: string;
  source: string;
  registryEntry: string | undefined;
}

const updates = (name: string): string => `if the change is intended, run thv up --update ${name}`;

/** The differences between a project file and its lock that can be found before anything is installed. */
export function statedDifferences(
  stated: ReadonlyMap<string, Stated>,
  lock: Lock | undefined,
  updated: (name: string) => boolean,
): LockRefusal[] {
  if (lock === undefined)
    return [
      { message: `${lockName} is missing`, hint: 'run thv up without --locked to write it, and commit it' },
    ];
  const refusals: LockRefusal[] = [];
  for (const [name, now] of stated) {
    if (updated(name)) continue;
    const locked = Object.hasOwn(lock.servers, name) ? lock.servers[name] : undefined;
    if (locked === undefined) {
      refusals.push({
        server: name,
        message: `${name} is not in ${lockName}`,
        hint: 'run thv up without --locked to lock it',
      });
      continue;
    }
    if (locked.source !== now.source) {
      refusals.push({
        server: name,
        message: `the source of ${name} has changed: ${lockName} has ${locked.source}, and the file has ${now.source}`,
        hint: updates(name),
      });
    } else if (locked.settings !== now.settings) {
      refusals.push({
        server: name,
        message: `the settings of ${name} have changed: ${lockName} has the hash ${short(locked.settings)}, and the file has ${short(now.settings)}`,
        hint: 'run thv up without --locked to see the difference',
      });
    }
    const entry = entryDifference(name, locked, now);
    if (entry !== undefined) refusals.push(entry);
    const missing = missingFacts(name, locked);
    if (missing !== undefined) refusals.push(missing);
  }
  for (const name of Object.keys(lock.servers)) {
    if (!stated.has(name))
      refusals.push({
        server: name,
        message: `${name} is in ${lockName}, but not in the file`,
        hint: 'run thv up without --locked to remove it from the lock file',
      });
  }
  return refusals;
}

/** A registry entry decides about arguments and permissions, too. */
export function entryDifference(
  name: string,
  locked: LockedServer,
  { registryEntry, source }: Stated,
): LockRefusal | undefined {
  if (locked.registry_entry === registryEntry || locked.source !== source) return undefined;
  const before =
    locked.registry_entry === undefined ? 'no registry entry' : `the hash ${short(locked.registry_entry)}`;
  const now =
    registryEntry === undefined ? 'the registry has none' : `the registry has ${short(registryEntry)}`;
  return {
    server: name,
    message: `the registry entry of ${name} has changed: ${lockName} has ${before}, and ${now}`,
    hint: updates(name),
  };
}

/** A lock without a fact would let every content pass. */
function missingFacts(name: string, locked: LockedServer): LockRefusal | undefined {
  if (isRemoteText(locked.resolved)) return undefined;
  const source = parseSource(locked.resolved);
  const isRegistryPackage = source.kind === 'package' && source.git === undefined && !isLocalPath(source);
  const version = source.kind === 'image' ? /@sha256:/.test(source.image) : source.version !== undefined;
  const isExact = version || (source.kind === 'package' && isLocalPath(source));
  const what = !isExact
    ? 'exact version'
    : isRegistryPackage && locked.integrity === undefined
      ? 'integrity hash'
      : undefined;
  if (what === undefined) return undefined;
  return { server: name, message: `${lockName} has no ${what} of ${name}`, hint: updates(name) };
}

const isRemoteText = (text: string): boolean => /^https?:\/\//i.test(text);

/** Makes an installation use the locked version, and refuses any other content. */
export function packageLock(
  name: string,
  locked: LockedServer,
  { isStrict }: { isStrict: boolean },
): PackageLock {
  return {
    pin(source) {
      if (isRemoteText(locked.resolved) || source.kind === 'bundle') return source;
      const exact = parseSource(locked.resolved);
      return sameBut(source, exact) ? withVersion(source, exact) : source;
    },
    check: (source, contents) => requireContent(name, locked, { source, contents, isStrict }),
  };
}

/** Whether an exact source only adds a version to a source. */
function sameBut(source: ServerSource, exact: ServerSource): boolean {
  if (source.kind === 'image' && exact.kind === 'image') {
    const [name, tag] = imageParts(source.image);
    const [exactName, exactTag] = imageParts(exact.image);
    return !source.image.includes('@') && name === exactName && tag === exactTag;
  }
  if (source.kind !== 'package' || exact.kind !== 'package') return false;
  return source.scheme === exact.scheme && source.name === exact.name && !isLocalPath(source);
}

function imageParts(image: string): [name: string, tag: string] {
  const [, name = '', tag = 'latest'] = /^(.*?)(?::([\w][\w.-]*))?(?:@.*)?$/.exec(image) ?? [];
  return [name, tag];
}

function withVersion(source: ServerSource, exact: ServerSource): ServerSource {
  if (source.kind === 'image') return exact;
  return exact.kind === 'package' && exact.version !== undefined
    ? { ...source, version: exact.version }
    : source;
}

interface Installed {
  source: ServerSource;
  contents: PackageContents | undefined;
  isStrict: boolean;
}

/** Throws `conflict` if an installed package is not the locked one. */
export function requireContent(
  name: string,
  locked: LockedServer,
  { source, contents, isStrict }: Installed,
): void {
  if (source.kind === 'package' && isLocalPath(source)) return; // its files are in the repository of the project
  const differs = (what: string, before: string, now: string): never => {
    throw conflict(
      `the ${what} of ${name} has changed: ${lockName} has ${before}, and the server has ${now}`,
      { hint: updates(name) },
    );
  };
  const version = exactText(source);
  const lockedVersion = isRemoteText(locked.resolved)
    ? locked.resolved
    : exactText(parseSource(locked.resolved));
  if (version !== lockedVersion) differs('version', lockedVersion, version);
  if (contents === undefined) return;
  const [own, ...others] = contents.artifacts;
  if (locked.integrity !== undefined && own.integrity !== locked.integrity)
    differs('package content', locked.integrity, own.integrity);
  const now = dependenciesOf(others);
  const before = locked.dependencies ?? {};
  for (const [dependency, integrity] of Object.entries(now)) {
    if (Object.hasOwn(before, dependency) && before[dependency] !== integrity)
      differs(`dependency ${dependency}`, before[dependency] ?? '', integrity);
  }
  if (!isStrict) return;
  const nameIn = (spec: string): string => spec.slice(0, spec.lastIndexOf('@'));
  for (const dependency of Object.keys(before)) {
    if (Object.hasOwn(now, dependency)) continue;
    const other = Object.keys(now).find((spec) => nameIn(spec) === nameIn(dependency));
    // Without any version, it is for another platform.
    if (other !== undefined) differs(`dependency ${nameIn(dependency)}`, dependency, other);
  }
}

/** A bundle has other paths on other machines. */
function exactText(source: ServerSource): string {
  if (source.kind !== 'bundle' || source.name.startsWith('https:')) return formatSource(source);
  return `the bundle ${source.version ?? ''}`;
}

export function dependenciesOf(
  artifacts: readonly { name: string; version: string; integrity: string }[],
): Record<string, string> {
  return Object.fromEntries(
    artifacts.map(({ name, version, integrity }) => [`${name}@${version}`, integrity]),
  );
}

export type LockedTools = NonNullable<LockedServer['tools']>;

/** The differences between the locked tools and those that a server lists, one sentence each. */
function toolDifferences(name: string, locked: LockedTools, listed: LockedTools): string[] {
  return pinnedKinds.flatMap((kind) => {
    const [before, now] = [locked[kind] ?? {}, listed[kind] ?? {}];
    const title = (item: string): string =>
      `the ${kind === 'instructions' ? 'instructions' : `${kind} ${item}`} of ${name}`;
    const lost = Object.keys(before).filter((item) => !Object.hasOwn(now, item));
    const added = Object.keys(now).filter((item) => !Object.hasOwn(before, item));
    const changed = Object.keys(before).filter(
      (item) => Object.hasOwn(now, item) && before[item] !== now[item],
    );
    return [
      ...changed.map(
        (item) =>
          `${title(item)} ${kind === 'instructions' ? 'have' : 'has'} changed: ${lockName} has ${short(before[item] ?? '')}, and the server has ${short(now[item] ?? '')}`,
      ),
      ...lost.map(
        (item) =>
          `${title(item)} ${kind === 'instructions' ? 'are' : 'is'} in ${lockName}, and the server does not list ${kind === 'instructions' ? 'them' : 'it'}`,
      ),
      ...added.map(
        (item) => `${title(item)} ${kind === 'instructions' ? 'are' : 'is'} new and not in ${lockName}`,
      ),
    ];
  });
}

/** Throws `conflict` if a server does not have the locked tools. */
export function requireTools(name: string, locked: LockedServer, listed: LockedTools | undefined): void {
  if (locked.tools === undefined || listed === undefined) return;
  const differences = toolDifferences(name, locked.tools, listed);
  if (differences.length === 0) return;
  throw conflict(differences.slice(0, 10).join('; '), { hint: updates(name) });
}

const short = (hash: string): string => hash.slice(0, 12);
