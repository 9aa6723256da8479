import { lstat } from 'node:fs/promises';
import { isAbsolute, join, normalize, relative } from 'node:path';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import type { RunConfig } from '@toolhive/contract/run-config';
import { invalid, notImplemented } from '@toolhive/contract/failure';
import type { Mount } from '@toolhive/runtime/mount-source';

/** Reads a volume as a person writes it: `HOST:CONTAINER`, or `HOST:CONTAINER:ro` for one that cannot be written. */
export function parseVolume(volume: string): Mount {
  const parts = volume.split(':');
  const [source, target, mode] = parts;
  if (
    source === undefined ||
    target === undefined ||
    parts.length > 3 ||
    (mode !== undefined && mode !== 'ro' && mode !== 'rw')
  ) {
    throw invalid(`${JSON.stringify(volume)} is not a volume`, {
      hint: 'write it as HOST:CONTAINER or HOST:CONTAINER:ro',
    });
  }
  return { source: asPath(source, volume), target: asPath(target, volume), readOnly: mode === 'ro' };
}

/** Reads a mount of a permission profile: `PATH` for the same path on both sides, or `HOST:CONTAINER`. */
function parseGrant(grant: string, readOnly: boolean): Mount {
  const [source = '', target = source, ...more] = grant.split(':');
  if (more.length > 0)
    throw invalid(`${JSON.stringify(grant)} is not a mount`, { hint: 'write it as PATH or HOST:CONTAINER' });
  return { source: asPath(source, grant), target: asPath(target, grant), readOnly };
}

function asPath(path: string, whole: string): string {
  if (!isAbsolute(path) || path.includes('\0')) {
    throw invalid(`${JSON.stringify(path)} in ${JSON.stringify(whole)} is not an absolute path`, {
      hint: 'begin both paths of a mount with a slash',
    });
  }
  const clean = normalize(path);
  return clean.length > 1 && clean.endsWith('/') ? clean.slice(0, -1) : clean;
}

/**
 * Everything of this machine that a server sees: what its profile grants and what volumes add. Two grants for
 * one place inside become one, which can be written if either can.
 */
export function mountsOf(profile: PermissionProfile, volumes: readonly string[]): Mount[] {
  const grants = [
    ...(profile.read ?? []).map((grant) => parseGrant(grant, true)),
    ...(profile.write ?? []).map((grant) => parseGrant(grant, false)),
    ...volumes.map(parseVolume),
  ];
  const byTarget = new Map<string, Mount>();
  for (const mount of grants) {
    const earlier = byTarget.get(mount.target);
    if (earlier !== undefined && earlier.source !== mount.source) {
      throw invalid(`${earlier.source} and ${mount.source} are both to be mounted at ${mount.target}`);
    }
    byTarget.set(mount.target, { ...mount, readOnly: mount.readOnly && (earlier?.readOnly ?? true) });
  }
  return [...byTarget.values()];
}

/** Everything of this machine that a run config mounts. */
export function mountsOfRunConfig({ permission_profile: profile, volumes }: RunConfig): Mount[] {
  return mountsOf(profile ?? {}, volumes ?? []);
}

interface IgnoreConfig {
  loadGlobal?: boolean | undefined;
}

/**
 * Refuses to mount directories with a list of files to hide: nothing hides files yet, and the server would read
 * what the user believes to be hidden.
 */
export async function refuseIgnoreFiles(
  mounts: readonly Mount[],
  ignoreFile: string,
  config: IgnoreConfig,
): Promise<void> {
  const [found] = await ignoreFilesIn(mounts);
  if (found !== undefined) throw cannotHide(found);
  await refuseGlobalIgnoreFile(mounts, ignoreFile, config);
}

/** The same for the user's own list alone, which no server can write. */
export async function refuseGlobalIgnoreFile(
  mounts: readonly Mount[],
  ignoreFile: string,
  { loadGlobal = true }: IgnoreConfig,
): Promise<void> {
  if (mounts.length === 0 || !loadGlobal) return;
  const [found] = await existing([ignoreFile]);
  if (found !== undefined) throw cannotHide(found);
}

function cannotHide(file: string): Error {
  return notImplemented(
    `hiding files in mounted directories is not available yet, so ${file} cannot be applied`,
    {
      hint: 'mount only directories that the server may read, and remove or rename that file',
    },
  );
}

/** The lists of files to hide that the mounted directories contain. */
export function ignoreFilesIn(mounts: readonly Mount[]): Promise<string[]> {
  return existing(mounts.map(({ source }) => join(source, '.thvignore')));
}

async function existing(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    paths.map((path) =>
      lstat(path).then(
        () => path,
        () => undefined,
      ),
    ),
  );
  return found.filter((path) => path !== undefined);
}

/** Whether a path is a directory or something inside it. Both are absolute. */
export function isWithin(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way === '' || (!way.startsWith('..') && !isAbsolute(way));
}
