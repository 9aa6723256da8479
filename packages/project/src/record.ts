import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { unavailable } from '@toolhive/contract/failure';
import { readIfThere, writeWhole } from '@toolhive/state/files';
import * as z from 'zod';

/** A workload that a project has created. */
const Owned = z.object({
  workload: z.string(),
  /** The ID of the workload, which no other workload has. Undefined between the intent and the creation. */
  id: z.string().optional(),
  /** The request that the workload was created from, without the values of secrets. Undefined if a change was interrupted. */
  request: z.record(z.string(), z.unknown()).optional(),
  /** The revision of the workload after that. Another one means a change by hand. */
  revision: z.string().optional(),
  /** The exact source that was installed. */
  resolved: z.string().optional(),
});
export type Owned = z.infer<typeof Owned>;

const Project = z.object({
  id: z.string(),
  name: z.string(),
  servers: z.record(z.string(), Owned),
  /** The keys of stored values, by `SERVER/TARGET`. */
  secrets: z.record(z.string(), z.string()),
  /** Answers that are no secrets. */
  inputs: z.record(z.string(), z.string()),
  /** The groups whose endpoints the project has set. */
  groups: z.array(z.string()).optional(),
});
export type Project = z.infer<typeof Project>;

const Index = z.object({ format: z.literal(1), projects: z.record(z.string(), Project) });

/** The projects of this machine, by the path of their file. */
export class ProjectRecord {
  readonly #path: string;
  #projects: Record<string, Project> | undefined;

  constructor(directory: string) {
    this.#path = join(directory, 'projects.json');
  }

  async all(): Promise<Readonly<Record<string, Project>>> {
    return (this.#projects ??= await this.#read());
  }

  async find(path: string): Promise<Project | undefined> {
    const all = await this.all();
    return Object.hasOwn(all, path) ? all[path] : undefined;
  }

  async save(path: string, project: Project): Promise<void> {
    await this.#write({ ...(await this.all()), [path]: project });
  }

  async #write(projects: Record<string, Project>): Promise<void> {
    await mkdir(join(this.#path, '..'), { recursive: true, mode: 0o700 });
    await writeWhole(this.#path, `${JSON.stringify({ format: 1, projects }, null, 2)}\n`);
    this.#projects = projects;
  }

  async #read(): Promise<Record<string, Project>> {
    const text = await readIfThere(this.#path);
    if (text === undefined) return {};
    try {
      return Index.parse(JSON.parse(text)).projects;
    } catch (cause) {
      // Without it, nothing tells which workloads belong to a project. It stays for a person to repair.
      throw unavailable(`${this.#path} is damaged, so the workloads of projects are unknown`, { cause });
    }
  }
}
