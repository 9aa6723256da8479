import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { freePort } from '@toolhive/runtime/free-port';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { connectTo } from '../testing/mcp.ts';
import { startRunner, startServer } from '../testing/proxy-runner.ts';
import { makeUser, until } from '../testing/thv.ts';
import type { User } from '../testing/thv.ts';
import { startKubeletApiServer } from './kubelet-api-server.ts';
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
      secrets: [
        { name: 'weather', key: 'api-key', targetEnvName: 'WEATHER_KEY' },
        { name: 'shared', key: 'token', targetEnvName: 'TOKEN' },
      ],
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
    await user.mustThv('run', 'ghcr.io/example/one:1', ...flags, '--wait=false');

    const { code, stderr } = await user.thv('run', 'ghcr.io/example/one:2', ...flags);

    expect(code).not.toBe(0);
    expect(stderr).toContain('mcpservers.toolhive.stacklok.dev "one" already exists');
  });

  test('reports the problem and its place', async () => {
    const namespace = await cluster.namespace();
    const flags = flagsFor(namespace);
    await user.mustThv('run', 'ghcr.io/example/one:1', ...flags, '--wait=false');
    const errorOf = async (...words: string[]): Promise<string> => {
      const { code, stderr } = await user.thv(...words);
      expect(code).not.toBe(0);
      return stderr;
    };

    expect(await errorOf('list', '--namespace', namespace)).toContain('--namespace requires --kube-context');
    expect(await errorOf('run', 'example/one:1', '--wait')).toContain('--wait requires --kube-context');
    expect(await errorOf('run', 'example/one:1', ...flags, '--secret', 'a/b/c,target=TOKEN')).toContain(
      '--secret takes KEY,target=VARIABLE or SECRET/KEY,target=VARIABLE with --kube-context',
    );
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

  test('completes the names of contexts', async () => {
    const path = join(user.home, 'contexts.yaml');
    const config = parse(await readFile(cluster.kubeconfig, 'utf8')) as Kubeconfig;
    const [first] = config.contexts;
    await writeFile(path, stringify({ ...config, contexts: [first, { ...first, name: 'staging' }] }));
    await using other = await makeUser({ env: { KUBECONFIG: path } });

    const offered = await other.mustThv('__complete', '--', 'list', '--kube-context', 'st');
    const { stderr } = await other.thv('list', '--kube-context', 'stagign');

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
      const phase = await cluster.kubectl(['get', '-n', namespace, 'mcpserver/weather', '-o', 'jsonpath={.status.phase}']); // prettier-ignore
      const failed = await user.thv('run', 'ghcr.io/example/fetch:1', ...flags, ...http, '--secret=token,target=TOKEN'); // prettier-ignore

      expect([ready.code, ready.stdout]).toEqual([
        0,
        `MCPServer weather in namespace ${namespace} is ready\n`,
      ]);
      expect(phase).toBe('Running');
      expect(failed.code).not.toBe(0);
      expect(failed.stderr).toContain('MCPServer fetch has failed: Secret fetch not found');
    });

    test('shows the log of a container, and forwards a port to the proxy', async () => {
      const namespace = await cluster.namespace();
      const port = await freePort();
      const targetPort = await freePort();
      await using _server = startServer(targetPort);
      await user.mustThv('run', 'ghcr.io/example/echo:1', ...flagsFor(namespace), '--name=echo', '--transport=streamable-http', `--target-port=${targetPort}`, `--proxy-port=${port}`); // prettier-ignore
      const config = await cluster.kubectl(['get', '-n', namespace, 'configmap/echo-runconfig', '-o', 'jsonpath={.data.runconfig\\.json}']); // prettier-ignore
      await using runner = await startRunner(JSON.parse(config) as { port: number }, { POD_NAMESPACE: namespace }); // prettier-ignore
      await until(async () => (await runner.health()).status === 200);
      const asked: string[] = [];
      await using api = await startKubeletApiServer(cluster, {
        kubelet: {
          logs(pod, query, response) {
            asked.push(`${pod} ${query.toString()}`);
            response.write(`first line of ${query.get('container')}\n`);
            if (query.get('follow') !== 'true') response.end('last line\n');
          },
          dial: (pod, to) => {
            asked.push(`${pod} ${to}`);
            return connect(to, '127.0.0.1');
          },
        },
      });
      const path = join(user.home, 'kubelet.yaml');
      const kubeconfig = await readFile(cluster.kubeconfig, 'utf8');
      await writeFile(path, kubeconfig.replace(/server: .*/, `server: ${api.url}`));
      const flags = ['--kubeconfig', path, '--kube-context', context, '--namespace', namespace];

      const log = await user.mustThv('logs', 'echo', ...flags, '--tail', '5');
      const followed = user.start('logs', 'echo', ...flags, '--follow', '--proxy');
      await until(() => followed.stdout().includes('first line of toolhive'));
      followed.child.kill('SIGINT');
      await followed.ended;
      const forwarded = user.start('port-forward', 'echo', ...flags, '--format=json');
      const { url } = await until(() => jsonIn(forwarded.stdout()));
      const answers: string[] = [];
      for (const message of ['one', 'two']) {
        await using client = await connectTo(url);
        answers.push((await client.call('echo', { message })).text);
      }
      forwarded.child.kill('SIGINT');

      expect(log).toBe('first line of mcp\nlast line\n');
      expect(asked[0]).toMatch(/^echo-0 .*container=mcp.*tailLines=5/);
      expect(answers).toEqual(['one', 'two']);
      expect(asked.filter((each) => each.endsWith(` ${port}`)).length).toBeGreaterThan(0);
      expect(await forwarded.ended).toBe(0);
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
      'list',
      '--kubeconfig',
      path,
      '--kube-context',
      context,
      '--namespace',
      namespace,
    );

    expect(code).not.toBe(0);
    expect(stderr).toMatch(
      /the cluster refused the request: mcp(servers|remoteproxies)\.toolhive\.stacklok\.dev is forbidden/,
    );
    expect(stderr).not.toContain(token);
  });
});

function jsonIn(text: string): { url: string } | undefined {
  return text.includes('\n') ? (JSON.parse(text) as { url: string }) : undefined;
}
