import { messageOf } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import { clientApplications } from '@toolhive/contract/client-application';
import type { ClientName, ClientStatus, RegisteredClient } from '@toolhive/contract/client-application';
import { defaultGroup } from '@toolhive/contract/names';
import type { ClientPreview } from '@toolhive/contract/preview';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { Logger } from 'pino';
import type { ClientFiles, ForeignEntry } from '@toolhive/clients/client-files';
import { leadToSame } from '@toolhive/clients/entry';
import type { Entry } from '@toolhive/clients/entry';
import * as z from 'zod';
import { readIfThere, removeFile, writeWhole } from '@toolhive/state/files';
import { setAside } from '@toolhive/state/set-aside';
import type { SettingsFile } from '@toolhive/state/settings-file';
import { entryOf } from '../run-config/kinds.ts';
import type { Workloads } from '../workloads/workloads.ts';
import { changedList } from './groups.ts';
import type { Groups } from './groups.ts';
import { groupsWithEndpoint } from './endpoint-groups.ts';

/** Clients that join or leave groups, with one file per group, or with `everywhere` the list in the settings. */
const Change = z.object({
  kind: z.enum(['add', 'remove']),
  clients: z.array(z.string()),
  groups: z.array(z.string()),
  everywhere: z.boolean(),
});
type Change = z.infer<typeof Change>;

export interface RegistrationsOptions {
  files: ClientFiles;
  groups: Groups;
  workloads: Workloads;
  settings: SettingsFile;
  /** The file that describes a change while several other files must change. */
  note: string;
  log: Logger;
  onChange: (client: ClientName) => void;
}

/**
 * The registrations of clients in groups, and the clients' configuration files. A client without a group has access to all
 * groups.
 */
export class Registrations implements AsyncDisposable {
  readonly #options: RegistrationsOptions;
  readonly #changes = new SerialQueue();
  #isWanted = false;
  #isOver = false;

  constructor(options: RegistrationsOptions) {
    this.#options = options;
  }

  /** Every registered application, by name. */
  list(): RegisteredClient[] {
    const groups = this.#options.groups.all();
    return clientApplications.flatMap(({ id }) => {
      const own = groups.filter(({ clients }) => clients.includes(id)).map(({ name }) => name);
      if (own.length === 0 && !this.#everywhere.includes(id)) return [];
      return [{ name: id, groups: own, ...this.#problemOf(id) }];
    });
  }

  /** The path of a client's file, whether or not the file exists. */
  pathOf(client: ClientName): string {
    return this.#options.files.pathOf(client);
  }

  /** A client's existing files, one for each installation, and `pathOf`. */
  pathsOf(client: ClientName): string[] {
    return this.#options.files.pathsOf(client);
  }

  /** The problem with one workload's entry in a client's file. Other entries do not matter. */
  problemWith(client: ClientName, workload: string): string | undefined {
    return this.#options.files.problemOf(client, workload);
  }

  /** The entries in a client's file that lead to no workload. Throws if the file cannot be read. */
  async unmanaged(client: ClientName): Promise<ForeignEntry[]> {
    const entries = await this.#options.files.foreign(client);
    return entries.filter(({ target }) => target === undefined || !this.leadsToWorkload(target));
  }

  /** The workload as clients see it. Throws `not-found`. */
  entryFor(name: string): Entry {
    return entryOf(this.#options.workloads.require(name).runConfig);
  }

  /** Whether a target (see `entryTarget`) is that of a workload. */
  leadsToWorkload(target: string): boolean {
    const workloads = this.#options.workloads.all();
    return workloads.some(
      ({ runConfig }) =>
        leadToSame(target, entryOf(runConfig).url) || target === `thv proxy stdio ${runConfig.name}`,
    );
  }

  /** Every application that ToolHive knows, in the order of the table. */
  async discover(): Promise<ClientStatus[]> {
    const installed = await this.#options.files.installed();
    const registered = new Set(this.list().map(({ name }) => name));
    return clientApplications.map(({ id, product }) => ({
      client_type: id,
      product,
      installed: installed.has(id),
      registered: registered.has(id),
      ...this.#problemOf(id),
    }));
  }

  /** Registers applications and writes their files. Throws before anything is changed if a file cannot be edited. */
  async register(clients: readonly ClientName[], groups: readonly string[]): Promise<void> {
    for (const group of groups) this.#options.groups.require(group);
    for (const client of clients) await this.#options.files.check(client);
    await this.#change(() => ({
      kind: 'add',
      clients: [...clients],
      groups: [...groups],
      everywhere: groups.length === 0,
    }));
    await this.#written(clients);
  }

  /** Returns the changes to a client's file if the client joined a group. Throws `not-found`. */
  async preview(client: ClientName, group: string): Promise<ClientPreview> {
    this.#options.groups.require(group);
    const registered = this.list().find(({ name }) => name === client)?.groups ?? [];
    const entries = this.#entriesOf(client, [...registered, group]);
    const { path, exists, changes, problem } = await this.#options.files.preview(client, entries);
    return {
      path,
      exists,
      changes: changes.map(({ name, before, after }) => ({
        workload: name,
        action: before === undefined ? 'add' : after === undefined ? 'remove' : 'change',
      })),
      diff: changes
        .flatMap(({ name, before, after }) => [...lines('-', name, before), ...lines('+', name, after)])
        .join('\n'),
      ...(problem === undefined ? {} : { problem }),
    };
  }

  /** Takes applications out of groups, or out of all of them, and their entries out of their files. */
  async unregister(clients: readonly ClientName[], groups: readonly string[]): Promise<void> {
    for (const group of groups) this.#options.groups.require(group);
    await this.#change(() => {
      if (groups.length > 0)
        return { kind: 'remove', clients: [...clients], groups: [...groups], everywhere: false };
      const isMeant = (client: string): boolean => clients.some((name) => name === client);
      const own = this.#options.groups.all().filter((group) => group.clients.some(isMeant));
      return {
        kind: 'remove',
        clients: [...clients],
        groups: own.map(({ name }) => name),
        everywhere: this.#everywhere.some(isMeant),
      };
    });
    await this.#written(clients);
  }

  /** Updates the files of all clients. Never throws: `list` reports write errors. */
  async reconcile(): Promise<void> {
    try {
      await this.#options.files.reconcile(this.#entries());
    } catch (error) {
      this.#options.log.error({ err: error }, 'client files could not be written');
    }
  }

  /** The same soon, once for everything that changes at the same time. */
  reconcileSoon(): void {
    if (this.#isWanted || this.#isOver) return;
    this.#isWanted = true;
    setImmediate(() => {
      this.#isWanted = false;
      this.reconcile().catch(raiseFault);
    });
  }

  /** Continues an earlier daemon's change. */
  async resume(): Promise<void> {
    const { note, groups, log } = this.#options;
    const change = await this.#noted();
    if (change === undefined) return;
    try {
      const there = new Set(groups.all().map(({ name }) => name));
      await this.#make({ ...change, groups: change.groups.filter((name) => there.has(name)) });
      await removeFile(note);
    } catch (error) {
      log.error({ path: note, why: messageOf(error) }, 'registration could not be finished');
    }
  }

  /** An earlier daemon's change. Undefined if none was interrupted. */
  async #noted(): Promise<Change | undefined> {
    const { note, log } = this.#options;
    try {
      const text = await readIfThere(note);
      return text === undefined ? undefined : Change.parse(JSON.parse(text));
    } catch (error) {
      await setAside(note, error, log);
      return undefined;
    }
  }

  /** Early daemons had no groups, so their registrations belong to the default group. */
  async migrate(): Promise<void> {
    const { settings, groups } = this.#options;
    if (settings.current.default_group_migration === true) return;
    try {
      await groups.changeClients([defaultGroup], 'add', this.#everywhere);
      await settings.change([['clients', 'registered_clients'], []], [['default_group_migration'], true]);
    } catch (error) {
      this.#options.log.warn({ why: messageOf(error) }, 'settings not migrated');
    }
  }

  /** Returns when nothing is being written any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.reconcile();
  }

  #problemOf(client: ClientName): { problem?: string } {
    const problem = this.#options.files.problems.get(client);
    return problem === undefined ? {} : { problem };
  }

  get #everywhere(): readonly string[] {
    return this.#options.settings.current.clients?.registered_clients ?? [];
  }

  /** Runs changes one at a time, because each starts with the result of the previous one. */
  #change(changeNow: () => Change): Promise<void> {
    return this.#changes.run(() => this.#noteAndMake(changeNow()));
  }

  /** Records a change of several files first, so that the next daemon can complete it after a kill. */
  async #noteAndMake(change: Change): Promise<void> {
    if (change.groups.length + Number(change.everywhere) < 2) return this.#make(change);
    await writeWhole(this.#options.note, `${JSON.stringify(change, null, 2)}\n`);
    try {
      await this.#make(change);
    } finally {
      await removeFile(this.#options.note);
    }
  }

  async #make({ kind, clients, groups, everywhere }: Change): Promise<void> {
    await this.#options.groups.changeClients(groups, kind, clients);
    if (!everywhere) return;
    const before = this.#everywhere;
    const after = changedList(before, kind, clients);
    if (after.length !== before.length) {
      await this.#options.settings.change([['clients', 'registered_clients'], after]);
    }
  }

  async #written(clients: readonly ClientName[]): Promise<void> {
    for (const client of clients) this.#options.onChange(client);
    await this.reconcile();
  }

  #entries(): Map<ClientName, Entry[]> {
    return new Map(this.list().map(({ name, groups }) => [name, this.#entriesOf(name, groups)]));
  }

  /** The workloads that a client can access if it is registered in these groups. */
  #entriesOf(client: ClientName, groups: readonly string[]): Entry[] {
    const routed = groupsWithEndpoint(this.#options);
    const isRouted = ({ group = defaultGroup, built_in: builtIn }: RunConfig): boolean =>
      builtIn === undefined && routed.has(this.#options.groups.currentName(group));
    return this.#options.workloads
      .all()
      .filter(
        ({ isOffered, runConfig }) =>
          isOffered &&
          !isRouted(runConfig) &&
          (this.#everywhere.includes(client) ||
            groups.includes(this.#options.groups.currentName(runConfig.group ?? defaultGroup))),
      )
      .map(({ runConfig }) => entryOf(runConfig));
  }
}

/** An entry as the lines of a diff. */
function lines(sign: '+' | '-', name: string, value: object | undefined): string[] {
  if (value === undefined) return [];
  return `${JSON.stringify(name)}: ${JSON.stringify(value, null, 2)}`
    .split('\n')
    .map((line) => `${sign} ${line}`);
}
