import { ThvError, conflict, messageOf } from '@toolhive/contract/failure';
import type { AppliedGroup, ApplyProject, AppliedServer, ProjectResult } from '@toolhive/contract/project';
import { riskNames, risksIn } from '@toolhive/contract/risk';
import type { CreateWorkload } from '@toolhive/contract/workload';
import type { Core } from '@toolhive/core/core';
import { createWorkload, editWorkload } from '@toolhive/core/create';
import { getWorkload } from '@toolhive/core/describe';
import { createGroup } from '@toolhive/core/groups';
import { deleteWorkload, exportWorkload, startWorkload } from '@toolhive/core/operate';
import { applyGroups, withNames } from './groups.ts';
import type { GroupPlan } from './groups.ts';
import { contentOf, lockedServer, toolsOf } from './content.ts';
import { emptyLock, formatLock, packageLock, requireContent, requireTools } from './lock.ts';
import type { LockedServer } from './lock.ts';
import { isUpdated, withKeys } from './plan.ts';
import { problemOf } from './problem.ts';
import type { Plan, ServerPlan, Wanted } from './plan.ts';
import type { Owned, Project, ProjectRecord } from './record.ts';

export interface Call {
  report: (message: string) => void;
  signal: AbortSignal;
}

/** A server that does not stop is killed long before. */
const REMOVAL_MS = 60_000;

/** How long a workload may take to run again after a change was refused. */
const restoreMs = 30_000;

/** Returns when the earlier workload runs: the next command must not see the lists of the refused server. */
async function runAsBefore(
  core: Core,
  workload: string,
  before: Parameters<typeof putBack>[2],
): Promise<void> {
  await putBack(core, workload, before);
  await core.workloads.require(workload).follow(() => {}, AbortSignal.timeout(restoreMs));
}

/** Carries out a plan. */
export class ProjectRun {
  readonly #core: Core;
  readonly #record: ProjectRecord;
  readonly #path: string;
  readonly #request: ApplyProject;
  #project: Project;
  /** How to make everything as it was, the latest change first. */
  readonly #undo: (() => Promise<void>)[] = [];

  constructor(core: Core, record: ProjectRecord, request: ApplyProject, project: Project) {
    this.#core = core;
    this.#record = record;
    this.#path = request.path;
    this.#request = request;
    this.#project = project;
  }

  async run(plan: Plan, call: Call): Promise<ProjectResult> {
    try {
      return await this.#run(plan, call);
    } catch (thrown) {
      if (this.#request.locked === true) await this.#undoAll(call);
      throw thrown;
    }
  }

  async #run({ servers, groups, lock, inputs }: Plan, call: Call): Promise<ProjectResult> {
    this.#project = { ...this.#project, inputs };
    const applied: AppliedServer[] = [];
    const locks: Record<string, LockedServer> = {};
    for (const server of servers) {
      const { name } = server.shown;
      const before = lock !== undefined && Object.hasOwn(lock.servers, name) ? lock.servers[name] : undefined;
      const { result, locked = before } = await this.#apply(server, before, call);
      applied.push(result);
      if (locked !== undefined && !['remove', 'leave'].includes(server.shown.action)) locks[name] = locked;
      if (result.problem !== undefined && this.#request.locked === true) {
        throw conflict(`${name}: ${result.problem}`, { hint: result.hint ?? 'nothing was changed' });
      }
    }
    const changed = await this.#applyGroups(groups, call);
    const text = formatLock({ ...emptyLock, servers: locks });
    const isSame = this.#request.locked === true || text === this.#request.lock;
    return {
      project: this.#project.name,
      servers: applied,
      ...(changed.length === 0 ? {} : { groups: changed }),
      ...(isSame ? {} : { lock: text }),
    };
  }

  async #applyGroups(groups: readonly GroupPlan[], call: Call): Promise<AppliedGroup[]> {
    if (groups.length === 0) return [];
    // Noted first, so that `thv down` finds an endpoint that a killed daemon has switched on.
    await this.#save({ groups: withNames(this.#project.groups, groups) });
    return applyGroups(this.#core, groups, this.#project.servers, {
      ...call,
      isStrict: this.#request.locked === true,
    });
  }

  async #apply(
    server: ServerPlan,
    before: LockedServer | undefined,
    call: Call,
  ): Promise<{ result: AppliedServer; locked?: LockedServer }> {
    const { shown, owned, wanted } = server;
    const { name, workload, action, notes, problem, hint } = shown;
    const result: AppliedServer = { name, workload, action, notes: [...notes] };
    if (problem !== undefined) return { result: { ...result, problem, hint } };
    const report = (message: string): void => call.report(`${name}: ${message}`);
    try {
      call.signal.throwIfAborted();
      if (action === 'leave') return { result };
      if (action === 'remove') {
        if (owned !== undefined) await removeOwned(this.#core, owned, report);
        await this.#forget(name);
        return { result };
      }
      if (wanted === undefined) return { result };
      const locked = await this.#realize(server, wanted, before, { ...call, report });
      const { proxy_url: url } = await getWorkload(this.#core, workload);
      return { locked, result: { ...result, url } };
    } catch (thrown) {
      call.signal.throwIfAborted();
      return { result: { ...result, ...explained(thrown) } };
    }
  }

  /** Returns the entry of the lock file. */
  async #realize(
    { shown, owned }: ServerPlan,
    wanted: Wanted,
    before: LockedServer | undefined,
    call: Call,
  ): Promise<LockedServer> {
    const { workload, action, name } = shown;
    const core = this.#core;
    if (action === 'create') return this.#create(name, workload, wanted, call);
    if (action === 'update' && owned !== undefined) return this.#update(name, owned, wanted, call);
    if (action === 'start') {
      await (await startWorkload(core, workload)).follow(call.report, call.signal);
    }
    const isSame = before?.settings === wanted.stated.settings && before.source === wanted.stated.source;
    if (action === 'keep' && isSame && this.#request.locked !== true && !isUpdated(this.#request, name))
      return before;
    await this.#note(name, { ...owned, workload });
    return this.#verified(name, workload, wanted);
  }

  async #create(name: string, workload: string, wanted: Wanted, call: Call): Promise<LockedServer> {
    const core = this.#core;
    let created: string | undefined;
    try {
      const request = await this.#prepared(name, wanted, call);
      await this.#note(name, { workload });
      await createWorkload(
        core,
        { ...request, name: workload, accepted_risks: this.#request.accepted_risks ?? [] },
        this.#guarded(name, wanted, call),
      );
      created = core.workloads.require(workload).id;
      const discard = (): Promise<void> => this.#discard(name, workload, created);
      this.#undo.push(discard);
      await this.#note(name, { workload, id: created });
      await core.workloads.require(workload).follow(call.report, call.signal);
      return await this.#finished(name, workload, request, wanted);
    } catch (thrown) {
      await this.#discard(name, workload, created);
      throw thrown;
    }
  }

  async #update(name: string, owned: Owned, wanted: Wanted, call: Call): Promise<LockedServer> {
    const core = this.#core;
    const { workload } = owned;
    const before = exportWorkload(core, workload);
    const restore = async (): Promise<void> => {
      await runAsBefore(core, workload, before);
      const { revision } = await getWorkload(core, workload);
      await this.#note(name, { ...owned, id: core.workloads.require(workload).id, revision });
    };
    const request = await this.#prepared(name, wanted, call);
    await this.#note(name, { workload, id: owned.id });
    try {
      await editWorkload(
        core,
        workload,
        { ...request, accepted_risks: this.#request.accepted_risks ?? [] },
        this.#guarded(name, wanted, call),
      );
      await this.#note(name, { workload, id: core.workloads.require(workload).id });
      await core.workloads.require(workload).follow(call.report, call.signal);
      const locked = await this.#finished(name, workload, request, wanted);
      this.#undo.push(restore);
      return locked;
    } catch (thrown) {
      call.report('restoring the workload');
      await restore().catch((error: unknown) => this.#warn(workload, error));
      throw thrown;
    }
  }

  /** Compares the running server with the lock file, and remembers its request. */
  async #finished(
    name: string,
    workload: string,
    request: CreateWorkload,
    wanted: Wanted,
  ): Promise<LockedServer> {
    const locked = await this.#verified(name, workload, wanted);
    const { revision } = await getWorkload(this.#core, workload);
    const { id } = this.#core.workloads.require(workload);
    await this.#note(name, { workload, id, request: { ...request }, revision, resolved: locked.resolved });
    return locked;
  }

  async #verified(name: string, workload: string, { stated, locked }: Wanted): Promise<LockedServer> {
    const content = await contentOf(this.#core, workload);
    if (locked !== undefined && content.source !== undefined)
      requireContent(name, locked, {
        source: content.source,
        contents: content.contents,
        isStrict: this.#request.locked === true,
      });
    const tools = await toolsOf(this.#core, workload);
    if (locked !== undefined) requireTools(name, locked, tools);
    return lockedServer(stated, content, tools ?? locked?.tools);
  }

  /** Stores the values and the group of a server, and returns the request with the keys of the values. */
  async #prepared(name: string, { desired, request }: Wanted, call: Call): Promise<CreateWorkload> {
    const core = this.#core;
    const { group } = request;
    if (group !== undefined && !core.groups.all().some((each) => each.name === group))
      await createGroup(core, { name: group }, call);
    for (const { target, value } of desired.values) {
      const place = `${name}/${target}`;
      const key = this.#project.secrets[place];
      if (value === undefined) continue;
      if (key !== undefined) await core.secrets.put(key, value);
      else
        await this.#save({
          secrets: {
            ...this.#project.secrets,
            [place]: await storeSecret(core, `${this.#project.name}-${name}-${target}`, value),
          },
        });
    }
    return withKeys(request, (target) => this.#project.secrets[`${name}/${target}`] ?? '');
  }

  #guarded(name: string, { locked }: Wanted, call: Call): Call & { lock?: ReturnType<typeof packageLock> } {
    const isStrict = this.#request.locked === true;
    return locked === undefined ? call : { ...call, lock: packageLock(name, locked, { isStrict }) };
  }

  /** Removes the remains of a failed creation. A workload of the same name that the user has created stays. */
  async #discard(name: string, workload: string, id: string | undefined): Promise<void> {
    if (id !== undefined)
      await removeOwned(this.#core, { workload, id }, () => {}).catch((error: unknown) =>
        this.#warn(workload, error),
      );
    await this.#forget(name);
  }

  async #undoAll(call: Call): Promise<void> {
    call.report('making everything as it was');
    for (const undo of this.#undo.toReversed())
      await undo().catch((error: unknown) => this.#warn(this.#path, error));
  }

  #warn(workload: string, error: unknown): void {
    this.#core.log.warn({ workload, why: messageOf(error) }, 'a project could not be cleaned up');
  }

  async #note(name: string, owned: Owned): Promise<void> {
    await this.#save({ servers: { ...this.#project.servers, [name]: owned } });
  }

  async #forget(name: string): Promise<void> {
    const { [name]: _gone, ...servers } = this.#project.servers;
    await this.#save({ servers });
  }

  async #save(change: Partial<Project>): Promise<void> {
    this.#project = { ...this.#project, ...change };
    await this.#record.save(this.#path, this.#project);
  }
}

/** Gives a workload its earlier settings. */
async function putBack(
  core: Core,
  workload: string,
  before: ReturnType<typeof exportWorkload>,
): Promise<void> {
  const signal = AbortSignal.timeout(REMOVAL_MS);
  const request = { ...before, accepted_risks: [...riskNames] };
  await editWorkload(core, workload, request, { report: () => {}, signal });
}

/** Removes a workload of a project, unless another one has its name by now. */
export async function removeOwned(
  core: Core,
  { workload, id }: Owned,
  report: (message: string) => void,
): Promise<void> {
  if (id === undefined || core.workloads.find(workload)?.id !== id) return;
  const removal = await deleteWorkload(core, workload);
  await removal.follow(report, AbortSignal.timeout(REMOVAL_MS));
}

/** The consent of this command, in place of that of `thv run`. */
function explained(thrown: unknown): { problem: string; hint?: string } {
  const { problem, hint } = problemOf(thrown);
  const risks = risksIn(problem);
  // A workload that failed is gone, or runs with its earlier settings.
  const isGone = hint !== undefined && /thv (?:logs|restart|rm) /.test(hint);
  if (isGone) return { problem, hint: 'fix the cause, and run thv up again' };
  if (risks.length === 0) return { problem, ...(hint === undefined ? {} : { hint }) };
  const [, texts = problem] = /^[^:]*: (.*)$/s.exec(problem) ?? [];
  return { problem: `it asks for dangerous access: ${texts}`, hint: 'to accept that, add --accept-risks' };
}

/** Stores a value under a free key, and returns the key. */
async function storeSecret(core: Core, key: string, value: string): Promise<string> {
  for (let count = 1; ; count += 1) {
    const free = count === 1 ? key : `${key}-${count}`;
    try {
      await core.secrets.create(free, value);
      return free;
    } catch (thrown) {
      if (!(thrown instanceof ThvError) || thrown.kind !== 'conflict' || count === 100) throw thrown;
    }
  }
}
