import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject, ResourceType } from '@toolhive/kubernetes/object';
import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startFaultProxy } from './fault-proxy.ts';
import type { Fault, FaultProxy } from './fault-proxy.ts';
import { grantPermissions, operatorKubeconfig, revokePermissions } from './operator-account.ts';
import { describeCluster } from './registered.ts';
import { startOperator } from './running-operator.ts';
import type { RunningOperator } from './running-operator.ts';

const mcpServer: ResourceType = {
  apiVersion: 'toolhive.stacklok.dev/v1alpha1',
  kind: 'MCPServer',
  plural: 'mcpservers',
};

interface Server extends KubernetesObject {
  spec: { image: string; transport: string };
  status?: { observedGeneration?: number; phase?: string };
}
interface StatefulSet extends KubernetesObject {
  spec: { template: { spec: { containers: { image: string }[] } } };
}

const faults: [string, Fault][] = [
  ['429 with Retry-After', { kind: 'answer', code: 429, headers: { 'retry-after': '1' } }],
  ['500', { kind: 'answer', code: 500 }],
  ['dropped connections', { kind: 'drop' }],
  ['half-open connections', { kind: 'silence' }],
];

describeCluster('an operator with faults', () => {
  let cluster: ControlPlane;
  let proxy: FaultProxy;
  let namespace: string;
  let operator: RunningOperator;
  let isOver = false;

  /** Starts an operator, and another one with the same name whenever that ends, as a kubelet does. */
  const supervise = async (): Promise<void> => {
    const kubeconfig = await operatorKubeconfig(cluster, proxy.url);
    operator = await startOperator(cluster, {
      args: ['--leader-elect'],
      env: { POD_NAME: 'first' },
      kubeconfig,
    });
    operator.child.once('exit', () => {
      if (!isOver) void supervise();
    });
  };
  beforeAll(async () => {
    cluster = await startControlPlane();
    proxy = await startFaultProxy(cluster);
    namespace = await cluster.namespace();
    await grantPermissions(cluster);
    await supervise();
    await operator.says('settled');
  });
  afterAll(async () => {
    isOver = true;
    await operator[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
  });

  const write = (name: string, image: string): Promise<Server> =>
    cluster.client.apply<Server>(
      mcpServer,
      {
        apiVersion: mcpServer.apiVersion,
        kind: mcpServer.kind,
        metadata: { name, namespace },
        spec: { image, transport: 'stdio' },
      },
      { fieldManager: 'test' },
    );
  /** The image of the child and the state of the server, once the operator has seen the current generation. */
  const state = async (name: string): Promise<string> => {
    const { metadata, status } = await cluster.client.get<Server>(mcpServer, { name, namespace });
    const child = await cluster.client
      .get<StatefulSet>(types.statefulSet, { name, namespace })
      .catch(() => undefined);
    const isSeen = status?.observedGeneration === metadata.generation;
    return `${child?.spec.template.spec.containers[0]?.image} ${isSeen ? status?.phase : 'unseen'}`;
  };
  const follows = async (name: string, image: string): Promise<void> => {
    await expect.poll(() => state(name).catch(String), { timeout: 60_000 }).toBe(`${image} Running`);
  };

  test.each(faults)('a change during %s takes effect afterwards', async (_name, fault) => {
    const name = `during-${faults.findIndex(([, other]) => other === fault)}`;
    await write(name, 'example/server:1');
    await follows(name, 'example/server:1');

    proxy.start(fault);
    await write(name, 'example/server:2');
    await expect.poll(() => proxy.affected).toBeGreaterThan(2);
    expect(await state(name)).toBe('example/server:1 unseen');
    proxy.end();

    await follows(name, 'example/server:2');
  });

  test('a change after a crash of the API server takes effect', async () => {
    await write('restarted', 'example/server:1');
    await follows('restarted', 'example/server:1');

    await cluster.restart('kube-apiserver');
    await expect
      .poll(() => write('restarted', 'example/server:2').then(() => 'written', String))
      .toBe('written');

    await follows('restarted', 'example/server:2');
  });

  test('a change without permissions takes effect when they are back', async () => {
    await write('refused', 'example/server:1');
    await follows('refused', 'example/server:1');

    await revokePermissions(cluster);
    await write('refused', 'example/server:2');
    expect(await operator.says('is forbidden')).toContain('refused');
    await grantPermissions(cluster);

    await follows('refused', 'example/server:2');
  });

  test('killed leaders under load lose no change and write no child twice for one generation', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `load-${index}`);
    await using second = await startOperator(cluster, {
      args: ['--leader-elect'],
      env: { POD_NAME: 'second' },
    });
    const count = (await cluster.writes()).length;
    for (const version of [1, 2, 3]) {
      for (const name of names) await write(name, `example/server:${version}`);
      const killed = operator;
      await killed.kill(); // in the middle of the work, and the same replica starts again
      await expect.poll(() => operator).not.toBe(killed);
      await operator.says('leading');
    }
    isOver = true;
    for (const name of names) await write(name, 'example/server:4');
    await operator.kill();
    await second.says('leading');

    for (const name of names) await follows(name, 'example/server:4');
    const successful = (await cluster.writes())
      .slice(count)
      .filter(
        ({ userAgent, subresource, code, name = '' }) =>
          userAgent === 'toolhive-operator' &&
          subresource === undefined &&
          code < 300 &&
          name.includes('load-'),
      );
    const perChild = Map.groupBy(successful, ({ resource, name }) => `${resource}/${name}`);
    // The objects that depend on the image are written once for each of the four images, the others once.
    const changing = ['statefulsets', 'deployments', 'configmaps'];
    const excess = [...perChild]
      .map(([child, all]) => ({ child, writes: all.length }))
      .filter(({ child, writes }) => writes > (changing.some((kind) => child.startsWith(kind)) ? 4 : 1));
    expect(perChild.size).toBeGreaterThan(names.length * 5);
    expect(excess).toEqual([]);
  });
});
