import { randomUUID } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { isCredential } from '@toolhive/contract/credential';
import { ThvError, invalid } from '@toolhive/contract/failure';
import { BuiltInServerName } from '@toolhive/contract/names';
import { printable } from '@toolhive/contract/printable';
import type {
  LockRefusal,
  PlannedProjectServer,
  ProjectPlan,
  ProjectRequest,
} from '@toolhive/contract/project';
import { CreateWorkload } from '@toolhive/contract/workload';
import { checkWorkload } from '@toolhive/core/check';
import type { Core } from '@toolhive/core/core';
import { getWorkload } from '@toolhive/core/describe';
import { findUpdate } from '@toolhive/core/update';
import { uniqueNames } from '@toolhive/pasted/entry-names';
import { registryEntryOf } from './content.ts';
import { desiredOf, ownSecret } from './desired.ts';
import type { Answers, Desired } from './desired.ts';
import { directoryOf, hashOf, parseFile } from './file.ts';
import type { FileServer } from './file.ts';
import { planGroups } from './groups.ts';
import { problemOf } from './problem.ts';
import type { GroupPlan } from './groups.ts';
import { entryDifference, parseLock, statedDifferences } from './lock.ts';
import type { Lock, LockedServer, Stated } from './lock.ts';
import type { Owned, Project, ProjectRecord } from './record.ts';

/** A server of the file with everything that is needed to run it, or with the reason why that is not possible. */
export interface ServerPlan {
  shown: PlannedProjectServer;
  /** The workload that the project has for the server. */
  owned: Owned | undefined;
  /** Undefined for a problem, and for a server that is no longer in the file. */
  wanted?: Wanted;
}

export interface Wanted {
  desired: Desired;
  /** The request with the keys of stored values. */
  request: CreateWorkload;
  stated: Stated;
  /** The entry of the lock file that the server must match. */
  locked: LockedServer | undefined;
}

export interface Plan {
  project: Project;
  lock: Lock | undefined;
  servers: ServerPlan[];
  groups: GroupPlan[];
  shown: ProjectPlan;
  /** The answers to keep, which are no secrets. */
  inputs: Record<string, string>;
}

/** The label of the workloads of a project, with the ID of the project. */
export const projectLabel = 'project.toolhive.dev/id';

/** Compares a project file with the workloads of the project. Changes nothing. */
export async function planOf(
  core: Core,
  record: ProjectRecord,
  request: ProjectRequest,
  signal: AbortSignal,
): Promise<Plan> {
  const { path, text } = request;
  if (!isAbsolute(path)) throw invalid('path must be absolute');
  const file = parseFile(text, path);
  const lock = request.lock === undefined ? undefined : parseLock(request.lock);
  const known = await record.find(path);
  const project: Project = known ?? {
    id: randomUUID(),
    name: file.name,
    servers: {},
    secrets: {},
    inputs: {},
  };
  const answers: Answers = {
    variables: request.variables ?? {},
    inputs: { ...project.inputs, ...request.inputs },
  };
  const owned = presentWorkloads(core, project);
  const names = workloadNames(core, file.servers, owned);
  const planner = new Planner(core, {
    request,
    project: { ...project, name: file.name },
    lock,
    answers,
    inputs: file.inputs,
    signal,
  });
  const servers: ServerPlan[] = [];
  // One after the other, because each may ask a package registry.
  for (const server of file.servers)
    servers.push(await planner.plan(server, names.get(server.name) ?? server.name, owned.get(server.name)));
  const stated = new Map(
    servers.flatMap(({ shown, wanted }) =>
      wanted === undefined ? [] : [[shown.name, wanted.stated] as const],
    ),
  );
  const refusals =
    request.locked === true ? lockRefusals(servers, stated, lock, (name) => isUpdated(request, name)) : [];
  for (const [name, present] of owned) {
    if (file.servers.some((server) => server.name === name)) continue;
    const action = request.prune === true ? 'remove' : 'leave';
    servers.push({
      owned: present,
      shown: { name, workload: present.workload, action, changes: [], access: [], notes: [] },
    });
  }
  const groups = planGroups(core, file.groups, servers);
  if (request.locked === true)
    refusals.push(
      ...groups.flatMap(({ shown: { name, problem, hint = 'fix the problem, and try again' } }) =>
        problem === undefined ? [] : [{ message: `group ${name}: ${problem}`, hint }],
      ),
    );
  const shown = {
    project: file.name,
    path,
    servers: servers.map((each) => each.shown),
    ...(groups.length === 0 ? {} : { groups: groups.map((each) => each.shown) }),
    inputs: planner.unanswered,
    refusals,
  };
  const inputs = Object.entries(answers.inputs).filter(
    ([id, value]) => file.inputs.get(id)?.secret === false && !isCredential(id, value),
  );
  return {
    project: { ...project, name: file.name },
    lock,
    servers,
    groups,
    inputs: Object.fromEntries(inputs),
    shown: { ...shown, digest: hashOf([shown, [...stated]]) },
  };
}

/** A server with a problem has no stated facts, but is in the file. */
function lockRefusals(
  servers: readonly ServerPlan[],
  stated: ReadonlyMap<string, Stated>,
  lock: Lock | undefined,
  updated: (name: string) => boolean,
): LockRefusal[] {
  const failed = new Set(servers.filter(({ wanted }) => wanted === undefined).map(({ shown }) => shown.name));
  const found = statedDifferences(stated, lock, updated).filter(({ server = '' }) => !failed.has(server));
  const problems = servers.flatMap(({ shown: { name, problem, hint } }) =>
    problem === undefined || found.some(({ server }) => server === name)
      ? []
      : [{ server: name, message: `${name}: ${problem}`, hint: hint ?? 'fix the problem, and try again' }],
  );
  return [...found, ...problems];
}

export const isUpdated = ({ update, update_all: all }: ProjectRequest, name: string): boolean =>
  all === true || update?.includes(name) === true;

/** The workloads of a project that exist. Another workload can have the name of one by now. */
export function presentWorkloads(core: Core, project: Project): Map<string, Owned> {
  const present = new Map<string, Owned>();
  for (const [name, owned] of Object.entries(project.servers)) {
    const supervisor = core.workloads.find(owned.workload);
    if (supervisor === undefined) continue;
    const { id, runConfig } = supervisor;
    // A killed daemon may have created the workload without noting its ID.
    const isOwn =
      owned.id === undefined ? runConfig.container_labels?.[projectLabel] === project.id : owned.id === id;
    if (isOwn) present.set(name, { ...owned, id });
  }
  return present;
}

/** The names of workloads: those that exist, and free ones for the others. */
function workloadNames(
  core: Core,
  servers: readonly FileServer[],
  owned: ReadonlyMap<string, Owned>,
): Map<string, string> {
  const fresh = servers.filter(({ name }) => !owned.has(name));
  const named = uniqueNames(
    fresh.map(({ name }) => ({ name, path: [], entry: {} })),
    core.workloads.all().map(({ runConfig }) => runConfig.name),
  );
  return new Map([
    ...[...owned].map(([name, { workload }]) => [name, workload] as const),
    ...fresh.map(({ name }, index) => [name, named[index]?.workload ?? name] as const),
  ]);
}

interface PlannerOptions {
  request: ProjectRequest;
  project: Project;
  lock: Lock | undefined;
  answers: Answers;
  inputs: ReturnType<typeof parseFile>['inputs'];
  signal: AbortSignal;
}

/** Plans one server after the other. */
class Planner {
  readonly #core: Core;
  readonly #options: PlannerOptions;
  #storedSecrets: Promise<ReadonlySet<string> | undefined> | undefined;
  readonly unanswered: ProjectPlan['inputs'] = [];

  constructor(core: Core, options: PlannerOptions) {
    this.#core = core;
    this.#options = options;
  }

  /** A problem with one server does not affect the others. */
  async plan(server: FileServer, workload: string, owned: Owned | undefined): Promise<ServerPlan> {
    const { signal } = this.#options;
    const shown: PlannedProjectServer = {
      name: server.name,
      workload,
      action: owned === undefined ? 'create' : 'keep',
      changes: [],
      access: [],
      notes: [],
    };
    // A name with spaces, for example, is changed although it is free.
    const isTaken = this.#core.workloads.find(server.name) !== undefined;
    if (owned === undefined && isTaken && workload !== server.name)
      shown.notes.push(`the name ${server.name} belongs to another workload, which stays as it is`);
    try {
      const wanted = await this.#wanted(server, shown);
      await this.#compare(wanted, shown, owned);
      return { shown, owned, wanted };
    } catch (thrown) {
      signal.throwIfAborted();
      return { owned, shown: { ...shown, ...problemOf(thrown) } };
    }
  }

  async #wanted(server: FileServer, shown: PlannedProjectServer): Promise<Wanted> {
    const { request: asked, project, lock, answers, inputs } = this.#options;
    const { name } = server;
    const desired = await desiredOf(server, { directory: directoryOf(asked.path), inputs, answers });
    shown.access.push(...desired.access);
    shown.notes.push(...desired.notes);
    await this.#requireValues(name, desired);
    const request = withKeys(
      desired.request,
      (target) => project.secrets[`${name}/${target}`] ?? ownSecret(target),
    );
    if (BuiltInServerName.safeParse(request.image).success)
      throw invalid(`${request.image} is part of ToolHive`, { hint: 'remove it from the file' });
    if (request.url !== undefined && this.#core.clients.leadsToWorkload(request.url))
      throw invalid('its URL leads to a workload of this machine', { hint: 'remove it from the file' });
    const stated: Stated = {
      settings: server.settings,
      source: desired.source,
      registryEntry: await registryEntryOf(this.#core, request.image, request.registry_group),
    };
    const entry = lock !== undefined && Object.hasOwn(lock.servers, name) ? lock.servers[name] : undefined;
    const locked = entry?.source === stated.source && !isUpdated(asked, name) ? entry : undefined;
    const changed = locked && entryDifference(name, locked, stated);
    if (changed !== undefined) throw new ThvError('conflict', changed.message, { hint: changed.hint });
    return { desired, stated, locked, request: checked({ ...request, labels: labelsOf(project) }) };
  }

  /** Throws if the user has not given a value, and has not given it before. */
  async #requireValues(name: string, { values, request }: Desired): Promise<void> {
    const { project, inputs } = this.#options;
    const stored = await (this.#storedSecrets ??= storedSecrets(this.#core));
    const isStored = (key: string | undefined): boolean => key !== undefined && stored?.has(key) !== false;
    const lacking = values.filter(
      ({ value, target }) => value === undefined && !isStored(project.secrets[`${name}/${target}`]),
    );
    const missingInputs = [...new Set(lacking.flatMap(({ lacks }) => lacks.inputs))];
    for (const id of missingInputs) {
      if (this.unanswered.some((each) => each.id === id)) continue;
      const { description = '', secret = true } = inputs.get(id) ?? {};
      this.unanswered.push({ id, description, secret });
    }
    const variables = [...new Set(lacking.flatMap(({ lacks }) => lacks.variables))];
    const own = new Set(values.map(({ target }) => ownSecret(target)));
    const secrets = (request.secrets ?? []).map((reference) => reference.name).filter((key) => !own.has(key));
    const unknown = secrets.filter((key) => stored?.has(key) === false);
    const needs = [
      ...variables.map((variable) => ({
        what: `the environment variable ${variable}`,
        fix: `export ${variable}`,
      })),
      ...missingInputs.map((id) => ({ what: `an answer to ${id}`, fix: `add --input ${id}=VALUE` })),
      ...unknown.map((key) => ({ what: `the secret ${key}`, fix: `run thv secret set ${key}` })),
    ];
    if (needs.length === 0) return;
    throw invalid(`it needs ${needs.map(({ what }) => what).join(', ')}`, {
      hint: needs.map(({ fix }) => fix).join('; '),
    });
  }

  async #compare(wanted: Wanted, shown: PlannedProjectServer, owned: Owned | undefined): Promise<void> {
    const core = this.#core;
    const { request: asked, project, signal } = this.#options;
    const { request, desired, locked } = wanted;
    const { name, workload } = shown;
    if (owned !== undefined) {
      shown.changes.push(...(await changesOf(core, owned, wanted)));
      for (const { target, value } of desired.values) {
        const key = project.secrets[`${name}/${target}`];
        if (key === undefined || value === undefined) continue;
        const before = await core.secrets.read(key).catch(() => undefined); // the user has removed the secret
        if (before !== value) shown.changes.push(`a new value for ${target}`);
      }
      if (locked !== undefined && owned.resolved !== undefined && owned.resolved !== locked.resolved)
        shown.changes.push(`the version: ${owned.resolved} becomes ${locked.resolved}`);
      if (isUpdated(asked, name)) shown.changes.push(...(await newerVersion(core, wanted, workload, signal)));
      if (shown.changes.length > 0) shown.action = 'update';
      else if (['stopped', 'error'].includes(core.workloads.require(workload).condition.status))
        shown.action = 'start';
    }
    if (owned === undefined) shown.changes.push(...settingsOf(request));
    const { group } = request;
    const isNewGroup = group !== undefined && !core.groups.all().some((each) => each.name === group);
    if (isNewGroup) shown.changes.push(`creates the group ${group}`);
    if (shown.action !== 'create' && shown.action !== 'update') return;
    const { group: _group, ...ungrouped } = withoutUnstored(request);
    const check = await checkWorkload(
      core,
      { ...ungrouped, ...(isNewGroup || group === undefined ? {} : { group }), name: workload },
      { edited: owned === undefined ? undefined : workload, signal },
    );
    const risks = check.risks.filter(({ risk }) => risk !== 'send-secrets'); // the access names them
    shown.check = { ...check, risks };
  }
}

/** The request before its values are stored, for a check. */
function withoutUnstored(request: CreateWorkload): CreateWorkload {
  const { secrets, env_vars: variables, cmd_arguments: args } = request;
  const isOpen = ({ name, target }: { name: string; target: string }): boolean => name === ownSecret(target);
  const open = (secrets ?? []).filter(isOpen).map(({ target }) => target);
  if (open.length === 0) return request;
  const plain = (text: string): string =>
    open.reduce((changed, target) => changed.replaceAll(`\${secret:${target}}`, target), text);
  return {
    ...request,
    secrets: secrets?.filter((reference) => !isOpen(reference)),
    ...(args ? { cmd_arguments: args.map(plain) } : {}),
    ...(request.url === undefined
      ? { env_vars: { ...variables, ...Object.fromEntries(open.map((target) => [target, target])) } }
      : {}),
  };
}

/** The same checks as for a request of the API. */
function checked(request: CreateWorkload): CreateWorkload {
  const parsed = CreateWorkload.safeParse(request);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw invalid(`${issue?.path.join('.')}: ${issue?.message}`);
}

/** The user can find the workloads of a project by its name. */
function labelsOf({ id, name }: Project): Record<string, string> {
  const value = name.slice(0, 63).replace(/[^A-Za-z0-9]+$/, '');
  return { [projectLabel]: id, ...(value === '' ? {} : { project: value }) };
}

/** The request with other names for the secrets of its values. */
export function withKeys(request: CreateWorkload, keyOf: (target: string) => string): CreateWorkload {
  const { secrets, headers } = request;
  return {
    ...request,
    ...(secrets
      ? {
          secrets: secrets.map(({ name, target }) => ({
            target,
            name: name === ownSecret(target) ? keyOf(target) : name,
          })),
        }
      : {}),
    ...(headers
      ? {
          headers: headers.map((header) =>
            header.default === `${ownSecret(header.name)},target=${header.name}`
              ? { ...header, default: `${keyOf(header.name)},target=${header.name}` }
              : header,
          ),
        }
      : {}),
  };
}

/** Undefined if the secrets cannot be listed. */
async function storedSecrets(core: Core): Promise<ReadonlySet<string> | undefined> {
  try {
    return new Set((await core.secrets.list()).map(({ key }) => key));
  } catch (thrown) {
    if (!(thrown instanceof ThvError)) throw thrown;
    return thrown.kind === 'not-found' ? new Set() : undefined;
  }
}

/** The settings that differ from those that the workload was created with. */
async function changesOf(
  core: Core,
  { workload, request: before, revision }: Owned,
  { request }: Wanted,
): Promise<string[]> {
  if (before === undefined) return ['the last change was interrupted'];
  const now: Record<string, unknown> = { ...request };
  const keys = [...new Set([...Object.keys(before), ...Object.keys(now)])].filter((key) => key !== 'labels');
  const changed = keys.filter((key) => hashOf(settingOf(before[key])) !== hashOf(settingOf(now[key])));
  const changes = changed.map((key) => `${key}: ${textOf(before[key])} becomes ${textOf(now[key])}`);
  if (changes.length > 0) return changes;
  const { revision: present } = await getWorkload(core, workload);
  return present === revision
    ? []
    : ['its settings were changed outside of the project, and become those of the file again'];
}

/** The settings of a new workload that its check does not show. */
function settingsOf({
  labels: _labels,
  image: _image,
  url: _url,
  permission_profile: _profile,
  volumes: _volumes,
  ...request
}: CreateWorkload): string[] {
  return Object.entries(request).flatMap(([key, value]) =>
    settingOf(value) === null ? [] : [`${key}: ${textOf(value)}`],
  );
}

/** An empty list and an empty map mean the same as no value. */
const settingOf = (value: unknown): unknown =>
  value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
    ? null
    : value;

const textOf = (value: unknown): string =>
  settingOf(value) === null ? 'nothing' : printable(JSON.stringify(value)).slice(0, 200);

/** The version that an update would install. A version in the file stays. */
async function newerVersion(
  core: Core,
  { request: { image = '' } }: Wanted,
  workload: string,
  signal: AbortSignal,
): Promise<string[]> {
  const { outdated, current, newest } = await findUpdate(core, workload, { report: () => {}, signal });
  const isExact = /^(?:npx|uvx|go):\/\/.+@[\w.+-]+/.test(image.replace(/^npx:\/\/@/, 'npx://'));
  return outdated && !isExact ? [`the version: ${current} becomes ${newest}`] : [];
}
