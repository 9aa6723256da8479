// @suite faults
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import type { RunConfig } from '@toolhive/contract/run-config';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDaemon, passphrase } from '@toolhive/api/testing/crash-daemon';
import {
  aRunConfig,
  acts,
  after,
  explain,
  furnish,
  newWorld,
  observe,
  requireInOrder,
} from '@toolhive/api/testing/crash-world';
import type { Act, World } from '@toolhive/api/testing/crash-world';
import { KillableDaemons } from '@toolhive/api/testing/killable-daemons';
import type { KillableDaemon } from '@toolhive/api/testing/killable-daemons';
import { actBeside, randomFrom } from '@toolhive/api/testing/random-acts';
import type { Random } from '@toolhive/api/testing/random-acts';

/** Else one step of five is tried, which takes a fifth of the time. Changes begin with different steps. */
const isThorough = process.env['CRASH_TEST'] === 'all';
const stride = 5;
const seed = Number(process.env['CRASH_SEED'] ?? 1);

let directory: string;
let cache: string;
let registry: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'thv-crash-'));
  cache = join(directory, 'cache');
  registry = join(directory, 'registry.json');
  await writeFile(
    registry,
    JSON.stringify({ version: '1.0.0', last_updated: '2026-01-01T00:00:00Z', servers: {} }),
  );
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** A home as a kill left it. */
interface Killed {
  title: string;
  home: string;
  /** What was answered until then. */
  world: World;
  /** What was asked for, and not answered. */
  unanswered: Iterable<Act>;
}

type Step = (world: World) => Act;

const ports: Record<string, number> = { busy: 10_001, idle: 10_002, other: 10_003, fresh: 10_004 };
const configOf = (host: string, name: string, mark: string, group = 'default'): RunConfig =>
  aRunConfig(name, { host, port: ports[name] ?? 10_000, env_vars: { MARK: mark }, group });

/** Puts something of everything into a home. */
const furniture = (host: string): Step[] => [
  ...['team', 'spare', 'new one'].map((name) => () => acts.createGroup(name)),
  ...['busy', 'idle'].map((name) => () => acts.create(configOf(host, name, 'old', 'team'))),
  () => acts.create(configOf(host, 'other', 'old')),
  ...['busy', 'idle', 'other'].map((name) => () => acts.listTools(name)),
  (world) => acts.register(world, ['default', 'team']),
  (world) => acts.stop(world, 'idle'),
];

/** What is done then; the last act is the one that is interrupted. */
const stories: Record<string, (host: string) => Step[]> = {
  'create a workload': (host) => [() => acts.create(configOf(host, 'fresh', 'new', 'team'))],
  'edit a workload that runs': (host) => [() => acts.edit(configOf(host, 'busy', 'new', 'team'))],
  'edit a workload that is stopped': (host) => [() => acts.edit(configOf(host, 'idle', 'new'))],
  'move a workload by an edit': (host) => [() => acts.edit(configOf(host, 'other', 'new', 'spare'))],
  'stop a workload': () => [(world) => acts.stop(world, 'busy')],
  'restart a workload': () => [(world) => acts.restart(world, 'idle')],
  'delete a workload that runs': () => [() => acts.remove('busy')],
  'delete a workload that is stopped': () => [() => acts.remove('idle')],
  'create a workload again': (host) => [
    () => acts.remove('busy'),
    () => acts.create(configOf(host, 'busy', 'new')),
  ],
  'stop a group': () => [(world) => acts.stopGroup(world, 'team')],
  'restart several': () => [
    (world) => acts.stop(world, 'busy'),
    (world) => acts.restartMany(world, ['busy', 'idle']),
  ],
  'delete several': () => [(world) => acts.removeMany(world, ['busy', 'idle', 'other'])],
  'create a group': () => [() => acts.createGroup('new')],
  'delete a group with its workloads': () => [(world) => acts.removeGroup(world, 'team', true)],
  'delete a group without its workloads': () => [(world) => acts.removeGroup(world, 'team', false)],
  'register an application': () => [(world) => acts.register(world, ['spare', 'new one'])],
  'unregister an application from a group': () => [(world) => acts.unregisterFrom(world, 'team')],
  'unregister an application': () => [(world) => acts.unregister(world)],
  'register an application everywhere': () => [() => acts.registerEverywhere()],
  'unregister an application everywhere': () => [
    () => acts.registerEverywhere(),
    () => acts.unregisterEverywhere(),
  ],
  'set up secrets': () => [() => acts.setupSecrets(passphrase)],
  'set up secrets again': () => [
    () => acts.setupSecrets(passphrase),
    () => acts.createSecret('token', 'old'),
    () => acts.setupSecrets(passphrase),
  ],
  'create a secret': () => [() => acts.setupSecrets(passphrase), () => acts.createSecret('token', 'new')],
  'change a secret': () => [
    () => acts.setupSecrets(passphrase),
    () => acts.createSecret('token', 'old'),
    () => acts.updateSecret('token', 'new'),
  ],
  'delete a secret': () => [
    () => acts.setupSecrets(passphrase),
    () => acts.createSecret('token', 'old'),
    () => acts.removeSecret('token'),
  ],
  'change the registry': () => [() => acts.useRegistry(registry)],
  'change the registry back': () => [() => acts.useRegistry(registry), () => acts.useRegistry('')],
};

test(
  'a kill at any step of any change loses nothing and leaves nothing behind',
  { timeout: 300_000 },
  async () => {
    const killed = await playStories();

    const checked = await Promise.all(killed.map(checkAll));

    expect(checked.flat()).toEqual([]);
  },
);

test(
  'a kill in the midst of many changes loses nothing and leaves nothing behind',
  { timeout: 300_000 },
  async () => {
    const lives = await Promise.allSettled([liveAndDie(0), liveAndDie(1)]); // no daemon outlives the test

    const failures = lives.flatMap((life) =>
      life.status === 'fulfilled' ? life.value : inspect(life.reason),
    );
    expect(failures).toEqual([]);
  },
);

/** Plays every story in a home of its own, and tells what a kill before each of its steps would have left. */
async function playStories(): Promise<Killed[][]> {
  const homes = Object.keys(stories).map((_story, index) => join(directory, `story-${index}`));
  for (const home of homes) await furnish(home);
  await using daemons = new KillableDaemons(homes, cache);
  const played = daemons.daemons.map(async (daemon, index) => {
    await daemon.opened;
    const [name, story] = Object.entries(stories)[index] ?? ['', () => []];
    const host = `127.7.0.${index + 1}`;
    const steps = [...furniture(host), ...story(host)];
    const last = steps.pop();
    if (last === undefined) throw new Error('a story has an end');
    const world = await play(daemon, steps);
    return interrupt(daemon, name, world, last(world));
  });
  const outcomes = await Promise.allSettled(played); // the others still use the folder after a failure
  await daemons.kill();
  const killed = await Promise.all(played);
  expect(killed).toHaveLength(outcomes.length);
  return killed;
}

/** Does one act after the other, each to its end. */
async function play(daemon: KillableDaemon, steps: readonly Step[]): Promise<World> {
  let world = newWorld;
  for (const step of steps) {
    const act = step(world);
    await act.send(daemon.client);
    await act.settled?.(daemon.client);
    world = after(world, act.effect);
  }
  await requireInOrder(daemon, world);
  return world;
}

/** Does one act, and keeps what a kill before each of its steps would leave. */
async function interrupt(daemon: KillableDaemon, name: string, world: World, act: Act): Promise<Killed[]> {
  const killed: Killed[] = [];
  let step = 0;
  let answered: Pick<Killed, 'world' | 'unanswered'> = { world, unanswered: [act] };
  daemon.beforeEachStep(async () => {
    step += 1;
    if (!isThorough && step % stride !== name.length % stride) return;
    const home = `${daemon.home}-${step}`;
    killed.push({ title: `${name}, killed before step ${step}`, home, ...answered });
    await cp(daemon.home, home, { recursive: true, filter: (path) => !path.endsWith('.sock') });
  });
  await act.send(daemon.client);
  answered = { world: after(world, act.effect), unanswered: [] };
  await requireInOrder(daemon, answered.world);
  return killed;
}

interface RandomHome {
  home: string;
  host: string;
  registry: string;
  world: World;
  /** Draws what is done there. */
  random: Random;
}

/** Kills the daemons of some homes over and over, in the midst of their work; tells what is not in order then. */
async function liveAndDie(team: number): Promise<string[]> {
  const random = randomFrom(seed + team);
  const homes = await newHomes(team, random);
  for (let times = 0; times < (isThorough ? 12 : 4); times += 1) {
    const killed = await killInTheMidst(homes, homes.length * 80 * random());
    const checked = killed.map(async (one, index) => {
      const world = await check(one);
      homes[index] = { ...one, world };
    });
    const results = await Promise.allSettled(checked);
    const failures = results.flatMap((result, index) =>
      result.status === 'fulfilled' ? [] : [`${killed[index]?.title}: ${inspect(result.reason)}`],
    );
    if (failures.length > 0) return failures;
  }
  return [];
}

async function newHomes(team: number, random: Random): Promise<RandomHome[]> {
  const homes = Array.from({ length: 12 }, (_, index) => ({
    home: join(directory, `random-${team}-${index}`),
    host: `127.8.${team}.${index + 1}`,
    registry: join(directory, `registry-${team}-${index}.json`),
    world: newWorld,
    random: randomFrom(random() * 2 ** 32),
  }));
  for (const { home, registry: own } of homes) {
    await furnish(home);
    await cp(registry, own);
  }
  return homes;
}

/** Does many things in every home, until their daemons have taken so many steps; then kills all of them. */
async function killInTheMidst(homes: readonly RandomHome[], steps: number): Promise<(RandomHome & Killed)[]> {
  await using daemons = new KillableDaemons(
    homes.map(({ home }) => home),
    cache,
  );
  const over = new AbortController();
  const acting = homes.map((home, index) => {
    const daemon = daemons.daemons[index];
    if (daemon === undefined) throw new Error('every home has a daemon');
    return actUntil(over.signal, daemon, home);
  });
  await Promise.race([Promise.all(acting), daemons.taken(steps)]);
  over.abort();
  await daemons.kill();
  return Promise.all(acting);
}

/** Does several things at a time, until it is over. */
async function actUntil(
  over: AbortSignal,
  daemon: KillableDaemon,
  home: RandomHome,
): Promise<RandomHome & Killed> {
  const { random } = home;
  const unanswered = new Set<Act>();
  const underWay = new Map<Act, Promise<void>>();
  let { world } = home;
  const perform = async (act: Act): Promise<void> => {
    await act.send(daemon.client).catch((cause: unknown) => {
      throw new Error(`failed: ${act.title}`, { cause });
    });
    unanswered.delete(act);
    world = after(world, act.effect);
    await act.settled?.(daemon.client, over);
    underWay.delete(act);
  };

  await daemon.opened.catch(() => {}); // it may be killed while it starts
  while (!over.aborted) {
    const act = underWay.size < 4 ? actBeside(underWay.keys(), world, home, random) : undefined;
    if (act === undefined) {
      await Promise.race(underWay.values()).catch((error: unknown) => {
        if (!over.aborted) throw error;
      });
    } else {
      unanswered.add(act);
      underWay.set(act, perform(act));
    }
  }
  await Promise.allSettled(underWay.values());
  const titles = [...unanswered].map(({ title }) => title).join(', ');
  return { ...home, world, unanswered, title: `seed ${seed}, killed during ${titles}` };
}

/** One after the other, as all of them have the same ports. */
async function checkAll(killed: readonly Killed[]): Promise<string[]> {
  const failures: string[] = [];
  for (const one of killed) {
    await check(one).catch((error: unknown) => failures.push(`${one.title}: ${inspect(error)}`));
    await rm(one.home, { recursive: true, force: true });
  }
  return failures;
}

/** Starts a daemon again, compares everything, and tells what has become of what was not answered. */
async function check({ home, world, unanswered }: Killed): Promise<World> {
  await using daemon = await openDaemon(home);
  const observed = await observe(daemon);
  const explained = explain(world, unanswered, observed);
  expect(Object.fromEntries(observed)).toEqual(Object.fromEntries(explained));
  await requireInOrder(daemon, explained);
  return explained;
}
