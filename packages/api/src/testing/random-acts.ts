import { defaultGroup } from '@toolhive/contract/names';
import { passphrase } from './crash-daemon.ts';
import { aRunConfig, acts, groupClient, groupsOf, namesOf, workloadThing } from './crash-world.ts';
import type { Act, World } from './crash-world.ts';

/** Numbers from 0 to 1, the same ones for the same seed. */
export type Random = () => number;

export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0; // mulberry32
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One of them; undefined when there is none. */
export function oneOf<Item>(random: Random, items: readonly Item[]): Item | undefined {
  return items[Math.floor(random() * items.length)];
}

/** Where acts are chosen for. */
interface Place {
  host: string;
  /** A file that a registry can be taken from. */
  registry: string;
}

/** An act that can be done beside others, as it neither needs nor changes what one of them changes; if one is found. */
export function actBeside(
  others: Iterable<Act>,
  world: World,
  place: Place,
  random: Random,
): Act | undefined {
  const underWay = [...others];
  for (let attempts = 0; attempts < 100; attempts += 1) {
    const act = randomAct(world, place, random);
    if (act !== undefined && underWay.every((other) => !areInTheWay(act, other))) return act;
  }
  return undefined;
}

function areInTheWay(one: Act, other: Act): boolean {
  const changes = (act: Act, key: string): boolean => act.effect.has(key);
  return (
    [...one.effect.keys(), ...one.needs].some((key) => changes(other, key)) ||
    other.needs.some((key) => changes(one, key))
  );
}

const workloadNames = ['a', 'b', 'c', 'd', 'e'];
const groupNames = ['team', 'spare', 'other'];
const secretNames = ['token', 'key'];

/** An act that is possible in this world, or undefined when the one that was drawn is not. */
function randomAct(world: World, { host, registry }: Place, random: Random): Act | undefined {
  const name = oneOf(random, workloadNames) ?? '';
  const others = namesOf(world, 'workload').filter((one) => one === name || random() < 0.3);
  const group = oneOf(random, groupNames) ?? '';
  const groups = namesOf(world, 'group');
  const secret = oneOf(random, secretNames) ?? '';
  const mark = String(Math.floor(random() * 1000));
  const runConfig = aRunConfig(name, {
    host,
    port: 10_000 + workloadNames.indexOf(name),
    env_vars: { MARK: mark },
    group: oneOf(random, groups) ?? defaultGroup,
  });
  const isThere = workloadThing(world, name) !== undefined;
  const hasGroup = world.has(`group ${group}`);
  const hasSecrets = world.has('secrets');
  const hasSecret = world.has(`secret ${secret}`);
  const possible: Record<string, () => Act | false> = {
    create: () => !isThere && acts.create(runConfig),
    createSoon: () => !isThere && acts.create(runConfig), // else there would be little to change
    edit: () => isThere && acts.edit(runConfig),
    stop: () => isThere && acts.stop(world, name),
    restart: () => isThere && acts.restart(world, name),
    remove: () => isThere && acts.remove(name),
    restartMany: () => isThere && acts.restartMany(world, others),
    removeMany: () => isThere && random() < 0.3 && acts.removeMany(world, others),
    stopGroup: () => acts.stopGroup(world, oneOf(random, groups) ?? defaultGroup),
    createGroup: () => !hasGroup && acts.createGroup(group),
    removeGroup: () => hasGroup && acts.removeGroup(world, group, random() < 0.3),
    register: () =>
      acts.register(
        world,
        groups.filter((one) => one === defaultGroup || random() < 0.5),
      ),
    unregister: () => random() < 0.5 && acts.unregister(world),
    unregisterFrom: () => {
      const own = oneOf(random, groupsOf(world, groupClient));
      return own !== undefined && acts.unregisterFrom(world, own);
    },
    registerEverywhere: () => acts.registerEverywhere(),
    unregisterEverywhere: () => acts.unregisterEverywhere(),
    setupSecrets: () => (!hasSecrets || random() < 0.2) && acts.setupSecrets(passphrase),
    createSecret: () => hasSecrets && !hasSecret && acts.createSecret(secret, mark),
    updateSecret: () => hasSecret && acts.updateSecret(secret, mark),
    removeSecret: () => hasSecret && acts.removeSecret(secret),
    useRegistry: () => acts.useRegistry(random() < 0.5 ? registry : ''),
  };
  const draw = oneOf(random, Object.values(possible));
  return draw?.() || undefined;
}
