import { join } from 'node:path';
import type {
  AdoptServers,
  AdoptedServer,
  Adoption,
  AdoptionPlace,
  AdoptionPlan,
  AdoptionResult,
  AdoptionScope,
  PlannedServer,
  UndoAdoption,
  UndoneAdoption,
} from '@toolhive/contract/adoption';
import { urlWithoutCredentials } from '@toolhive/contract/credential';
import { ThvError, invalid } from '@toolhive/contract/failure';
import { advice, fixes } from '@toolhive/contract/fixes';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import { leadToSame } from '@toolhive/clients/entry';
import { findPlaces } from '@toolhive/clients/places';
import { checkWorkload } from '@toolhive/core/check';
import type { Core } from '@toolhive/core/core';
import { stopWorkload } from '@toolhive/core/operate';
import { uniqueNames } from '@toolhive/pasted/entry-names';
import { homeOf } from '@toolhive/state/paths';
import { adoptedValue } from './entries.ts';
import { diffOf } from './diff.ts';
import { adoptEntry, followEntry, restoreFile, settle } from './files.ts';
import { AdoptionRecord } from './record.ts';
import { scan } from './scan.ts';
import type { FoundServer } from './scan.ts';
import { AdoptedWorkloads, discardInterrupted, refuseRisks, unacceptedOf } from './run.ts';
import type { Call, Named, Vault } from './run.ts';
import { credentialsIn } from './separate.ts';

const instances = new WeakMap<Core, Adoptions>();

/** Takes over the servers that clients run themselves, and gives them back. */
export class Adoptions {
  readonly #core: Core;
  readonly #env: NodeJS.ProcessEnv;
  readonly #record: AdoptionRecord;
  readonly #queue = new SerialQueue();
  /** Why entries could not be updated, by the IDs of their changes. */
  readonly #unfollowed = new Map<string, string>();

  private constructor(core: Core, env: NodeJS.ProcessEnv) {
    this.#core = core;
    this.#env = env;
    this.#record = new AdoptionRecord(join(core.paths.state, 'adoptions'));
  }

  /** The same object for each listener of a daemon, because only one adoption runs at a time. */
  static of(core: Core, env: NodeJS.ProcessEnv): Adoptions {
    const known = instances.get(core) ?? new Adoptions(core, env);
    instances.set(core, known);
    return known;
  }

  /** Describes the workloads in place of the servers. Removes only what a killed daemon has left. */
  async plan(scope: AdoptionScope, signal: AbortSignal): Promise<AdoptionPlan> {
    await this.#queue.run(() => discardInterrupted(this.#core, this.#record));
    const { named, problems } = await this.#find(scope);
    const servers: PlannedServer[] = [];
    // One after the other, because each may ask a package registry.
    for (const each of named) servers.push(await this.#planOne(each, signal));
    return { servers, files: diffOf(named, servers), problems };
  }

  async list(): Promise<Adoption[]> {
    const changes = await this.#record.changes();
    return changes.map(({ id, client, scope, path, name, workload, at }) => ({
      client_type: client,
      scope,
      path,
      name,
      workload,
      adopted_at: at,
      backup: this.#record.backupPath(id),
    }));
  }

  /** A server that cannot be adopted does not affect the others. */
  adopt({ workloads: wanted, ...scope }: AdoptServers, call: Call): Promise<AdoptionResult> {
    return this.#queue.run(async () => {
      await settle(this.#record);
      await discardInterrupted(this.#core, this.#record);
      const { named } = await this.#find(scope);
      const unknown = (wanted ?? []).filter((name) => !named.some(({ workload }) => workload === name));
      if (unknown.length > 0) {
        throw invalid(`no server to adopt would become the workload ${unknown.join(', ')}`, {
          hint: 'see the names with thv adopt --dry-run',
        });
      }
      const chosen = named.filter(({ workload }) => wanted?.includes(workload) !== false);
      if (chosen.length === 0) return { servers: [] };
      const vault = await this.#openVault(call);
      const servers: AdoptedServer[] = [];
      for (const each of chosen) servers.push(await this.#adoptOne(each, vault, call));
      this.#core.clients.reconcileSoon(); // an entry with another name can be the one for its workload now
      return { servers };
    });
  }

  /** Updates adopted entries after a proxy port has moved, because otherwise only registered clients get the new port. */
  follow(): Promise<void> {
    return this.#queue.run(async () => {
      const { clients, log, workloads } = this.#core;
      for (const change of await this.#record.lastingChanges((name) => workloads.find(name)?.id)) {
        const workload = clients.entryFor(change.workload);
        const isCommand = URL.parse(change.target) === null;
        if (isCommand || leadToSame(workload.url, change.target)) continue;
        try {
          await followEntry(change, workload, this.#record);
          this.#core.events.emit({ type: 'client.changed', name: change.client });
        } catch (thrown) {
          if (!(thrown instanceof ThvError)) throw thrown;
          // It is tried again and again, and told once.
          if (this.#unfollowed.get(change.id) !== thrown.message)
            log.warn({ client: change.client, why: thrown.message }, 'adopted entry could not be updated');
          this.#unfollowed.set(change.id, thrown.message);
        }
      }
    });
  }

  /** Restores the files, and stops the workloads that no client uses anymore. */
  undo({ clients, whole_files: isWhole = false }: UndoAdoption, call: Call): Promise<UndoneAdoption> {
    return this.#queue.run(async () => {
      const { vault } = this.#core.secrets;
      await settle(this.#record);
      const changes = (await this.#record.changes()).filter(
        ({ client }) => clients === undefined || clients.includes(client),
      );
      if (changes.length > 0 && vault === undefined) throw noVault();
      const files: UndoneAdoption['files'] = [];
      for (const path of new Set(changes.map((change) => change.path))) {
        call.signal.throwIfAborted();
        call.report(`restoring ${path}`);
        const own = changes.filter((change) => change.path === path);
        if (vault !== undefined)
          files.push(...(await restoreFile(path, own, await this.#restoring(vault, isWhole))));
      }
      const stopped = await this.#stopUnused(changes.map(({ workload }) => workload));
      for (const { client } of changes) this.#core.events.emit({ type: 'client.changed', name: client });
      return { files, stopped };
    });
  }

  async #restoring(vault: Vault, isWhole: boolean): Promise<Parameters<typeof restoreFile>[2]> {
    const { clients, workloads } = this.#core;
    const lasting = await this.#record.lastingChanges((name) => workloads.find(name)?.id);
    return {
      record: this.#record,
      vault,
      isWhole,
      addressOf: ({ id, workload }) =>
        lasting.some((change) => change.id === id) ? clients.entryFor(workload).url : undefined,
      placesOf: async (client) => {
        const places = await findPlaces({ userFiles: (id) => clients.pathsOf(id), projects: [] });
        return places.filter(({ application, scope }) => application.id === client && scope === 'user');
      },
    };
  }

  /** Gives each server the name of a workload: the one of an earlier adoption, or a free one. */
  async #find(scope: AdoptionScope): Promise<{ named: Named[]; problems: AdoptionPlan['problems'] }> {
    const { clients, secrets } = this.#core;
    const { servers, problems } = await scan({
      ...scope,
      home: homeOf(this.#env),
      env: this.#env,
      userFiles: (client) => clients.pathsOf(client),
      isOwn: (target) => clients.leadsToWorkload(target),
    });
    const known = await this.#knownWorkloads();
    const { vault } = secrets;
    const named: Named[] = [];
    const fresh: FoundServer[] = [];
    for (const server of servers) {
      const fingerprint =
        known.size === 0 || vault === undefined ? '' : await this.#record.fingerprint(server.content, vault);
      const workload = known.get(fingerprint);
      if (workload === undefined) fresh.push(server);
      else named.push({ server, workload, exists: true });
    }
    const names = uniqueNames(
      fresh.map((server) => ({ name: server.entries[0]?.name ?? '', path: [], entry: {} })),
      this.#core.workloads.all().map(({ runConfig }) => runConfig.name),
    );
    const others = fresh.map((server, index) => ({
      server,
      workload: names[index]?.workload ?? 'server',
      exists: false,
    }));
    return { named: [...named, ...others], problems };
  }

  /** The existing workloads of earlier adoptions, by the fingerprints of their servers. */
  async #knownWorkloads(): Promise<Map<string, string>> {
    const known = new Map<string, string>();
    for (const [name, { id, fingerprint }] of Object.entries(await this.#record.workloads())) {
      // Another workload can have the name by now.
      if (id !== undefined && this.#core.workloads.find(name)?.id === id) known.set(fingerprint, name);
    }
    return known;
  }

  async #planOne({ server, workload, exists }: Named, signal: AbortSignal): Promise<PlannedServer> {
    const { command, url, notes, request, failure } = server;
    const planned = {
      workload,
      exists,
      places: placesOf(server),
      ...(command === undefined ? {} : { command }),
      ...(url === undefined ? {} : { url }),
      credentials: request === undefined ? [] : credentialsIn(request).map(({ target }) => target),
      notes,
    };
    if (request === undefined) return { ...planned, ...problemOf(failure) };
    if (exists) return planned;
    try {
      const check = await checkWorkload(
        this.#core,
        { ...request, name: workload },
        { edited: undefined, signal },
      );
      refuseRisks(unacceptedOf(check, request), server);
      return { ...planned, check: { ...check, package: urlWithoutCredentials(check.package) } };
    } catch (thrown) {
      signal.throwIfAborted();
      return { ...planned, ...problemOf(thrown) };
    }
  }

  async #adoptOne(named: Named, vault: Vault, call: Call): Promise<AdoptedServer> {
    const { server, workload } = named;
    const result = { workload, places: placesOf(server), notes: [] as string[] };
    const { request } = server;
    if (request === undefined) return { ...result, ...problemOf(server.failure) };
    try {
      call.signal.throwIfAborted();
      const report = (message: string): void => call.report(`${workload}: ${message}`);
      const runner = new AdoptedWorkloads(this.#core, this.#record, vault);
      result.notes.push(...(await runner.run(named, request, { ...call, report })));
      for (const entry of server.entries) {
        report(`changing ${entry.place.path}`);
        const { application } = entry.place;
        const next = adoptedValue(
          application,
          entry.value,
          this.#core.clients.entryFor(workload),
          entry.name,
        );
        const at = new Date().toISOString();
        await adoptEntry(entry, next, { record: this.#record, vault, workload, at });
        this.#core.events.emit({ type: 'client.changed', name: application.id });
      }
      return result;
    } catch (thrown) {
      call.signal.throwIfAborted();
      return { ...result, ...problemOf(thrown) };
    }
  }

  async #stopUnused(workloads: readonly string[]): Promise<string[]> {
    const used = new Set((await this.#record.changes()).map(({ workload }) => workload));
    const created = new Set((await this.#knownWorkloads()).values());
    const unused = [...new Set(workloads)].filter((name) => !used.has(name) && created.has(name));
    for (const name of unused) await stopWorkload(this.#core, name);
    return unused;
  }

  /** The store for the key of the backups. Sets up the encrypted secrets if there are none yet. */
  async #openVault({ report }: Call): Promise<Vault> {
    const { secrets } = this.#core;
    await secrets.setUpIfNeeded(report);
    const { vault } = secrets;
    if (vault === undefined) throw noVault();
    return vault;
  }
}

function noVault(): ThvError {
  return invalid(
    'adoption needs the encrypted secrets, for the credentials and the backups of the files',
    advice('run thv secret setup --provider encrypted', fixes.setUpSecrets),
  );
}

function placesOf({ entries }: FoundServer): AdoptionPlace[] {
  return entries.map(({ name, place: { application, scope, path } }) => ({
    client_type: application.id,
    scope,
    path,
    name,
  }));
}

function problemOf(thrown: unknown): { problem: string; hint?: string } {
  if (!(thrown instanceof ThvError)) throw thrown;
  const { message: problem, hint } = thrown;
  return { problem, ...(hint === undefined ? {} : { hint }) };
}
