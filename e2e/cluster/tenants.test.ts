import { expect, test } from 'vitest';
import { describeOperator, manifest, server } from './operator-tests.ts';

const restart = {
  'mcpserver.toolhive.stacklok.dev/restarted-at': '2026-11-01T00:00:00Z',
  'mcpserver.toolhive.stacklok.dev/restart-strategy': 'immediate',
};
const PROCESSED = "{.metadata.annotations['mcpserver\\.toolhive\\.stacklok\\.dev/last-processed-restart']}";

/** The objects of someone else in the same namespace. */
function foreign(kind: 'Pod' | 'StatefulSet', name: string, labels: Record<string, string>): string {
  const securityContext = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
  const pod = {
    securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [{ name: 'main', image: 'example/database:1', securityContext }],
  };
  const content =
    kind === 'Pod'
      ? { apiVersion: 'v1', spec: pod }
      : {
          apiVersion: 'apps/v1',
          spec: {
            serviceName: name,
            selector: { matchLabels: labels },
            template: { metadata: { labels }, spec: pod },
          },
        };
  return JSON.stringify({ kind, metadata: { name, labels }, ...content });
}

describeOperator('someone who may only create custom resources', (world) => {
  const { apply, annotate, field, condition, waitFor } = world;

  test('gets no access to the pods of a StatefulSet with the name of a server', async () => {
    const namespace = await world.cluster.namespace();
    await apply(namespace, foreign('StatefulSet', 'database', { app: 'database' }));

    await apply(namespace, server('database'));

    await expect.poll(() => condition(namespace, 'mcpserver/database', 'Ready')).toBe('NameClash');
    expect(await field(namespace, 'role/database-proxy-runner', '{.rules}')).toBe('');
    expect(await field(namespace, 'rolebinding/database-proxy-runner', '{.roleRef}')).toBe('');
  });

  test('gets no access to a ConfigMap with the name of listed tools', async () => {
    const namespace = await world.cluster.namespace();
    const metadata = { name: 'math-listed-tools' };
    await apply(
      namespace,
      JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { mine: 'a' } }),
    );

    await apply(namespace, server('math', { toolPins: {} }));

    await expect.poll(() => condition(namespace, 'mcpserver/math', 'Ready')).toBe('NameClash');
    expect(await field(namespace, 'role/math-proxy-runner', '{.rules}')).toBe('');
  });

  test.each<[string, object]>([
    ['of the server', { containers: [{ name: 'mcp', image: 'other/server:1' }] }],
    ['of a container before it', { initContainers: [{ name: 'before', image: 'other/server:1' }] }],
    ['in a volume', { volumes: [{ name: 'files', image: { reference: 'other/server:1' } }] }],
  ])('uses no image %s that the registry does not contain', async (_place, spec) => {
    const namespace = await world.cluster.namespace();
    const one = { description: 'A server', image: 'example/server:1', transport: 'stdio', tools: ['a'] };
    await apply(
      namespace,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'source' },
        data: { 'registry.json': JSON.stringify({ version: '1.0.0', servers: { one } }) },
      }),
      manifest('MCPRegistry', 'company', {
        source: { type: 'configmap', configmap: { name: 'source' } },
        enforceServers: true,
      }),
    );
    await waitFor(namespace, 'mcpregistry/company');

    await apply(namespace, server('evil', { podTemplateSpec: { spec } }));

    await expect
      .poll(() => condition(namespace, 'mcpserver/evil', 'ImageValidated'))
      .toBe('ImageValidationFailed');
    expect(await field(namespace, 'statefulset/evil', '{.metadata.name}')).toBe('');
  });

  test('loses the access when the StatefulSet of a server is replaced by one of someone else', async () => {
    const namespace = await world.cluster.namespace();
    await apply(namespace, server('replaced'));
    await waitFor(namespace, 'mcpserver/replaced');
    expect(await field(namespace, 'role/replaced-proxy-runner', '{.rules[*].resourceNames[*]}')).toContain(
      'replaced-0',
    );

    const orphan = { metadata: { ownerReferences: null, labels: { 'toolhive-backend': null } } };
    await world.cluster.kubectl([
      'patch',
      'statefulset/replaced',
      '-n',
      namespace,
      '--type=merge',
      `--patch=${JSON.stringify(orphan)}`,
    ]);

    await expect.poll(() => condition(namespace, 'mcpserver/replaced', 'Ready')).toBe('NameClash');
    await expect.poll(() => field(namespace, 'role/replaced-proxy-runner', '{.rules}')).toBe('');
  });

  test('deletes no pods of others with a restart', async () => {
    const namespace = await world.cluster.namespace();
    const labels = { 'app.kubernetes.io/name': 'mcpserver', 'app.kubernetes.io/instance': 'weather' };
    await apply(namespace, foreign('Pod', 'other', labels), server('weather'));
    await waitFor(namespace, 'mcpserver/weather');
    const own = await field(namespace, 'pod/weather-0', '{.metadata.uid}');

    await annotate(namespace, 'mcpserver/weather', restart);

    await expect.poll(() => field(namespace, 'mcpserver/weather', PROCESSED)).not.toBe('');
    await expect.poll(() => field(namespace, 'pod/weather-0', '{.metadata.uid}')).not.toBe(own);
    expect(await field(namespace, 'pod/other', '{.metadata.deletionTimestamp}{.metadata.name}')).toBe(
      'other',
    );
  });

  test('restarts a remote proxy, and no server with its name', async () => {
    const namespace = await world.cluster.namespace();
    const oidcConfig = { type: 'inline', inline: { issuer: 'https://id.example.com', audience: 'a' } };
    const spec = { remoteURL: 'https://mcp.example.com/mcp', oidcConfig };
    await apply(namespace, manifest('MCPRemoteProxy', 'far', spec));
    await waitFor(namespace, 'mcpremoteproxy/far');
    await apply(namespace, server('far'));

    await annotate(namespace, 'mcpremoteproxy/far', restart);

    await expect.poll(() => field(namespace, 'mcpremoteproxy/far', PROCESSED)).not.toBe('');
    expect(await field(namespace, 'mcpserver/far', PROCESSED)).toBe('');
  });
});
