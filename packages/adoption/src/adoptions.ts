import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
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
import { ThvError, invalid, messageOf } from '@toolhive/contract/failure';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import { builtInProfiles } from '@toolhive/contract/permission-profile';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { getCapabilities } from '@toolhive/core/capabilities';
import { checkWorkload } from '@toolhive/core/check';
import type { Core } from '@toolhive/core/core';
import { createWorkload, editWorkload } from '@toolhive/core/create';
import { entryOf } from '@toolhive/core/kinds';
import { deleteWorkload, startWorkload, stopWorkload } from '@toolhive/core/operate';
import { uniqueNames } from '@toolhive/pasted/entry-names';
import { homeOf } from '@toolhive/state/paths';
import { adoptedValue } from './entries.ts';
import { diffOf } from './diff.ts';
import { adoptEntry, restoreFile, settle } from './files.ts';
import { AdoptionRecord } from './record.ts';
import { scan } from './scan.ts';
import type { FoundServer } from './scan.ts';
import { credentialsIn, withSecrets } from './separate.ts';
import type { Credential } from './separate.ts';

interface Call {
  report: (message: string) => void;
  signal: AbortSignal;
}

/** A server that does not stop is killed long before. */
const REMOVAL_MS = 60_000;

type Vault = NonNullable<Core['secrets']['vault']>;

/** A found server with the name of its workload. */
interface Named {
  server: FoundServer;
  workload: string;
  exists: boolean;
}

const instances = new WeakMap<Core, Adoptions>();

/** Takes over the servers that clients run themselves, and gives them back. */
export class Adoptions {
  readonly #core: Core;
  readonly #env: NodeJS.ProcessEnv;
  readonly #record: AdoptionRecord;
  readonly #queue = new SerialQueue();

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

  /** Describes the workloads in place of the servers. Changes nothing. */
  async plan(scope: AdoptionScope, signal: AbortSignal): Promise<AdoptionPlan> {
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
      const vault = await this.#openVault(call);
      await settle(this.#record);
      const { named } = await this.#find(scope);
      const unknown = (wanted ?? []).filter((name) => !named.some(({ workload }) => workload === name));
      if (unknown.length > 0) {
        throw invalid(`no server to adopt would become the workload ${unknown.join(', ')}`, {
          hint: 'see the names with thv adopt --dry-run',
        });
      }
      const servers: AdoptedServer[] = [];
      for (const each of named) {
        if (wanted !== undefined && !wanted.includes(each.workload)) continue;
        servers.push(await this.#adoptOne(each, vault, call));
      }
      return { servers };
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
          files.push(await restoreFile(path, own, { record: this.#record, vault, isWhole }));
      }
      const stopped = await this.#stopUnused(changes.map(({ workload }) => workload));
      for (const { client } of changes) this.#core.events.emit({ type: 'client.changed', name: client });
      return { files, stopped };
    });
  }

  /** Gives each server the name of a workload: the one of an earlier adoption, or a free one. */
  async #find(scope: AdoptionScope): Promise<{ named: Named[]; problems: AdoptionPlan['problems'] }> {
    const { clients, secrets } = this.#core;
    const { servers, problems } = await scan({
      ...scope,
      home: homeOf(this.#env),
      env: this.#env,
      userFile: (client) => clients.pathOf(client),
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
    for (const [name, { id, fingerprint, at }] of Object.entries(await this.#record.workloads())) {
      const supervisor = this.#core.workloads.find(name);
      if (supervisor === undefined) continue;
      // Without an ID, the adoption was interrupted. A workload that is older is another one.
      const isSame = id === undefined ? supervisor.condition.createdAt >= at : supervisor.id === id;
      if (isSame) known.set(fingerprint, name);
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
      const check = await checkWorkload(this.#core, { ...request, name: workload }, { edited: undefined, signal });
      refuseRisks(check.risks, server);
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
      result.notes.push(...(await this.#run(named, request, vault, { ...call, report })));
      const { runConfig } = this.#core.workloads.require(workload);
      for (const entry of server.entries) {
        report(`changing ${entry.place.path}`);
        const { application } = entry.place;
        const next = adoptedValue(application, entry.value, entryOf(runConfig), entry.name);
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

  /** Runs the workload of a server, and returns notes for the user. Leaves nothing behind if the server does not work. */
  async #run(
    { server, workload, exists }: Named,
    request: CreateWorkload,
    vault: Vault,
    call: Call,
  ): Promise<string[]> {
    const core = this.#core;
    if (exists) {
      await (await startWorkload(core, workload)).follow(call.report, call.signal);
      await this.#toolsOf(workload);
      return [];
    }
    const check = await checkWorkload(
      core,
      { ...request, name: workload },
      { edited: undefined, signal: call.signal },
    );
    refuseRisks(check.risks, server);
    const at = new Date().toISOString();
    const fingerprint = await this.#record.fingerprint(server.content, vault);
    await this.#record.setWorkload(workload, { at, fingerprint });
    const keys = new Map<Credential, string>();
    try {
      for (const credential of credentialsIn(request))
        keys.set(credential, await this.#store(`${workload}-${credential.target}`, credential.value));
      const wanted = { ...withSecrets(request, keys), name: workload };
      const isNarrow = check.permissions?.network.kind === 'none' || check.permissions?.network.hosts !== undefined;
      // With the rules of the registry entry, the server may lack a host that its tools need.
      const first = isNarrow ? { ...wanted, permission_profile: builtInProfiles.public } : wanted;
      await createWorkload(core, first, call);
      await core.workloads.require(workload).follow(call.report, call.signal);
      const original = await this.#toolsOf(workload);
      if (isNarrow) {
        call.report('starting with its network rules');
        await editWorkload(core, workload, wanted, call);
        await core.workloads.require(workload).follow(call.report, call.signal);
        refuseDifference(original, await this.#toolsOf(workload));
      }
      await this.#record.setWorkload(workload, { at, fingerprint, id: core.workloads.require(workload).id });
      return check.notes ?? [];
    } catch (thrown) {
      await this.#discard(workload, [...keys.values()]);
      throw thrown;
    }
  }

  /** The tools of a running workload. Throws if the server does not list them. */
  async #toolsOf(workload: string): Promise<Map<string, unknown>> {
    if (this.#core.workloads.require(workload).requiredSignIn !== undefined) return new Map(); // the user signs in later
    const { tools, problem } = await getCapabilities(this.#core, workload, { refresh: true });
    if (problem !== undefined) throw invalid(`the server does not list its tools: ${problem}`);
    return new Map(tools.map(({ name, input_schema }) => [name, input_schema]));
  }

  async #store(key: string, value: string): Promise<string> {
    for (let count = 1; ; count += 1) {
      const free = count === 1 ? key : `${key}-${count}`;
      try {
        await this.#core.secrets.create(free, value);
        return free;
      } catch (thrown) {
        if (!(thrown instanceof ThvError) || thrown.kind !== 'conflict' || count === 100) throw thrown;
      }
    }
  }

  /** Removes what a failed adoption has created. */
  async #discard(workload: string, secrets: readonly string[]): Promise<void> {
    const core = this.#core;
    const failed = (error: unknown): void =>
      core.log.warn({ workload, why: messageOf(error) }, 'adoption could not be cleaned up');
    if (core.workloads.find(workload) !== undefined)
      await deleteWorkload(core, workload)
        .then((removal) => removal.follow(() => {}, AbortSignal.timeout(REMOVAL_MS)))
        .catch(failed);
    for (const key of secrets) await core.secrets.remove(key).catch(failed);
    await this.#record.setWorkload(workload, undefined);
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
    const isSetUp = await secrets.describe().then(
      () => true,
      (thrown: unknown) => {
        if (thrown instanceof ThvError && thrown.kind === 'not-found') return false;
        throw thrown;
      },
    );
    if (!isSetUp) report((await secrets.setup({ provider_type: 'encrypted', generate_password: true })).message);
    const { vault } = secrets;
    if (vault === undefined) throw noVault();
    return vault;
  }
}

function noVault(): ThvError {
  return invalid('adoption needs the encrypted secrets, for the credentials and the backups of the files', {
    hint: 'run thv secret setup --provider encrypted',
  });
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

/** An entry of a configuration is not the consent of the user. */
function refuseRisks(risks: readonly { text: string }[], { entries }: FoundServer): void {
  if (risks.length === 0) return;
  const [entry] = entries;
  const source = entry?.place.scope === 'user' ? entry.place.application.id : entry?.place.path;
  throw invalid(`it asks for dangerous access: ${risks.map(({ text }) => text).join('; ')}`, {
    hint: `to give the access, run thv import ${source} ${entry?.name}`,
  });
}

function refuseDifference(original: ReadonlyMap<string, unknown>, tools: ReadonlyMap<string, unknown>): void {
  const missing = [...original.keys()].filter((name) => !tools.has(name));
  const changed = [...original].filter(([name, schema]) => tools.has(name) && !isDeepStrictEqual(tools.get(name), schema)); // prettier-ignore
  if (missing.length === 0 && changed.length === 0) return;
  const names = [...missing, ...changed.map(([name]) => name)].slice(0, 5).join(', ');
  throw invalid(`with its network rules, the server does not have the same tools: ${names}`, {
    hint: 'run it with thv run and --permission-profile public, and then adopt it again',
  });
}
