import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkloadStatus } from '@toolhive/contract/workload';
import * as z from 'zod';
import { filesIn, readIfThere, writeWhole } from './files.ts';

/** What is remembered of a workload beside its run config. Other keys are the original's and pass through. */
const StoredStatus = z.looseObject({
  status: WorkloadStatus,
  status_context: z.string().optional(),
  created_at: z.string().min(1),
  updated_at: z.string().optional(),
  /** The mark of the run config that it was about to be started with. */
  starts: z.string().optional(),
});
export type StoredStatus = z.infer<typeof StoredStatus>;

/** The status files: how each workload was when something last changed, and when it was made. */
export class Statuses {
  readonly #directory: string;
  readonly #writes = new Map<string, Promise<void>>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The workloads that a status is stored of. */
  async names(): Promise<string[]> {
    const files = await filesIn(this.#directory);
    return files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length));
  }

  /** The stored status; undefined when there is none, `unreadable` when there is one that says nothing. */
  async read(name: string): Promise<StoredStatus | 'unreadable' | undefined> {
    const text = await readIfThere(this.#path(name));
    if (text === undefined) return undefined;
    try {
      return StoredStatus.parse(JSON.parse(text));
    } catch {
      return 'unreadable';
    }
  }

  /** Writes in the order of the calls, and returns when this one is on disk. */
  async write(name: string, status: StoredStatus): Promise<void> {
    await this.#inOrder(name, () => writeWhole(this.#path(name), `${JSON.stringify(status, null, 2)}\n`));
  }

  async remove(name: string): Promise<void> {
    await this.#inOrder(name, () => rm(this.#path(name), { force: true }));
    this.#writes.delete(name);
  }

  async #inOrder(name: string, change: () => Promise<void>): Promise<void> {
    const earlier = this.#writes.get(name) ?? Promise.resolve();
    const done = earlier.catch(() => {}).then(change); // an earlier failure was its own caller's
    this.#writes.set(name, done);
    await done;
  }

  #path(name: string): string {
    return join(this.#directory, `${name}.json`);
  }
}
