import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { grantPermissions, operatorAccount } from './operator-account.ts';
import { objectsOf, server } from './operator-tests.ts';
import { describeCluster } from './registered.ts';
import { askOperator, passesOf, startOperator } from './running-operator.ts';
import type { RunningOperator } from './running-operator.ts';

describeCluster('two installations in one cluster', () => {
  let cluster: ControlPlane;
  beforeAll(async () => {
    cluster = await startControlPlane();
    await grantPermissions(cluster);
  });
  afterAll(() => cluster[Symbol.asyncDispose]());
  const { apply, waitFor, field } = objectsOf(() => cluster);

  /** Starts an operator with a token of its own, by which the audit log knows its writes. */
  async function install(name: string, scope: readonly string[]) {
    const { path: kubeconfig, credential } = await operatorAccount(cluster);
    const operator = await startOperator(cluster, {
      kubeconfig,
      args: ['--leader-elect', `--leader-election-id=${name}-leader-election`],
      env: { WATCH_NAMESPACE: scope.join(), POD_NAME: name },
    });
    return { operator, credential, [Symbol.asyncDispose]: () => operator[Symbol.asyncDispose]() };
  }

  /** The writes with a token, except those to Leases. */
  const writesOf = async (credential: string) =>
    (await cluster.writes()).filter(
      (write) => write.credential === credential && write.resource !== 'leases',
    );

  const isLeading = async (operator: RunningOperator): Promise<boolean> =>
    /^leader_election_master_status\{[^}]*\} 1$/m.test((await askOperator(operator, '/metrics')).text);

  test('with different namespaces lead at the same time, and neither touches what the other manages', async () => {
    const [one, two] = [await cluster.namespace(), await cluster.namespace()];
    await using first = await install('first', [one]);
    await using second = await install('second', [two]);
    for (const namespace of [one, two])
      await apply(
        namespace,
        server('web', { transport: 'streamable-http', targetPort: 9000 }),
        server('talk'),
      );

    for (const namespace of [one, two]) {
      await waitFor(namespace, 'mcpserver/web');
      await waitFor(namespace, 'mcpserver/talk');
    }
    const leaders = [await isLeading(first.operator), await isLeading(second.operator)];
    await first.operator.stop();
    await cluster.kubectl(['delete', '-n', two, 'deployment/web']);
    await expect.poll(() => field(two, 'deployment/web', '{.metadata.name}')).toBe('web');
    await cluster.kubectl(['delete', '-n', one, 'mcpserver/talk', '--timeout=30s']);

    expect(leaders).toEqual([true, true]);
    const places = await Promise.all(
      [first, second].map(async ({ credential }) => [
        ...new Set((await writesOf(credential)).map(({ namespace }) => namespace)),
      ]),
    );
    expect(places).toEqual([[one], [two]]);
    expect(await field('default', 'leases.coordination.k8s.io', '{.items[*].metadata.name}')).toContain(
      'first-leader-election second-leader-election',
    );
  });

  test('with a namespace in common write the same, so that nothing is written again and again', async () => {
    const [one, two] = [await cluster.namespace(), await cluster.namespace()];
    await using first = await install('narrow', [one]);
    await using second = await install('wide', [one, two]);
    const spec = { transport: 'streamable-http', targetPort: 9000 };
    for (const namespace of [one, two]) await apply(namespace, server('web', spec));
    await waitFor(one, 'mcpserver/web');
    await waitFor(two, 'mcpserver/web');

    await apply(one, server('web', { ...spec, port: 8081 }));
    const path = '{.spec.ports[0].port}';
    await expect.poll(() => field(one, 'service/mcp-web-proxy', path)).toBe('8081');
    await cluster.kubectl(['rollout', 'status', '-n', one, 'deployment/web', '--timeout=60s']);
    await waitFor(one, 'mcpserver/web');
    const count = async (): Promise<number> =>
      (await writesOf(first.credential)).length + (await writesOf(second.credential)).length;
    const before = await count();
    // Each installation makes another pass over the object.
    const passes = await Promise.all([first, second].map(({ operator }) => passesOf(operator, 'mcpserver')));
    await cluster.kubectl(['annotate', '-n', one, 'mcpserver/web', 'example.com/note=a']);
    for (const [index, { operator }] of [first, second].entries())
      await expect.poll(() => passesOf(operator, 'mcpserver')).toBeGreaterThan(passes[index] ?? 0);

    expect(await count()).toBe(before);
    expect(
      [first, second].flatMap(({ operator }) =>
        operator.lines.filter((line) => line.includes('reverted a change')),
      ),
    ).toEqual([]);
  });
});
