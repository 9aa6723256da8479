import type { Client } from '@toolhive/contract/client';
import type { FailureKind } from '@toolhive/contract/failure';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { testServer } from '@toolhive/core/testing';
import { everywhereClient, groupClient, groupsOf, namesOf, workloadThing } from './crash-world.ts';
import type { World } from './crash-world.ts';
import type { Accepted } from './linear.ts';
import { oneOf } from './random-acts.ts';
import type { Random } from './random-acts.ts';

type Apply = Accepted<unknown>['apply'];
type Effects = readonly { thing: string; apply: Apply }[];

/** Something to ask for, what it does to which things if it is accepted, and why it may be refused. */
export interface Request {
  title: string;
  send: (client: Client) => Promise<unknown>;
  effects: Effects;
  refusals: readonly FailureKind[];
}

/** A request for one of a few things that many others ask for, too. */
export function aRequest(random: Random): Request {
  const one = (first: string, ...others: string[]): string => oneOf(random, [first, ...others]) ?? first;
  const mark = one('1', '2', '3');
  const kinds = [
    requestsForWorkload(one('a', 'b', 'c'), mark),
    requestsForWorkload(one('a', 'b', 'c'), mark),
    requestsForGroup(one('x', 'y')),
    requestsForSecret(one('token', 'key'), mark),
  ];
  const request = oneOf(random, oneOf(random, kinds) ?? []);
  if (request === undefined) throw new Error('there is always something to ask for');
  return request;
}

function requestsForWorkload(name: string, mark: string): Request[] {
  const body = workloadBody(name, mark);
  const both = { body: { names: ['a', 'b'] } };
  const toIt = (apply: Apply) => [{ thing: `workload ${name}`, apply }];
  const toBoth = (apply: Apply) =>
    ['workload a', 'workload b'].map((thing) => ({ thing, apply: ifThere(apply) }));
  const running = { mark, isUp: true };
  const create: Request = {
    title: `create ${name} as ${mark}`,
    send: (client) => client.createWorkload({ body }),
    effects: toIt(makes(running)),
    refusals: ['conflict'],
  };
  return [
    create,
    create, // as it is the most often refused
    {
      title: `edit ${name} as ${mark}`,
      send: (client) => client.editWorkload({ ...named(name), body }),
      effects: toIt(turnsInto(running)),
      refusals: ['not-found', 'conflict'],
    },
    {
      title: `stop ${name}`,
      send: (client) => client.stopWorkload(named(name)),
      effects: toIt(changes({ isUp: false })),
      refusals: ['not-found'],
    },
    {
      title: `restart ${name}`,
      send: (client) => client.restartWorkload(named(name)),
      effects: toIt(changes({ isUp: true })),
      refusals: ['not-found'],
    },
    {
      title: `delete ${name}`,
      send: (client) => client.deleteWorkload(named(name)),
      effects: toIt(() => null), // as long as the workload is being removed, another removal is the same one
      refusals: ['not-found'],
    },
    {
      title: 'stop a and b',
      send: (client) => client.stopWorkloads(both),
      effects: toBoth(changes({ isUp: false })),
      refusals: ['not-found'],
    },
    {
      title: 'delete a and b',
      send: (client) => client.deleteWorkloads(both),
      effects: toBoth(() => null),
      refusals: ['not-found'],
    },
  ];
}

function requestsForGroup(group: string): Request[] {
  const toIt = (apply: Apply) => [{ thing: `group ${group}`, apply }];
  const toBoth = (apply: Apply) => ['group x', 'group y'].map((thing) => ({ thing, apply }));
  const toEverywhere = (apply: Apply) => [{ thing: 'everywhere', apply }];
  return [
    {
      title: `create ${group}`,
      send: (client) => client.createGroup({ body: { name: group } }),
      effects: toIt(makes({ hasClient: false })),
      refusals: ['conflict'],
    },
    {
      title: `delete ${group}`,
      send: (client) => client.deleteGroup({ ...named(group), query: {} }),
      effects: toIt(turnsInto(null)),
      refusals: ['not-found'],
    },
    {
      title: 'register in x and y',
      send: (client) => client.createClient({ body: { name: groupClient, groups: ['x', 'y'] } }),
      effects: toBoth(turnsInto({ hasClient: true })),
      refusals: ['not-found'],
    },
    {
      title: `unregister from ${group}`,
      send: (client) => client.deleteClientFromGroup({ params: { name: groupClient, group } }),
      effects: toIt(turnsInto({ hasClient: false })),
      refusals: ['not-found'],
    },
    {
      title: 'unregister',
      send: (client) => client.deleteClient({ params: { name: groupClient } }),
      effects: toBoth(ifThere(turnsInto({ hasClient: false }))),
      refusals: [],
    },
    {
      title: 'register everywhere',
      send: (client) => client.registerClients({ body: { names: [everywhereClient] } }),
      effects: toEverywhere(() => true),
      refusals: [],
    },
    {
      title: 'unregister everywhere',
      send: (client) => client.unregisterClients({ body: { names: [everywhereClient] } }),
      effects: toEverywhere(() => null),
      refusals: [],
    },
  ];
}

function requestsForSecret(key: string, value: string): Request[] {
  const toIt = (apply: Apply) => [{ thing: `secret ${key}`, apply }];
  return [
    {
      title: `create ${key} as ${value}`,
      send: (client) => client.createSecret({ body: { key, value } }),
      effects: toIt(makes(value)),
      refusals: ['conflict'],
    },
    {
      title: `change ${key} to ${value}`,
      send: (client) => client.updateSecret({ params: { key }, body: { value } }),
      effects: toIt(turnsInto(value)),
      refusals: ['not-found'],
    },
    {
      title: `delete ${key}`,
      send: (client) => client.deleteSecret({ params: { key } }),
      effects: toIt(turnsInto(null)),
      refusals: ['not-found'],
    },
  ];
}

/** What is not there is null. */
const makes =
  (state: unknown): Apply =>
  (before) =>
    before === null ? state : 'impossible';
const turnsInto =
  (state: unknown): Apply =>
  (before) =>
    before === null ? 'impossible' : state;
const changes =
  (part: object): Apply =>
  (before) =>
    before === null ? 'impossible' : { ...before, ...part };
const ifThere =
  (apply: Apply): Apply =>
  (before) =>
    before === null ? null : apply(before);

/** How a thing is that requests are for. */
export function stateOf(world: World, thing: string): unknown {
  const [kind, name = ''] = thing.split(' ');
  switch (kind) {
    case 'everywhere':
      return world.has(`client ${everywhereClient}`) ? true : null;
    case 'group':
      return world.has(thing) ? { hasClient: groupsOf(world, groupClient).includes(name) } : null;
    case 'workload':
      return workloadsIn(world)[name] ?? null;
    default:
      return world.get(thing) ?? null;
  }
}

/** The workloads of a world as far as requests change them. */
export function workloadsIn(world: World): Record<string, { mark: string | undefined; isUp: boolean }> {
  return Object.fromEntries(
    namesOf(world, 'workload').flatMap((name) => {
      const thing = workloadThing(world, name);
      return thing === undefined
        ? []
        : [[name, { mark: thing.runConfig.env_vars?.['MARK'], isUp: thing.isUp }]];
    }),
  );
}

/** What asks for a workload of the test server; it is known by its mark. */
export function workloadBody(
  name: string,
  mark: string,
  changed: Partial<CreateWorkload> = {},
): CreateWorkload {
  return {
    name,
    image: testServer,
    cmd_arguments: ['echo'],
    proxy_mode: 'streamable-http',
    host: '127.9.0.1',
    env_vars: { MARK: mark },
    ...changed,
  };
}

export function named<Name extends string>(name: Name): { params: { name: Name } } {
  return { params: { name } };
}
