import { constants } from 'node:fs';
import { type FileHandle, open, readlink } from 'node:fs/promises';
import { O_PATH } from '@toolhive/runtime/mount-source';
import type { Logger } from 'pino';
import * as z from 'zod';
import { WorkloadFiles } from '../state/workload-files.ts';
import type { WorkloadId } from '../state/workload-id.ts';

/** A hidden file's first path, by the file's identity. */
const Remembered = z.record(z.string(), z.string());
export type Remembered = Readonly<z.infer<typeof Remembered>>;

interface HiddenMemoryOptions {
  /** Where hidden files are written down, one file for each workload. */
  directory: string;
  log: Pick<Logger, 'error'>;
}

/**
 * The files that were hidden from each workload. A server that can write to a directory can move a hidden file to a
 * path that no pattern matches, or move files during a search. A file that was hidden once is therefore known by its
 * identity, and is held open while the daemon runs.
 */
export class HiddenMemory implements AsyncDisposable {
  readonly #files: WorkloadFiles<typeof Remembered>;
  /** The open files, by workload and identity. */
  readonly #held = new Map<WorkloadId, Map<string, FileHandle>>();

  constructor(options: HiddenMemoryOptions) {
    this.#files = new WorkloadFiles({ ...options, schema: Remembered });
  }

  /** What was hidden from a workload. A record that cannot be read is set aside. */
  async of(workload: WorkloadId): Promise<Remembered> {
    return (await this.#files.read(workload)) ?? {};
  }

  /** The current paths of previously hidden files, by identity. Deleted files are omitted. */
  async whereabouts(workload: WorkloadId): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    for (const [identity, file] of this.#held.get(workload) ?? []) {
      const { nlink } = await file.stat();
      if (nlink > 0) found.set(identity, await readlink(`/proc/self/fd/${file.fd}`));
    }
    return found;
  }

  /** Stores the files that are currently hidden from a workload, by their current paths, and forgets the others. */
  async store(
    workload: WorkloadId,
    remembered: Remembered,
    paths: ReadonlyMap<string, string>,
  ): Promise<void> {
    const held = this.#held.get(workload) ?? new Map<string, FileHandle>();
    this.#held.set(workload, held);
    for (const [identity, file] of held) {
      if (paths.has(identity)) continue;
      held.delete(identity);
      await file.close();
    }
    if (process.platform === 'linux') {
      for (const [identity, path] of paths) {
        if (held.has(identity)) continue;
        const file = await open(path, O_PATH | constants.O_NOFOLLOW).catch(() => undefined);
        if (file !== undefined) held.set(identity, file); // otherwise the file was moved, which the runtime detects
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

  async #release(workload: WorkloadId): Promise<void> {
    const held = this.#held.get(workload);
    this.#held.delete(workload);
    for (const file of held?.values() ?? []) await file.close();
  }
}
