import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { ApiStatus } from '@toolhive/kubernetes/status';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeCluster } from './registered.ts';

type ConfigMap = KubernetesObject & { data?: Record<string, string> };

const configMap = (namespace: string, name: string, data: Record<string, string>): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data,
});

describeCluster('the Kubernetes client', () => {
  let cluster: ControlPlane;
  beforeAll(async () => {
    cluster = await startControlPlane();
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  test('creates, applies, reads, lists, and deletes an object', async () => {
    const { client } = cluster;
    const namespace = await cluster.namespace();

    await client.apply(types.configMap, configMap(namespace, 'one', { a: '1' }), { fieldManager: 'first' });
    const conflict = client.apply(types.configMap, configMap(namespace, 'one', { a: '2' }), {
      fieldManager: 'second',
    });
    await expect(conflict).rejects.toMatchObject({ code: 409, reason: 'Conflict' });
    const forced = await client.apply<ConfigMap>(types.configMap, configMap(namespace, 'one', { a: '2' }), {
      fieldManager: 'second',
      force: true,
    });
    expect(forced.data).toEqual({ a: '2' });
    const { items } = await client.list<ConfigMap>(types.configMap, {
      namespace,
      fieldSelector: 'metadata.name=one',
    });
    expect(items).toMatchObject([{ kind: 'ConfigMap', data: { a: '2' } }]);
    await client.delete(types.configMap, { name: 'one', namespace });
    const gone = client.get(types.configMap, { name: 'one', namespace });
    await expect(gone).rejects.toMatchObject({ code: 404, reason: 'NotFound' });
  });

  test('refuses an unknown field by name', async () => {
    const namespace = await cluster.namespace();
    const object = { ...configMap(namespace, 'odd', {}), colour: 'red' };

    const applied = cluster.client.apply(types.configMap, object, { fieldManager: 'test' });

    await expect(applied).rejects.toThrow(/colour/);
  });

  test('yields changes after a version, and reports a version that is too old', async () => {
    const { client } = cluster;
    const namespace = await cluster.namespace();
    const { resourceVersion } = await client.list(types.configMap, { namespace });
    await client.create(types.configMap, configMap(namespace, 'watched', { a: '1' }));

    for await (const event of client.watch<ConfigMap>(types.configMap, { namespace, resourceVersion })) {
      if (event.object.metadata.name !== 'watched') continue;
      expect(event).toMatchObject({ type: 'ADDED', object: { kind: 'ConfigMap', data: { a: '1' } } });
      break;
    }
    await cluster.restart('kube-apiserver');
    const outdated = Array.fromAsync(client.watch(types.configMap, { namespace, resourceVersion: '1' }));
    await expect(outdated).rejects.toMatchObject({ code: 410 });
  });

  test('reports a refused attach as the status of the API server', async () => {
    const { attach } = await import('@toolhive/kubernetes/channel');

    const attached = attach(
      cluster.client.config,
      { name: 'missing', namespace: 'default' },
      { container: 'mcp' },
    );

    await expect(attached).rejects.toBeInstanceOf(ApiStatus);
    await expect(attached).rejects.toMatchObject({ code: 404 });
  });
});
