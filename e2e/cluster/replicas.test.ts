import { expect, test } from 'vitest';
import { describeOperator, manifest, server } from './operator-tests.ts';
import { startOperator } from './running-operator.ts';

const http = { transport: 'streamable-http', targetPort: 9000 };

describeOperator('replicas', (world) => {
  const { apply, field, waitFor, condition } = world;

  test('a server that speaks HTTP has as many proxies and servers as its spec says, which share a key', async () => {
    const namespace = await world.cluster.namespace();
    const remote = { remoteURL: 'http://127.0.0.1:1/mcp', oidcConfig: { type: 'inline', inline: { issuer: 'https://id.example.com', audience: 'a' } } }; // prettier-ignore

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
      const keys = await Promise.all(['current', 'next'].map((key) => field(namespace, `secret/${secret}`, `{.data.${key}}`))); // prettier-ignore
      const sizes = keys.map((key) => Buffer.from(Buffer.from(key, 'base64').toString(), 'base64url').length);
      expect([sizes, new Set(keys).size]).toEqual([[32, 32], 2]);
    }
    expect(await condition(namespace, 'mcpserver/many', 'SessionsShared')).toBe('NoSessionStorage');
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
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'mcp-taken-session-keys' }, stringData: { own: 'value' } }; // prettier-ignore
    await apply(namespace, JSON.stringify(secret));

    await apply(namespace, server('taken', http));

    await expect.poll(() => condition(namespace, 'mcpserver/taken', 'Ready')).toBe('NameClash');
    expect(await field(namespace, 'secret/mcp-taken-session-keys', '{.data}')).toBe('{"own":"dmFsdWU="}');
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

    await world.cluster.kubectl([
      'annotate',
      '-n',
      namespace,
      '--overwrite',
      'secret/mcp-rotated-session-keys',
      'toolhive.stacklok.dev/rotated-at=2020-01-01T00:00:00Z',
    ]);
    await world.operator[Symbol.asyncDispose]();
    world.operator = await startOperator(world.cluster);
    await expect.poll(async () => (await data())['previous']).toBe(before['current']);

    const after = await data();
    expect(after['current']).toBe(before['next']);
    expect(new Set(Object.values(after)).size).toBe(3);
    expect(await field(namespace, 'deployment/rotated', '{.metadata.generation}')).toBe(restarts);
  });
});
