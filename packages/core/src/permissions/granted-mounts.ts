import { realpath } from 'node:fs/promises';
import { invalid } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import { pinSource } from '@toolhive/runtime/mount-source';
import type { Mount, PinnedMount } from '@toolhive/runtime/mount-source';
import type { Logger } from 'pino';
import * as z from 'zod';
import { WorkloadFiles } from '@toolhive/state/workload-files';
import type { WorkloadId } from '@toolhive/state/workload-id';
import { isWithin, mountsOfRunConfig } from './mounts.ts';

/** What was granted to one workload: the pin of each mount source. */
const Pins = z.record(z.string(), z.object({ path: z.string(), device: z.string(), inode: z.string() }));
type Pins = z.infer<typeof Pins>;

export interface GrantedMountsOptions {
  /** Where the pins are stored, one file for each workload. */
  directory: string;
  /**
   * No server may read or write these paths: with ToolHive's socket or run configs, a server could leave its sandbox.
   */
  ownDirectories: readonly string[];
  log: Pick<Logger, 'error'>;
}

/**
 * The mount sources that users granted. A source is resolved once, at the time of the grant, and every later start
 * mounts that file or directory or fails. Otherwise a server that can write to a directory could replace a mount
 * source in it with a link and get access to the link's target at the next start.
 */
export class GrantedMounts {
  readonly title = 'the granted mounts';
  readonly #ownDirectories: readonly string[];
  readonly #files: WorkloadFiles<typeof Pins>;

  constructor({ ownDirectories, ...options }: GrantedMountsOptions) {
    this.#ownDirectories = ownDirectories;
    this.#files = new WorkloadFiles({ ...options, schema: Pins });
  }

  /** Pins the sources as they are now. Throws `invalid` if one does not exist or contains ToolHive's own files. */
  async pin(mounts: readonly Mount[]): Promise<PinnedMount[]> {
    return this.#checked(mounts, {});
  }

  /**
   * A workload's mounts with their stored pins. A source without a pin, for example from an earlier version's run
   * config, is pinned now.
   */
  async of(id: WorkloadId, mounts: readonly Mount[]): Promise<PinnedMount[]> {
    const stored = await this.#read(id);
    const pinned = await this.#checked(mounts, stored);
    if (pinned.some(({ source }) => !Object.hasOwn(stored, source))) await this.store(id, pinned);
    return pinned;
  }

  /** Where the sources of a workload led when they were granted. */
  async places(id: WorkloadId): Promise<Readonly<Record<string, string>>> {
    return Object.fromEntries(
      Object.entries(await this.#read(id)).map(([source, { path }]) => [source, path]),
    );
  }

  /** Stores a workload's grants, in addition to earlier ones. */
  async store(id: WorkloadId, mounts: readonly PinnedMount[]): Promise<void> {
    if (mounts.length === 0) return;
    const granted = Object.fromEntries(mounts.map(({ source, pin }) => [source, pin]));
    await this.#files.write(id, { ...(await this.#read(id)), ...granted });
  }

  /**
   * Accepts directories that the user has recreated at the same path. A source that now leads elsewhere is still
   * refused.
   */
  async renew(id: WorkloadId): Promise<void> {
    const stored = await this.#read(id);
    const renewed = await Promise.all(
      Object.entries(stored).map(async ([source, pin]) => {
        const now = await pinSource(source).catch(() => pin);
        return [source, now.path === pin.path ? now : pin] as const;
      }),
    );
    const isSame = renewed.every(([source, { device, inode }]) => {
      const before = stored[source];
      return before?.device === device && before.inode === inode;
    });
    if (!isSame) await this.#files.write(id, Object.fromEntries(renewed));
  }

  /** The workloads that pins are stored of. */
  ids(): Promise<WorkloadId[]> {
    return this.#files.ids();
  }

  async forget(id: WorkloadId): Promise<void> {
    await this.#files.forget(id);
  }

  async #checked(mounts: readonly Mount[], stored: Pins): Promise<PinnedMount[]> {
    const own = await Promise.all(this.#ownDirectories.map(realPath));
    return Promise.all(
      mounts.map(async (mount) => {
        const known = Object.hasOwn(stored, mount.source) ? stored[mount.source] : undefined;
        const pin = known ?? (await pinSource(mount.source));
        refuseOwnFiles(mount.source, pin.path, own);
        return { ...mount, pin };
      }),
    );
  }

  /** A file that cannot be read as pins grants nothing: its sources are pinned as they are now. */
  async #read(id: WorkloadId): Promise<Pins> {
    return (await this.#files.read(id)) ?? {};
  }
}

function refuseOwnFiles(source: string, path: string, ownDirectories: readonly string[]): void {
  const own = ownDirectories.find((directory) => isWithin(directory, path) || isWithin(path, directory));
  if (own === undefined) return;
  throw invalid(`${source} contains files of ToolHive itself (${own}), which no server may access`, {
    hint: 'mount a subdirectory that the server needs',
  });
}

/** The future path of a directory that does not exist yet. */
const realPath = (path: string): Promise<string> => realpath(path).catch(() => path);

/**
 * Refuses sources inside a directory that a server can write to, for runtimes that look sources up by path: while
 * a container starts, that server could replace the source by a link.
 */
export async function refuseReplaceable(
  name: string,
  mounts: readonly PinnedMount[],
  workloads: readonly RunConfig[],
): Promise<void> {
  const others = workloads.filter((other) => other.name !== name).flatMap(writableOf);
  const ofOthers = others.map(async ({ workload, source }) => ({ workload, above: await realPath(source) }));
  const own = mounts
    .filter(({ readOnly }) => !readOnly)
    .map(({ pin }) => ({ workload: name, above: pin.path }));
  for (const { workload, above } of [...own, ...(await Promise.all(ofOthers))]) {
    const inside = mounts.find(({ pin }) => pin.path !== above && isWithin(pin.path, above));
    if (inside === undefined) continue;
    throw invalid(`${inside.source} is inside ${above}, which the workload ${workload} can write to`, {
      hint: `a server could replace it while the container starts. Mount ${above} itself, or make that mount read-only`,
    });
  }
}

function writableOf(runConfig: RunConfig) {
  return mountsOfRunConfig(runConfig)
    .filter(({ readOnly }) => !readOnly)
    .map(({ source }) => ({ workload: runConfig.name, source }));
}
