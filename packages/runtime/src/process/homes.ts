import { constants, existsSync } from 'node:fs';
import { lstat, mkdir, open } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { conflict } from '@toolhive/contract/failure';
import { type PinnedMount, pinSource } from '../mount-source.ts';
import type { Homes, StoredHome } from '../runtime.ts';
import { measureFiles, measureUnlinked } from './measure.ts';
import { isInside } from './mounts.ts';
import { PackageLayers } from './package-layer.ts';
import { removeTree } from './remove-tree.ts';
import { inside } from './plan.ts';

/**
 * The home directories of sandboxed servers, one directory for each workload. Servers write in them, so nothing here
 * follows a link inside of one.
 */
export class ProcessHomes implements Homes {
  readonly #directory: string;
  /** The packages' own directories, which belong to the stored files. */
  readonly layers: PackageLayers;
  /** The first processes of the sandboxes that run now, by workload. */
  readonly #running = new Map<string, Set<number>>();

  constructor(directory: string) {
    this.#directory = directory;
    this.layers = new PackageLayers(join(directory, '.packages')); // no workload has such a name
  }

  /**
   * Creates a workload's home directory if necessary, with mount points for the other mounts inside it. Returns its
   * mount.
   */
  async mount(workload: string, others: readonly PinnedMount[]): Promise<PinnedMount> {
    const path = this.#path(workload);
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    await mkdir(path, { mode: 0o700 }).catch(unlessItExists);
    const found = await lstat(path);
    if (!found.isDirectory())
      throw conflict(`${path} is not a directory, so ${workload} cannot store its files there`);
    for (const { target, pin } of others.filter((other) => isInside(other.target, inside.home))) {
      const isDirectory = (await lstat(pin.path)).isDirectory();
      await makePlace(path, relative(inside.home, target).split('/'), isDirectory);
    }
    return { source: path, target: inside.home, readOnly: false, pin: await pinSource(path) };
  }

  /** Remembers that a sandbox uses a home directory until the result is disposed of. */
  use(workload: string, init: number): Disposable {
    const running = this.#running.get(workload) ?? new Set();
    this.#running.set(workload, running.add(init));
    return {
      [Symbol.dispose]: () => {
        running.delete(init);
        if (running.size === 0) this.#running.delete(workload);
      },
    };
  }

  async exists(workload: string): Promise<boolean> {
    return existsSync(this.#path(workload));
  }

  async measure(workload: string): Promise<StoredHome | undefined> {
    const place = this.#path(workload);
    const found = await lstat(place).catch(() => undefined);
    if (found?.isDirectory() !== true) return undefined;
    const { bytes, isEmpty, excess } = await measureFiles(place);
    const unlinked = await measureUnlinked([...(this.#running.get(workload) ?? [])], found.dev);
    const layer = await this.layers.measure(workload);
    const reason = excess ?? layer.excess;
    return {
      place,
      bytes: bytes + unlinked + layer.bytes,
      isEmpty: isEmpty && layer.isEmpty,
      ...(reason === undefined ? {} : { excess: reason }),
    };
  }

  async remove(workload: string): Promise<void> {
    await removeTree(this.#path(workload));
    await this.layers.remove(workload);
  }

  #path(workload: string): string {
    return join(this.#directory, workload);
  }
}

/**
 * Creates a directory or an empty file for a mount below a directory that a server writes to. Each step starts from an
 * open directory, so that a link that takes the place of one leads nowhere.
 */
async function makePlace(root: string, [name = '', ...rest]: string[], isDirectory: boolean): Promise<void> {
  await using directory = await open(root, constants.O_DIRECTORY | constants.O_NOFOLLOW).catch(
    (error: unknown) => {
      throw conflict('a mount target in the home directory has a symbolic link in its path', {
        cause: error,
      });
    },
  );
  const place = `/proc/self/fd/${directory.fd}/${name}`;
  if (rest.length > 0 || isDirectory) await mkdir(place, { mode: 0o700 }).catch(unlessItExists);
  else {
    const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY;
    const file = await open(place, flags, 0o600).catch(unlessItExists);
    await file?.close();
  }
  if (rest.length > 0) await makePlace(place, rest, isDirectory);
}

function unlessItExists(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'EEXIST') throw error;
}
