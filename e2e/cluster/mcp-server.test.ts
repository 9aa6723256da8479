import { types } from '@toolhive/kubernetes/object';
import { expect, test } from 'vitest';
import { readFields } from './object-fields.ts';
import { describeOperator, server } from './operator-tests.ts';
import { startOperator } from './running-operator.ts';

const http = { transport: 'streamable-http', targetPort: 9000 };
const kinds = [
  types.configMap,
  types.deployment,
  types.networkPolicy,
  types.role,
  types.roleBinding,
  types.service,
  types.serviceAccount,
  types.statefulSet,
];

describeOperator('MCPServer', (world) => {
  const { apply, field, remove, waitFor } = world;
  /** The children of all resources, such as `Service/weather`, and their versions. */
  const versions = async (namespace: string): Promise<Map<string, string | undefined>> => {
    const labelSelector = 'app.kubernetes.io/managed-by=toolhive-operator';
    const lists = kinds.map((type) => world.cluster.client.list(type, { namespace, labelSelector }));
    const children = (await Promise.all(lists)).flatMap(({ items }) => items);
    return new Map(
      children.map(({ kind, metadata }) => [`${kind}/${metadata.name}`, metadata.resourceVersion]),
    );
  };

  test('an HTTP server becomes ready with all of its objects in a restricted namespace', async () => {
    const namespace = await world.cluster.namespace();

    const permissionProfile = { type: 'builtin', name: 'network' };
    await apply(namespace, server('weather', { ...http, permissionProfile }));
    await waitFor(namespace, 'mcpserver/weather');

    expect([...(await versions(namespace)).keys()].toSorted()).toEqual([
      'ConfigMap/weather-runconfig',
      'Deployment/weather',
      'NetworkPolicy/weather-proxy',
      'NetworkPolicy/weather-server',
      'Service/mcp-weather-headless',
      'Service/mcp-weather-proxy',
      'ServiceAccount/weather-proxy-runner',
      'ServiceAccount/weather-sa',
      'StatefulSet/weather',
    ]);
    expect(await field(namespace, 'mcpserver/weather', '{.status.phase} {.status.url}')).toBe(
      `Running http://mcp-weather-proxy.${namespace}.svc.cluster.local:8080`,
    );
    // Each further generation would have replaced the pods once more.
    for (const workload of ['deployment/weather', 'statefulset/weather'])
      expect(await field(namespace, workload, '{.metadata.generation}')).toBe('1');
  });

  test.each([
    ['mcpserver/read', "{.status.phase}: {.status.conditions[?(@.type=='Ready')].reason}"],
    ['mcpserver/read', '{.status.conditions[?(@.type!="Ready")].type}'],
    ['mcpserver/read', '{.spec}{.nothing}{.metadata.finalizers[*]}{.nothing[0].name}'],
    ['deployment/read', '{.spec.template.spec.containers[0].args} {.spec.replicas}'],
    ['deployment/read', '{.metadata.ownerReferences[?(@.controller==true)].name}'],
    ['deployment/read', '{.spec.template.metadata.annotations.toolhive\\.stacklok\\.dev/runconfig-checksum}'],
    ['networkpolicies', '{.items[*].metadata.name}'],
    ['mcpservers', "{.items[?(@.status.phase!='Failed')].metadata.name}"],
  ])('the tests read %s like kubectl: %s', async (object, path) => {
    await apply('default', server('read', http));
    await waitFor('default', 'mcpserver/read');

    const read = await readFields(world.cluster.client, 'default', object, path);

    expect(read).toBe(
      await world.cluster.kubectl(['get', '-n', 'default', object, '-o', `jsonpath=${path}`]),
    );
    expect(read).not.toBe('');
  });

  test('a settled server is not written again, not even by a new operator', async () => {
    const namespace = await world.cluster.namespace();
    await apply(namespace, server('quiet', http));
    await waitFor(namespace, 'mcpserver/quiet');
    const before = await versions(namespace);
    const count = (await world.cluster.writes()).length;

    await using second = await startOperator(world.cluster);
    await second.says('settled');

    expect(await versions(namespace)).toEqual(before);
    const writes = (await world.cluster.writes()).slice(count);
    expect(writes.filter(({ userAgent }) => userAgent === 'toolhive-operator')).toEqual([]);
  });

  test('every deleted child comes back', async () => {
    const namespace = await world.cluster.namespace();
    const profile = JSON.stringify({ network: { outbound: { allow_host: ['api.example.com'] } } });
    const configMap = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'profiles' },
      data: { web: profile },
    };
    const policies = { type: 'inline', inline: { policies: ['permit(principal, action, resource);'] } };
    const permissionProfile = { type: 'configmap', name: 'profiles', key: 'web' };
    await apply(
      namespace,
      JSON.stringify(configMap),
      server('back', http),
      server('talk', { permissionProfile, authzConfig: policies }),
    );
    await waitFor(namespace, 'mcpserver/back');
    await waitFor(namespace, 'mcpserver/talk');
    const children = [...(await versions(namespace)).keys()];

    for (const child of children) {
      const uid = await field(namespace, child, '{.metadata.uid}');
      await remove(namespace, child);
      await expect
        .poll(() => field(namespace, child, '{.metadata.uid}'), { message: child })
        .not.toMatch(new RegExp(`^(${uid})?$`));
    }

    expect(children).toHaveLength(21);
    await waitFor(namespace, 'mcpserver/back');
    await waitFor(namespace, 'mcpserver/talk');
  });
});
