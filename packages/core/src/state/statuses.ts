import { join } from 'node:path';
import { messageOf } from '@toolhive/contract/failure';
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
  /** The mark of the run config that it was about to be started with. */
  starts: z.string().optional(),
  /** It has answered since it got its run config, so it is tried again without a limit. */
  has_worked: z.boolean().optional(),
});
export type StoredStatus = z.infer<typeof StoredStatus>;

/** How long until statuses that could not be written are tried again. */
const retryMs = 5_000;

/** The status files: how each workload was when something last changed, and when it was made. */
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

  /** The stored status; undefined when there is none, `unreadable` when there is one that says nothing. */
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

  /** Writes what is so whether or not it can be written: what cannot is tried again, and the reason returned. */
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

  /** Tries a last time to save what could not be saved. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#retry);
    await this.#saveUnsaved();
  }

  #retrySoon(): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      void this.#saveUnsaved().then(() => this.#unsaved.size > 0 && this.#retrySoon());
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
