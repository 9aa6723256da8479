import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, normalize, relative } from 'node:path';
import { invalid, messageOf } from '@toolhive/contract/failure';
import type { Mount } from '../runtime.ts';

/** Parts of the sandbox that are the runtime's own: nothing may be laid over them, under them or around them. */
const reserved = [
  '/proc',
  '/dev',
  '/sys',
  '/usr',
  '/etc',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/opt/toolhive',
];

export interface CheckedMount extends Mount {
  /** Whether it is a Unix socket: then the server was given it to dial it. */
  isSocket: boolean;
}

/** Refuses what cannot be mounted, and returns the rest in an order in which no mount covers another. */
export async function checkMounts(mounts: readonly Mount[]): Promise<CheckedMount[]> {
  const outerFirst = mounts
    .map((mount) => ({ ...mount, target: mount.target.replace(/(?<=.)\/+$/, '') }))
    .toSorted((a, b) => depth(a.target) - depth(b.target));
  const checked: CheckedMount[] = [];
  for (const mount of outerFirst) {
    checkTarget(mount.target);
    const source = await checkSource(mount.source);
    const around = checked.findLast((outer) => isInside(mount.target, outer.target));
    if (around !== undefined) await checkNested(mount, around);
    checked.push({ ...mount, ...source });
  }
  return checked;
}

function checkTarget(target: string): void {
  if (!isAbsolute(target) || normalize(target) !== target || target.includes('\0')) {
    throw invalid(`mount target ${JSON.stringify(target)} is not an absolute path in its plain form`);
  }
  const taken = reserved.find((own) => isInside(target, own) || isInside(own, target));
  if (taken !== undefined) {
    throw invalid(`cannot mount anything at ${target}`, {
      hint: `the sandbox has its own ${taken}; mount it somewhere else, for instance at /data`,
    });
  }
}

async function checkSource(source: string): Promise<{ source: string; isSocket: boolean }> {
  if (!isAbsolute(source) || source.includes('\0')) {
    throw invalid(`mount source ${JSON.stringify(source)} is not an absolute path`);
  }
  try {
    const path = await realpath(source);
    return { source: path, isSocket: (await stat(path)).isSocket() };
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw invalid(`mount source ${source} ${missing ? 'does not exist' : 'cannot be read'}`, {
      hint: missing ? 'create it first, or correct the path' : messageOf(error),
      cause: error,
    });
  }
}

/**
 * A mount inside another one needs a place to lie on there. bubblewrap would make one, following whatever links
 * an earlier run of the server left in the folder; so it has to exist already, and be no link.
 */
async function checkNested(mount: Mount, around: CheckedMount): Promise<void> {
  const place = join(around.source, relative(around.target, mount.target));
  const actual = await realpath(place).catch(() => undefined);
  if (actual === place) return;
  throw invalid(`mount target ${mount.target} lies inside ${around.target}, where it does not exist`, {
    hint: `create ${place} first; it must not be reached through a symbolic link`,
  });
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}

const depth = (path: string) => path.split('/').length;
