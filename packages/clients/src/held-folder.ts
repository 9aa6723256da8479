import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { join } from 'node:path';

/** A folder that stays the same one, whatever another program puts in its place. */
export interface HeldFolder extends AsyncDisposable {
  /** Its path without links at the time of opening. */
  readonly real: string;
  /** The path of an entry, which leads into this folder. */
  at: (name: string) => string;
  sync: () => Promise<void>;
}

/**
 * Opens a folder in which others may write, such as that of a project, so that several steps concern the same folder.
 * Where there is no /proc, each step follows the path again.
 */
export async function holdFolder(path: string): Promise<HeldFolder> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  const held = `/proc/self/fd/${folder.fd}`;
  const known = await realpath(held).catch(() => undefined);
  const place = known === undefined ? path : held;
  return {
    real: known ?? (await realpath(path)),
    at: (name) => join(place, name),
    sync: () => folder.sync().catch(() => {}), // some file systems do not support syncing a folder
    [Symbol.asyncDispose]: () => folder.close(),
  };
}
