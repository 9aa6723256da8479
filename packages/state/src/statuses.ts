import { join } from 'node:path';
import { messageOf } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import { KeyedSerialQueue } from '@toolhive/contract/serial-queue';
import { WorkloadStatus } from '@toolhive/contract/workload';
import type { Logger } from 'pino';
import * as z from 'zod';
import { filesIn, readIfThere, removeFile, writeWhole } from './files.ts';
import { setAside } from './set-aside.ts';

/** What is remembered of a workload beside its run config. Other keys are the original's and pass through. */
const StoredStatus = z.looseObject({
  status: WorkloadStatus,
  status_context: z.string().optional(),
  created_at: z.string().min(1),
  updated_at: z.string().optional(),
  /** The hash of the run config with which it was about to start. */
  starts: z.string().optional(),
  /** Whether the workload has answered with its current run config, so that restarts have no limit. */
  has_worked: z.boolean().optional(),
});
export type StoredStatus = z.infer<typeof StoredStatus>;

/** How long until statuses that could not be written are tried again. */
const retryMs = 5_000;

/** The status files: each workload's state after its last change, and its creation time. */
export class Statuses implements AsyncDisposable {
  readonly #directory: string;
  readonly #log: Logger;
  readonly #writes = new KeyedSerialQueue();
  /** The statuses that the disk did not take. */
  readonly #unsaved = new Map<string, StoredStatus>();
  #retry: NodeJS.Timeout | undefined;

  constructor(directory: string, log: Logger) {
    this.#directory = directory;
    this.#log = log;
  }

  /** The workloads that a status is stored of. */
  async names(): Promise<string[]> {
    const files = await filesIn(this.#directory);
    return files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length));
  }

  /** The stored status. Undefined if none exists, and `unreadable` if it is invalid. */
  async read(name: string): Promise<StoredStatus | 'unreadable' | undefined> {
    try {
      const text = await readIfThere(this.#path(name));
      return text === undefined ? undefined : StoredStatus.parse(JSON.parse(text));
    } catch (error) {
      await setAside(this.#path(name), error, this.#log);
      return 'unreadable';
    }
  }

  /** Writes in the order of the calls, and returns when this one is on disk. */
  async write(name: string, status: StoredStatus): Promise<void> {
    await this.#writes.run(name, () => this.#save(name, status));
  }

  /** Writes a fact. If the write fails, it is repeated later and the reason is returned. */
  async record(name: string, status: StoredStatus): Promise<string | undefined> {
    try {
      await this.write(name, status);
      return undefined;
    } catch (error) {
      const why = messageOf(error);
      this.#log.error({ workload: name, why }, 'status could not be saved');
      this.#unsaved.set(name, status);
      this.#retrySoon();
      return why;
    }
  }

  async remove(name: string): Promise<void> {
    await this.#writes.run(name, () => removeFile(this.#path(name)));
    this.#unsaved.delete(name);
  }

  /** Tries a last time to save the unsaved statuses. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#retry);
    await this.#saveUnsaved();
  }

  #retrySoon(): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.#saveUnsaved()
        .then(() => this.#unsaved.size > 0 && this.#retrySoon())
        .catch(raiseFault);
    }, retryMs).unref();
  }

  async #saveUnsaved(): Promise<void> {
    for (const name of this.#unsaved.keys()) {
      await this.#writes.run(name, async () => {
        const status = this.#unsaved.get(name); // a later one may have been written meanwhile
        if (status !== undefined) await this.#save(name, status).catch(() => {}); // told before
      });
    }
  }

  async #save(name: string, status: StoredStatus): Promise<void> {
    await writeWhole(this.#path(name), `${JSON.stringify(status, null, 2)}\n`);
    this.#unsaved.delete(name);
  }

  #path(name: string): string {
    return join(this.#directory, `${name}.json`);
  }
}
