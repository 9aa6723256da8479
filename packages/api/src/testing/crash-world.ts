import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Client } from '@toolhive/contract/client';
import type { ClientName } from '@toolhive/contract/client-application';
import { defaultGroup } from '@toolhive/contract/names';
import { RunConfig } from '@toolhive/contract/run-config';
import { statePaths } from '@toolhive/state/paths';
import { testServer } from '@toolhive/core/testing';
import { expect } from 'vitest';
import type { Daemon, OpenDaemon } from './crash-daemon.ts';

/** Everything that a daemon answers for, by what it is: `workload one`, `group team`, `secret token`. */
export type World = ReadonlyMap<string, unknown>;
/** What becomes of things; undefined for what is gone. */
export type Effect = ReadonlyMap<string, unknown>;

/** A workload as the world has it. */
export interface WorkloadThing {
  runConfig: RunConfig;
  isUp: boolean;
}

/** A change that is asked for through the API. */
export interface Act {
  title: string;
  send(client: Client): Promise<unknown>;
  effect: Effect;
  /** What must not change meanwhile. */
  needs: readonly string[];
  /** It happens as a whole or not at all; else each thing changes or does not. */
  isWhole: boolean;
  /** Returns when everything that goes on after the answer is over, or when nobody waits. */
  settled?(client: Client, signal?: AbortSignal): Promise<void>;
}

/** One application is registered in groups, another one for everything. */
export const groupClient = 'cursor';
export const everywhereClient = 'claude-code';
const clientFiles = { [groupClient]: '.cursor/mcp.json', [everywhereClient]: '.claude.json' };

/** What other people have in the files of their applications. */
const theirs = { mcpServers: { theirs: { url: 'https://mcp.example/mcp' } }, kept: [1, 2, 3] };

/** The home of somebody who uses both applications. */
export async function furnish(home: string): Promise<void> {
  await mkdir(join(home, '.cursor'), { recursive: true });
  for (const file of Object.values(clientFiles)) await writeFile(join(home, file), JSON.stringify(theirs));
}

/** The world of a new daemon. */
export const newWorld: World = new Map<string, unknown>([
  [`group ${defaultGroup}`, true],
  ['registry', ''],
]);

export function workloadThing(world: World, name: string): WorkloadThing | undefined {
  return world.get(`workload ${name}`) as WorkloadThing | undefined; // `acts` put it there
}

export function namesOf(world: World, kind: string): string[] {
  return [...world.keys()]
    .filter((key) => key.startsWith(`${kind} `))
    .map((key) => key.slice(kind.length + 1));
}

/** The groups of an application. */
export function groupsOf(world: World, client: string): string[] {
  return (world.get(`client ${client}`) as string[] | undefined) ?? []; // `acts` put it there
}

export function after(world: World, effect: Effect): World {
  const changed = new Map(world);
  for (const [key, value] of effect) {
    if (value === undefined) changed.delete(key);
    else changed.set(key, value);
  }
  return changed;
}

/** A run config of the test server. No two homes share an address, so that their ports are their own. */
export function aRunConfig(
  name: string,
  changes: Partial<RunConfig> & { host: string; port: number },
): RunConfig {
  return RunConfig.parse({
    schema_version: 'v0.1.0',
    name,
    base_name: name,
    container_name: name,
    image: testServer,
    cmd_args: ['echo'],
    transport: 'stdio',
    proxy_mode: 'streamable-http',
    permission_profile: {},
    group: defaultGroup,
    runtime: 'memory',
    ...changes,
  });
}

const whole = { isWhole: true, needs: [] };
const byName = (name: string) => ({ params: { name } });

/** Every kind of change, and what it comes to. */
export const acts = {
  create: (runConfig: RunConfig): Act => ({
    ...whole,
    title: `create ${runConfig.name} in ${runConfig.group} as ${runConfig.env_vars?.['MARK']}`,
    send: (client) => client.createWorkload({ body: runConfig }),
    effect: new Map([[`workload ${runConfig.name}`, { runConfig, isUp: true }]]),
    needs: [`group ${runConfig.group}`],
  }),
  edit: (runConfig: RunConfig): Act => ({
    ...acts.create(runConfig),
    title: `edit ${runConfig.name} in ${runConfig.group} as ${runConfig.env_vars?.['MARK']}`,
    send: (client) => client.editWorkload({ ...byName(runConfig.name), body: runConfig }),
  }),
  /** The tools are approved and remembered, because it is the first list. */
  listTools: (name: string): Act => ({
    ...whole,
    title: `list the tools of ${name}`,
    send: (client) => client.getCapabilities({ ...byName(name), query: { refresh: 'true' } }),
    effect: new Map(),
  }),
  stop: (world: World, name: string): Act => ({
    ...whole,
    title: `stop ${name}`,
    send: (client) => client.stopWorkload(byName(name)),
    effect: toEach(world, [name], (thing) => ({ ...thing, isUp: false })),
  }),
  restart: (world: World, name: string): Act => ({
    ...whole,
    title: `restart ${name}`,
    send: (client) => client.restartWorkload(byName(name)),
    effect: toEach(world, [name], (thing) => ({ ...thing, isUp: true })),
  }),
  remove: (name: string): Act => ({
    ...whole,
    title: `delete ${name}`,
    send: (client) => client.deleteWorkload(byName(name)),
    effect: new Map([[`workload ${name}`, undefined]]),
    settled: (client, signal) => gone(client, [name], signal),
  }),
  stopGroup: (world: World, group: string): Act => ({
    title: `stop all of ${group}`,
    send: (client) => client.stopWorkloads({ body: { group } }),
    effect: new Map([
      [`group ${group}`, true], // nothing may come into it meanwhile
      ...toEach(world, membersOf(world, group), (thing) => ({ ...thing, isUp: false })),
    ]),
    needs: [],
    isWhole: false,
  }),
  restartMany: (world: World, names: string[]): Act => ({
    title: `restart ${names.join(' and ')}`,
    send: (client) => client.restartWorkloads({ body: { names } }),
    effect: toEach(world, names, (thing) => ({ ...thing, isUp: true })),
    needs: [],
    isWhole: false,
  }),
  removeMany: (world: World, names: string[]): Act => ({
    title: `delete ${names.join(' and ')}`,
    send: (client) => client.deleteWorkloads({ body: { names } }),
    effect: toEach(world, names, () => undefined),
    needs: [],
    isWhole: false,
    settled: (client, signal) => gone(client, names, signal),
  }),
  createGroup: (name: string): Act => ({
    ...whole,
    title: `create group ${name}`,
    send: (client) => client.createGroup({ body: { name } }),
    effect: new Map([[`group ${name}`, true]]),
  }),
  removeGroup: (world: World, name: string, withWorkloads: boolean): Act => ({
    ...whole,
    title: `delete group ${name} ${withWorkloads ? 'with' : 'without'} its workloads`,
    send: (client) =>
      client.deleteGroup({ ...byName(name), query: withWorkloads ? { 'with-workloads': 'true' } : {} }),
    effect: new Map([
      [`group ${name}`, undefined],
      ...toEach(world, membersOf(world, name), ({ runConfig, isUp }) =>
        withWorkloads ? undefined : { runConfig: { ...runConfig, group: defaultGroup }, isUp },
      ),
      ...toGroups(world, groupClient, (groups) => groups.filter((group) => group !== name)),
    ]),
    needs: [`group ${defaultGroup}`],
  }),
  register: (world: World, groups: string[]): Act => ({
    ...whole,
    title: `register ${groupClient} in ${groups.join(' and ')}`,
    send: (client) => client.createClient({ body: { name: groupClient, groups } }),
    effect: toGroups(world, groupClient, (before) => [...before, ...groups]),
    needs: groups.map((group) => `group ${group}`),
  }),
  unregisterFrom: (world: World, group: string): Act => ({
    ...whole,
    title: `unregister ${groupClient} from ${group}`,
    send: (client) => client.deleteClientFromGroup({ params: { name: groupClient, group } }),
    effect: toGroups(world, groupClient, (before) => before.filter((one) => one !== group)),
    needs: [`group ${group}`],
  }),
  unregister: (world: World): Act => ({
    ...whole,
    title: `unregister ${groupClient}`,
    send: (client) => client.deleteClient(byName(groupClient) as { params: { name: ClientName } }),
    effect: new Map([[`client ${groupClient}`, undefined]]),
    needs: groupsOf(world, groupClient).map((group) => `group ${group}`),
  }),
  registerEverywhere: (): Act => ({
    ...whole,
    title: `register ${everywhereClient} everywhere`,
    send: (client) => client.registerClients({ body: { names: [everywhereClient] } }),
    effect: new Map([[`client ${everywhereClient}`, []]]),
  }),
  unregisterEverywhere: (): Act => ({
    ...whole,
    title: `unregister ${everywhereClient}`,
    send: (client) => client.unregisterClients({ body: { names: [everywhereClient] } }),
    effect: new Map([[`client ${everywhereClient}`, undefined]]),
  }),
  setupSecrets: (password: string): Act => ({
    ...whole,
    title: 'set up secrets',
    send: (client) => client.setupSecrets({ body: { provider_type: 'encrypted', password } }),
    effect: new Map([['secrets', 'encrypted']]),
  }),
  createSecret: (key: string, value: string): Act => ({
    ...whole,
    title: `create secret ${key} as ${value}`,
    send: (client) => client.createSecret({ body: { key, value } }),
    effect: new Map([[`secret ${key}`, value]]),
    needs: ['secrets'],
  }),
  updateSecret: (key: string, value: string): Act => ({
    ...acts.createSecret(key, value),
    title: `update secret ${key} to ${value}`,
    send: (client) => client.updateSecret({ params: { key }, body: { value } }),
  }),
  removeSecret: (key: string): Act => ({
    ...whole,
    title: `delete secret ${key}`,
    send: (client) => client.deleteSecret({ params: { key } }),
    effect: new Map([[`secret ${key}`, undefined]]),
    needs: ['secrets'],
  }),
  useRegistry: (file: string): Act => ({
    ...whole,
    title: `take the registry from ${file || 'the product'}`,
    send: (client) =>
      client.updateRegistry({ ...byName('default'), body: file === '' ? {} : { local_path: file } }),
    effect: new Map([['registry', file]]),
  }),
};

function membersOf(world: World, group: string): string[] {
  return namesOf(world, 'workload').filter((name) => workloadThing(world, name)?.runConfig.group === group);
}

function toEach(
  world: World,
  names: string[],
  change: (thing: WorkloadThing) => WorkloadThing | undefined,
): Map<string, unknown> {
  return new Map(
    names.flatMap((name) => {
      const thing = workloadThing(world, name);
      return thing === undefined ? [] : [[`workload ${name}`, change(thing)]];
    }),
  );
}

function toGroups(
  world: World,
  client: string,
  change: (before: string[]) => string[],
): Map<string, unknown> {
  const groups = [...new Set(change(groupsOf(world, client)))].toSorted();
  return new Map([[`client ${client}`, groups.length === 0 ? undefined : groups]]);
}

async function gone(client: Client, names: readonly string[], signal?: AbortSignal): Promise<void> {
  await until(async () => {
    const { workloads } = await client.listWorkloads({ query: { all: 'true' } });
    expect(workloads.filter(({ name }) => names.includes(name))).toEqual([]);
  }, signal);
}

/** Returns when `check` does not throw any more, or when nobody waits; throws what it throws for too long. */
async function until(check: () => Promise<void>, signal?: AbortSignal): Promise<void> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (signal?.aborted === true) return;
      if (performance.now() > deadline) throw error;
    }
    await delay(intervalMs);
  }
}

const intervalMs = 20;

/** Returns when no workload is about to become anything else. */
export async function atRest(client: Client): Promise<void> {
  await until(async () => {
    const { workloads } = await client.listWorkloads({ query: { all: 'true' } });
    const moving = workloads.filter(({ status }) => status !== 'running' && status !== 'stopped');
    expect(moving.map(({ name, status }) => `${name} is ${status}`)).toEqual([]);
  });
}

/** The world as a daemon tells it. */
export async function observe(daemon: OpenDaemon): Promise<World> {
  const { client } = daemon;
  const { workloads } = await client.listWorkloads({ query: { all: 'true' } });
  const things = workloads.map(async ({ name, status }) => {
    const runConfig = await client.exportWorkload(byName(name));
    const isUp = { running: true, starting: true, stopped: false }[status as string] ?? status;
    return [`workload ${name}`, { runConfig, isUp }] as const;
  });
  const { groups } = await client.listGroups({});
  const clients = await client.listClients({});
  const { registries } = await client.listRegistries({});
  const provider = await client.getSecretsProvider({}).catch(() => undefined);
  return new Map<string, unknown>([
    ...(await Promise.all(things)),
    ...groups.map(({ name }) => [`group ${name}`, true] as const),
    ...clients.map(({ name, groups }) => [`client ${name}`, [...(groups ?? [])].toSorted()] as const),
    ...Object.entries(await daemon.secrets()).map(([name, value]) => [`secret ${name}`, value] as const),
    ...(provider === undefined ? [] : [['secrets', provider.provider_type] as const]),
    ['registry', registries[0]?.source],
  ]);
}

/**
 * The world as it must be, given what it was and which changes were not answered when the daemon was killed. Where
 * what is observed fits no possible world, the answer is one that shows the difference.
 */
export function explain(world: World, unanswered: Iterable<Act>, observed: World): World {
  let explained = world;
  for (const { effect, isWhole } of unanswered) {
    const parts = isWhole ? [effect] : [...effect].map((part) => new Map([part]));
    for (const part of parts) {
      const hasHappened = [...part].every(([key, value]) => isDeepStrictEqual(observed.get(key), value));
      if (hasHappened) explained = after(explained, part);
    }
  }
  return explained;
}

/** Returns when everything on disk is as the world says, with nothing beside it; throws what is not. */
export async function requireInOrder(daemon: Daemon, world: World, signal?: AbortSignal): Promise<void> {
  const things = namesOf(world, 'workload').map((name) => [name, workloadThing(world, name)] as const);
  const wanted = Object.fromEntries(
    things.map(([name, thing]) => [name, thing?.isUp ? 'running' : 'stopped']),
  );
  await until(async () => {
    const { workloads } = await daemon.client.listWorkloads({ query: { all: 'true' } });
    expect(Object.fromEntries(workloads.map(({ name, status }) => [name, status]))).toEqual(wanted);
    expect(await storedStatuses(daemon.home)).toEqual(wanted);
    for (const [client, file] of Object.entries(clientFiles)) {
      const entries = entriesFor(world, client);
      expect({ [file]: await readUrls(join(daemon.home, file)) }).toEqual({
        [file]: { ...entries, ...urlsIn(theirs) },
      });
    }
    expect(await strangeFiles(daemon.home, world)).toEqual({ leftOver: [], missing: [] });
    expect(await strangeRows(daemon.home)).toEqual([]);
  }, signal);
  expect(daemon.complaints).toEqual([]);
}

async function storedStatuses(home: string): Promise<Record<string, string>> {
  const directory = statePaths({ HOME: home }).statuses;
  const files = (await filesUnder(directory)).filter((file) => file.endsWith('.json'));
  const read = files.map(async (file) => {
    const { status } = JSON.parse(await readFile(file, 'utf8')) as { status: string };
    return [relative(directory, file).replace(/\.json$/, ''), status] as const;
  });
  return Object.fromEntries(await Promise.all(read));
}

/** The URLs that the file of an application must have of ours. */
function entriesFor(world: World, client: string): Record<string, string> {
  if (!world.has(`client ${client}`)) return {};
  const offered = namesOf(world, 'workload').flatMap((name) => workloadThing(world, name) ?? []);
  const seen = offered.filter(
    ({ runConfig, isUp }) =>
      isUp &&
      (client === everywhereClient || groupsOf(world, client).includes(runConfig.group ?? defaultGroup)),
  );
  return Object.fromEntries(
    seen.map(({ runConfig: { name, host, port } }) => [name, `http://${host}:${port}/mcp`]),
  );
}

async function readUrls(path: string): Promise<Record<string, string>> {
  const file = JSON.parse(await readFile(path, 'utf8')) as typeof theirs;
  expect(file.kept).toEqual(theirs.kept);
  return urlsIn(file);
}

function urlsIn({ mcpServers }: { mcpServers: Record<string, { url: string }> }): Record<string, string> {
  return Object.fromEntries(Object.entries(mcpServers).map(([name, { url }]) => [name, url]));
}

/** Files that nobody needs, and those that ought to be there. */
async function strangeFiles(home: string, world: World): Promise<{ leftOver: string[]; missing: string[] }> {
  const paths = statePaths({ HOME: home });
  const { runConfigs, statuses, logs, groups, settings, daemonId, lock, socket, events, secrets } = paths;
  const workloads = namesOf(world, 'workload');
  const needed = new Set([
    ...workloads.flatMap((name) => [join(runConfigs, `${name}.json`), join(statuses, `${name}.json`)]),
    ...namesOf(world, 'group').map((name) => join(groups, `${name}.json`)),
    ...Object.values(clientFiles).map((file) => join(home, file)),
    ...(world.has('secrets') ? [secrets] : []),
    settings,
    paths.adopted,
    daemonId,
    lock,
    socket,
    events,
    paths.workloads,
    paths.history,
    paths.packages,
    paths.audit,
  ]);
  const allowed = new Set([
    ...workloads.flatMap((name) => [join(logs, `${name}.log`), join(logs, `${name}.server.log`)]),
    `${lock}-journal`,
    ...[events, paths.workloads, paths.history, paths.packages, paths.audit].flatMap((path) => [
      `${path}-wal`,
      `${path}-shm`,
    ]),
    paths.clientEntries,
    paths.taskKey,
    paths.auditFile,
    paths.auditAnchor,
    secrets,
  ]);
  const present = new Set(await filesUnder(home));
  return {
    leftOver: [...present.difference(needed).difference(allowed)].map((path) => relative(home, path)),
    missing: [...needed.difference(present)].map((path) => relative(home, path)),
  };
}

/** Rows of workloads that do not exist, which a later workload could inherit. */
async function strangeRows(home: string): Promise<unknown[]> {
  const { runConfigs, workloads, history } = statePaths({ HOME: home });
  const files = (await filesUnder(runConfigs)).filter((file) => file.endsWith('.json'));
  const ids = await Promise.all(
    files.map(async (file) => (JSON.parse(await readFile(file, 'utf8')) as RunConfig)['workload_id']),
  );
  const rows = [
    ...workloadsIn(workloads, ['kinds', 'versions', 'listings', 'decisions']),
    ...workloadsIn(history, ['names', 'calls']),
  ];
  return rows.filter((id) => !ids.includes(id as string));
}

/** The workloads that have rows in these tables of a database. */
function workloadsIn(path: string, tables: readonly string[]): unknown[] {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return tables
      .flatMap((name) => database.prepare(`SELECT DISTINCT workload FROM ${name}`).all())
      .map(({ workload }) => workload);
  } finally {
    database.close();
  }
}

async function filesUnder(directory: string): Promise<string[]> {
  if (!existsSync(directory)) return [];
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
}
