import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Seal } from '../sealing/seal.ts';
import { RouteSeal } from './route.ts';
import { Peers } from './peers.ts';
import { unknownClient } from '../upstream/server-sessions.ts';
import { openTestProxy } from '../testing/test-proxy.ts';
import type { TestProxy } from '../testing/test-proxy.ts';
import type { ServerPod } from '../upstream/upstream.ts';

const never = new AbortController().signal;

const route = { pod: 'weather-1', id: 'session', client: unknownClient };
const alice = { id: 'alice' };
const keysOf =
  (...keys: Uint8Array[]) =>
  () =>
    keys;
const newKey = (): Uint8Array => randomBytes(32);

describe('a sealed session ID', () => {
  const key = newKey();
  const seal = new RouteSeal('weather', keysOf(key));

  test('leads its principal to the session', () => {
    const sealed = seal.seal(route, alice);

    const opened = seal.open(sealed, alice);

    expect(opened).toEqual({ ...route, client: { ...unknownClient } });
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('weather');
  });

  test('leads nobody else anywhere', () => {
    const sealed = seal.seal(route, alice);
    const bytes = Buffer.from(sealed, 'base64url');
    const flipped = [...bytes.keys()].map((at) => {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      return changed.toString('base64url');
    });
    const cut = [...bytes.keys()].map((length) => bytes.subarray(0, length).toString('base64url'));
    const spliced = Buffer.concat([
      bytes.subarray(0, 12),
      Buffer.from(seal.seal({ ...route, id: 'other' }, alice), 'base64url').subarray(12),
    ]).toString('base64url');
    const requestState = new Seal(Date.now, keysOf(key)).seal(JSON.stringify(route), 'a call', 60_000);
    const plain = Buffer.from(JSON.stringify({ ...route, who: '' })).toString('base64url');

    const asAlice = [
      ...flipped,
      ...cut,
      spliced,
      requestState,
      plain,
      '',
      'weather-0',
      '🐝',
      'A'.repeat(100_000),
    ].map((text) => seal.open(text, alice));
    const asOthers = [{ id: '' }, { id: 'bob' }, { id: 'alice ' }].map((who) => seal.open(sealed, who));
    const elsewhere = [
      new RouteSeal('news', keysOf(key)),
      new RouteSeal('weather', keysOf(newKey())),
      new RouteSeal('weather', keysOf()),
    ].map((other) => other.open(sealed, alice));

    expect([...asAlice, ...asOthers, ...elsewhere].filter((opened) => opened !== undefined)).toEqual([]);
  });

  test('survives one change of the key, and not two', () => {
    const [next, last] = [newKey(), newKey()];
    const sealed = seal.seal(route, alice);

    const opened = [keysOf(next, last, key), keysOf(last, newKey(), next)].map((keys) =>
      new RouteSeal('weather', keys).open(sealed, alice),
    );

    expect(opened).toEqual([expect.objectContaining({ id: 'session' }), undefined]);
  });

  test('fits into a header, whatever the client says about itself', () => {
    const capabilities = Object.fromEntries(
      Array.from({ length: 500 }, (_, n) => [`x${'y'.repeat(100)}${n}`, { deep: 'z'.repeat(1000) }]),
    );
    const clientInfo = { name: 'n'.repeat(100_000), icons: [{ src: 'data:'.padEnd(100_000, 'a') }] };

    const sealed = seal.seal({ ...route, client: { ...unknownClient, capabilities, clientInfo } }, alice);

    expect(sealed.length).toBeLessThan(4000);
    expect(() => seal.seal({ ...route, id: 'i'.repeat(10_000) }, alice)).toThrow('too long');
  });
});

describe('a connection between proxies', () => {
  const limits = { headersMs: 1000, requestMs: 1000, stalledMs: 1000, connections: 10 };
  const open = (key: Uint8Array): Promise<Peers> =>
    Peers.open(
      { keys: keysOf(key), host: '127.0.0.1', port: 0, advertised: '127.0.0.1' },
      limits,
      ({ headers }, response) => response.end(`relayed for ${headers.authorization}`),
    );
  /** Sends a request to a listener that relays the request, and returns the answer. */
  async function relayedTo(owner: string, peers: Peers): Promise<string> {
    const front = createServer((request, response) => {
      void peers
        .relay(owner, request, response)
        .then((isRelayed) => isRelayed || response.end('not relayed'));
    });
    await once(front.listen(0, '127.0.0.1'), 'listening');
    const { port } = front.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
      headers: { authorization: 'Bearer mine' },
    });
    front.close();
    return response.text();
  }

  test('carries a request to a proxy with the same key', async () => {
    const key = newKey();
    await using owner = await open(key);
    await using peers = await open(key);

    const answers = [await relayedTo(owner.self, peers), await relayedTo(owner.self, peers)];

    expect(answers).toEqual(Array(2).fill('relayed for Bearer mine'));
  });

  test('carries nothing to a proxy with another key, or to one that has the address of an earlier one', async () => {
    const key = newKey();
    await using stranger = await open(newKey());
    await using later = await open(key);
    await using peers = await open(key);
    const earlier = later.self.replace(/^[^@]+/, 'earlier');

    const answers = [await relayedTo(stranger.self, peers), await relayedTo(earlier, peers)];

    expect(answers).toEqual(Array(2).fill('not relayed'));
  });

  test('sends no request to a program that has the address of an earlier proxy', async () => {
    const received: Buffer[] = [];
    const program = createTcpServer((socket) => {
      socket
        .on('error', () => {})
        .on('data', (chunk) => {
          received.push(chunk);
          socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
        });
    });
    await once(program.listen(0, '127.0.0.1'), 'listening');
    await using peers = await open(newKey());

    const answer = await relayedTo(`gone@127.0.0.1:${(program.address() as AddressInfo).port}`, peers);
    program.close();

    expect(answer).toBe('not relayed');
    expect(Buffer.concat(received).length).toBeGreaterThan(0);
    expect(Buffer.concat(received).toString('latin1')).not.toContain('mine');
  });

  test('takes no request without the key', async () => {
    await using peers = await open(newKey());
    const [, host = '', port = ''] = /@(.*):(\d+)$/.exec(peers.self) ?? [];

    const plain = await fetch(`http://${host}:${port}/mcp`, {
      headers: { 'x-toolhive-owner': peers.self },
    }).catch(() => 'refused');
    const socket = connectTls({
      host,
      port: Number(port),
      ciphers: 'ECDHE-PSK-CHACHA20-POLY1305',
      maxVersion: 'TLSv1.2',
      pskCallback: () => ({ psk: randomBytes(32), identity: '0123456789abcdef' }),
      checkServerIdentity: () => undefined,
    });
    const [event] = await Promise.race([
      once(socket, 'error').then(() => ['refused']),
      once(socket, 'secureConnect').then(() => ['connected']),
    ]);

    expect([plain, event]).toEqual(['refused', 'refused']);
  });
});

describe.each(['streamable-http', 'sse'] as const)('two proxies of one %s server', (transport) => {
  const open = async (key: Uint8Array, workload = 'test', onRequest = (): void => {}): Promise<TestProxy> =>
    openTestProxy({
      transport,
      workload,
      access: {
        async check(authorization) {
          onRequest();
          return { id: authorization ?? '' };
        },
      },
      replicas: { keys: keysOf(key), peers: { host: '127.0.0.1', port: 0, advertised: '127.0.0.1' } },
    });
  const post = (url: string, message: object, headers: Record<string, string>): Promise<Response> =>
    fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-06-18',
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
  const begin = async (url: string, authorization: string): Promise<string> => {
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    };
    const response = await post(url, { id: 0, method: 'initialize', params }, { authorization });
    await response.text();
    return response.headers.get('mcp-session-id') ?? '';
  };
  const statusOf = async (
    url: string,
    authorization: string,
    session: string,
    method = 'POST',
  ): Promise<number> => {
    const headers = { authorization, 'mcp-session-id': session };
    const response =
      method === 'POST'
        ? await post(url, { id: 1, method: 'tools/list' }, headers)
        : await fetch(`${url}/mcp`, { method, headers: { ...headers, accept: 'text/event-stream' } });
    await response.body?.cancel();
    return response.status;
  };

  test('serve a session to its own caller only', async () => {
    const key = newKey();
    await using one = await open(key);
    await using two = await open(key);
    const server = await one.connect();
    await two.proxy.connect(server, () => Promise.reject(new Error('not started')), never);
    const session = await begin(one.url, 'alice');

    const ofAlice = [await statusOf(one.url, 'alice', session), await statusOf(two.url, 'alice', session)];
    const ofBob = await Promise.all(
      [one, two].flatMap(({ url }) =>
        ['POST', 'GET', 'DELETE'].map((method) => statusOf(url, 'bob', session, method)),
      ),
    );
    const again = await statusOf(two.url, 'alice', session);

    expect([ofAlice, ofBob, again]).toEqual([[200, 200], Array(6).fill(404), 200]);
  });

  test('refuse sessions of other workloads, of other keys, and of the server itself', async () => {
    const key = newKey();
    await using own = await open(key);
    await using neighbor = await open(key, 'neighbor');
    await using stranger = await open(newKey());
    const server = await own.connect();
    for (const { proxy } of [neighbor, stranger])
      await proxy.connect(server, () => Promise.reject(new Error('not started')), never);
    const sessions = [
      await begin(neighbor.url, 'alice'),
      await begin(stranger.url, 'alice'),
      'a-plain-session-id',
    ];

    const statuses = await Promise.all(sessions.map((session) => statusOf(own.url, 'alice', session)));

    expect(statuses).toEqual([404, 404, 404]);
  });

  // Sessions of HTTP+SSE are served by the proxy in which they began.
  test.each(transport === 'streamable-http' ? ['wait for a server that only the other proxy knows yet'] : [])(
    '%s',
    async () => {
      const key = newKey();
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
      await using one = await open(key);
      await using two = await open(key, 'test', arrive);
      const { address } = await one.connect();
      if (address === undefined) throw new Error('the server has an address');
      const { promise: listing, resolve: follow } = Promise.withResolvers<(pods: ServerPod[]) => void>();
      const pod = (id: string): ServerPod => ({ id, address, isRetiring: false });
      const connected = two.proxy.connect(
        { pods: { follow } },
        () => Promise.reject(new Error('not started')),
        never,
      );
      const list = await listing;
      list([pod('other')]);
      await connected;
      const session = await begin(one.url, 'alice');

      const status = statusOf(two.url, 'alice', session);
      await arrived;
      await turn();
      list([pod('other'), pod('server')]);

      expect(await status).toBe(200);
    },
  );

  test('do not continue a session that its client has ended', async () => {
    const key = newKey();
    await using one = await open(key);
    await using two = await open(key);
    const server = await one.connect();
    await two.proxy.connect(server, () => Promise.reject(new Error('not started')), never);
    const session = await begin(one.url, 'alice');

    const ended = await statusOf(two.url, 'alice', session, 'DELETE');

    expect(ended).toBe(204);
    expect([await statusOf(one.url, 'alice', session), await statusOf(two.url, 'alice', session)]).toEqual([
      404, 404,
    ]);
  });

  test('continue a session of a proxy that has ended', async () => {
    const key = newKey();
    await using two = await open(key);
    let session = '';
    {
      await using one = await open(key);
      const server = await two.connect();
      await one.proxy.connect(server, () => Promise.reject(new Error('not started')), never);
      session = await begin(one.url, 'alice');
      expect(await statusOf(two.url, 'alice', session)).toBe(200);
    }

    const statuses = [await statusOf(two.url, 'alice', session), await statusOf(two.url, 'bob', session)];

    expect(statuses).toEqual([200, 404]);
  });
});
