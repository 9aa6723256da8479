import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import { expect, test } from 'vitest';
import { grantPermissions, operatorAccount, revokePermissions } from './operator-account.ts';
import { objectsOf, server } from './operator-tests.ts';
import { describeCluster } from './registered.ts';
import { askOperator, startOperator } from './running-operator.ts';

describeCluster('an operator that cannot read everything', () => {
  test('names the missing definitions in its log and its readiness, and starts when they are installed', async () => {
    await using cluster = await startControlPlane({ hasDefinitions: false });
    await grantPermissions(cluster);
    const { apply, waitFor } = objectsOf(() => cluster);
    const namespace = await cluster.namespace();
    await using operator = await startOperator(cluster);

    const line = await operator.says('CRDs are not installed: MCPServer not found');

    expect(line).toContain('Install the chart toolhive-operator-crds.');
    const answer = await askOperator(operator, '/readyz');
    expect(answer.status).toBe(503);
    expect(answer.text).toMatch(/^not ok\nall namespaces: CRDs are not installed: MCP\w+ not found/);
    expect((await askOperator(operator, '/healthz')).status).toBe(200);
    await cluster.define();
    await apply(namespace, server('late'));
    await waitFor(namespace, 'mcpserver/late');
    // The API server prepares the storage of each definition at its own time.
    await expect.poll(async () => (await askOperator(operator, '/readyz')).text).toBe('ok\n');
  });

  test('works in the other namespaces, and continues in one that it is allowed to read later', async () => {
    await using cluster = await startControlPlane();
    await grantPermissions(cluster);
    const { apply, waitFor } = objectsOf(() => cluster);
    const [granted, refused] = [await cluster.namespace(), await cluster.namespace()];
    const grant = (namespace: string): Promise<string> =>
      cluster.kubectl([
        'create',
        'rolebinding',
        'operator',
        '-n',
        namespace,
        '--clusterrole=toolhive-operator',
        '--serviceaccount=default:toolhive-operator',
      ]);
    await revokePermissions(cluster);
    await grant(granted);
    for (const namespace of [granted, refused]) await apply(namespace, server('here'));
    const { path: kubeconfig } = await operatorAccount(cluster);
    await using operator = await startOperator(cluster, {
      kubeconfig,
      env: { WATCH_NAMESPACE: `${refused},${granted}` },
    });

    await waitFor(granted, 'mcpserver/here');
    await operator.says('settled');

    const readable = async (): Promise<string[]> => {
      const { text } = await askOperator(operator, '/metrics');
      return text.split('\n').filter((line) => line.startsWith('toolhive_operator_namespace_readable{'));
    };
    expect(await readable()).toEqual([
      `toolhive_operator_namespace_readable{namespace="${refused}"} 0`,
      `toolhive_operator_namespace_readable{namespace="${granted}"} 1`,
    ]);
    const answer = await askOperator(operator, '/readyz');
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.text).toMatch(new RegExp(`^ok\\nnamespace ${refused}: .*forbidden`));
    expect(operator.lines.join('\n')).toMatch(new RegExp(`"namespace":"${refused}".*watch failed`));
    await grant(refused);
    await waitFor(refused, 'mcpserver/here');
    await expect.poll(readable).toContain(`toolhive_operator_namespace_readable{namespace="${refused}"} 1`);
  });
});
