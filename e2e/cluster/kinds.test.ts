import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import { resources, exampleOf } from '@toolhive/operator/crds';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeCluster } from './registered.ts';
import { startOperator } from './running-operator.ts';
import type { RunningOperator } from './running-operator.ts';

const manifest = (kind: string, name: string, spec: object): string =>
  JSON.stringify({ apiVersion: 'toolhive.stacklok.dev/v1alpha1', kind, metadata: { name }, spec });
const server = (name: string, spec: object = {}): string =>
  manifest('MCPServer', name, { image: 'example/server:1', transport: 'stdio', ...spec });

describeCluster('custom resources', () => {
  let cluster: ControlPlane;
  let operator: RunningOperator;
  beforeAll(async () => {
    cluster = await startControlPlane();
    operator = await startOperator(cluster, { args: ['--leader-elect'] });
  });
  afterAll(async () => {
    await operator[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
  });

  const apply = (namespace: string, text: string): Promise<string> =>
    cluster.kubectl(['apply', '-n', namespace, '-f', '-'], text);
  const waitFor = (namespace: string, object: string, condition = 'condition=Ready'): Promise<string> =>
    cluster.kubectl(['wait', '-n', namespace, `--for=${condition}`, object, '--timeout=30s']);
  const field = (namespace: string, object: string, path: string): Promise<string> =>
    cluster.kubectl(['get', '-n', namespace, object, '-o', `jsonpath=${path}`]).catch(() => '');
  const condition = (namespace: string, object: string, type: string): Promise<string> =>
    field(namespace, object, `{.status.conditions[?(@.type=='${type}')].reason}`);
  const checksum = (namespace: string, name: string): Promise<string> =>
    field(
      namespace,
      `deployment/${name}`,
      '{.spec.template.metadata.annotations.toolhive\\.stacklok\\.dev/runconfig-checksum}',
    );

  test.each(resources.map((resource) => [resource.kind, resource] as const))(
    'the example of %s is accepted',
    async (_kind, resource) => {
      const namespace = await cluster.namespace();

      const created = cluster.kubectl(
        ['apply', '-n', namespace, '--dry-run=server', '-f', '-'],
        exampleOf(resource),
      );

      await expect(created).resolves.toMatch(/created \(server dry run\)$/);
    },
  );

  test.each([
    ['a missing port', server('bad', { transport: 'sse' }), /targetPort is required unless/],
    ['a missing block', server('bad', { oidcConfig: { type: 'inline' } }), /oidcConfig\.inline is required/],
    ['a long name', server('a'.repeat(60)), /at most 46 characters/],
    [
      'a branch and a tag',
      manifest('MCPRegistry', 'bad', {
        source: { type: 'git', git: { repository: 'https://git.example.com/a', branch: 'a', tag: 'b' } },
      }),
      /one of branch, tag, and commit/,
    ],
    [
      'no token exchange',
      manifest('MCPExternalAuthConfig', 'bad', { type: 'tokenExchange' }),
      /tokenExchange is required/,
    ],
  ])('the API server refuses %s with a clear message', async (_what, text, message) => {
    const namespace = await cluster.namespace();

    await expect(apply(namespace, text)).rejects.toThrow(message);
  });

  test('a stdio server gets a role for its pod only', async () => {
    const namespace = await cluster.namespace();

    await apply(namespace, server('talk'));
    await waitFor(namespace, 'mcpserver/talk');

    expect(await field(namespace, 'role/talk-proxy-runner', '{.rules[*].resourceNames}')).toBe(
      '["talk-0"] ["talk-0"]',
    );
    expect(
      await field(namespace, 'deployment/talk', '{.spec.template.spec.automountServiceAccountToken}'),
    ).toBe('true');
    expect(await field(namespace, 'statefulset/talk', '{.spec.template.spec.containers[0].stdin}')).toBe(
      'true',
    );
    expect(await field(namespace, 'networkpolicy/talk', '{.spec.egress}{.spec.ingress}')).toBe('');
  });

  test('host rules lead through the gateway in the proxy pod', async () => {
    const namespace = await cluster.namespace();
    const profile = JSON.stringify({ network: { outbound: { allow_host: ['api.example.com'] } } });
    await cluster.kubectl([
      'create',
      'configmap',
      'profiles',
      '-n',
      namespace,
      `--from-literal=web=${profile}`,
    ]);

    await apply(
      namespace,
      server('web', { permissionProfile: { type: 'configmap', name: 'profiles', key: 'web' } }),
    );
    await waitFor(namespace, 'mcpserver/web');

    const address = await field(namespace, 'service/mcp-web-egress', '{.spec.clusterIP}');
    const env = `{.spec.template.spec.containers[0].env[?(@.name=='HTTPS_PROXY')].value}`;
    expect(await field(namespace, 'statefulset/web', env)).toBe(`http://${address}:3128`);
    expect(await field(namespace, 'networkpolicy/web', '{.spec.egress[*].ports[*].port}')).toBe('3128');
  });

  test('a bad pod template is a condition, and the server recovers with the next spec', async () => {
    const namespace = await cluster.namespace();

    await apply(namespace, server('odd', { podTemplateSpec: { spec: { containers: 'none' } } }));
    await expect.poll(() => condition(namespace, 'mcpserver/odd', 'Ready')).toBe('InvalidPodTemplateSpec');
    await apply(namespace, server('odd', { podTemplateSpec: { spec: { priorityClassName: '' } } }));

    await waitFor(namespace, 'mcpserver/odd');
    const events = await cluster.kubectl([
      'get',
      'events',
      '-n',
      namespace,
      '-o',
      'jsonpath={.items[*].reason}',
    ]);
    expect(events.split(' ').filter((reason) => reason === 'InvalidPodTemplateSpec')).toHaveLength(1);
  });

  test('policies with which the proxy cannot start are a condition, and no proxy is created', async () => {
    const namespace = await cluster.namespace();
    const withPolicy = (policy: string): string =>
      server('guarded', { authzConfig: { type: 'inline', inline: { policies: [policy] } } });

    await apply(namespace, withPolicy('permit everything'));
    await expect.poll(() => condition(namespace, 'mcpserver/guarded', 'Ready')).toBe('InvalidSpec');
    expect(await field(namespace, 'mcpserver/guarded', '{.status.message}')).toContain(
      'the proxy cannot start with this spec',
    );
    expect(await cluster.kubectl(['get', '-n', namespace, 'deployments', '-o', 'name'])).toBe('');

    await apply(namespace, withPolicy('permit(principal, action, resource);'));
    await waitFor(namespace, 'mcpserver/guarded');
  });

  test('foreign changes stay: replicas, annotations, and restarts', async () => {
    const namespace = await cluster.namespace();
    await apply(namespace, server('kept'));
    await waitFor(namespace, 'mcpserver/kept');

    await cluster.kubectl(['scale', '-n', namespace, 'deployment/kept', '--replicas=2']);
    await cluster.kubectl(['rollout', 'restart', '-n', namespace, 'deployment/kept']);
    await cluster.kubectl(['annotate', '-n', namespace, 'deployment/kept', 'team=red']);
    await apply(namespace, server('kept', { args: ['--verbose'] }));
    await expect
      .poll(() => field(namespace, 'statefulset/kept', '{.spec.template.spec.containers[0].args[0]}'))
      .toBe('--verbose');

    expect(await field(namespace, 'deployment/kept', '{.spec.replicas} {.metadata.annotations.team}')).toBe(
      '2 red',
    );
    const restarted = '{.spec.template.metadata.annotations.kubectl\\.kubernetes\\.io/restartedAt}';
    expect(await field(namespace, 'deployment/kept', restarted)).not.toBe('');
  });

  test('a tool configuration changes its servers once and cannot be deleted while one refers to it', async () => {
    const namespace = await cluster.namespace();
    await apply(namespace, server('tools', { toolConfigRef: { name: 'filter' } }));
    await expect.poll(() => condition(namespace, 'mcpserver/tools', 'Ready')).toBe('MCPToolConfigNotFound');
    await apply(namespace, manifest('MCPToolConfig', 'filter', { toolsFilter: ['one'] }));
    await waitFor(namespace, 'mcpserver/tools');
    const before = await checksum(namespace, 'tools');

    await apply(namespace, manifest('MCPToolConfig', 'filter', { toolsFilter: ['two'] }));
    await expect.poll(() => checksum(namespace, 'tools')).not.toBe(before);
    await cluster.kubectl(['delete', '-n', namespace, 'mcptoolconfig/filter', '--wait=false']);
    await expect.poll(() => condition(namespace, 'mcptoolconfig/filter', 'Ready')).toBe('DeletionBlocked');
    expect(await field(namespace, 'mcptoolconfig/filter', '{.status.referencingServers[*]}')).toBe('tools');
    await cluster.kubectl(['delete', '-n', namespace, 'mcpserver/tools', '--wait=false']);

    await waitFor(namespace, 'mcptoolconfig/filter', 'delete');
  });

  test('a token exchange needs its secret, which never appears in another object', async () => {
    const namespace = await cluster.namespace();
    const spec = {
      type: 'tokenExchange',
      tokenExchange: {
        tokenUrl: 'https://id.example.com/token',
        clientId: 'toolhive',
        clientSecretRef: { name: 'exchange', key: 'value' },
        audience: 'server',
      },
    };
    await apply(namespace, manifest('MCPExternalAuthConfig', 'exchange', spec));
    await expect
      .poll(() => condition(namespace, 'mcpexternalauthconfig/exchange', 'Ready'))
      .toBe('SecretNotFound');
    await cluster.kubectl([
      'create',
      'secret',
      'generic',
      'exchange',
      '-n',
      namespace,
      '--from-literal=value=hunter2-value',
    ]);
    const oidcConfig = { type: 'inline', inline: { issuer: 'https://id.example.com', audience: 'tools' } };
    await apply(
      namespace,
      server('exchanging', {
        transport: 'streamable-http',
        targetPort: 9000,
        oidcConfig,
        externalAuthConfigRef: { name: 'exchange' },
      }),
    );
    const remoteURL = 'https://mcp.example.com/mcp';
    await apply(
      namespace,
      manifest('MCPRemoteProxy', 'far', {
        remoteURL,
        oidcConfig,
        externalAuthConfigRef: { name: 'exchange' },
      }),
    );
    await waitFor(namespace, 'mcpserver/exchanging');
    await waitFor(namespace, 'mcpremoteproxy/far');
    const runConfig = await field(namespace, 'configmap/far-runconfig', '{.data.runconfig\\.json}');
    expect(JSON.parse(runConfig)).toMatchObject({
      remote_url: remoteURL,
      token_exchange_config: { token_url: 'https://id.example.com/token', audience: 'server' },
    });
    expect(await field(namespace, 'mcpexternalauthconfig/exchange', '{.status.referencingServers[*]}')).toBe(
      'exchanging far',
    );
    for (const name of ['exchanging', 'far']) {
      const env = `{.spec.template.spec.containers[0].env[?(@.name=='TOOLHIVE_TOKEN_EXCHANGE_CLIENT_SECRET')]}`;
      expect(JSON.parse(await field(namespace, `deployment/${name}`, env))).toMatchObject({
        valueFrom: { secretKeyRef: { name: 'exchange', key: 'value' } },
      });
    }

    const all = await cluster.kubectl([
      'get',
      '-n',
      namespace,
      'mcpservers,mcpexternalauthconfigs,configmaps,deployments,statefulsets,events',
      '-o',
      'yaml',
    ]);
    const encoded = Buffer.from('hunter2-value').toString('base64');
    expect(
      [all, ...operator.lines].filter((text) => text.includes('hunter2') || text.includes(encoded)),
    ).toEqual([]);
    expect(all).toContain('TOOLHIVE_TOKEN_EXCHANGE_CLIENT_SECRET');
  });

  test('a group counts its members, and its deletion leaves them running', async () => {
    const namespace = await cluster.namespace();
    await apply(namespace, manifest('MCPGroup', 'team', {}));
    await apply(namespace, server('b', { groupRef: 'team' }));
    await apply(namespace, server('a', { groupRef: 'team' }));
    await expect.poll(() => field(namespace, 'mcpgroup/team', '{.status.servers[*]}')).toBe('a b');

    await cluster.kubectl(['delete', '-n', namespace, 'mcpgroup/team']);

    await expect
      .poll(() => condition(namespace, 'mcpserver/a', 'GroupRefValidated'))
      .toBe('GroupRefNotFound');
    await waitFor(namespace, 'mcpserver/a');
  });

  test('a remote proxy has no server pod, and does not take the name of a server', async () => {
    const namespace = await cluster.namespace();
    const oidcConfig = { type: 'inline', inline: { issuer: 'https://id.example.com', audience: 'a' } };
    const spec = { remoteURL: 'https://mcp.example.com/mcp', oidcConfig };
    await apply(namespace, manifest('MCPRemoteProxy', 'far', spec));
    await waitFor(namespace, 'mcpremoteproxy/far');
    expect(await field(namespace, 'statefulset/far', '{.metadata.name}')).toBe('');

    await apply(namespace, server('far'));

    await expect.poll(() => condition(namespace, 'mcpserver/far', 'Ready')).toBe('NameClash');
    await waitFor(namespace, 'mcpremoteproxy/far');
  });

  test('a registry follows its ConfigMap, keeps old data when it breaks, and restricts images', async () => {
    const namespace = await cluster.namespace();
    const registry = (image: string): string =>
      JSON.stringify({
        version: '1.0.0',
        last_updated: '2026-01-01T00:00:00Z',
        servers: {
          one: {
            description: 'A server',
            image,
            tier: 'Community',
            status: 'Active',
            transport: 'stdio',
            tools: ['a'],
          },
        },
      });
    const source = (text: string): string =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'source' },
        data: { 'registry.json': text },
      });
    await apply(namespace, source(registry('example/server:1')));
    await apply(
      namespace,
      manifest('MCPRegistry', 'company', {
        source: { type: 'configmap', configmap: { name: 'source' } },
        enforceServers: true,
      }),
    );
    await waitFor(namespace, 'mcpregistry/company');
    expect(await field(namespace, 'mcpregistry/company', '{.status.syncStatus.serverCount}')).toBe('1');

    await apply(namespace, server('allowed'));
    await apply(namespace, server('foreign', { image: 'other/server:1' }));
    await waitFor(namespace, 'mcpserver/allowed');
    await expect
      .poll(() => condition(namespace, 'mcpserver/foreign', 'ImageValidated'))
      .toBe('ImageValidationFailed');
    expect(await field(namespace, 'deployment/foreign', '{.metadata.name}')).toBe('');
    await apply(namespace, source('{ broken'));

    await expect
      .poll(() => condition(namespace, 'mcpregistry/company', 'DataValid'))
      .toBe('ValidationFailed');
    expect(await field(namespace, 'mcpregistry/company', '{.status.phase}')).toBe('Failed');
    const stored = await field(namespace, 'configmap/company-registry-storage', '{.data.registry\\.json}');
    expect(stored).toContain('example/server:1');
    await apply(namespace, source(registry('example/server:1')));
    await waitFor(namespace, 'mcpregistry/company');
  });

  test('another replica takes over when the leader is killed, and ends within 10 seconds of SIGTERM', async () => {
    const namespace = await cluster.namespace();
    await using second = await startOperator(cluster, {
      args: ['--leader-elect'],
      env: { POD_NAME: 'second' },
    });
    await operator.kill();
    await second.says('leading');

    await apply(namespace, server('after'));
    await waitFor(namespace, 'mcpserver/after');

    expect(await second.stop()).toBe(0);
    operator = await startOperator(cluster, { args: ['--leader-elect'], env: { POD_NAME: 'third' } });
    await operator.says('leading');
  });
});
