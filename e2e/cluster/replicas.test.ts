import { readFile } from 'node:fs/promises';
import { types } from '@toolhive/kubernetes/object';
import { expect, test } from 'vitest';
import { describeOperator, manifest, server } from './operator-tests.ts';
import { startOperator } from './running-operator.ts';

const http = { transport: 'streamable-http', targetPort: 9000 };

describeOperator('replicas', (world) => {
  const { apply, annotate, remove, field, waitFor, condition } = world;

  test('a server that speaks HTTP has as many proxies and servers as its spec says, which share a key', async () => {
    const namespace = await world.cluster.namespace();
    const remote = {
      remoteURL: 'http://127.0.0.1:1/mcp',
      oidcConfig: { type: 'inline', inline: { issuer: 'https://id.example.com', audience: 'a' } },
    };

    await apply(
      namespace,
      server('many', { ...http, replicas: 3, backendReplicas: 2 }),
      manifest('MCPRemoteProxy', 'far', { ...remote, replicas: 2 }),
    );
    await waitFor(namespace, 'mcpserver/many');
    await expect.poll(() => field(namespace, 'deployment/far', '{.spec.replicas}')).toBe('2');

    expect(await field(namespace, 'deployment/many', '{.spec.replicas}')).toBe('3');
    expect(await field(namespace, 'statefulset/many', '{.spec.replicas}')).toBe('2');
    for (const [secret, workload] of [
      ['mcp-many-session-keys', 'many'],
      ['mcp-far-remote-session-keys', 'far'],
    ] as const) {
      const mounted = '{.spec.template.spec.volumes[?(@.name=="session-keys")].secret.secretName}';
      expect(await field(namespace, `deployment/${workload}`, mounted)).toBe(secret);
      const keys = await Promise.all(
        ['current', 'next'].map((key) => field(namespace, `secret/${secret}`, `{.data.${key}}`)),
      );
      const sizes = keys.map((key) => Buffer.from(Buffer.from(key, 'base64').toString(), 'base64url').length);
      expect([sizes, new Set(keys).size]).toEqual([[32, 32], 2]);
    }
    expect(await condition(namespace, 'mcpserver/many', 'SessionsShared')).toBe('NoSessionStorage');
  });

  test('proxies reach the session storage of their spec, under keys that no other resource has', async () => {
    const namespace = await world.cluster.namespace();
    const passwordRef = { name: 'storage', key: 'password' };
    const tls = { caRef: { kind: 'ConfigMap', name: 'authority' } };
    const sessionStorage = { provider: 'valkey', address: 'storage.data:6379', db: 3, passwordRef, tls };
    const rateLimiting = {
      shared: { maxTokens: 5, refillPeriod: '1m30s' },
      tools: [{ name: 'slow', perUser: { maxTokens: 1, refillPeriod: '500ms' } }],
    };
    await apply(namespace, server('stored', { ...http, replicas: 2, sessionStorage, rateLimiting }));
    await expect.poll(() => condition(namespace, 'mcpserver/stored', 'Ready')).toBe('SecretNotFound');
    const secret = (password: string): string =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'storage' },
        stringData: { password },
      });
    await apply(
      namespace,
      secret('one'),
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'authority' },
        data: { 'ca.crt': 'x' },
      }),
    );
    await world.operator[Symbol.asyncDispose]();
    world.operator = await startOperator(world.cluster);
    await waitFor(namespace, 'mcpserver/stored');

    const uid = await field(namespace, 'mcpserver/stored', '{.metadata.uid}');
    const container = '{.spec.template.spec.containers[0]';
    const args = await field(namespace, 'deployment/stored', `${container}.args}`);
    expect(JSON.parse(args)).toEqual(
      expect.arrayContaining([
        '--session-storage=storage.data:6379',
        '--session-storage-db=3',
        `--session-storage-prefix=toolhive:${namespace}:stored:${uid}:`,
        '--session-storage-tls=/etc/toolhive/session-storage/ca.crt',
        '--rate-limits={"shared":{"maxTokens":5,"refillMs":90000},"tools":{"slow":{"perUser":{"maxTokens":1,"refillMs":500}}}}',
      ]),
    );
    const password = `${container}.env[?(@.name=="TOOLHIVE_SESSION_STORAGE_PASSWORD")].valueFrom.secretKeyRef.name}`;
    expect(await field(namespace, 'deployment/stored', password)).toBe('storage');
    expect(await condition(namespace, 'mcpserver/stored', 'SessionsShared')).toBe('SessionStorage');
    expect(await condition(namespace, 'mcpserver/stored', 'RateLimitsShared')).toBe('SessionStorage');

    const generations = (): Promise<string[]> =>
      Promise.all(
        ['deployment/stored', 'statefulset/stored'].map((workload) =>
          field(namespace, workload, '{.metadata.generation}'),
        ),
      );
    const [proxies = '', servers] = await generations();
    await apply(namespace, secret('two'));
    await world.operator[Symbol.asyncDispose]();
    world.operator = await startOperator(world.cluster);
    await expect.poll(generations).toEqual([String(Number(proxies) + 1), servers]);
  });

  test('a session storage without an address is refused, and has no effect for stdio', async () => {
    const namespace = await world.cluster.namespace();
    const sessionStorage = { provider: 'redis', address: 'storage:6379' };

    await expect(
      apply(namespace, server('nowhere', { ...http, sessionStorage: { provider: 'redis' } })),
    ).rejects.toThrow('spec.sessionStorage.address is required');
    await expect(
      apply(
        namespace,
        server('odd', { ...http, sessionStorage: { ...sessionStorage, address: 'redis://user:pw@storage' } }),
      ),
    ).rejects.toThrow('spec.sessionStorage.address');
    await apply(namespace, server('single', { sessionStorage }));
    await waitFor(namespace, 'mcpserver/single');

    expect(await condition(namespace, 'mcpserver/single', 'SessionsShared')).toBe('OneProxy');
    expect(
      await field(namespace, 'deployment/single', '{.spec.template.spec.containers[0].args}'),
    ).not.toContain('storage');
  });

  test('a number that an autoscaler has set stays', async () => {
    const namespace = await world.cluster.namespace();
    await apply(namespace, server('scaled', http));
    await waitFor(namespace, 'mcpserver/scaled');

    await world.cluster.kubectl([
      'scale',
      '-n',
      namespace,
      'deployment/scaled',
      'statefulset/scaled',
      '--replicas=4',
    ]);
    await apply(namespace, server('scaled', { ...http, args: ['--verbose'] }));
    const args = '{.spec.template.spec.containers[0].args[0]}';
    await expect.poll(() => field(namespace, 'statefulset/scaled', args)).toBe('--verbose');
    await waitFor(namespace, 'mcpserver/scaled');

    expect(await field(namespace, 'deployment/scaled', '{.spec.replicas}')).toBe('4');
    expect(await field(namespace, 'statefulset/scaled', '{.spec.replicas}')).toBe('4');
  });

  test('more than one pod of a stdio server is refused, until the number is one', async () => {
    const namespace = await world.cluster.namespace();
    await apply(namespace, server('proxies', { replicas: 2 }), server('servers', { backendReplicas: 3 }));

    for (const name of ['proxies', 'servers'])
      await expect.poll(() => condition(namespace, `mcpserver/${name}`, 'Ready')).toBe('StdioNeedsOnePod');
    const message = "{.status.conditions[?(@.type=='ReplicasSupported')].message}";
    expect(await field(namespace, 'mcpserver/servers', message)).toMatch(
      /^spec\.backendReplicas is more than 1/,
    );
    expect(await field(namespace, 'deployment/proxies', '{.metadata.name}')).toBe('');

    await apply(namespace, server('proxies', { replicas: 1 }));
    await waitFor(namespace, 'mcpserver/proxies');
    expect(await field(namespace, 'deployment/proxies', '{.spec.replicas}')).toBe('1');
  });

  test('a Secret of someone else with the name of the keys is not changed', async () => {
    const namespace = await world.cluster.namespace();
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'mcp-taken-session-keys' },
      stringData: { own: 'value' },
    };
    await apply(namespace, JSON.stringify(secret));

    await apply(namespace, server('taken', http));

    await expect.poll(() => condition(namespace, 'mcpserver/taken', 'Ready')).toBe('NameClash');
    expect(await field(namespace, 'secret/mcp-taken-session-keys', '{.data}')).toBe('{"own":"dmFsdWU="}');
  });

  test('deleted keys are back as soon as a pod needs them', async () => {
    const namespace = await world.cluster.namespace();
    await apply(namespace, server('deleted', http));
    await waitFor(namespace, 'mcpserver/deleted');

    // As with a missing Secret, the next pod does not become ready.
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'full' },
      spec: { hard: { pods: '1' } },
    };
    await apply(namespace, JSON.stringify(quota));
    await remove(namespace, 'secret/mcp-deleted-session-keys');
    await world.cluster.kubectl(['rollout', 'restart', '-n', namespace, 'deployment/deleted']);

    await expect
      .poll(() => field(namespace, 'secret/mcp-deleted-session-keys', '{.metadata.name}'), {
        timeout: 20_000,
      })
      .toBe('mcp-deleted-session-keys');
  });

  test('old keys are changed so that each session survives the change', async () => {
    const namespace = await world.cluster.namespace();
    await apply(namespace, server('rotated', http));
    await waitFor(namespace, 'mcpserver/rotated');
    const data = async (): Promise<Record<string, string>> =>
      JSON.parse(await field(namespace, 'secret/mcp-rotated-session-keys', '{.data}')) as Record<
        string,
        string
      >;
    const before = await data();
    const restarts = await field(namespace, 'deployment/rotated', '{.metadata.generation}');

    await annotate(namespace, 'secret/mcp-rotated-session-keys', {
      'toolhive.stacklok.dev/rotated-at': '2020-01-01T00:00:00Z',
    });
    await world.operator[Symbol.asyncDispose]();
    world.operator = await startOperator(world.cluster);
    await expect.poll(async () => (await data())['previous']).toBe(before['current']);

    const after = await data();
    expect(after['current']).toBe(before['next']);
    expect(new Set(Object.values(after)).size).toBe(3);
    expect(await field(namespace, 'deployment/rotated', '{.metadata.generation}')).toBe(restarts);
  });

  test('a change of the referenced keys replaces pods, and no other change of a Secret or a ConfigMap does', async () => {
    const namespace = await world.cluster.namespace();
    const stored = (kind: string, name: string, more: object): string =>
      JSON.stringify({ apiVersion: 'v1', kind, metadata: { name }, ...more });
    const login = {
      issuer: 'https://id.example.com',
      audience: 'a',
      introspectionUrl: 'https://id.example.com/check',
      clientId: 'proxy',
      clientSecret: 'first',
    };
    const oidcConfig = { type: 'configMap', configMap: { name: 'login' } };
    const secrets = [{ name: 'weather', key: 'api-key' }];
    await apply(
      namespace,
      stored('Secret', 'weather', { stringData: { 'api-key': 'one', other: 'x' } }),
      stored('ConfigMap', 'login', { data: login }),
      server('watched', { ...http, oidcConfig, secrets }),
    );
    await waitFor(namespace, 'mcpserver/watched');
    const annotation = (workload: string, name: string): Promise<string> =>
      field(namespace, workload, `{.spec.template.metadata.annotations.toolhive\\.stacklok\\.dev/${name}}`);
    const generations = (): Promise<string[]> =>
      Promise.all(
        ['deployment/watched', 'statefulset/watched'].map((workload) =>
          field(namespace, workload, '{.metadata.generation}'),
        ),
      );
    const [secret, config, before] = [
      await annotation('statefulset/watched', 'secret-versions'),
      await annotation('deployment/watched', 'runconfig-checksum'),
      await generations(),
    ];
    expect(secret).toMatch(/^weather\.[0-9a-f]{6}$/);

    const weather = { name: 'weather', namespace };
    await world.cluster.client.patch(types.secret, weather, { metadata: { labels: { team: 'red' } } });
    await apply(namespace, stored('Secret', 'weather', { stringData: { 'api-key': 'one', other: 'y' } }));
    await world.operator[Symbol.asyncDispose]();
    world.operator = await startOperator(world.cluster);
    await world.operator.says('settled');
    expect(await generations()).toEqual(before);

    await apply(namespace, stored('ConfigMap', 'login', { data: { ...login, clientSecret: 'second' } }));
    await expect.poll(() => annotation('deployment/watched', 'runconfig-checksum')).not.toBe(config);
    expect((await generations())[1]).toBe(before[1]);

    await apply(namespace, stored('Secret', 'weather', { stringData: { 'api-key': 'two' } }));
    await world.operator[Symbol.asyncDispose]();
    world.operator = await startOperator(world.cluster);
    await expect.poll(() => annotation('statefulset/watched', 'secret-versions')).not.toBe(secret);
  });

  test('the example with an autoscaler and disruption budgets selects the pods that it is about', async () => {
    const namespace = await world.cluster.namespace();
    const example = await readFile(
      new URL('../../examples/kubernetes/replicas.yaml', import.meta.url),
      'utf8',
    );

    await apply(namespace, example);
    await waitFor(namespace, 'mcpserver/search');

    const podsOf = async (budget: string): Promise<number> => {
      const labels = JSON.parse(
        await field(namespace, `poddisruptionbudget/${budget}`, '{.spec.selector.matchLabels}'),
      ) as object;
      const selector = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
      const options = { namespace, labelSelector: selector.join() };
      return (await world.cluster.client.list(types.pod, options)).items.length;
    };
    await expect
      .poll(async () => [await podsOf('search-proxies'), await podsOf('search-servers')])
      .toEqual([2, 3]);
    const target = await field(
      namespace,
      'horizontalpodautoscaler/search-proxies',
      '{.spec.scaleTargetRef.name}',
    );
    expect(await field(namespace, `deployment/${target}`, '{.metadata.name}')).toBe('search');
    expect(await field(namespace, 'statefulset/search', '{.spec.template.spec.priorityClassName}')).toBe(
      'system-cluster-critical',
    );
  });

  test('a proxy for a remote server belongs to a group, and says that it needs no authentication', async () => {
    const namespace = await world.cluster.namespace();
    const spec = { remoteURL: 'http://127.0.0.1:1/mcp', groupRef: 'team' };
    await apply(namespace, manifest('MCPGroup', 'team', {}), manifest('MCPRemoteProxy', 'open', spec));

    await expect.poll(() => field(namespace, 'mcpgroup/team', '{.status.servers}')).toBe('["open"]');
    await expect
      .poll(() => condition(namespace, 'mcpremoteproxy/open', 'AuthConfigured'))
      .toBe('NoAuthentication');
    expect(await condition(namespace, 'mcpremoteproxy/open', 'GroupRefValidated')).toBe('GroupRefIsValid');
    expect(await world.runConfig(namespace, 'open')).toMatchObject({ insecure_no_auth: true, group: 'team' });
  });
});

describeOperator(
  'image pull secrets',
  (world) => {
    const { apply, field } = world;
    test('are those of the installation and of the resource, in every generated pod', async () => {
      const namespace = await world.cluster.namespace();
      const resourceOverrides = { proxyDeployment: { imagePullSecrets: [{ name: 'proxy' }] } };
      const podTemplateSpec = { spec: { imagePullSecrets: [{ name: 'own' }, { name: 'mirror' }] } };
      const remoteURL = 'http://127.0.0.1:1/mcp';
      await apply(
        namespace,
        server('pulled', { ...http, podTemplateSpec, resourceOverrides }),
        manifest('MCPRemoteProxy', 'far', { remoteURL, resourceOverrides }),
      );

      const names = (workload: string): Promise<string> =>
        field(namespace, workload, '{.spec.template.spec.imagePullSecrets[*].name}');
      await expect.poll(() => names('statefulset/pulled')).toBe('own mirror');
      await expect.poll(() => names('deployment/pulled')).toBe('own mirror proxy');
      await expect.poll(() => names('deployment/far')).toBe('proxy mirror');
    });
  },
  { env: { TOOLHIVE_IMAGE_PULL_SECRETS: 'mirror' } },
);
