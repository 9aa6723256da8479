import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testPort } from '@toolhive/testing/port';
import { expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { connectTo } from './testing/mcp.ts';
import { until } from './testing/thv.ts';

const program = new URL('../apps/operator/dist/proxy-runner.js', import.meta.url).pathname;
const serverProgram = new URL('../packages/test-servers/main.js', import.meta.url).pathname;
const namespace = 'tools';
const podPath = `/api/v1/namespaces/${namespace}/pods`;

/**
 * An API server with one pod that runs a real stdio server, for attaching only. As with `stdinOnce`, the server loses its
 * standard input with the connection, ends, and is started again in a new container.
 */
async function startApiServer() {
  let generation = 1;
  let isOver = false;
  let server: ChildProcess | undefined;
  const watchers = new Set<ServerResponse>();
  const sockets = new Set<WebSocket>();
  const pod = () => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'echo-0', namespace, uid: `uid-${generation}`, resourceVersion: String(generation) },
    status: { containerStatuses: [{ name: 'mcp', containerID: `c-${generation}`, state: { running: {} } }] },
  });
  const start = (): void => {
    const started = spawn(process.execPath, [serverProgram, 'echo'], { stdio: ['pipe', 'pipe', 'ignore'] });
    started.stdin.on('error', () => {}); // the pod is replaced while something arrives
    started.on('exit', () => {
      if (isOver) return;
      generation += 1;
      start();
      for (const watcher of watchers)
        watcher.write(`${JSON.stringify({ type: 'MODIFIED', object: pod() })}\n`);
    });
    server = started;
  };
  start();
  const http = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    if (url.pathname === `${podPath}/echo-0`) return response.end(JSON.stringify(pod()));
    if (url.searchParams.get('watch') === 'true') {
      response.writeHead(200).flushHeaders();
      watchers.add(response);
      return response.on('close', () => watchers.delete(response));
    }
    return response.end(
      JSON.stringify({ metadata: { resourceVersion: String(generation) }, items: [pod()] }),
    );
  });
  const upgrades = new WebSocketServer({ noServer: true, handleProtocols: () => 'v4.channel.k8s.io' });
  http.on('upgrade', (request, socket, head) => {
    upgrades.handleUpgrade(request, socket, head, (channel) => {
      sockets.add(channel);
      const attached = server;
      attached?.stdout?.on('data', (chunk: Buffer) => channel.send(Buffer.concat([Buffer.of(1), chunk])));
      channel.on('message', (message: Buffer) => {
        if (message[0] === 0) attached?.stdin?.write(message.subarray(1));
      });
      channel.on('close', () => {
        sockets.delete(channel);
        attached?.stdin?.end();
      });
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    attached: () => sockets.size,
    /** Breaks every attached connection, as a restarted API server does. */
    disconnect() {
      for (const socket of sockets) socket.terminate();
    },
    /** Replaces the pod. The old attached connection stays open, and is dead. */
    replacePod: () => void server?.kill('SIGKILL'),
    async [Symbol.asyncDispose]() {
      isOver = true;
      server?.kill('SIGKILL');
      for (const socket of sockets) socket.terminate();
      http.close();
      http.closeAllConnections();
    },
  };
}

test('attaches to a stdio server, and again after the connection breaks or the pod is replaced', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-runner-'));
  await using api = await startApiServer();
  const port = await testPort();
  const kubeconfig = join(folder.path, 'kubeconfig');
  const context = { name: 'test', context: { cluster: 'test', user: 'test', namespace } };
  const clusters = [{ name: 'test', cluster: { server: api.url } }];
  const users = [{ name: 'test', user: { token: 'test' } }];
  await writeFile(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      contexts: [context],
      clusters,
      users,
    }),
  );
  const file = join(folder.path, 'runconfig.json');
  const names = { name: 'echo', base_name: 'echo', container_name: 'echo' };
  await writeFile(
    file,
    JSON.stringify({ schema_version: 'v0.1.0', ...names, transport: 'stdio', host: '127.0.0.1', port }),
  );
  const child = spawn(process.execPath, [program, 'run', '--run-config', file], {
    env: { HOME: folder.path, POD_NAMESPACE: namespace, KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const closed = once(child, 'close');
  const isHealthy = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/health`).then(
      ({ status }) => status === 200,
      () => false, // the port is not open yet
    );
  /** Calls a tool in a new session until an attached server answers. */
  const answers = (message: string) =>
    until(async () => {
      if (!(await isHealthy())) return undefined;
      try {
        await using client = await connectTo(`http://127.0.0.1:${port}/mcp`);
        return (await client.call('echo', { message })).text;
      } catch {
        return undefined; // the server was disconnected in this moment
      }
    });
  try {
    expect(await answers('first')).toBe('first');

    api.disconnect();
    expect(await answers('after a broken connection')).toBe('after a broken connection');

    api.replacePod();
    expect(await answers('after a new pod')).toBe('after a new pod');
    await until(() => api.attached() === 1);
  } finally {
    child.kill('SIGTERM');
    await closed;
  }
  expect(child.exitCode).toBe(0);
});
