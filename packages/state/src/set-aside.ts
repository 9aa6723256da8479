import { lstat, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { messageOf } from '@toolhive/contract/failure';
import type { Logger } from 'pino';

const ending = '.set-aside';

/**
 * Moves an unreadable file away and reports it, so that it affects nothing else. Returns its new path: a unique name,
 * so that earlier files stay, or the old path if the file cannot be moved.
 */
export async function setAside(path: string, why: unknown, log: Pick<Logger, 'error'>): Promise<string> {
  try {
    const target = await freeName(join(dirname(path), basename(path).replace(/\.json$/, '')));
    await rename(path, target);
    log.error({ path: target, was: path, why: messageOf(why) }, 'unreadable file set aside');
    return target;
  } catch (error) {
    log.error({ path, why: messageOf(why), err: error }, 'unreadable file cannot be set aside');
    return path;
  }
}

/** The original name of a set-aside file. Undefined for other files. */
export function nameOfSetAside(file: string): string | undefined {
  return file.endsWith(ending) ? file.slice(0, -ending.length).replace(/~\d+$/, '') : undefined;
}

/** The daemon is the only one who writes there, so that a free name stays free. */
async function freeName(path: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const candidate = `${path}${number === 1 ? '' : `~${number}`}${ending}`;
    const isTaken = await lstat(candidate).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return false;
        throw error;
      },
    );
    if (!isTaken) return candidate;
  }
}
