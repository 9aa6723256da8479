import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { Http2ServerResponse } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { join } from 'node:path';
import { KubernetesClient } from '@toolhive/kubernetes/client';
import { loadKubeconfig } from '@toolhive/kubernetes/config';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { Reflector } from '@toolhive/operator/reflector';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeCluster } from './registered.ts';

/** A relay of connections to the API server, which can leave its open connections without any bytes. */
interface Relay extends AsyncDisposable {
  url: string;
  /** Makes the open connections half-open. Later ones work. */
  stall: () => void;
  /** How many connections have been opened. */
  readonly connections: number;
}

async function startRelay(target: URL): Promise<Relay> {
  const pairs = new Set<[Socket, Socket]>();
  let connections = 0;
  const server = createServer((near) => {
    const far = connect({ host: target.hostname, port: Number(target.port) });
    near.pipe(far).pipe(near);
    connections += 1;
    const pair: [Socket, Socket] = [near, far];
    pairs.add(pair);
    for (const [one, other] of [pair, pair.toReversed() as typeof pair]) {
      one.on('error', () => other.destroy());
      one.once('close', () => other.destroy());
    }
  });
  const port = await listening(server);
  return {
    url: `https://127.0.0.1:${port}`,
    stall() {
      for (const [near, far] of pairs) {
        near.unpipe(far).resume();
        far.unpipe(near).resume();
      }
    },
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      for (const pair of pairs) for (const socket of pair) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

async function listening(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

describeCluster('watches', () => {
  let cluster: ControlPlane;
  beforeAll(async () => {
    cluster = await startControlPlane();
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  const openCopy = async (url: string, namespaces: string[]) => {
    const config = await loadKubeconfig({ path: cluster.kubeconfig });
    const client = new KubernetesClient({ ...config, server: url });
    const over = new AbortController();
    const copy = new Reflector({
      client,
      type: types.configMap,
      namespaces,
      onChange: () => {},
      onError: () => {},
    });
    const running = copy.run(over.signal);
    return {
      copy,
      async [Symbol.asyncDispose]() {
        over.abort();
        await running;
        await client[Symbol.asyncDispose]();
      },
    };
  };

  test('a change behind a half-open connection arrives over another one', async () => {
    const namespace = await cluster.namespace();
    await using relay = await startRelay(new URL(cluster.client.config.server));
    await using opened = await openCopy(relay.url, [namespace]);
    await opened.copy.filled;
    const before = relay.connections;

    relay.stall();
    const { apiVersion, kind } = types.configMap;
    const object: KubernetesObject = { apiVersion, kind, metadata: { name: 'late', namespace } };
    await cluster.client.create(types.configMap, object);

    await expect.poll(() => opened.copy.get(`${namespace}/late`), { timeout: 90_000 }).toBeDefined();
    expect(relay.connections).toBeGreaterThan(before);
  });

  test.each([
    ['half an hour over HTTP/2', true, /^[12]\d{3}$/],
    ['half a minute over HTTP/1.1, which has no pings', false, /^[12]\d$/],
  ])('a watch lasts about %s', async (_what, isModern, seconds) => {
    const [key, cert] = await Promise.all(
      ['tls.key', 'tls.crt'].map((name) => readFile(join(cluster.state, name), 'utf8')),
    );
    const paths: string[] = [];
    const answer = (request: { url?: string }, reply: ServerResponse | Http2ServerResponse): void => {
      const { url = '' } = request;
      paths.push(url);
      const response = reply as ServerResponse; // both have these methods
      response.writeHead(200, { 'content-type': 'application/json' });
      if (url.includes('watch=true')) response.write('\n');
      else response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: [] }));
    };
    const server = isModern
      ? createSecureServer({ key, cert }, answer)
      : createHttpsServer({ key, cert }, answer);
    const sockets = new Set<Socket>();
    server.on('connection', (socket: Socket) => sockets.add(socket));
    const port = await listening(server);

    await using _opened = await openCopy(`https://127.0.0.1:${port}`, ['default']);

    const watched = (): string | undefined => paths.find((path) => path.includes('watch=true'));
    await expect.poll(watched).toBeDefined();
    expect(new URL(watched() ?? '', 'https://localhost').searchParams.get('timeoutSeconds')).toMatch(seconds);
    for (const socket of sockets) socket.destroy();
    server.close();
  });
});
