import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readlink } from 'node:fs/promises';
import { O_PATH } from '@toolhive/runtime/mount-source';
import type { Logger } from 'pino';
import * as z from 'zod';
import { WorkloadFiles } from '@toolhive/state/workload-files';
import type { WorkloadId } from '@toolhive/state/workload-id';

/** The path at which a hidden file matched first, by the file's identity. */
const Remembered = z.record(z.string(), z.string());
export type Remembered = Readonly<z.infer<typeof Remembered>>;

/** The names of hidden files, by the current path of each. */
export type Whereabouts = readonly { identity: string; path: string }[];

interface HiddenMemoryOptions {
  /** Where hidden files are written down, one file for each workload. */
  directory: string;
  log: Pick<Logger, 'error'>;
}

/** A name of a hidden file that is held open, to see where it is moved. */
interface Held {
  identity: string;
  file: FileHandle;
}

/**
 * The files that were hidden from each workload. A server that can write to a directory can move a hidden file to a
 * path that no pattern matches, or move files during a search. A file that was hidden once is therefore known by its
 * identity, and is held open while the daemon runs.
 */
export class HiddenMemory implements AsyncDisposable {
  readonly title = 'the hidden files';
  readonly #files: WorkloadFiles<typeof Remembered>;
  /** The open names of hidden files. Several names of a file are held separately, because each can be moved. */
  readonly #held = new Map<WorkloadId, Held[]>();

  constructor(options: HiddenMemoryOptions) {
    this.#files = new WorkloadFiles({ ...options, schema: Remembered });
  }

  /** What was hidden from a workload. A record that cannot be read is set aside. */
  async of(workload: WorkloadId): Promise<Remembered> {
    return (await this.#files.read(workload)) ?? {};
  }

  /** The current paths of previously hidden names. Deleted names are omitted, for example of a file that was replaced. */
  async whereabouts(workload: WorkloadId): Promise<Whereabouts> {
    return (await this.#present(workload)).map(({ identity, path }) => ({ identity, path }));
  }

  /** Stores the files that are currently hidden from a workload, by the current path of each name, and forgets everything else. */
  async store(workload: WorkloadId, remembered: Remembered, names: Whereabouts): Promise<void> {
    const wanted = new Set(names.map(({ identity }) => identity));
    const kept = (await this.#present(workload)).filter(({ identity }) => wanted.has(identity));
    const files = new Set(kept.map(({ file }) => file));
    for (const { file } of this.#held.get(workload) ?? []) if (!files.has(file)) await file.close();
    const held: Held[] = kept.map(({ identity, file }) => ({ identity, file }));
    this.#held.set(workload, held);
    const places = new Set(kept.map(({ path }) => path));
    if (process.platform === 'linux') {
      for (const { identity, path } of names) {
        if (places.has(path)) continue;
        const file = await open(path, O_PATH | constants.O_NOFOLLOW).catch(() => undefined);
        if (file !== undefined) held.push({ identity, file }); // otherwise the file was moved, which the runtime detects
      }
    }
    const before = await this.of(workload);
    if (JSON.stringify(remembered) !== JSON.stringify(before)) await this.#files.write(workload, remembered);
  }

  /** The workloads that something is remembered of. */
  ids(): Promise<WorkloadId[]> {
    return this.#files.ids();
  }

  async forget(workload: WorkloadId): Promise<void> {
    await this.#release(workload);
    await this.#files.forget(workload);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const workload of this.#held.keys()) await this.#release(workload);
  }

  /** The open names that still exist. */
  async #present(workload: WorkloadId): Promise<(Held & { path: string })[]> {
    const present = (this.#held.get(workload) ?? []).map(async (held) => {
      const { dev, ino } = await held.file.stat({ bigint: true });
      const path = await readlink(`/proc/self/fd/${held.file.fd}`);
      if (!path.endsWith(' (deleted)')) return [{ ...held, path }];
      // The kernel adds this to the path of a deleted name, but a file can also be called so.
      const there = await lstat(path, { bigint: true }).catch(() => undefined);
      const isThere = there?.dev === dev && there.ino === ino;
      return isThere ? [{ ...held, path }] : [];
    });
    return (await Promise.all(present)).flat();
  }

  async #release(workload: WorkloadId): Promise<void> {
    const held = this.#held.get(workload);
    this.#held.delete(workload);
    for (const { file } of held ?? []) await file.close();
  }
}
