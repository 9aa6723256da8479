import { type BigIntStats, close, constants, fstat, open, readlink } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { promisify } from 'node:util';
import { conflict, invalid, messageOf } from '@toolhive/contract/failure';

/** A mount source at the time of the grant. Servers receive exactly this file or directory, or nothing. */
export interface SourcePin {
  /** The absolute path without symbolic links. */
  path: string;
  /** The device and inode numbers of `stat(2)`, in decimal. */
  device: string;
  inode: string;
}

/** A file or directory of this machine inside the sandbox or container. Both paths are absolute. */
export interface Mount {
  source: string;
  target: string;
  readOnly: boolean;
}

/** A mount whose source is known by more than its path. */
export interface PinnedMount extends Mount {
  pin: SourcePin;
}

/** A mount source that is held open, so that nothing can take its place. */
export interface OpenSource extends AsyncDisposable {
  descriptor: number;
  isSocket: boolean;
  isDirectory: boolean;
}

/** Resolves the source of a mount now. Throws `invalid` if the source does not exist or cannot be read. */
export async function pinSource(source: string): Promise<SourcePin> {
  if (!isAbsolute(source) || source.includes('\0')) {
    throw invalid(`mount source ${JSON.stringify(source)} is not an absolute path`);
  }
  try {
    const path = await realpath(source);
    const { dev, ino } = await stat(path, { bigint: true });
    return { path, device: String(dev), inode: String(ino) };
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw invalid(`mount source ${source} ${isMissing ? 'does not exist' : 'cannot be read'}`, {
      hint: isMissing ? 'create the directory first, or correct the path' : messageOf(error),
      cause: error,
    });
  }
}

/** Pins the sources of mounts as they are now. */
export function pinMounts(mounts: readonly Mount[]): Promise<PinnedMount[]> {
  return Promise.all(mounts.map(async (mount) => ({ ...mount, pin: await pinSource(mount.source) })));
}

/** Throws `conflict` if the source is no longer the file or directory that was pinned. */
export async function verifySource({ source, pin }: PinnedMount): Promise<void> {
  const found = await pinSource(source);
  if (found.path !== pin.path)
    throw replaced(source, `${pin.path} was granted, but now leads to ${found.path}`);
  if (found.device !== pin.device || found.inode !== pin.inode) throw replaced(source);
}

/** A Linux flag that Node.js does not export: the descriptor only names the file. */
export const O_PATH = 0o10000000;

const openFile = promisify(open);
const closeFile = promisify(close);
const statFile = promisify<number, { bigint: true }, BigIntStats>(fstat);
const readLink = promisify(readlink);

/**
 * Opens the pinned source, on Linux. The check after opening uses the descriptor, so a link that appears at any
 * moment is detected. Throws like `verifySource`.
 */
export async function openSource(mount: PinnedMount): Promise<OpenSource> {
  const { source, pin } = mount;
  await verifySource(mount);
  await using undo = new AsyncDisposableStack();
  const descriptor = await openFile(pin.path, O_PATH | constants.O_NOFOLLOW).catch((error: unknown) => {
    throw replaced(source, messageOf(error));
  });
  undo.defer(() => closeFile(descriptor));
  const found = await statFile(descriptor, { bigint: true });
  const path = await readLink(`/proc/self/fd/${descriptor}`);
  if (String(found.dev) !== pin.device || String(found.ino) !== pin.inode || path !== pin.path) {
    throw replaced(source);
  }
  const held = undo.move();
  return {
    descriptor,
    isSocket: found.isSocket(),
    isDirectory: found.isDirectory(),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

function replaced(source: string, how = 'another file or directory has taken its place'): Error {
  return conflict(`mount source ${source} has changed since you granted access: ${how}`, {
    hint: 'if you changed it, confirm the change with thv restart, or create the workload again',
  });
}
