// @suite faults
import type { Client } from '@toolhive/contract/client';
import { ThvError } from '@toolhive/contract/failure';
import type { FailureKind } from '@toolhive/contract/failure';
import { makeHome } from './testing/test-core.ts';
import { expect, test } from 'vitest';
import { aRequest, named, stateOf, workloadBody, workloadsIn } from '@toolhive/api/testing/contended-things';
import type { Request } from '@toolhive/api/testing/contended-things';
import { openDaemon, passphrase } from '@toolhive/api/testing/crash-daemon';
import {
  atRest,
  everywhereClient,
  furnish,
  groupClient,
  groupsOf,
  namesOf,
  observe,
  requireInOrder,
  workloadThing,
} from '@toolhive/api/testing/crash-world';
import type { World } from '@toolhive/api/testing/crash-world';
import { canHaveLed } from '@toolhive/api/testing/linear';
import type { Accepted } from '@toolhive/api/testing/linear';
import { randomFrom } from '@toolhive/api/testing/random-acts';

const names = Array.from({ length: 100 }, (_, index) => `test-${index}`);

test('100 creations of one name make one workload', async () => {
  const { world, answers } = await play((client) =>
    names.map((mark) => client.createWorkload({ body: workloadBody('test', mark) })),
  );

  const mark = names[answers.indexOf('accepted')];
  expect(tally(answers)).toEqual({ accepted: 1, conflict: 99 });
  expect(workloadsIn(world)).toEqual({ test: { mark, isUp: true } });
});

test('100 creations with one port make one workload', async () => {
  const { world, answers } = await play((client) =>
    names.map((name) => client.createWorkload({ body: workloadBody(name, '', { proxy_port: 12_345 }) })),
  );

  expect(tally(answers)).toEqual({ accepted: 1, invalid: 99 });
  expect(namesOf(world, 'workload')).toEqual([names[answers.indexOf('accepted')]]);
});

test('100 workloads are created, edited, stopped, restarted and deleted at once', async () => {
  const kept = names.slice(0, 10);
  const { world, answers } = await play(async (client) => {
    const all = (act: (name: string) => Promise<unknown>) => Promise.all(names.map(act));
    await all((name) => client.createWorkload({ body: workloadBody(name, 'old') }));
    await all((name) => client.editWorkload({ ...named(name), body: workloadBody(name, 'new') }));
    await all((name) => client.stopWorkload(named(name)));
    await Promise.all(kept.slice(5).map((name) => client.restartWorkload(named(name))));
    return names.slice(10).map((name) => client.deleteWorkload(named(name)));
  });

  const expected = kept.map((name, index) => [name, { mark: 'new', isUp: index >= 5 }]);
  expect(tally(answers)).toEqual({ accepted: 90 });
  expect(workloadsIn(world)).toEqual(Object.fromEntries(expected));
});

test('100 workloads find their way while their groups go', async () => {
  const groupOf = (index: number): string =>
    index < 80 ? (['moved', 'removed', 'kept'][index % 3] ?? '') : 'gone early';
  const finallyIn = new Map([
    ['moved', 'default'],
    ['gone early', 'default'],
    ['kept', 'kept'],
  ]);
  const { world, answers } = await play(async (client) => {
    const groups = [...finallyIn.keys(), 'removed'];
    await Promise.all(groups.map((name) => client.createGroup({ body: { name } })));
    const members = names.map((name, index) =>
      client.createWorkload({ body: workloadBody(name, '', { group: groupOf(index) }) }),
    );
    const removals = groups.map(async (name) => {
      if (name === 'kept') return undefined;
      if (name !== 'gone early') await Promise.allSettled([members[10]]); // so that some are in it
      const query = name === 'removed' ? ({ 'with-workloads': 'true' } as const) : {};
      return client.deleteGroup({ ...named(name), query });
    });
    const registrations = groups.map((name) =>
      client.createClient({ body: { name: groupClient, groups: [name] } }),
    );
    return [...members, ...removals, ...registrations];
  });

  const expected = names.flatMap((name, index) => {
    const group = answers[index] === 'accepted' ? finallyIn.get(groupOf(index)) : undefined;
    return group === undefined ? [] : [[name, group]];
  });
  const found = namesOf(world, 'workload').map((name) => [name, workloadThing(world, name)?.runConfig.group]);
  expect(answers.slice(100, 104)).toEqual(['accepted', 'accepted', 'accepted', 'accepted']);
  expect(Object.keys(tally(answers)).toSorted()).toEqual(['accepted', 'not-found']);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
  expect(namesOf(world, 'group').toSorted()).toEqual(['default', 'kept']);
  expect(groupsOf(world, groupClient)).toEqual(['kept']);
});

test('100 registrations at once are all kept', async () => {
  const groups = names.slice(0, 50);
  const { world, answers } = await play(async (client) => {
    await Promise.all(groups.map((name) => client.createGroup({ body: { name } })));
    return groups.flatMap((group) => [
      client.createClient({ body: { name: groupClient, groups: [group] } }),
      client.createClient({ body: { name: everywhereClient, groups: [group] } }),
    ]);
  });

  expect(tally(answers)).toEqual({ accepted: 100 });
  expect(groupsOf(world, groupClient)).toEqual(groups.toSorted());
  expect(groupsOf(world, everywhereClient)).toEqual(groups.toSorted());
});

test('two applications are registered at once, again and again, and none is forgotten', async () => {
  const both = [groupClient, everywhereClient] as const;
  const forgotten: string[] = [];
  const { world } = await play(async (client) => {
    for (let times = 0; times < 15; times += 1) {
      await Promise.all(both.map((name) => client.unregisterClients({ body: { names: [name] } })));
      forgotten.push(...(await client.listClients({})).map(({ name }) => `${name} was unregistered`));
      await Promise.all(both.map((name) => client.registerClients({ body: { names: [name] } })));
      const registered = (await client.listClients({})).map(({ name }) => name);
      forgotten.push(...both.filter((name) => !registered.includes(name)));
    }
    return [];
  });

  expect(forgotten).toEqual([]);
  expect(namesOf(world, 'client').toSorted()).toEqual(both.toSorted());
});

test.each([1, 2, 3])(
  '300 requests for the same few things are explained by their answers, %d',
  async (seed) => {
    const random = randomFrom(seed);
    const changes: (Accepted<unknown> & { thing: string })[] = [];
    const faults: string[] = [];
    const ask = async (client: Client, { title, send, effects, refusals }: Request): Promise<void> => {
      const requestedAt = performance.now();
      const answer = await answerTo(send(client));
      const times = { requestedAt, answeredAt: performance.now() };
      if (answer === 'accepted') changes.push(...effects.map((effect) => ({ ...effect, title, ...times })));
      else if (!refusals.includes(answer)) faults.push(`${title}: ${answer}`);
    };

    const { world } = await play(async (client) => {
      await client.setupSecrets({ body: { provider_type: 'encrypted', password: passphrase } });
      return names.map(async () => {
        for (const request of [aRequest(random), aRequest(random), aRequest(random)])
          await ask(client, request);
      });
    });

    const things = [...new Set(changes.map(({ thing }) => thing))];
    const unexplained = things.filter((thing) => {
      const own = changes.filter((change) => change.thing === thing);
      return !canHaveLed(own, null, stateOf(world, thing));
    });
    expect(faults).toEqual([]);
    expect(changes.length).toBeGreaterThan(100);
    expect(unexplained).toEqual([]);
  },
);

type Answer = 'accepted' | FailureKind;

/** Anything except a refusal is our fault, and is thrown. */
async function answerTo(sent: Promise<unknown>): Promise<Answer> {
  try {
    await sent;
    return 'accepted';
  } catch (error) {
    if (error instanceof ThvError) return error.kind;
    throw error;
  }
}

function tally(answers: readonly Answer[]): Partial<Record<Answer, number>> {
  const kinds = [...new Set(answers)];
  return Object.fromEntries(kinds.map((kind) => [kind, answers.filter((answer) => answer === kind).length]));
}

/** Asks a new daemon, and tells how everything is then: the same on disk, and for the daemon that comes after it. */
async function play(
  ask: (client: Client) => Promise<unknown>[] | Promise<Promise<unknown>[]>,
): Promise<{ answers: Answer[]; world: World }> {
  await using home = await makeHome();
  await furnish(home.path);
  await using first = new AsyncDisposableStack();
  const daemon = first.use(await openDaemon(home.path));
  const answers = await Promise.all((await ask(daemon.client)).map(answerTo));
  await atRest(daemon.client);
  const world = await observe(daemon);
  await requireInOrder(daemon, world);
  const ports = namesOf(world, 'workload').map((name) => workloadThing(world, name)?.runConfig.port);
  expect(new Set(ports).size).toBe(ports.length);

  await first.disposeAsync();
  await using next = await openDaemon(home.path);
  await requireInOrder(next, world);
  expect(Object.fromEntries(await observe(next))).toEqual(Object.fromEntries(world));
  return { answers, world };
}
