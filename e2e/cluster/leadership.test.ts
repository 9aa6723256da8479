import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { AuditedWrite, ControlPlane } from '@toolhive/operator/testing/control-plane';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { typeNamed } from './object-kinds.ts';
import { grantPermissions, operatorAccount } from './operator-account.ts';
import { describeCluster } from './registered.ts';
import { startOperator } from './running-operator.ts';
import type { RunningOperator } from './running-operator.ts';
import { sampleServers } from './sample-server.ts';
import type { SampleServers } from './sample-server.ts';

interface Server extends KubernetesObject {
  status?: { conditions?: { type: string; status: string; observedGeneration: number }[] };
}

interface Replica extends RunningOperator {
  name: string;
  credential: string;
}

/** How many minutes to kill leaders. By default, five leaders are killed. */
const minutes = Number(process.env['LEADER_KILL_MINUTES'] ?? 0);
const startMs = 180_000;

/** The successors of killed leaders. A killed container starts again under the same name, and a deleted pod does not. */
function* successors(): Generator<string> {
  yield* ['same', 'same', 'fourth', 'same', 'fifth'];
  const until = performance.now() + minutes * 60_000;
  for (let count = 6; performance.now() < until; count += 1)
    yield count % 4 === 0 ? `replica-${count}` : 'same';
}

const names = Array.from({ length: 12 }, (_, index) => `load-${index}`);

describeCluster('leadership', () => {
  let cluster: ControlPlane;
  let servers: SampleServers;
  const replicas = new Set<Replica>();
  const started: Replica[] = [];

  beforeAll(async () => {
    cluster = await startControlPlane();
    servers = sampleServers(cluster, await cluster.namespace());
    await grantPermissions(cluster);
  });
  afterAll(async () => {
    for (const replica of started) await replica.kill(); // also a paused one
    await cluster[Symbol.asyncDispose]();
  });

  const start = async (name: string): Promise<Replica> => {
    const { path: kubeconfig, credential } = await operatorAccount(cluster);
    const env = { POD_NAME: name };
    const running = await startOperator(cluster, { args: ['--leader-elect'], env, kubeconfig });
    const replica = Object.assign(running, { name, credential });
    replicas.add(replica);
    started.push(replica);
    return replica;
  };
  const running = (): Replica[] => [...replicas].filter(({ child }) => child.exitCode === null);
  /** Replaces replicas that have ended because a busy machine kept them from renewing their lease. */
  const replenish = async (): Promise<void> => {
    while (running().length < 3) await start(`more-${started.length}`);
  };
  /** The next replica that leads. One that has lost its lease on a busy machine has ended. */
  const leader = async (): Promise<Replica> =>
    Promise.any(
      running().map(async (replica) => {
        await replica.says('leading');
        return replica;
      }),
    );
  const kill = async (replica: Replica): Promise<void> => {
    replicas.delete(replica);
    await replica.kill();
  };
  /** The successful writes of children of the servers, in the order of their arrival. */
  const childWrites = async (): Promise<AuditedWrite[]> =>
    (await cluster.writes())
      .filter(
        ({ userAgent, subresource, code, name = '' }) =>
          userAgent === 'toolhive-operator' &&
          subresource === undefined &&
          code < 300 &&
          name.includes('load-'),
      )
      .toSorted((a, b) => (a.receivedAt < b.receivedAt ? -1 : 1));
  /** Changes all servers, and waits until a replica is in the middle of the work, after its first burst of requests. */
  const load = async (replica: Replica, version: number): Promise<void> => {
    const countOf = async (): Promise<number> =>
      (await childWrites()).filter(({ credential }) => credential === replica.credential).length;
    const count = await countOf();
    for (const name of names) await servers.write(name, `example/server:${version}`);
    await expect.poll(countOf, { interval: 50 }).toBeGreaterThan(count);
  };
  const settles = async (version: number): Promise<void> => {
    for (const name of names) await servers.follows(name, `example/server:${version}`);
  };
  /** The servers whose status is older than their spec. */
  const unsettled = async (): Promise<string[]> => {
    const { items } = await cluster.client.list<Server>(typeNamed('mcpservers')!);
    return items
      .filter(
        ({ metadata, status }) =>
          status?.conditions?.some(
            ({ type, status: isReady, observedGeneration }) =>
              type === 'Ready' && isReady === 'True' && observedGeneration === metadata.generation,
          ) !== true,
      )
      .map(({ metadata: { name } }) => name);
  };
  /** The replicas that wrote, in the order of their writes. A replica that wrote in between twice is there twice. */
  const ownersOf = (writes: readonly AuditedWrite[]): (string | undefined)[] =>
    writes
      .map(({ credential }) => credential)
      .filter((credential, index, all) => credential !== all[index - 1]);

  const limits = { timeout: startMs + minutes * 120_000 };
  test('killed leaders lose no change and write no child twice for one generation', limits, async () => {
    await Promise.all([start('first'), start('second'), start('third')]);
    let version = 0;
    for (const successor of successors()) {
      version += 1;
      const killed = await leader();
      await load(killed, version);
      await kill(killed);
      await start(successor === 'same' ? killed.name : successor);
    }
    await settles(version);

    const order = ownersOf(await childWrites());
    expect(order).toHaveLength(new Set(order).size);
    // The objects that depend on the image are written at most once for each image, the others once.
    const perChild = Map.groupBy(await childWrites(), ({ resource, name }) => `${resource}/${name}`);
    const changing = ['statefulsets', 'deployments', 'configmaps'];
    const excess = [...perChild]
      .map(([child, all]) => ({ child, writes: all.length }))
      .filter(
        ({ child, writes }) => writes > (changing.some((kind) => child.startsWith(kind)) ? version : 1),
      );
    expect(perChild.size).toBeGreaterThan(names.length * 5);
    expect(excess).toEqual([]);
  });

  test('a leader that was paused for too long starts no write afterwards', async () => {
    await replenish();
    const paused = await leader();
    const before = (await childWrites()).length; // earlier leaders may lead again
    await load(paused, 100);
    paused.child.kill('SIGSTOP');
    replicas.delete(paused);
    const next = await leader();
    await load(next, 101);

    paused.child.kill('SIGCONT');
    expect(await paused.exitCode).toBe(1);
    await settles(101);

    const all = (await childWrites()).slice(before);
    const since = all.findIndex(({ credential }) => credential === next.credential);
    const isLate = ({ credential }: AuditedWrite, index: number): boolean =>
      index > since && credential === paused.credential;
    // A process can be paused between the check of its leadership and the bytes of the requests, which it writes together for all
    // passes of one turn of its event loop.
    const late = all.filter(isLate).map(({ name = '' }) => /load-\d+/.exec(name)?.[0]);
    expect(new Set(late).size).toBeLessThan(names.length / 2);
    const order = ownersOf(all.filter((write, index) => !isLate(write, index)));
    expect(order).toHaveLength(new Set(order).size);
    expect(all.at(-1)?.credential).not.toBe(paused.credential);
  });

  test('another leader writes nothing to settled objects', async () => {
    await replenish();
    const settled = await leader();
    await expect.poll(() => unsettled(), { timeout: 60_000 }).toEqual([]);
    expect(await settled.stop()).toBe(0);
    const count = (await cluster.writes()).length;
    replicas.delete(settled);

    const next = await leader();
    await next.says('settled');

    const written = (await cluster.writes()).slice(count);
    const isOfOperator = ({ userAgent, resource }: AuditedWrite): boolean =>
      userAgent === 'toolhive-operator' && resource !== 'leases';
    expect(written.filter(isOfOperator)).toEqual([]);
  });
});
