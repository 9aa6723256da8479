import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeCluster } from './registered.ts';
import { startOperator } from './running-operator.ts';
import type { RunningOperator } from './running-operator.ts';

const server = (name: string, spec: object): string =>
  JSON.stringify({
    apiVersion: 'toolhive.stacklok.dev/v1alpha1',
    kind: 'MCPServer',
    metadata: { name },
    spec: { image: 'example/server:1', transport: 'streamable-http', targetPort: 9000, ...spec },
  });

const CHILDREN =
  'deployments,statefulsets,services,networkpolicies,configmaps,serviceaccounts,roles,rolebindings';

describeCluster('MCPServer', () => {
  let cluster: ControlPlane;
  let operator: RunningOperator;
  beforeAll(async () => {
    cluster = await startControlPlane();
    operator = await startOperator(cluster);
  });
  afterAll(async () => {
    await operator[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
  });

  const apply = (namespace: string, manifest: string): Promise<string> =>
    cluster.kubectl(['apply', '-n', namespace, '-f', '-'], manifest);
  const isReady = (namespace: string, name: string): Promise<string> =>
    cluster.kubectl(['wait', '-n', namespace, '--for=condition=Ready', `mcpserver/${name}`, '--timeout=30s']);
  const field = (namespace: string, object: string, path: string): Promise<string> =>
    cluster.kubectl(['get', '-n', namespace, object, '-o', `jsonpath=${path}`]);
  const versions = (namespace: string): Promise<string> =>
    cluster.kubectl([
      'get',
      '-n',
      namespace,
      CHILDREN,
      '-l',
      'app.kubernetes.io/managed-by=toolhive-operator',
      '-o',
      'jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\\n"}{end}',
    ]);

  test('an HTTP server becomes ready with all of its objects in a restricted namespace', async () => {
    const namespace = await cluster.namespace();

    await apply(namespace, server('weather', { permissionProfile: { type: 'builtin', name: 'network' } }));
    await isReady(namespace, 'weather');

    expect((await versions(namespace)).replaceAll(/ \d+/g, '').split('\n').toSorted()).toEqual([
      'ConfigMap/weather-runconfig',
      'Deployment/weather',
      'NetworkPolicy/weather',
      'NetworkPolicy/weather-proxy',
      'Service/mcp-weather-headless',
      'Service/mcp-weather-proxy',
      'ServiceAccount/weather-proxy-runner',
      'ServiceAccount/weather-sa',
      'StatefulSet/weather',
    ]);
    expect(await field(namespace, 'mcpserver/weather', '{.status.phase} {.status.url}')).toBe(
      `Running http://mcp-weather-proxy.${namespace}.svc.cluster.local:8080`,
    );
  });

  test('a settled server is not written again, not even by a new operator', async () => {
    const namespace = await cluster.namespace();
    await apply(namespace, server('quiet', {}));
    await isReady(namespace, 'quiet');
    const before = await versions(namespace);
    const count = (await cluster.writes()).length;

    await using second = await startOperator(cluster);
    await second.says('settled');

    expect(await versions(namespace)).toBe(before);
    const writes = (await cluster.writes()).slice(count);
    expect(writes.filter(({ userAgent }) => userAgent === 'toolhive-operator')).toEqual([]);
  });

  test.each([
    'deployment/back',
    'statefulset/back',
    'service/mcp-back-proxy',
    'service/mcp-back-headless',
    'networkpolicy/back',
    'networkpolicy/back-proxy',
    'configmap/back-runconfig',
    'serviceaccount/back-sa',
  ])('a deleted %s comes back', async (child) => {
    const namespace = await cluster.namespace();
    await apply(namespace, server('back', {}));
    await isReady(namespace, 'back');
    const uid = await field(namespace, child, '{.metadata.uid}');

    await cluster.kubectl(['delete', '-n', namespace, child, '--wait=false']);

    await expect.poll(() => field(namespace, child, '{.metadata.uid}').catch(() => uid)).not.toBe(uid);
    await isReady(namespace, 'back');
  });
});
