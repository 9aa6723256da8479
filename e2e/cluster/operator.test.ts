import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { manifest, objectsOf, server } from './operator-tests.ts';
import { grantPermissions, operatorAccount } from './operator-account.ts';
import { describeCluster } from './registered.ts';
import { askOperator, passesOf, startOperator } from './running-operator.ts';

interface ServerStatus {
  phase?: string;
  observedGeneration?: number;
  conditions?: { type: string; status: string; observedGeneration: number }[];
}

/** Each pass over a server with a secret follows another one after 30 s. By default, one of them is awaited. */
const idlePasses = 2 * Number(process.env['IDLE_MINUTES'] ?? 0.5);

describeCluster('the operator', () => {
  let cluster: ControlPlane;
  beforeAll(async () => {
    cluster = await startControlPlane();
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  const objects = objectsOf(() => cluster);
  const { apply, condition, field, waitFor } = objects;
  const conditions = (namespace: string, object: string): Promise<string> =>
    field(namespace, object, '{range .status.conditions[*]}{.type}={.status} {end}');
  test('probes and metrics of a leader and of a candidate', async () => {
    const namespace = await cluster.namespace();
    await using leader = await startOperator(cluster, { args: ['--leader-elect'] });
    await leader.says('settled');
    await using candidate = await startOperator(cluster, {
      args: ['--leader-elect'],
      env: { POD_NAME: 'candidate' },
    });
    await apply(namespace, server('measured'));
    await waitFor(namespace, 'mcpserver/measured');

    for (const operator of [leader, candidate]) {
      expect((await askOperator(operator, '/healthz')).status).toBe(200);
      expect((await askOperator(operator, '/readyz')).status).toBe(200);
    }
    const { text } = await askOperator(leader, '/metrics');
    const names = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => `${name} ${type}`);
    expect(names).toEqual(
      expect.arrayContaining([
        'controller_runtime_reconcile_total counter',
        'controller_runtime_reconcile_errors_total counter',
        'controller_runtime_reconcile_time_seconds histogram',
        'controller_runtime_active_workers gauge',
        'workqueue_depth gauge',
        'workqueue_adds_total counter',
        'workqueue_retries_total counter',
        'workqueue_queue_duration_seconds histogram',
        'rest_client_requests_total counter',
        'leader_election_master_status gauge',
      ]),
    );
    expect(text).toMatch(
      /controller_runtime_reconcile_total\{controller="mcpserver",result="success"\} [1-9]/,
    );
    expect(text).toMatch(/rest_client_requests_total\{code="20\d",host="[^"]+",method="PATCH"\} [1-9]/);
    expect(text).toContain('leader_election_master_status{name="toolhive-operator-leader-election"} 1');
    expect((await askOperator(candidate, '/metrics')).text).toContain(
      'leader_election_master_status{name="toolhive-operator-leader-election"} 0',
    );
    expect(await leader.stop()).toBe(0);
  });

  test('WATCH_NAMESPACE limits the operator to its namespaces', async () => {
    const [one, two, other] = [
      await cluster.namespace(),
      await cluster.namespace(),
      await cluster.namespace(),
    ];
    for (const namespace of [one, two, other]) await apply(namespace, server('here'));
    await using operator = await startOperator(cluster, { env: { WATCH_NAMESPACE: `${one}, ${two},` } });

    await waitFor(one, 'mcpserver/here');
    await waitFor(two, 'mcpserver/here');
    await operator.says('settled');

    expect(await field(other, 'mcpserver/here', '{.status}')).toBe('');
    expect(await field(other, 'deployment/here', '{.metadata.name}')).toBe('');
  });

  test('a missing secret is one event until it exists, and a rotated one rolls the proxy and the server out', async () => {
    const namespace = await cluster.namespace();
    const secret = (value: string): string =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'login' },
        stringData: { key: value },
      });
    const versions = (): Promise<string[]> =>
      Promise.all(
        ['deployment/user', 'statefulset/user'].map((workload) =>
          field(
            namespace,
            workload,
            '{.spec.template.metadata.annotations.toolhive\\.stacklok\\.dev/secret-versions}',
          ),
        ),
      );
    await using _operator = await startOperator(cluster, { env: { WATCH_NAMESPACE: namespace } });
    await apply(namespace, server('user', { secrets: [{ name: 'login', key: 'key' }] }));
    await expect.poll(() => condition(namespace, 'mcpserver/user', 'Ready')).toBe('SecretNotFound');
    await apply(namespace, secret('first'));
    await waitFor(namespace, 'mcpserver/user');
    expect(await field(namespace, 'events', '{.items[?(@.reason=="SecretNotFound")].reason}')).toBe(
      'SecretNotFound',
    );
    const before = await versions();

    await apply(namespace, secret('second'));

    await expect
      .poll(async () => (await versions()).every((version, index) => version !== before[index]), {
        timeout: 90_000,
      })
      .toBe(true);
    await waitFor(namespace, 'mcpserver/user');
  });

  test(
    'an idle operator writes nothing to objects of any kind',
    { timeout: (idlePasses + 8) * 30_000 },
    async () => {
      const namespace = await cluster.namespace();
      const registry = { version: '1.0.0', servers: {} };
      const data = { 'registry.json': JSON.stringify(registry) };
      const oidcConfig = { type: 'inline', inline: { issuer: 'https://id.example.com', audience: 'tools' } };
      const tokenExchange = {
        tokenUrl: 'https://id.example.com/token',
        clientId: 'toolhive',
        clientSecretRef: { name: 'login', key: 'key' },
        audience: 'server',
      };
      const references = { toolConfigRef: { name: 'tools' }, externalAuthConfigRef: { name: 'exchange' } };
      const full = {
        oidcConfig,
        ...references,
        groupRef: 'team',
        secrets: [{ name: 'login', key: 'key', targetEnvName: 'LOGIN' }],
        env: [
          { name: 'Z', value: '1' },
          { name: 'A', value: '' },
        ],
        resources: { limits: { cpu: '1000m', memory: '0.5Gi' } }, // the API server writes 1 and 512Mi
        podTemplateSpec: { spec: { tolerations: [{ operator: 'Exists' }], priorityClassName: '' } },
      };
      await using first = await startOperator(cluster, { env: { WATCH_NAMESPACE: namespace } });
      await apply(
        namespace,
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { name: 'login' },
          stringData: { key: 'a' },
        }),
        JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'source' }, data }),
        manifest('MCPGroup', 'team', {}),
        manifest('MCPToolConfig', 'tools', { toolsFilter: ['one'] }),
        manifest('MCPExternalAuthConfig', 'exchange', { type: 'tokenExchange', tokenExchange }),
        manifest('MCPRegistry', 'company', { source: { type: 'configmap', configmap: { name: 'source' } } }),
        server('full', { transport: 'streamable-http', targetPort: 9000, ...full }),
        server('talk', { groupRef: 'team' }),
        manifest('MCPRemoteProxy', 'far', {
          remoteURL: 'https://mcp.example.com/mcp',
          oidcConfig,
          ...references,
        }),
      );
      const all = [
        'mcpserver/full',
        'mcpserver/talk',
        'mcpremoteproxy/far',
        'mcpregistry/company',
        'mcpgroup/team',
        'mcptoolconfig/tools',
        'mcpexternalauthconfig/exchange',
      ];
      for (const object of all) await waitFor(namespace, object);
      await first.stop();
      await grantPermissions(cluster);
      const { path: kubeconfig, credential } = await operatorAccount(cluster);

      await using second = await startOperator(cluster, { env: { WATCH_NAMESPACE: namespace }, kubeconfig });
      await second.says('settled');
      const settled = await passesOf(second, 'mcpserver');
      await expect
        .poll(() => passesOf(second, 'mcpserver'), { timeout: (idlePasses + 4) * 30_000, interval: 500 })
        .toBeGreaterThanOrEqual(settled + idlePasses);

      const writes = (await cluster.writes()).filter((write) => write.credential === credential);
      expect(writes).toEqual([]);
    },
  );

  test('an object that is not ready says whether work goes on or has failed', async () => {
    const namespace = await cluster.namespace();
    await using _operator = await startOperator(cluster, { env: { WATCH_NAMESPACE: namespace } });
    await apply(namespace, server('odd', { toolConfigRef: { name: 'missing' } }));
    await expect.poll(() => conditions(namespace, 'mcpserver/odd')).toContain('Stalled=True');
    expect(await conditions(namespace, 'mcpserver/odd')).not.toContain('Reconciling');

    await apply(namespace, manifest('MCPToolConfig', 'missing', { toolsFilter: ['one'] }));
    await waitFor(namespace, 'mcpserver/odd');

    expect(await conditions(namespace, 'mcpserver/odd')).not.toMatch(/Stalled|Reconciling/);
  });

  test('a server is ready for a spec only when its pods have that spec, and Reconciling until then', async () => {
    const namespace = await cluster.namespace();
    await using _operator = await startOperator(cluster, { env: { WATCH_NAMESPACE: namespace } });
    const http = { transport: 'streamable-http', targetPort: 9000 };
    await apply(namespace, server('rolling', http));
    await waitFor(namespace, 'mcpserver/rolling');
    const seen: ServerStatus[] = [];
    const over = new AbortController();
    const type = { apiVersion: 'toolhive.stacklok.dev/v1alpha1', kind: 'MCPServer', plural: 'mcpservers' };
    const { resourceVersion } = await cluster.client.list(type, { namespace });
    const watching = (async () => {
      const changes = cluster.client.watch(type, { namespace, resourceVersion, signal: over.signal });
      for await (const { object } of changes) seen.push((object as { status?: ServerStatus }).status ?? {});
    })().catch(() => {}); // ended below

    await cluster.kubectl(['create', 'quota', 'full', '-n', namespace, '--hard=pods=2']);
    await expect.poll(() => field(namespace, 'resourcequota/full', '{.status.used.pods}')).toBe('2');
    await apply(namespace, server('rolling', { ...http, audit: { enabled: true } }));
    await expect
      .poll(() =>
        field(namespace, 'deployment/rolling', '{.status.observedGeneration} {.status.readyReplicas}'),
      )
      .toBe('2 1'); // the pod of the old spec is still ready
    await expect.poll(() => seen.at(-1)?.observedGeneration).toBe(2);
    expect(await conditions(namespace, 'mcpserver/rolling')).toContain('Ready=False Reconciling=True');
    await cluster.kubectl(['delete', 'quota', 'full', '-n', namespace]);
    await waitFor(namespace, 'mcpserver/rolling');
    await expect.poll(() => seen.at(-1)?.phase).toBe('Running');
    over.abort();
    await watching;

    expect(await conditions(namespace, 'mcpserver/rolling')).not.toMatch(/Stalled|Reconciling/);
    for (const { conditions: all = [], observedGeneration } of seen) {
      const holding = all.filter(({ status }) => status === 'True').map(({ type: name }) => name);
      expect(holding.includes('Ready')).toBe(!holding.includes('Reconciling'));
      expect(all.every((each) => each.observedGeneration === observedGeneration)).toBe(true);
    }
  });

  test('a registry source on the machine of the operator is refused before a request', async () => {
    const namespace = await cluster.namespace();
    let requests = 0;
    const trap = createServer((_request, response) => {
      requests += 1;
      response.end('{}');
    });
    await once(trap.listen(0, '127.0.0.1'), 'listening');
    const { port } = trap.address() as AddressInfo; // it listens on TCP
    await using _operator = await startOperator(cluster, { env: { WATCH_NAMESPACE: namespace } });

    const sources = {
      api: { type: 'api', api: { endpoint: `http://localhost:${port}` } },
      git: { type: 'git', git: { repository: `http://127.0.0.1:${port}/a` } },
      cloud: { type: 'api', api: { endpoint: 'http://169.254.169.254' } },
    };
    for (const [name, source] of Object.entries(sources)) {
      await apply(namespace, manifest('MCPRegistry', name, { source }));
      const message = `{.status.conditions[?(@.type=='SourceAvailable')].message}`;
      await expect
        .poll(() => field(namespace, `mcpregistry/${name}`, message))
        .toMatch(name === 'cloud' ? /is a link-local address/ : /is a loopback address/);
    }

    expect(requests).toBe(0);
    trap.close();
  });

  test('OpenShift assigns the users of pods itself', async () => {
    const namespace = await cluster.namespace();
    const route = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: {
        name: 'routes.route.openshift.io',
        annotations: { 'api-approved.kubernetes.io': 'unapproved' },
      },
      spec: {
        group: 'route.openshift.io',
        names: { kind: 'Route', plural: 'routes' },
        scope: 'Namespaced',
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        ],
      },
    };
    await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(route));
    await cluster.kubectl(['wait', '--for=condition=Established', 'crd/routes.route.openshift.io']);
    await expect.poll(() => cluster.kubectl(['api-versions'])).toContain('route.openshift.io/v1');
    await using _operator = await startOperator(cluster, { env: { WATCH_NAMESPACE: namespace } });
    await apply(namespace, server('shifted'));
    await waitFor(namespace, 'mcpserver/shifted');

    for (const workload of ['deployment/shifted', 'statefulset/shifted']) {
      expect(JSON.parse(await field(namespace, workload, '{.spec.template.spec.securityContext}'))).toEqual({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
    }
  });
});
