import { existsSync, statSync } from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import { isAbsolute, join, normalize, relative } from 'node:path';
import { conflict, invalid } from '@toolhive/contract/failure';
import { waitUntil } from '../proc.ts';
import { inside } from './plan.ts';
import { type HiddenPath, verifyHidden } from '../hidden-path.ts';
import { type Mount, type PinnedMount, type SourcePin, openSource } from '../mount-source.ts';

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

/** A mount whose source is held open. */
export interface OpenMount {
  target: string;
  readOnly: boolean;
  pin: SourcePin;
  descriptor: number;
  /** Whether the source is a Unix socket, so that the server can connect to it. */
  isSocket: boolean;
  /** Whether the mount is inside another mount, where the server may have moved files. */
  isNested: boolean;
}

/** Mounts that are ready for a sandbox, until this is disposed of. */
export interface OpenMounts extends AsyncDisposable {
  /** In an order in which no mount covers another. */
  mounts: readonly OpenMount[];
}

/** Opens the mount sources. Throws if a source cannot be mounted or differs from the grant. */
export async function openMounts(mounts: readonly PinnedMount[]): Promise<OpenMounts> {
  const outerFirst = mounts
    .map((mount) => ({ ...mount, target: mount.target.replace(/(?<=.)\/+$/, '') }))
    .toSorted((a, b) => depth(a.target) - depth(b.target));
  await using sources = new AsyncDisposableStack();
  const opened: OpenMount[] = [];
  for (const mount of outerFirst) {
    checkTarget(mount.target);
    const { descriptor, isSocket } = sources.use(await openSource(mount));
    const around = opened.findLast((outer) => isInside(mount.target, outer.target));
    if (around !== undefined) await checkNested(mount, around);
    const { target, readOnly, pin } = mount;
    opened.push({ target, readOnly, pin, descriptor, isSocket, isNested: around !== undefined });
  }
  const held = sources.move();
  return { mounts: opened, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

const SETUP_TIMEOUT_MS = 10_000;

/** How often hidden files are looked at, so that none is moved back and forth between two looks unnoticed. */
const LOOKS = 3;

/**
 * Inspects nested mounts from outside the sandbox, before anything runs in it. During the setup, another process of
 * the server may have moved files or replaced directories with links.
 */
export async function verifyInside(
  mounts: readonly OpenMount[],
  hidden: readonly HiddenPath[],
  pid: number,
): Promise<void> {
  const nested = mounts.filter(({ isNested }) => isNested);
  if (nested.length === 0 && hidden.length === 0) return;
  await waitUntil(() => hasFinalRoot(pid), { timeoutMs: SETUP_TIMEOUT_MS });
  for (const { target, pin } of nested) {
    const found = await lstat(`/proc/${pid}/root${target}`, { bigint: true }).catch(() => undefined);
    if (String(found?.dev) === pin.device && String(found?.ino) === pin.inode) continue;
    throw conflict(`mount target ${target} was replaced while the sandbox was set up`);
  }
  for (let look = 0; look < LOOKS; look++) await verifyHidden(hidden, `/proc/${pid}/root`);
}

/**
 * Whether bubblewrap has completed all mounts. It builds the root below /newroot in a temporary root, and switches to
 * it at the end.
 */
function hasFinalRoot(pid: number): boolean {
  const root = `/proc/${pid}/root`;
  const found = statSync(root, { throwIfNoEntry: false });
  const isOwn = found !== undefined && found.dev !== statSync('/').dev;
  return isOwn && existsSync(`${root}${inside.home}`) && !existsSync(`${root}/newroot`);
}

function checkTarget(target: string): void {
  if (!isAbsolute(target) || normalize(target) !== target || target.includes('\0')) {
    throw invalid(`mount target ${JSON.stringify(target)} is not an absolute path in its plain form`);
  }
  const taken = reserved.find((own) => isInside(target, own) || isInside(own, target));
  if (taken !== undefined) {
    throw invalid(`cannot mount anything at ${target}`, {
      hint: `the sandbox has its own ${taken}. Choose another mount target, for example /data`,
    });
  }
}

/**
 * A nested mount needs an existing mount point. bubblewrap would create one and follow links from an earlier run of
 * the server, so the mount point must already exist without links.
 */
async function checkNested(mount: Mount, around: OpenMount): Promise<void> {
  const place = join(around.pin.path, relative(around.target, mount.target));
  const actual = await realpath(place).catch(() => undefined);
  if (actual === place) return;
  throw invalid(`mount target ${mount.target} inside ${around.target} does not exist`, {
    hint: `create ${place} first, without symbolic links in its path`,
  });
}

/** Whether a path is a directory or something inside it. */
export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}

const depth = (path: string) => path.split('/').length;
