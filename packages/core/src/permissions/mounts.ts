import { isAbsolute, normalize, relative } from 'node:path';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import type { RunConfig } from '@toolhive/contract/run-config';
import { invalid } from '@toolhive/contract/failure';
import type { Mount } from '@toolhive/runtime/mount-source';

/** Parses a volume: `HOST:CONTAINER`, or `HOST:CONTAINER:ro` for a read-only mount. */
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
      hint: 'use the form HOST:CONTAINER or HOST:CONTAINER:ro',
    });
  }
  return { source: asPath(source, volume), target: asPath(target, volume), readOnly: mode === 'ro' };
}

/** Reads a mount of a permission profile: `PATH` for the same path on both sides, or `HOST:CONTAINER`. */
function parseGrant(grant: string, readOnly: boolean): Mount {
  const [source = '', target = source, ...more] = grant.split(':');
  if (more.length > 0)
    throw invalid(`${JSON.stringify(grant)} is not a mount`, { hint: 'use the form PATH or HOST:CONTAINER' });
  return { source: asPath(source, grant), target: asPath(target, grant), readOnly };
}

function asPath(path: string, whole: string): string {
  if (!isAbsolute(path) || path.includes('\0')) {
    throw invalid(`${JSON.stringify(path)} in ${JSON.stringify(whole)} is not an absolute path`, {
      hint: 'start both paths of a mount with a slash',
    });
  }
  const clean = normalize(path);
  return clean.length > 1 && clean.endsWith('/') ? clean.slice(0, -1) : clean;
}

/**
 * All mounts of a server: from its profile and from volumes. Two grants for the same target become one, which is
 * writable if either grant is.
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
      throw invalid(`${earlier.source} and ${mount.source} have the same mount target ${mount.target}`);
    }
    byTarget.set(mount.target, { ...mount, readOnly: mount.readOnly && (earlier?.readOnly ?? true) });
  }
  return [...byTarget.values()];
}

/** Everything of this machine that a run config mounts. */
export function mountsOfRunConfig({ permission_profile: profile, volumes }: RunConfig): Mount[] {
  return mountsOf(profile ?? {}, volumes ?? []);
}

/**
 * A run config with at most the given access to each mount target. Mounts of other targets are removed. Keeps the text of
 * each grant.
 */
export function withMounts(
  { permission_profile: profile, volumes, ...others }: RunConfig,
  kept: ReadonlyMap<string, 'read' | 'write'>,
): RunConfig {
  const accessTo = (grant: string): 'read' | 'write' | undefined => kept.get(parseGrant(grant, true).target);
  const [read, write] = [profile?.read ?? [], profile?.write ?? []];
  const narrowed = (volume: string): string[] => {
    const { target, readOnly } = parseVolume(volume);
    const access = kept.get(target);
    if (access === undefined) return [];
    return [access === 'write' || readOnly ? volume : `${volume.replace(/:rw$/, '')}:ro`];
  };
  const reduced = {
    ...profile,
    ...(profile?.read === undefined && profile?.write === undefined
      ? {}
      : {
          read: [
            ...read.filter((grant) => accessTo(grant) !== undefined),
            ...write.filter((grant) => accessTo(grant) === 'read' && !read.includes(grant)),
          ],
          write: write.filter((grant) => accessTo(grant) === 'write'),
        }),
  };
  return {
    ...others,
    ...(profile === undefined ? {} : { permission_profile: reduced }),
    ...(volumes ? { volumes: volumes.flatMap(narrowed) } : {}),
  };
}

/** Whether a path is a directory or something inside it. Both paths are absolute. */
export function isWithin(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way === '' || (!way.startsWith('..') && !isAbsolute(way));
}
