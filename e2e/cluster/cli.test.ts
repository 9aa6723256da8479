import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { makeUser } from '../testing/thv.ts';
import type { User } from '../testing/thv.ts';
import { describeCluster } from './registered.ts';
import { startOperator } from './running-operator.ts';
import type { RunningOperator } from './running-operator.ts';

interface Kubeconfig {
  'current-context': string;
  contexts: { name: string; context: { user: string } }[];
  users: { name: string; user: object }[];
}

describeCluster('thv with a Kubernetes context', () => {
  let cluster: ControlPlane;
  let user: User;
  let context: string;
  beforeAll(async () => {
    cluster = await startControlPlane();
    user = await makeUser();
    const config = parse(await readFile(cluster.kubeconfig, 'utf8')) as Kubeconfig;
    context = config['current-context'];
  });
  afterAll(async () => {
    await user?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const flagsFor = (namespace: string): string[] => [
    '--kubeconfig',
    cluster.kubeconfig,
    '--kube-context',
    context,
    '--namespace',
    namespace,
  ];

  test('creates a server', async () => {
    const namespace = await cluster.namespace();
    const flags = flagsFor(namespace);
    const image = 'ghcr.io/example/weather:1.2.0';

    await user.mustThv(
      'run',
      image,
      ...flags,
      '--transport=streamable-http',
      '--target-port=9000',
      '--wait=false',
      '--env=UNITS=metric',
      '--secret=api-key,target=WEATHER_KEY',
      '--secret=shared/token,target=TOKEN',
      '--group=research',
      '--',
      '--verbose',
      '',
    );
    const { spec } = JSON.parse(
      await cluster.kubectl(['get', 'mcpserver', 'weather', '--namespace', namespace, '-o', 'json']),
    ) as { spec: object };

    expect(spec).toMatchObject({
      image,
      transport: 'streamable-http',
      targetPort: 9000,
      port: 8080,
      args: ['--verbose', ''],
      env: [{ name: 'UNITS', value: 'metric' }],
      secrets: [
        { name: 'weather', key: 'api-key', targetEnvName: 'WEATHER_KEY' },
        { name: 'shared', key: 'token', targetEnvName: 'TOKEN' },
      ],
      groupRef: 'research',
      permissionProfile: { type: 'builtin', name: 'none' },
    });
  });

  test('creates nothing in place of an existing server', async () => {
    const flags = flagsFor(await cluster.namespace());
    await user.mustThv('run', 'ghcr.io/example/one:1', ...flags, '--wait=false');

    const { code, stderr } = await user.thv('run', 'ghcr.io/example/one:2', ...flags);

    expect(code).not.toBe(0);
    expect(stderr).toContain('mcpservers.toolhive.stacklok.dev "one" already exists');
  });

  test('reports the problem and its place', async () => {
    const namespace = await cluster.namespace();
    const flags = flagsFor(namespace);
    const errorOf = async (...words: string[]): Promise<string> => {
      const { code, stderr } = await user.thv(...words);
      expect(code).not.toBe(0);
      return stderr;
    };

    expect(await errorOf('run', 'example/one:1', '--namespace', namespace)).toContain(
      '--namespace requires --kube-context',
    );
    expect(await errorOf('run', 'example/one:1', '--wait')).toContain('--wait requires --kube-context');
    expect(await errorOf('run', 'example/one:1', ...flags, '--secret', 'a/b/c,target=TOKEN')).toContain(
      '--secret takes KEY,target=VARIABLE or SECRET/KEY,target=VARIABLE with --kube-context',
    );
    expect(
      await errorOf('run', 'example/one:1', '--kubeconfig', cluster.kubeconfig, '--kube-context', 'other'),
    ).toContain(`context other not found in ${cluster.kubeconfig}`);
    expect(
      await errorOf('run', 'example/one:1', '--kubeconfig', '/missing', '--kube-context', 'other'),
    ).toContain('cannot read /missing: file not found');
    expect(await errorOf('run', 'npx://one', ...flags)).toContain(
      'npx://one is not a container image with a tag',
    );
    expect(await errorOf('run', 'example/one:1', ...flags, '--volume', '/:/host')).toContain(
      '--volume is not supported with --kube-context',
    );
    expect(await errorOf('run', 'example/UPPER:1', ...flags, '--name', 'Not_A_Name')).toContain(
      'the cluster refused the request',
    );
  });

  test('completes the names of contexts', async () => {
    const path = join(user.home, 'contexts.yaml');
    const config = parse(await readFile(cluster.kubeconfig, 'utf8')) as Kubeconfig;
    const [first] = config.contexts;
    await writeFile(path, stringify({ ...config, contexts: [first, { ...first, name: 'staging' }] }));
    await using other = await makeUser({ env: { KUBECONFIG: path } });

    const offered = await other.mustThv('__complete', '--', 'run', '--kube-context', 'st');
    const { stderr } = await other.thv('run', 'example/one:1', '--kube-context', 'stagign');

    expect(offered).toContain('staging');
    expect(stderr).toContain('context stagign not found');
  });

  describe('with an operator', () => {
    let operator: RunningOperator;
    beforeAll(async () => {
      operator = await startOperator(cluster);
    });
    afterAll(() => operator?.[Symbol.asyncDispose]());

    test('waits until a server is ready, and names the reason if a server fails', async () => {
      const namespace = await cluster.namespace();
      const flags = flagsFor(namespace);
      const http = ['--transport=streamable-http', '--target-port=9000'];

      const ready = await user.thv('run', 'ghcr.io/example/weather:1', ...flags, ...http);
      const phase = await cluster.kubectl([
        'get',
        '-n',
        namespace,
        'mcpserver/weather',
        '-o',
        'jsonpath={.status.phase}',
      ]);
      const failed = await user.thv(
        'run',
        'ghcr.io/example/fetch:1',
        ...flags,
        ...http,
        '--secret=token,target=TOKEN',
      );

      expect([ready.code, ready.stdout]).toEqual([
        0,
        `MCPServer weather in namespace ${namespace} is ready\n`,
      ]);
      expect(phase).toBe('Running');
      expect(failed.code).not.toBe(0);
      expect(failed.stderr).toContain('MCPServer fetch has failed: Secret fetch not found');
    });
  });

  test('says so if the user lacks a permission, and does not quote the token', async () => {
    const namespace = await cluster.namespace();
    const token = await cluster.kubectl(['create', 'token', 'default', '--namespace', namespace]);
    const config = parse(await readFile(cluster.kubeconfig, 'utf8')) as Kubeconfig;
    const path = join(user.home, 'weak.yaml');
    await writeFile(
      path,
      stringify({ ...config, users: config.users.map((each) => ({ ...each, user: { token } })) }),
    );

    const { code, stderr } = await user.thv(
      'run',
      'example/one:1',
      '--kubeconfig',
      path,
      '--kube-context',
      context,
      '--namespace',
      namespace,
    );

    expect(code).not.toBe(0);
    expect(stderr).toContain(
      'the cluster refused the request: mcpservers.toolhive.stacklok.dev is forbidden',
    );
    expect(stderr).not.toContain(token);
  });
});
