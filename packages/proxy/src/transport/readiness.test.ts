import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { UpstreamClient } from './upstream-client.ts';
import { generationOfRemote, waitUntilServing } from './readiness.ts';

const identity = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x', version: '1' } };

interface Asked {
  method: string;
  request: IncomingMessage;
  answer: (status: number, body: unknown, headers?: Record<string, string>) => void;
}

/** What is found out about a server that answers like this. */
async function examine(behave: (asked: Asked) => void) {
  const hosts: (string | undefined)[] = [];
  await using server = createServer((request: IncomingMessage, response: ServerResponse) => {
    hosts.push(request.headers.host);
    void text(request).then((body) => {
      const { id, method = '' } = (body === '' ? {} : JSON.parse(body)) as { id?: number; method?: string };
      return behave({
        method,
        request,
        answer: (status, content, headers = {}) =>
          response
            .writeHead(status, { 'content-type': 'application/json', ...headers })
            .end(
              typeof content === 'string'
                ? content
                : JSON.stringify({ jsonrpc: '2.0', id, ...(content as object) }),
            ),
      });
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const address = { kind: 'tcp', host: '127.0.0.1', port, targetPort: 8080 } as const;
  await using endpoint = new UpstreamClient(address, '/mcp');
  const found = await waitUntilServing(endpoint, 'streamable-http', AbortSignal.timeout(30_000)).catch(
    String,
  );
  return { found, hosts };
}

test('a server is named by the port that it listens on', async () => {
  const { hosts } = await examine(({ answer }) => answer(200, { error: { code: -32601, message: 'no' } }));

  expect(hosts).toEqual(['localhost:8080']);
});

test('a legacy server that answers only initialize is ready', async () => {
  const { found } = await examine(({ method, answer }) =>
    method === 'initialize' ? answer(200, { result: identity }) : answer(400, 'no session'),
  );

  expect(found).toEqual({ generation: 'legacy' });
});

test.each<[string, (asked: Asked) => void]>([
  ['fails at', ({ answer }) => answer(500, { error: { code: -32603, message: 'Internal error' } })],
  ['closes the connection at', ({ request }) => void request.socket.destroy()],
])('a legacy server that %s server/discover is ready', async (_what, refuse) => {
  const { found } = await examine((asked) =>
    asked.method === 'initialize' ? asked.answer(200, { result: identity }) : refuse(asked),
  );

  expect(found).toEqual({ generation: 'legacy' });
});

test('a server is known by its answer, not by the notification before it', async () => {
  const { found } = await examine(({ method, answer }) => {
    const isModern = method === 'server/discover';
    const result = isModern ? { supportedVersions: ['2026-07-28'], capabilities: {} } : identity;
    const notification = '{"jsonrpc":"2.0","method":"notifications/message","params":{}}';
    const events = [notification, JSON.stringify({ jsonrpc: '2.0', id: 0, result })];
    answer(200, events.map((event) => `data: ${event}\n\n`).join(''), {
      'content-type': 'text/event-stream',
      'mcp-session-id': 's',
    });
  });

  expect(found).toEqual({ generation: 'modern', legacy: identity });
});

test('a server is ready as soon as it answers as an MCP server, and not before', async () => {
  let asked = 0;
  const { found } = await examine(({ answer }) =>
    ++asked < 6 ? answer(404, 'not yet') : answer(200, { error: { code: -32601, message: 'no' } }),
  );

  expect([found, asked]).toEqual([{ generation: 'legacy' }, 7]);
});

test('a server that is none of MCP is reported with what it answers', async () => {
  const { found } = await examine(({ answer }) => answer(404, 'nothing here'));

  expect(found).toBe('ThvError: the server answers requests to /mcp with status 404, which is not MCP');
});

test.each([
  ['a session', { 'mcp-session-id': 's' }, identity],
  ['no session', {}, undefined],
])(
  'a modern server that gives a legacy client %s is used by it in that way',
  async (_what, headers, legacy) => {
    const { found } = await examine(({ method, answer }) => {
      if (method === 'server/discover')
        answer(200, { result: { supportedVersions: ['2026-07-28'], capabilities: {} } });
      else answer(200, { result: identity }, headers);
    });

    expect(found).toEqual({ generation: 'modern', legacy });
  },
);

test('a server that lets anyone begin a session is not known before a slow user has signed in', async () => {
  const methods: unknown[] = [];
  await using server = createServer((request, response) => {
    void text(request).then((body) => {
      const { id, method } = JSON.parse(body) as { id: number; method: string };
      methods.push(method);
      const isAllowed = method === 'initialize' || request.headers.authorization === 'Bearer good';
      const answer = isAllowed ? { result: identity } : { error: { code: -32001, message: 'sign in' } };
      return response
        .writeHead(isAllowed ? 200 : 401, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  let authorization = '';
  const remote = {
    kind: 'remote',
    url: `http://127.0.0.1:${port}/mcp`,
    headers: async () => ({ authorization }),
    async refused() {
      await delay(4_000); // longer than a server may be silent
      authorization = 'Bearer good';
      return true;
    },
  } as const;
  await using endpoint = new UpstreamClient(remote, '/mcp');

  const found = await generationOfRemote(endpoint, 'streamable-http', AbortSignal.timeout(30_000));

  expect([found, methods]).toEqual(['legacy', ['server/discover', 'server/discover']]);
});

test.each([
  ['text/event-stream', 'uses the older transport HTTP+SSE, so it needs --transport sse'],
  ['text/html', 'no MCP endpoint found'],
])('a remote server without an endpoint that answers GET with %s is reported', async (type, reason) => {
  await using server = createServer((request: IncomingMessage, response: ServerResponse) => {
    if (request.method !== 'GET') return response.writeHead(405).end();
    response.writeHead(200, { 'content-type': type });
    return response.write('event: endpoint\ndata: /messages\n\n'); // and goes on
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await using endpoint = new UpstreamClient(
    { kind: 'tcp', host: '127.0.0.1', port, targetPort: port },
    '/events',
  );

  const examined = generationOfRemote(endpoint, 'streamable-http', AbortSignal.timeout(30_000));

  await expect(examined).rejects.toThrow(reason);
});
