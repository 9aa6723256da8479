import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { makeUser, root } from '../testing/thv.ts';
import type { User } from '../testing/thv.ts';
import { typeOf } from './object-kinds.ts';
import { objectsOf, manifest, server } from './operator-tests.ts';
import { describeCluster } from './registered.ts';
import { startOperator } from './running-operator.ts';

interface Shown {
  applied: boolean;
  objects: { kind: string; name: string; owner: string; action: string; reason?: string }[];
}

describeCluster('a migration from the original operator', () => {
  let cluster: ControlPlane;
  let user: User;
  let context: string;
  beforeAll(async () => {
    cluster = await startControlPlane();
    await cluster.define();
    user = await makeUser();
    const config = parse(await readFile(cluster.kubeconfig, 'utf8')) as { 'current-context': string };
    context = config['current-context'];
  });
  afterAll(async () => {
    await user?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  /** The objects that the original writes for a server, by the program that writes them. */
  function originalObjects(name: string): { manager: string; object: object }[] {
    const proxy = {
      app: 'mcpserver',
      'app.kubernetes.io/name': 'mcpserver',
      'app.kubernetes.io/instance': name,
      toolhive: 'true',
      'toolhive-name': name,
    };
    const pod = { app: name, toolhive: 'true', 'toolhive-name': name };
    const container = { name: 'mcp', image: 'example/server:1' };
    const workload = (kind: string, labels: object, spec: object): object => ({
      apiVersion: 'apps/v1',
      kind,
      metadata: { name, labels },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [container] } },
        ...spec,
      },
    });
    const service = (of: string, labels: object, spec: object): object => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: of, labels },
      spec: { selector: labels, ports: [{ name: 'http', port: 8080, targetPort: 8080 }], ...spec },
    });
    const account = `${name}-proxy-runner`;
    const rbac = 'rbac.authorization.k8s.io/v1';
    return [
      { manager: 'toolhive-container-manager', object: workload('StatefulSet', pod, { serviceName: name }) },
      {
        manager: 'toolhive-container-manager',
        object: service(`mcp-${name}-headless`, pod, { clusterIP: 'None' }),
      },
      { manager: 'thv-operator', object: workload('Deployment', proxy, {}) },
      { manager: 'thv-operator', object: service(`mcp-${name}-proxy`, proxy, {}) },
      {
        manager: 'thv-operator',
        object: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: account } },
      },
      {
        manager: 'thv-operator',
        object: {
          apiVersion: rbac,
          kind: 'RoleBinding',
          metadata: { name: account },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: account },
          subjects: [{ kind: 'ServiceAccount', name: account }],
        },
      },
      {
        manager: 'thv-operator',
        object: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: `${name}-runconfig`, labels: { 'toolhive.stacklok.io/mcp-server': name } },
          data: { 'runconfig.json': '{}' },
        },
      },
    ];
  }

  async function writeOriginal(namespace: string, name: string): Promise<void> {
    for (const { manager, object } of originalObjects(name))
      await applyAs(manager, namespace, object as KubernetesObject);
  }

  async function applyAs(manager: string, namespace: string, object: KubernetesObject, force = false) {
    const placed = { ...object, metadata: { ...object.metadata, namespace } };
    await cluster.client.apply(typeOf(placed)!, placed, { fieldManager: manager, force });
  }

  async function migrate(...more: string[]): Promise<Shown> {
    const stdout = await user.mustThv(
      'cluster',
      'migrate',
      '--kubeconfig',
      cluster.kubeconfig,
      '--kube-context',
      context,
      '--format',
      'json',
      ...more,
    );
    return JSON.parse(stdout) as Shown;
  }

  test('shows the objects without an owner, adopts them on request, and the operator takes over', async () => {
    const { apply, waitFor, field, condition } = objectsOf(() => cluster);
    const namespace = await cluster.namespace({ 'pod-security.kubernetes.io/enforce': 'privileged' });
    await apply(namespace, server('fetch', { transport: 'streamable-http', targetPort: 8080 }));
    await writeOriginal(namespace, 'fetch');
    await using _operator = await startOperator(cluster);
    await expect.poll(() => condition(namespace, 'mcpserver/fetch', 'Ready')).toBe('NameClash');

    const shown = await migrate('--namespace', namespace);
    const ownerOf = (object: string): Promise<string> =>
      field(namespace, object, '{.metadata.ownerReferences[?(@.controller==true)].name}');
    const ownersBefore = await ownerOf('statefulset/fetch');
    const include = ['--include', 'ServiceAccount/fetch-proxy-runner'];
    const adopted = await migrate('--all-namespaces', '--apply', ...include);
    await waitFor(namespace, 'mcpserver/fetch');
    const again = await migrate('--namespace', namespace);

    const names = [
      'Deployment/fetch',
      'StatefulSet/fetch',
      'Service/mcp-fetch-headless',
      'Service/mcp-fetch-proxy',
      'ConfigMap/fetch-runconfig',
      'ServiceAccount/fetch-proxy-runner',
      'RoleBinding/fetch-proxy-runner',
    ];
    expect(shown.objects.map(({ kind, name }) => `${kind}/${name}`).toSorted()).toEqual(names.toSorted());
    // The account has no content, and so no record of who created it.
    expect(shown.objects.filter(({ action }) => action !== 'adopt')).toMatchObject([
      { kind: 'ServiceAccount', action: 'skip', reason: expect.stringContaining('--include') as unknown },
    ]);
    expect([shown.applied, ownersBefore]).toEqual([false, '']);
    expect(new Set(adopted.objects.map(({ action }) => action))).toEqual(new Set(['adopted']));
    expect(again.objects).toEqual([]);
    expect(await ownerOf('statefulset/fetch')).toBe('fetch');
    const template = '{.spec.template.metadata.labels.app}';
    expect(await field(namespace, 'statefulset/fetch', template)).toBe('mcpserver-backend');
    await cluster.kubectl(['delete', '-n', namespace, 'mcpserver/fetch', '--wait']);
    await expect.poll(() => field(namespace, 'statefulset/fetch', '{.metadata.name}')).toBe('');
  });

  /** Writes an object as the original does: it replaces its objects, and applies those of servers. */
  async function writeAsOriginal(
    namespace: string,
    { manager, object }: ReturnType<typeof originalObjects>[number],
  ): Promise<void> {
    const { kind, metadata, ...content } = object as {
      kind: string;
      metadata: { name: string; labels?: object };
    };
    const live = await cluster
      .kubectl(['get', '-n', namespace, kind, metadata.name, '-o', 'json'])
      .catch(() => '');
    if (live === '' || manager === 'toolhive-container-manager') {
      await applyAs(manager, namespace, object as KubernetesObject, true);
      return;
    }
    const stored = JSON.parse(live) as { metadata: { labels?: object }; spec?: object };
    const { spec } = content as { spec?: object };
    const wanted = {
      ...stored,
      ...content,
      ...(spec === undefined ? {} : { spec: { ...stored.spec, ...spec } }),
      metadata: { ...stored.metadata, labels: { ...stored.metadata.labels, ...metadata.labels } },
    };
    await cluster.kubectl(
      ['replace', '-n', namespace, `--field-manager=${manager}`, '-f', '-'],
      JSON.stringify(wanted),
    );
  }

  test('on the way back, the original can write all its objects, its pods are not isolated, and nothing stays', async () => {
    const { apply, waitFor, field } = objectsOf(() => cluster);
    const namespace = await cluster.namespace({ 'pod-security.kubernetes.io/enforce': 'privileged' });
    const http = { transport: 'streamable-http', targetPort: 8080 };
    await apply(
      namespace,
      manifest('MCPToolConfig', 'tools', { toolsFilter: ['one'] }),
      server('fetch', { ...http, toolConfigRef: { name: 'tools' }, toolPins: {} }),
      server('talk'),
    );
    {
      await using operator = await startOperator(cluster);
      for (const name of ['fetch', 'talk']) await waitFor(namespace, `mcpserver/${name}`);
      await operator.stop();
    }
    const steps = await readFile(
      join(root, 'apps/docs/docs/toolhive/guides-k8s/migrate-operator.mdx'),
      'utf8',
    );
    const [, removal = ''] = /`kubectl (delete statefulset,deployment [^`]+)`/.exec(steps) ?? [];

    await apply(namespace, server('fetch', { ...http, toolConfigRef: { name: 'tools' } }));
    await cluster.kubectl([...removal.split(' '), '-n', namespace]);
    const objects = ['fetch', 'talk'].flatMap((name) => originalObjects(name));
    for (const object of objects) await writeAsOriginal(namespace, object);
    await cluster.kubectl(['rollout', 'status', '-n', namespace, 'statefulset/fetch', '--timeout=60s']);

    const policies = JSON.parse(
      await cluster.kubectl(['get', 'networkpolicy', '-n', namespace, '-o', 'json']),
    ) as {
      items: { spec: { podSelector: { matchLabels: Record<string, string> }; policyTypes: string[] } }[];
    };
    const isolated = await Promise.all(
      policies.items
        .filter(({ spec }) => spec.policyTypes.includes('Egress'))
        .map(({ spec }) =>
          cluster.kubectl([
            'get',
            'pods',
            '-n',
            namespace,
            '-o',
            'name',
            '-l',
            Object.entries(spec.podSelector.matchLabels)
              .map((pair) => pair.join('='))
              .join(),
          ]),
        ),
    );
    expect(policies.items.length).toBeGreaterThan(0);
    expect(isolated.filter((pods) => pods !== '')).toEqual([]);
    expect(await field(namespace, 'mcpservers', '{.items[*].metadata.finalizers}')).toBe('');
    // Both operators use the same finalizer, so that the original lets the object go.
    expect(await field(namespace, 'mcptoolconfig/tools', '{.metadata.finalizers[*]}')).toBe(
      'toolhive.stacklok.dev/toolconfig-finalizer',
    );
    await cluster.kubectl(['delete', '-n', namespace, 'mcpserver', '--all', '--timeout=30s']);
    // The original deletes the objects without an owner itself.
    await cluster.kubectl([
      'delete',
      '-n',
      namespace,
      'statefulset/fetch',
      'statefulset/talk',
      'service/mcp-fetch-headless',
      'service/mcp-talk-headless',
      '--ignore-not-found',
    ]);
    const kinds =
      'deployment,statefulset,service,configmap,secret,networkpolicy,role,rolebinding,serviceaccount';
    const left = async (): Promise<string[]> =>
      (await cluster.kubectl(['get', kinds, '-n', namespace, '-o', 'name']))
        .split('\n')
        .filter((name) => /fetch|talk/.test(name));
    const ownerless = ['deployment.apps/fetch', 'deployment.apps/talk'];
    await expect.poll(async () => (await left()).filter((name) => !ownerless.includes(name))).toEqual([]);
  });

  test('leaves objects of other programs and of other owners alone', async () => {
    const { apply, field } = objectsOf(() => cluster);
    const namespace = await cluster.namespace();
    const foreign = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'mcp-web-proxy', labels: { app: 'web' } },
      spec: { ports: [{ port: 80 }] },
    };
    const remoteURL = 'http://127.0.0.1:1/mcp';
    await apply(
      namespace,
      server('web'),
      manifest('MCPRemoteProxy', 'far', { remoteURL }),
      JSON.stringify(foreign),
    );
    const uid = await field(namespace, 'mcpremoteproxy/far', '{.metadata.uid}');
    const owned = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'web-runconfig',
        labels: { 'toolhive.stacklok.io/mcp-server': 'web' },
        ownerReferences: [
          {
            apiVersion: 'toolhive.stacklok.dev/v1alpha1',
            kind: 'MCPRemoteProxy',
            name: 'far',
            uid,
            controller: true,
          },
        ],
      },
    };
    await apply(namespace, JSON.stringify(owned));

    const { objects } = await migrate('--namespace', namespace, '--apply');

    expect(objects).toEqual([
      {
        kind: 'Service',
        namespace,
        name: 'mcp-web-proxy',
        owner: 'MCPServer/web',
        action: 'skip',
        reason: 'no trace of ToolHive, see --include',
      },
    ]);
    expect(await field(namespace, 'service/mcp-web-proxy', '{.metadata.ownerReferences}')).toBe('');
    expect(await field(namespace, 'configmap/web-runconfig', '{.metadata.ownerReferences[*].name}')).toBe(
      'far',
    );
  });

  test('prints translated values, and nothing if one of them cannot be honored', async () => {
    const file = join(user.home, 'values.yaml');
    await writeFile(
      file,
      'operator:\n  replicaCount: 2\n  image: ghcr.io/stacklok/toolhive/operator:v0.4.0\n',
    );
    const translated = await user.thv('cluster', 'translate-values', file);
    await writeFile(file, 'operator:\n  replicaCount: 2\n  autoscaling: { enabled: true }\n  nodeName: a\n');
    const refused = await user.thv('cluster', 'translate-values', file);

    expect(parse(translated.stdout)).toEqual({ operator: { replicaCount: 2 } });
    expect(translated.stderr).toContain('left out operator.image');
    expect([refused.code, refused.stdout]).toEqual([2, '']);
    expect(refused.stderr).toMatch(/operator\.autoscaling: .*\n.*operator\.nodeName: /);
  });
});
