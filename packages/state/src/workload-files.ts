import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type * as z from 'zod';
import { filesIn, readIfThere, removeFile, writeWhole } from './files.ts';
import { setAside } from './set-aside.ts';
import { WorkloadId } from './workload-id.ts';

interface WorkloadFilesOptions<Schema> {
  directory: string;
  schema: Schema;
  log: Pick<Logger, 'error'>;
}

/** A directory with one file of one kind for each workload, named after the ID of the workload. */
export class WorkloadFiles<Schema extends z.ZodType> {
  readonly #options: WorkloadFilesOptions<Schema>;

  constructor(options: WorkloadFilesOptions<Schema>) {
    this.#options = options;
  }

  /** Undefined if nothing is stored. A file that cannot be read is set aside. */
  async read(id: WorkloadId): Promise<z.infer<Schema> | undefined> {
    const path = this.#path(id);
    try {
      const text = await readIfThere(path);
      return text === undefined ? undefined : this.#options.schema.parse(JSON.parse(text));
    } catch (error) {
      await setAside(path, error, this.#options.log);
      return undefined;
    }
  }

  async write(id: WorkloadId, value: z.infer<Schema>): Promise<void> {
    await writeWhole(this.#path(id), `${JSON.stringify(value, null, 2)}\n`);
  }

  /** The workloads that something is stored of. */
  async ids(): Promise<WorkloadId[]> {
    const ids = (await filesIn(this.#options.directory)).flatMap((file) => idOf(file) ?? []);
    return [...new Set(ids)];
  }

  /** Removes a workload's file, and the files that were set aside. */
  async forget(id: WorkloadId): Promise<void> {
    await removeFile(this.#path(id));
    for (const file of await filesIn(this.#options.directory)) {
      // The path may be a directory.
      if (idOf(file) === id) await rm(join(this.#options.directory, file), { recursive: true, force: true });
    }
  }

  #path(id: WorkloadId): string {
    return join(this.#options.directory, `${id}.json`);
  }
}

function idOf(file: string): WorkloadId | undefined {
  return WorkloadId.safeParse(file.replace(/(?:~\d+)?\.(?:json|set-aside)$/, '')).data;
}
