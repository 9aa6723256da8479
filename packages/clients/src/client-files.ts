import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, normalize } from 'node:path';
import {
  chosenClientPath,
  clientApplications,
  clientPath,
  clientPaths,
} from '@toolhive/contract/client-application';
import type { ClientApplication, ClientName, ClientPlace } from '@toolhive/contract/client-application';
import { messageOf, ThvError } from '@toolhive/contract/failure';
import type { Logger } from 'pino';
import { entryTarget, leadToSame, ownFields } from './entry.ts';
import type { Entry, EntryValue, Program } from './entry.ts';
import { changeEntries, readEntries } from './entry-file.ts';
import { Latest } from './latest.ts';
import { planChanges } from './plan.ts';
import type { Plan } from './plan.ts';
import { EntryRecord } from './record.ts';
import { TextFiles } from './text-files.ts';
import type { TextFilesOptions } from './text-files.ts';

export interface ClientFilesOptions {
  /** The home of the person whose applications these are. */
  home: string;
  platform: NodeJS.Platform;
  /** The user's variables, which can move client files. */
  env?: NodeJS.ProcessEnv;
  /** Starts `thv`, for clients that only start commands. */
  program?: Program;
  /** The file that remembers which entries are ours. */
  record: string;
  /** Called when a file cannot be updated, and with undefined when the update works again. */
  onProblem?: (client: ClientName, problem: string | undefined) => void;
  log: Logger;
}

/** How a file would change. */
export interface FilePreview {
  path: string;
  exists: boolean;
  /** By the name of the entry. An entry without `before` is added, one without `after` is removed. */
  changes: readonly { name: string; before: EntryValue | undefined; after: EntryValue | undefined }[];
  /** Why the file could not be written. */
  problem?: string;
}

/** An entry that ToolHive did not write. */
export interface ForeignEntry {
  name: string;
  /** See `entryTarget`. */
  target: string | undefined;
  value: Readonly<Record<string, unknown>>;
}

type Entries = ReadonlyMap<string, unknown>;

/** The parsers block the event loop, the YAML parser much longer than the others. */
export const limits: Record<ClientApplication['format'], TextFilesOptions> = {
  json: { maxBytes: 32 * 1024 ** 2 }, // Claude Code stores its history there
  yaml: { maxBytes: 1024 ** 2 },
  toml: { maxBytes: 4 * 1024 ** 2 },
};

/**
 * The clients' configuration files. ToolHive remembers its own entries, and leaves everything else in the files
 * unchanged, to the byte.
 */
export class ClientFiles {
  readonly #options: ClientFilesOptions;
  readonly #place: ClientPlace;
  readonly #files = new TextFiles();
  readonly #problems = new Map<ClientName, string>();
  /** The wanted names that belong to entries of others, by client. */
  readonly #taken = new Map<ClientName, readonly string[]>();
  readonly #known = new Map<ClientName, { version: string; entries: Entries }>();
  readonly #runs = new Latest(() => this.#reconcileAll());
  #wanted: ReadonlyMap<ClientName, readonly Entry[]> = new Map();
  #record: EntryRecord | undefined;

  constructor(options: ClientFilesOptions) {
    this.#options = options;
    this.#place = { env: {}, ...options };
  }

  /** Why the file of an application is not up to date, for a person. */
  get problems(): ReadonlyMap<ClientName, string> {
    return this.#problems;
  }

  /** Why a client's file does not have the entry of that name. Other entries do not matter. */
  problemOf(client: ClientName, name: string): string | undefined {
    const taken = this.#taken.get(client);
    if (taken === undefined) return this.#problems.get(client);
    return taken.includes(name) ? takenProblem(this.pathOf(client), [name]) : undefined;
  }

  /** The applications that are on this machine. */
  async installed(): Promise<ReadonlySet<ClientName>> {
    const found = await Promise.all(
      clientApplications.map(async (application) => {
        const { id, detection } = application;
        const path = normalize(clientPath(detection.path, application.moves, this.#place));
        const isThere =
          detection.kind === 'file'
            ? (await stat(path).catch(() => {}))?.isFile() // an inaccessible file counts as missing
            : (await isDirectory(path)) || (await isDirectory(dirname(this.#fileOf(application))));
        return isThere === true ? [id] : [];
      }),
    );
    return new Set(found.flat());
  }

  /** The entries in a client's file that do not belong to ToolHive. None without a file. Throws if it cannot be read. */
  async foreign(client: ClientName): Promise<ForeignEntry[]> {
    const application = applicationOf(client);
    const path = this.#fileOf(application);
    if (!existsSync(path)) return [];
    const own = (this.#record ??= await this.#begin()).of(client);
    const entries = await this.#entries(application, path);
    return [...entries].flatMap(([name, value]) => {
      const target = entryTarget(application, value);
      const isOwn = target !== undefined && own.get(name)?.some((url) => leadToSame(url, target)) === true;
      const isObject = typeof value === 'object' && value !== null;
      return isOwn || !isObject ? [] : [{ name, target, value: value as Readonly<Record<string, unknown>> }];
    });
  }

  /** The path of a client's file, whether or not the file exists. */
  pathOf(client: ClientName): string {
    return this.#fileOf(applicationOf(client));
  }

  /** A client's existing files, one for each installation, and `pathOf`. */
  pathsOf(client: ClientName): string[] {
    const all = clientPaths(applicationOf(client), this.#place).map(normalize).filter(existsSync);
    return [...new Set([this.pathOf(client), ...all])];
  }

  /** Throws if a client's file exists but cannot be edited. */
  async check(client: ClientName): Promise<void> {
    const application = applicationOf(client);
    const path = this.#fileOf(application);
    if (!(await isDirectory(dirname(path)))) return;
    await this.#files.requireWritable(path, limits[application.format]);
    await this.#files.read(path, limits[application.format], (text) =>
      readEntries({ path, text }, application),
    );
  }

  /** Returns the content of a client's file with these entries. Changes nothing. */
  async preview(client: ClientName, wanted: readonly Entry[]): Promise<FilePreview> {
    const application = applicationOf(client);
    const path = this.#fileOf(application);
    const exists = await stat(path).then(
      () => true,
      () => false, // an inaccessible file counts as missing
    );
    const nothing = { path, exists, changes: [] };
    if (!(await isDirectory(dirname(path)))) {
      return {
        ...nothing,
        problem: `${application.product} is not installed: ${dirname(path)} not found`,
      };
    }
    try {
      await this.check(client);
      const present = await this.#entries(application, path);
      const own = (this.#record ??= await this.#begin()).of(client);
      const { changes, taken } = planChanges(application, wanted, present, own, this.#program);
      return {
        path,
        exists,
        changes: [...changes].map(([name, after]) => ({
          name,
          before: present.has(name) ? ownFields(application, present.get(name)) : undefined,
          after,
        })),
        ...(taken.length === 0 ? {} : { problem: takenProblem(path, taken) }),
      };
    } catch (error) {
      if (!(error instanceof ThvError)) throw error;
      return { ...nothing, problem: [error.message, error.hint].filter(Boolean).join('; ') };
    }
  }

  /**
   * Updates every client's file to contain exactly these ToolHive entries, in addition to everything else. Returns
   * when this state or a newer one is on disk. A problem with one file does not affect the others: see `problems`.
   */
  async reconcile(wanted: ReadonlyMap<ClientName, readonly Entry[]>): Promise<void> {
    this.#wanted = new Map(wanted);
    await this.#runs.request();
  }

  async #reconcileAll(): Promise<void> {
    const wanted = this.#wanted;
    const record = (this.#record ??= await this.#begin());
    await Promise.all(
      clientApplications.map(async (application) => {
        const { problem, taken } = await this.#reconcile(
          record,
          application,
          wanted.get(application.id) ?? [],
        );
        // Both at once: a diagnosis in the meantime would take the problem of one entry for that of the file.
        if (taken === undefined) this.#taken.delete(application.id);
        else this.#taken.set(application.id, taken);
        this.#setProblem(application.id, problem);
      }),
    );
  }

  /** Cleans up after a killed daemon, and reads its records. */
  async #begin(): Promise<EntryRecord> {
    const { record, log } = this.#options;
    await Promise.all(clientApplications.map((application) => this.#sweep(application)));
    return EntryRecord.open(record, log);
  }

  async #sweep(application: ClientApplication): Promise<void> {
    const { id } = application;
    const path = this.#fileOf(application);
    try {
      if (await isDirectory(dirname(path))) await this.#files.sweep(path);
    } catch (error) {
      // A file that is inaccessible or in use can wait until its next edit.
      this.#options.log.debug({ client: id, why: messageOf(error) }, 'client configuration not swept');
    }
  }

  /** Returns the problem, and the names that cause it if the rest of the file is up to date. */
  async #reconcile(
    record: EntryRecord,
    application: ClientApplication,
    wanted: readonly Entry[],
  ): Promise<{ problem?: string; taken?: readonly string[] }> {
    const { id, product } = application;
    if (wanted.length === 0 && record.of(id).size === 0) return {};
    const path = this.#fileOf(application);
    try {
      if (!(await isDirectory(dirname(path)))) {
        return wanted.length === 0
          ? {}
          : { problem: `${product} is not installed: ${dirname(path)} not found` };
      }
      const { taken } = await this.#bringUpToDate(record, application, path, wanted);
      return taken.length === 0 ? {} : { problem: takenProblem(path, taken), taken };
    } catch (error) {
      if (error instanceof ThvError)
        return { problem: [error.message, error.hint].filter(Boolean).join('; ') };
      this.#options.log.error({ client: id, err: error }, 'client configuration failed');
      return { problem: `${path} could not be updated: ${messageOf(error)}` };
    }
  }

  async #bringUpToDate(
    record: EntryRecord,
    application: ClientApplication,
    path: string,
    wanted: readonly Entry[],
  ): Promise<Plan> {
    const { id } = application;
    const own = record.of(id);
    let plan = planChanges(application, wanted, await this.#entries(application, path), own, this.#program);
    if (plan.changes.size > 0) {
      await this.#files.edit(path, limits[application.format], async (text) => {
        const source = { path, text };
        plan = planChanges(application, wanted, readEntries(source, application), own, this.#program);
        if (plan.changes.size === 0) return undefined;
        const changed = changeEntries(source, application, plan.changes);
        // Recorded before the write, so that ToolHive recognizes its entries after a crash.
        await record.save(id, plan.before);
        return changed;
      });
      this.#options.log.info({ client: id }, 'client configuration updated');
    }
    await record.save(id, plan.after);
    return plan;
  }

  /** The entries in a file, from memory until the file changes. */
  async #entries(application: ClientApplication, path: string): Promise<Entries> {
    const version = await this.#files.version(path);
    const known = this.#known.get(application.id);
    if (known !== undefined && known.version === version) return known.entries;
    const entries = await this.#files.read(path, limits[application.format], (text) =>
      readEntries({ path, text }, application),
    );
    // Only if the file did not change during the read.
    if (version !== undefined && version === (await this.#files.version(path))) {
      this.#known.set(application.id, { version, entries });
    }
    return entries;
  }

  #setProblem(client: ClientName, problem: string | undefined): void {
    if (this.#problems.get(client) === problem) return;
    const { log } = this.#options;
    if (problem === undefined) {
      this.#problems.delete(client);
      log.info({ client }, 'client configuration is fine again');
    } else {
      this.#problems.set(client, problem);
      log.warn({ client, problem }, 'client configuration is not up to date');
    }
    this.#options.onProblem?.(client, problem);
  }

  get #program(): Program {
    return this.#options.program ?? ['thv'];
  }

  /** The path of a client's file: the usual one, unless only another one exists. */
  #fileOf(application: ClientApplication): string {
    return normalize(chosenClientPath(application, this.#place, existsSync));
  }
}

const applications = new Map(clientApplications.map((application) => [application.id, application]));

function applicationOf(client: ClientName): ClientApplication {
  const application = applications.get(client);
  if (application === undefined) throw new Error(`no row for ${client}`); // the name comes from the table
  return application;
}

function takenProblem(path: string, names: readonly string[]): string {
  const what = names.length === 1 ? `an entry ${names[0]}` : `entries ${names.join(', ')}`;
  return `${path} already contains ${what} that ToolHive did not create. Rename one of the two`;
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => {}))?.isDirectory() ?? false; // reported as missing, whatever the error
}
