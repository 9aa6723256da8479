import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { TEST_IMAGE } from '@toolhive/runtime/testing/docker-engine';
import { engineSocket } from '@toolhive/runtime/testing/engines';
import { Agent, fetch as fetchWith } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildOperatorImage } from '../../scripts/images.ts';
import { root } from '../testing/thv.ts';
import { startKubeletApiServer } from './kubelet-api-server.ts';
import { PodContainers } from './pod-containers.ts';
import type { RunningPod } from './pod-containers.ts';
import { objectsOf } from './operator-tests.ts';
import { describeCluster } from './registered.ts';
import { startOperator } from './running-operator.ts';
import type { RunningOperator } from './running-operator.ts';

const socket = await engineSocket('docker');
const hasDocker = (process.env['PATH'] ?? '')
  .split(delimiter)
  .some((folder) => existsSync(join(folder, 'docker')));
const tag = `pods-${process.pid}`;
const runnerImage = `toolhive-proxyrunner:${tag}`;

const manifest = (kind: string, name: string, content: object): string =>
  JSON.stringify({
    apiVersion: kind.startsWith('MCP') ? 'toolhive.stacklok.dev/v1alpha1' : 'v1',
    kind,
    metadata: { name },
    ...content,
  });

// oxlint-disable-next-line vitest/no-conditional-tests -- a skipped test counts as a failure
if (socket === '' || !hasDocker) {
  process.stderr.write(
    '\n!!! SKIPPED: the pods as containers, because this machine cannot start a Docker Engine\n\n',
  );
} else {
  describeCluster('the pods as containers', () => {
    let cluster: ControlPlane;
    let operator: RunningOperator;
    const docker = (...words: string[]) =>
      promisify(execFile)('docker', ['-H', `unix://${socket}`, ...words]);
    beforeAll(async () => {
      await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-images-'));
      const { archive } = await buildOperatorImage('toolhive-proxyrunner', { folder: folder.path, tag });
      await docker('load', '--input', archive);
      cluster = await startControlPlane();
      operator = await startOperator(cluster, { env: { TOOLHIVE_RUNNER_IMAGE: runnerImage } });
    });
    afterAll(async () => {
      await operator?.[Symbol.asyncDispose]();
      await cluster?.[Symbol.asyncDispose]();
      await docker('image', 'rm', '--force', runnerImage);
    });

    const objects = objectsOf(() => cluster);
    /** Applies a server with other objects, and returns the URL of the server once the operator has created the pods. */
    const deploy = async (namespace: string, spec: object, ...others: string[]): Promise<string> => {
      const server = manifest('MCPServer', 'echo', { spec: { image: TEST_IMAGE, ...spec } });
      await objects.apply(namespace, ...others, server);
      await objects.waitFor(namespace, 'mcpserver/echo');
      return objects.field(namespace, 'mcpserver/echo', '{.status.url}');
    };
    const startServer = async (pods: PodContainers): Promise<RunningPod> => {
      const [pod] = await pods.pods('toolhive-backend=echo');
      return pods.start(pod!); // the operator has created the pod
    };
    const startProxy = async (pods: PodContainers, options = {}): Promise<RunningPod> => {
      const [pod] = await pods.pods('toolhive-name=echo');
      const proxy = await pods.start(pod!, options); // the operator has created the pod
      await proxy.ready();
      return proxy;
    };

    test('an HTTP server answers calls without privileges, with its secrets and policies', async () => {
      const namespace = await cluster.namespace();
      const url = await deploy(
        namespace,
        {
          transport: 'streamable-http',
          targetPort: 9000,
          args: ['http'],
          secrets: [{ name: 'login', key: 'token', targetEnvName: 'API_TOKEN' }],
          resources: { limits: { cpu: '1', memory: '512Mi' } },
          authzConfig: {
            type: 'inline',
            inline: {
              policies: ['permit(principal, action, resource) unless { resource == Tool::"crash" };'],
            },
          },
        },
        manifest('Secret', 'login', { stringData: { token: 'a secret token' } }),
      );
      await using pods = await PodContainers.open(socket, cluster, namespace);
      const server = await startServer(pods);
      const proxy = await startProxy(pods);
      await using client = await connect(url, pods);

      expect(await client.call('echo', { message: 'hello' })).toBe('hello');
      expect(JSON.parse(await client.call('environment', {}))).toMatchObject({
        API_TOKEN: 'a secret token',
        MCP_PORT: '9000',
      });
      expect(await client.tools()).not.toContain('crash');
      const status = await client.call('read', { path: '/proc/self/status' });
      for (const line of [
        /^Uid:\s1000\s1000\s1000\s1000$/m,
        /^CapBnd:\s0+$/m,
        /^NoNewPrivs:\s1$/m,
        /^Seccomp:\s2$/m,
      ])
        expect(status).toMatch(line);
      expect(await client.call('write', { path: '/app/file' })).toContain('EROFS');
      expect(await client.call('write', { path: '/tmp/file' })).toBe('written');
      expect(await client.call('dial', { host: proxy.address, port: 3128 })).toContain('ECONNREFUSED');
      const logs = await pods.docker('logs', proxy.id);
      expect(logs).toContain('proxy listening');
      expect(logs).not.toContain('a secret token');
      expect(
        await pods.docker(
          'inspect',
          '--format',
          '{{.HostConfig.ReadonlyRootfs}} {{.HostConfig.Memory}}',
          proxy.id,
        ),
      ).toBe(`true ${512 * 1024 ** 2}`);
      expect(server.address).not.toBe(proxy.address);
    });

    test('a server with host rules reaches only the allowed host, through the gateway', async () => {
      const namespace = await cluster.namespace();
      await using pods = await PodContainers.open(socket, cluster, namespace);
      const serve = (text: string): [string, ...string[]] => [
        'node',
        '-e',
        `http.createServer((_, response) => response.end('${text}')).listen(7000)`,
      ];
      const allowed = await pods.startOutside(TEST_IMAGE, ...serve('the allowed host'));
      const other = await pods.startOutside(TEST_IMAGE, ...serve('the other host'));
      const profile = { network: { outbound: { allow_host: [allowed], allow_port: [7000] } } };
      const url = await deploy(
        namespace,
        {
          transport: 'streamable-http',
          targetPort: 9000,
          args: ['http'],
          permissionProfile: { type: 'configmap', name: 'profiles', key: 'echo.json' },
        },
        manifest('ConfigMap', 'profiles', { data: { 'echo.json': JSON.stringify(profile) } }),
      );
      await startServer(pods);
      const proxy = await startProxy(pods, { reachesOutside: true });
      await using client = await connect(url, pods);
      /** Fetches a page inside the server container, with the container's proxy variables. */
      const get = async (host: string): Promise<string> => {
        const program = `fetch('http://${host}:7000').then(async (r) => console.log(r.status, await r.text()))`;
        return client.call('execute', { command: 'node', args: ['--use-env-proxy', '-e', program] });
      };

      expect(await get(allowed)).toContain('200 the allowed host');
      expect(await get(other)).not.toContain('the other host');
      expect(await get(other)).toContain('403');
      expect(await client.call('dial', { host: allowed, port: 7000 })).toMatch(/^(ENETUNREACH|ABORT_ERR)/);
      const logs = await pods.docker('logs', proxy.id);
      expect(logs).toContain(`"host":"${other}"`);
      expect(logs).toContain('outbound connection denied');
    });

    test('a stdio server answers calls after the proxy attaches with its own permissions', async () => {
      const namespace = await cluster.namespace();
      const url = await deploy(namespace, { transport: 'stdio', args: ['echo'] });
      await using pods = await PodContainers.open(socket, cluster, namespace);
      const server = await startServer(pods);
      const attached: string[] = [];
      await using _api = await startKubeletApiServer(cluster, {
        host: cluster.serviceAddress,
        port: 443,
        kubelet: {
          attach(pod) {
            attached.push(pod);
            return server.attach();
          },
        },
      });
      await startProxy(pods);
      await using client = await connect(url, pods);

      expect(await client.call('echo', { message: 'hello' })).toBe('hello');
      expect(attached).toEqual(['echo-0']);
    });

    test('the example of a meta server finds and calls the tools of a server', async () => {
      const namespace = await cluster.namespace();
      await deploy(namespace, { transport: 'streamable-http', targetPort: 9000, args: ['http'] });
      const example = (await readFile(join(root, 'deploy/examples/meta-mcp.yaml'), 'utf8'))
        .replace('namespace: default', `namespace: ${namespace}`)
        .replace(/image: .*/, `image: ${runnerImage}`);
      await objects.apply(namespace, example);
      await objects.waitFor(namespace, 'deployment/meta-mcp', 'Available');
      await using pods = await PodContainers.open(socket, cluster, namespace);
      await using _api = await startKubeletApiServer(cluster, {
        host: cluster.serviceAddress,
        port: 443,
        kubelet: {},
      });
      await startServer(pods);
      await startProxy(pods);
      const [pod] = await pods.pods('app=meta-mcp');
      const meta = await pods.start(pod!); // the Deployment has created the pod
      await meta.ready();
      await using client = await connect(
        `http://mcp-meta-mcp-proxy.${namespace}.svc.cluster.local:8080`,
        pods,
      );

      const { tools } = JSON.parse(await client.call('find_tool', { query: 'test tool echo' })) as {
        tools: { tool_name: string }[];
      };
      const called = await client.call('call_tool', {
        server_name: 'echo',
        tool_name: 'echo',
        parameters: { message: 'hello' },
      });

      expect(tools.map(({ tool_name: name }) => name)).toContain('echo');
      expect(called).toBe('hello');
    });
  });
}

/** Connects to a proxy by its Service name. */
async function connect(url: string, { lookup }: PodContainers) {
  const dispatcher = new Agent({ connect: { lookup } });
  const client = new Client({ name: 'toolhive-e2e', version: '1.0.0' });
  const fetchByName = ((input: string | URL, init: object) =>
    fetchWith(input, { ...init, dispatcher })) as unknown as typeof fetch;
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url), { fetch: fetchByName }));
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    async call(name: string, given: Record<string, unknown>): Promise<string> {
      const { content } = (await client.callTool({ name, arguments: given })) as {
        content: { text: string }[];
      };
      return content.map(({ text }) => text).join('\n');
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await dispatcher.destroy();
    },
  };
}
