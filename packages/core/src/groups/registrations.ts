import { messageOf } from '@toolhive/contract/failure';
import { clientApplications } from '@toolhive/contract/client-application';
import type { ClientName, ClientStatus, RegisteredClient } from '@toolhive/contract/client-application';
import { defaultGroup } from '@toolhive/contract/names';
import type { Logger } from 'pino';
import type { ClientFiles } from '../clients/client-files.ts';
import type { Entry } from '../clients/entry.ts';
import type { SettingsFile } from '../state/settings.ts';
import { entryOf } from '../workloads/describe.ts';
import type { Workloads } from '../workloads/workloads.ts';
import type { Groups } from './groups.ts';

export interface RegistrationsOptions {
  files: ClientFiles;
  groups: Groups;
  workloads: Workloads;
  settings: SettingsFile;
  log: Logger;
  onChange: (client: ClientName) => void;
}

/**
 * Which client application sees the workloads of which groups, and their files kept so. An application that is
 * registered without a group sees all of them.
 */
export class Registrations implements AsyncDisposable {
  readonly #options: RegistrationsOptions;
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
      const problem = this.#options.files.problems.get(id);
      return [{ name: id, groups: own, ...(problem === undefined ? {} : { problem }) }];
    });
  }

  /** Every application that ToolHive knows, in the order of the table. */
  async discover(): Promise<ClientStatus[]> {
    const installed = await this.#options.files.installed();
    const registered = new Set(this.list().map(({ name }) => name));
    return clientApplications.map(({ id }) => ({
      client_type: id,
      installed: installed.has(id),
      registered: registered.has(id),
    }));
  }

  /** Registers applications and writes their files. Throws before anything is changed if a file cannot be edited. */
  async register(clients: readonly ClientName[], groups: readonly string[]): Promise<void> {
    for (const group of groups) this.#options.groups.require(group);
    for (const client of clients) await this.#options.files.check(client);
    if (groups.length > 0) await this.#options.groups.changeClients(groups, { add: clients });
    else await this.#changeEverywhere([...new Set([...this.#everywhere, ...clients])]);
    await this.#written(clients);
  }

  /** Takes applications out of groups, or out of all of them, and their entries out of their files. */
  async unregister(clients: readonly ClientName[], groups: readonly string[]): Promise<void> {
    const all = this.#options.groups.all().map(({ name }) => name);
    await this.#options.groups.changeClients(groups.length > 0 ? groups : all, { remove: clients });
    const rest = this.#everywhere.filter((client) => !clients.includes(client as ClientName));
    if (groups.length === 0 && rest.length !== this.#everywhere.length) await this.#changeEverywhere(rest);
    await this.#written(clients);
  }

  /** Makes the files of all applications say what they should. Never throws: what cannot be written is told in `list`. */
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
      void this.reconcile();
    });
  }

  /** Early hives knew no groups: what was registered then belongs to the default one. */
  async migrate(): Promise<void> {
    const { settings, groups } = this.#options;
    if (settings.current.default_group_migration === true) return;
    await groups.changeClients([defaultGroup], { add: this.#everywhere });
    await settings
      .change([['clients', 'registered_clients'], []], [['default_group_migration'], true])
      .catch((error: unknown) => this.#options.log.warn({ why: messageOf(error) }, 'settings not migrated'));
  }

  /** Returns when nothing is being written any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.reconcile();
  }

  get #everywhere(): readonly string[] {
    return this.#options.settings.current.clients?.registered_clients ?? [];
  }

  async #changeEverywhere(clients: readonly string[]): Promise<void> {
    await this.#options.settings.change([['clients', 'registered_clients'], clients]);
  }

  async #written(clients: readonly ClientName[]): Promise<void> {
    for (const client of clients) this.#options.onChange(client);
    await this.reconcile();
  }

  #entries(): Map<ClientName, Entry[]> {
    const offered = this.#options.workloads.all().filter(({ isOffered }) => isOffered);
    const groupsOf = new Map(this.list().map(({ name, groups }) => [name, groups]));
    return new Map(
      [...groupsOf].map(([client, groups]) => [
        client,
        offered
          .filter(
            ({ runConfig }) =>
              this.#everywhere.includes(client) || groups.includes(runConfig.group ?? defaultGroup),
          )
          .map(({ runConfig }) => entryOf(runConfig)),
      ]),
    );
  }
}
