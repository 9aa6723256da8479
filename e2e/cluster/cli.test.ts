import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { makeUser } from '../testing/thv.ts';
import type { User } from '../testing/thv.ts';
import { describeCluster } from './registered.ts';

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

  test('runs, lists, and removes a server', async () => {
    const namespace = await cluster.namespace();
    const flags = flagsFor(namespace);
    const image = 'ghcr.io/example/weather:1.2.0';

    await user.mustThv(
      'run',
      image,
      ...flags,
      '--transport=streamable-http',
      '--target-port=9000',
      '--env=UNITS=metric',
      '--group=research',
      '--',
      '--verbose',
      '',
    );
    const { spec } = JSON.parse(
      await cluster.kubectl(['get', 'mcpserver', 'weather', '--namespace', namespace, '-o', 'json']),
    ) as { spec: object };
    const listed = JSON.parse(await user.mustThv('list', ...flags, '--format', 'json')) as object[];
    const shown = await user.mustThv('list', ...flags);
    await user.mustThv('rm', 'weather', ...flags);

    expect(spec).toMatchObject({
      image,
      transport: 'streamable-http',
      targetPort: 9000,
      port: 8080,
      args: ['--verbose', ''],
      env: [{ name: 'UNITS', value: 'metric' }],
      groupRef: 'research',
      permissionProfile: { type: 'builtin', name: 'none' },
    });
    expect(listed).toEqual([
      expect.objectContaining({
        name: 'weather',
        package: image,
        port: 8080,
        group: 'research',
        remote: false,
        runtime: 'kubernetes',
        namespace,
      }),
    ]);
    expect(shown).toMatch(/^NAME +PACKAGE .*\nweather +ghcr\.io\/example\/weather:1\.2\.0 /);
    expect(JSON.parse(await user.mustThv('list', ...flags, '--format', 'json'))).toEqual([]);
  });

  test('creates nothing in place of an existing server', async () => {
    const flags = flagsFor(await cluster.namespace());
    await user.mustThv('run', 'ghcr.io/example/one:1', ...flags);

    const { code, stderr } = await user.thv('run', 'ghcr.io/example/one:2', ...flags);

    expect(code).not.toBe(0);
    expect(stderr).toContain('mcpservers.toolhive.stacklok.dev "one" already exists');
  });

  test('reports the problem and its place', async () => {
    const namespace = await cluster.namespace();
    const flags = flagsFor(namespace);
    await user.mustThv('run', 'ghcr.io/example/one:1', ...flags);
    const errorOf = async (...words: string[]): Promise<string> => {
      const { code, stderr } = await user.thv(...words);
      expect(code).not.toBe(0);
      return stderr;
    };

    expect(await errorOf('list', '--namespace', namespace)).toContain('--namespace requires --kube-context');
    expect(await errorOf('list', '--kubeconfig', cluster.kubeconfig, '--kube-context', 'other')).toContain(
      `context other not found in ${cluster.kubeconfig}`,
    );
    expect(await errorOf('list', '--kubeconfig', '/missing', '--kube-context', 'other')).toContain(
      'cannot read /missing: file not found',
    );
    expect(await errorOf('run', 'npx://one', ...flags)).toContain(
      'npx://one is not a container image with a tag',
    );
    expect(await errorOf('run', 'example/one:1', ...flags, '--volume', '/:/host')).toContain(
      '--volume is not supported with --kube-context',
    );
    expect(await errorOf('run', 'example/UPPER:1', ...flags, '--name', 'Not_A_Name')).toContain(
      'the cluster refused the request',
    );
    expect(await errorOf('rm', 'one', 'unheard-of', ...flags)).toContain(
      `server unheard-of not found in namespace ${namespace}`,
    );
    expect(await user.mustThv('list', ...flags)).toContain('one'); // nothing was removed
    expect(await errorOf('port-forward', 'unheard-of', ...flags)).toContain('server unheard-of not found');
    expect(await errorOf('port-forward', 'one', ...flags)).toContain('the proxy of one has no ready pod');
    expect(await errorOf('logs', 'one', ...flags, '--proxy')).toContain('the proxy of one has no pod yet');
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
      'list',
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
