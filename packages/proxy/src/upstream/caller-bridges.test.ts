import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { unauthorized } from '@toolhive/contract/failure';
import { expect, test } from 'vitest';
import type { Principal } from '../middleware/middleware.ts';
import type { ProxyOptions } from '../proxy.ts';
import type { Said } from '../testing/scripted-server.ts';
import { RawSession, answerOf, openTestProxy, postModern } from '../testing/test-proxy.ts';
import type { TestProxy } from '../testing/test-proxy.ts';
import type { ServerAddress } from '../transport/upstream-client.ts';

// Callers whose tokens are exchanged, at servers that speak differently from their clients.

type Kind = 'legacy' | 'modern' | 'sse';

interface TestServer extends AsyncDisposable {
  port: number;
  /** The credentials of all requests. */
  seen: (string | undefined)[];
}

/** A server whose only tool returns the credentials of the request, or of the stream that the answer is sent on. */
async function openServer(kind: Kind, isGuarded = false): Promise<TestServer> {
  const seen: (string | undefined)[] = [];
  const streams = new Map<string, ServerResponse>();
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const token = request.headers['x-backend-token'] as string | undefined;
    seen.push(token);
    if (isGuarded && token === undefined) return void response.writeHead(401).end();
    if (kind === 'sse' && request.method === 'GET') {
      const id = String(streams.size);
      streams.set(id, response.writeHead(200, { 'content-type': 'text/event-stream' }));
      response.write(`event: endpoint\ndata: /messages?session_id=${id}\n\n`);
      return;
    }
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message = (await json(request)) as Said;
    if (message.id === undefined) return void response.writeHead(202).end();
    const text = JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answerTo(message, kind, token) });
    if (kind !== 'sse') return void response.writeHead(200, { 'content-type': 'application/json' }).end(text);
    const stream = streams.get(new URL(request.url ?? '', 'http://x').searchParams.get('session_id') ?? '');
    stream?.write(`event: message\ndata: ${text}\n\n`);
    response.writeHead(202).end();
  };
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answerTo({ method, params }: Said, kind: Kind, token: string | undefined): object {
  const serverInfo = { name: 'x', version: '1' };
  const capabilities = { tools: {} };
  const cached = kind === 'modern' ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {};
  if (method === 'initialize' && kind !== 'modern')
    return { result: { protocolVersion: params?.['protocolVersion'], capabilities, serverInfo } };
  if (method === 'server/discover' && kind === 'modern')
    return { result: { ...cached, supportedVersions: ['2026-07-28'], capabilities, serverInfo } };
  if (method === 'tools/list')
    return { result: { ...cached, tools: [{ name: 'whoami', inputSchema: { type: 'object' } }] } };
  if (method === 'tools/call')
    return {
      result: {
        content: [{ type: 'text', text: token ?? 'nobody' }],
        ...(kind === 'modern' ? { resultType: 'complete' } : {}),
      },
    };
  return { error: { code: -32601, message: 'Method not found' } };
}

/** Tokens are `NAME/ROLE/NUMBER`: the number changes with every renewal. */
const access: ProxyOptions['access'] = {
  async check(authorization = ''): Promise<Principal> {
    const [, name, role, number] = /^Bearer (\w+)\/(\w+)\/(\d+)$/.exec(authorization) ?? [];
    if (name === undefined) throw unauthorized('who is that');
    return { id: name, claims: { sub: name, role, exp: Number(number), jti: number } };
  },
  exchange: async (token) => ({ 'x-backend-token': `for ${token}` }),
};

async function connectTo(server: TestServer, kind: Kind, isRemote: boolean): Promise<TestProxy> {
  const transport = kind === 'sse' ? 'sse' : 'streamable-http';
  const proxy = await openTestProxy({ transport, access });
  const path = kind === 'sse' ? '/sse' : '/mcp';
  const address: ServerAddress = isRemote
    ? {
        kind: 'remote',
        url: `http://127.0.0.1:${server.port}${path}`,
        callersAuthenticate: true,
        headers: async () => ({}),
        refused: async () => false,
      }
    : { kind: 'tcp', host: '127.0.0.1', port: server.port };
  const refuseOthers = (): Promise<never> => Promise.reject(new Error('there is only one'));
  await proxy.proxy.connect({ address }, refuseOthers, AbortSignal.timeout(20_000));
  return proxy;
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

/** Opens a session of the handshake's protocol versions. */
async function sessionOf(
  url: string,
  token: string,
): Promise<{ id: string; who(now?: string): Promise<string> }> {
  const session = new RawSession(url);
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const response = await session.post({ id: 0, method: 'initialize', params }, bearer(token));
  expect((await answerOf(response)).result).toBeDefined();
  session.id = response.headers.get('mcp-session-id') ?? '';
  return {
    id: session.id,
    async who(now = token) {
      const call = { id: 1, method: 'tools/call', params: { name: 'whoami', arguments: {} } };
      const answered = await session.post(call, bearer(now));
      if (!answered.ok) return `status ${answered.status}`;
      const { result, error } = await answerOf(answered);
      return (result?.['content'] as { text: string }[] | undefined)?.[0]?.text ?? JSON.stringify(error);
    },
  };
}

async function whoModern(url: string, token: string): Promise<string> {
  const params = { name: 'whoami', arguments: {} };
  const { result, error } = await answerOf(
    await postModern(url, 'tools/call', params, { headers: bearer(token) }),
  );
  return (result?.['content'] as { text: string }[] | undefined)?.[0]?.text ?? JSON.stringify(error);
}

test.for<[Kind, boolean]>([
  ['sse', false],
  ['sse', true],
  ['modern', false],
  ['modern', true],
])(
  'each caller in a session has its own credentials at a server: %s, remote: %s',
  async ([kind, isRemote]) => {
    await using server = await openServer(kind, isRemote);
    await using proxy = await connectTo(server, kind, isRemote);

    const ada = await sessionOf(proxy.url, 'ada/user/1');
    const bob = await sessionOf(proxy.url, 'bob/user/1');

    expect(await Promise.all([ada.who(), bob.who(), ada.who()])).toEqual([
      'for ada/user/1',
      'for bob/user/1',
      'for ada/user/1',
    ]);
    expect(server.seen.filter((token) => token?.includes('Bearer'))).toEqual([]);
  },
);

test.for<[Kind, boolean]>([
  ['sse', false],
  ['sse', true],
  ['legacy', false],
  ['legacy', true],
])(
  'each caller without a session has its own credentials at a server: %s, remote: %s',
  async ([kind, isRemote]) => {
    await using server = await openServer(kind, isRemote);
    await using proxy = await connectTo(server, kind, isRemote);

    const tokens = ['ada/user/1', 'bob/user/1', 'ada/user/1'];
    const answers = await Promise.all(tokens.map((token) => whoModern(proxy.url, token)));

    expect(answers).toEqual(tokens.map((token) => `for ${token}`));
  },
);

test('renewed credentials are used in the same session', async () => {
  await using server = await openServer('modern');
  await using proxy = await connectTo(server, 'modern', false);
  const ada = await sessionOf(proxy.url, 'ada/user/1');

  expect([await ada.who(), await ada.who('ada/user/2')]).toEqual(['for ada/user/1', 'for ada/user/2']);
});

test('neither another caller nor a token that allows other things can use a session', async () => {
  await using server = await openServer('sse');
  await using proxy = await connectTo(server, 'sse', false);
  const ada = await sessionOf(proxy.url, 'ada/admin/1');

  const answers = [await ada.who('bob/admin/1'), await ada.who('ada/user/1'), await ada.who()];

  expect(answers).toEqual(['status 404', 'status 404', 'for ada/admin/1']);
});

test('the sessions of callers are listed and can be ended', async () => {
  await using server = await openServer('sse');
  await using proxy = await connectTo(server, 'sse', false);
  const ada = await sessionOf(proxy.url, 'ada/user/1');
  await sessionOf(proxy.url, 'bob/user/1');

  expect(proxy.proxy.sessions()).toHaveLength(2);
  expect(await proxy.proxy.endSession(ada.id)).toBe(true);

  expect(await ada.who()).toBe('status 404');
  expect(proxy.proxy.sessions()).toHaveLength(1);
  expect(proxy.faults).toEqual([]);
});

test('a request that waits for the description of a server is refused if the server is stopped meanwhile', async () => {
  const held = Promise.withResolvers<void>();
  const slow = createServer((request, response) => {
    if (request.headers['x-backend-token'] === undefined) response.writeHead(401).end();
    else held.resolve(); // and never answers
  });
  await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
  const { port } = slow.address() as AddressInfo;
  await using server: TestServer = {
    port,
    seen: [],
    async [Symbol.asyncDispose]() {
      slow.closeAllConnections();
      await new Promise((resolve) => slow.close(resolve));
    },
  };
  await using proxy = await connectTo(server, 'modern', true);
  const params = { name: 'whoami', arguments: {} };
  const asking = postModern(proxy.url, 'tools/call', params, { headers: bearer('ann/reader/1') });
  await held.promise;

  proxy.proxy.disconnect('the server is being restarted', false);

  const response = await asking;
  expect(response.status).toBe(503);
  expect(await response.text()).toContain('the server is being restarted');
});
