import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { createInterface } from 'node:readline';
import type { Instance } from '@toolhive/runtime/runtime';
import { describe, expect, test } from 'vitest';
import type { Limits } from '../bridge/limits.ts';
import type { ProtocolGeneration } from '../protocol/protocol.ts';
import { startStdioServer } from '../testing/conformance-servers.ts';
import { RawSession, openTestProxy } from '../testing/test-proxy.ts';
import { findEndpoint, withoutCredentials } from './endpoint.ts';
import { McpClient } from './mcp-client.ts';
import { adaptStdio } from './stdio-adapter.ts';

const version = 'v0.0.0-test';

async function openProxy(generation: ProtocolGeneration, limits: Partial<Limits> = {}) {
  await using opened = new AsyncDisposableStack();
  const test = opened.use(await openTestProxy({ sessions: 'own', limits }));
  const first = opened.use(startStdioServer(generation));
  // The proxy ends those that it starts.
  const start = async (): Promise<Instance> => startStdioServer(generation);
  await test.proxy.connect(first, start, AbortSignal.timeout(20_000));
  const everything = opened.move();
  return { ...test, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

describe.each(['legacy', 'modern'] as const)('a server of the %s generation', (generation) => {
  test.each(['streamable-http', 'sse'] as const)(
    'tells a client over %s all that it has',
    async (transport) => {
      await using server = await openProxy(generation);
      const signal = AbortSignal.timeout(20_000);
      const url = `${server.url}/${transport === 'sse' ? 'sse' : 'mcp'}`;

      await using client = await McpClient.connect({ url, transport, version, signal });
      const names = async (list: 'tools' | 'prompts' | 'resources'): Promise<unknown[]> =>
        (await client.list(list, signal)).map(({ name }) => name);

      expect(client.server.serverInfo).toMatchObject({ name: expect.any(String) });
      expect(await names('tools')).toContain('test_simple_text');
      expect(await names('prompts')).toContain('test_simple_prompt');
      expect(await names('resources')).toContain('static-text');
      expect(await client.list('resourceTemplates', signal)).toHaveLength(1);
    },
  );
});

test.each([
  ['/mcp', 'streamable-http'],
  ['', 'streamable-http'],
  ['/sse', 'sse'],
] as const)('%j of a proxy is found out to be %s', async (path, transport) => {
  await using server = await openProxy('modern');

  const found = await findEndpoint(withoutCredentials(`${server.url}${path}`), AbortSignal.timeout(20_000));

  expect(found.transport).toBe(transport);
});

test.each(['/sse', ''])('%j of a server that knows only HTTP+SSE is found out to be that', async (path) => {
  await using proxy = await openTestProxy({ transport: 'sse' });
  const { address } = await proxy.connect();
  const url = address?.kind === 'tcp' ? `http://${address.host}:${address.port}${path}` : '';
  const signal = AbortSignal.timeout(20_000);

  await using client = await McpClient.connect({ url, transport: 'auto', version, signal });

  expect((await client.list('tools', signal)).map(({ name }) => name)).toContain('echo');
});

test('a list that does not end is given up', async () => {
  await using server = openEndlessServer();
  const signal = AbortSignal.timeout(20_000);
  await using client = await connectTo(await server.url, signal);

  const listed = client.list('tools', signal);

  await expect(listed).rejects.toMatchObject({ message: 'its list of tools does not end' });
});

test('a list that is too large is given up, however few items it has', async () => {
  let pages = 0;
  await using server = openServer(({ id, method }, response) => {
    const result =
      method === 'server/discover'
        ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
        : { tools: [{ name: 'large', description: 'x'.repeat(8_000_000) }], nextCursor: `more${pages++}` };
    answer(response, { id, result });
  });
  const signal = AbortSignal.timeout(20_000);
  await using client = await connectTo(await server.url, signal);

  const listed = client.list('tools', signal);

  await expect(listed).rejects.toMatchObject({ message: 'its list of tools is larger than 32 MiB' });
  expect(pages).toBe(5);
});

test.each<[string, (cursor: unknown) => unknown]>([
  ['empty text', (cursor) => (cursor === undefined ? '' : undefined)],
  ['null', (cursor) => (cursor === undefined ? 'second' : null)],
  ['number', (cursor) => (cursor === undefined ? 0 : undefined)],
  ['same text again', () => 'same'],
])('a list whose next page has the cursor %s is read as a whole', async (what, nextCursor) => {
  await using server = openServer(({ id, method, params }, response) => {
    if (method === 'server/discover') {
      const result = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
      return answer(response, { id, result });
    }
    const cursor = params?.cursor;
    const tools = [{ name: cursor === undefined ? 'first' : 'second' }];
    return answer(response, { id, result: { tools, nextCursor: nextCursor(cursor) } });
  });
  const signal = AbortSignal.timeout(20_000);
  await using client = await connectTo(await server.url, signal);

  const tools = await client.list('tools', signal);

  expect(tools).toEqual([{ name: 'first' }, { name: 'second' }]);
  expect(client.deviations).toHaveLength(what === 'same text again' ? 1 : 0);
});

test('a server that answers nothing but what begins a session is no missing one', async () => {
  await using server = openServer(({ id, method }, response, headers) => {
    const isGreeting = method === 'initialize';
    if (!isGreeting && headers['mcp-session-id'] !== 'one') return response.writeHead(404).end();
    const result = isGreeting
      ? {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'strict', version: '1' },
        }
      : { tools: [{ name: 'only' }] };
    return answer(response, { id, result }, { 'mcp-session-id': 'one' });
  });
  const signal = AbortSignal.timeout(20_000);
  await using client = await connectTo(await server.url, signal);

  const tools = await client.list('tools', signal);

  expect(tools).toEqual([{ name: 'only' }]);
});

test('a server that does not know how to list something has none of it', async () => {
  await using server = openServer(({ id, method }, response) => {
    if (method !== 'server/discover') return answer(response, { id, error: { code: -32601, message: 'no' } });
    const result = { supportedVersions: ['2026-07-28'], capabilities: { resources: {} } };
    return answer(response, { id, result });
  });
  const signal = AbortSignal.timeout(20_000);
  await using client = await connectTo(await server.url, signal);

  expect(await client.list('resourceTemplates', signal)).toEqual([]);
});

test.each([
  ['nothing', 'http://127.0.0.1:1/mcp', 'unavailable'],
  ['no URL', 'nowhere', 'invalid'],
])('a client of %s is told so', async (_title, url, kind) => {
  const signal = AbortSignal.timeout(20_000);
  const connected = McpClient.connect({ url, transport: 'streamable-http', version, signal });

  await expect(connected).rejects.toMatchObject({ kind });
});

/** A modern server with an endless number of pages of tools. */
function openEndlessServer() {
  let pages = 0;
  return openServer(({ id, method }, response) => {
    const result =
      method === 'server/discover'
        ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
        : { tools: Array.from({ length: 1000 }, () => ({ name: 'again' })), nextCursor: `more${pages++}` };
    answer(response, { id, result });
  });
}

function answer(response: ServerResponse, message: object, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
}

/** A server over streamable HTTP that answers every message as it is told. */
function openServer(
  hear: (
    message: { id?: unknown; method?: string; params?: { cursor?: unknown } },
    response: ServerResponse,
    headers: IncomingHttpHeaders,
  ) => unknown,
) {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => hear(body === '' ? {} : JSON.parse(body), response, request.headers));
  });
  server.listen(0, '127.0.0.1');
  const url = once(server, 'listening').then(
    () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, // it listens on TCP
  );
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A stdio client, of which the test is the other end. */
function openAdapter(url: string) {
  const input = new PassThrough();
  const output = new PassThrough();
  const invalidOutput: string[] = [];
  const over = new AbortController();
  const done = adaptStdio({
    input,
    output,
    url,
    onInvalidOutput: (line) => invalidOutput.push(line),
    signal: over.signal,
  });
  const lines = createInterface({ input: output })[Symbol.asyncIterator]();
  return {
    invalidOutput,
    done,
    input,
    async ask(message: object): Promise<Record<string, unknown>> {
      input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
      const { value } = await lines.next();
      return JSON.parse(String(value)) as Record<string, unknown>;
    },
    async [Symbol.asyncDispose]() {
      over.abort();
      await done;
    },
  };
}

const initialize = {
  id: 'a',
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
};
const _meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const callText = { method: 'tools/call', params: { name: 'test_simple_text', arguments: {} } };

test('a stdio client uses a server behind a proxy, in either generation', async () => {
  await using server = await openProxy('legacy');
  await using adapter = openAdapter(`${server.url}/mcp`);

  const greeted = await adapter.ask(initialize);
  adapter.input.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\nno message\n');
  const called = await adapter.ask({ id: 'b', ...callText });
  const modern = await adapter.ask({ id: 7, ...callText, params: { ...callText.params, _meta } });

  expect(greeted).toMatchObject({ id: 'a', result: { protocolVersion: '2025-06-18' } });
  expect(called).toMatchObject({ id: 'b', result: { content: [{ type: 'text' }] } });
  expect(modern).toMatchObject({ id: 7, result: { resultType: 'complete' } });
  expect(adapter.invalidOutput).toEqual(['no message']);
});

test('a stdio client continues when its session was forgotten', async () => {
  await using server = await openProxy('legacy', { maxSessions: 1 });
  await using adapter = openAdapter(`${server.url}/mcp`);
  await adapter.ask(initialize);
  adapter.input.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  await adapter.ask({ id: 1, ...callText });

  await RawSession.open(server.url);
  const answer = await adapter.ask({ id: 2, ...callText });

  expect(answer).toMatchObject({ id: 2, result: { content: [{ type: 'text' }] } });
});

test('when the input ends, what was asked is still answered', async () => {
  await using server = await openProxy('modern');
  await using adapter = openAdapter(`${server.url}/mcp`);

  const answer = adapter.ask({ id: 7, ...callText, params: { ...callText.params, _meta } });
  adapter.input.end();

  expect(await answer).toMatchObject({ id: 7, result: {} });
  await adapter.done;
});

test('a client that does not read what it is sent is given up', async () => {
  await using server = await openProxy('modern');
  const input = new PassThrough();
  const output = new PassThrough();
  const { signal } = new AbortController();

  const options = {
    input,
    output,
    url: `${server.url}/mcp`,
    onInvalidOutput() {},
    signal,
    maxUnreadBytes: 20_000,
  };
  const adapted = adaptStdio(options);
  for (let id = 0; id < 1_000; id++) {
    const ping = { jsonrpc: '2.0', id, method: 'tools/list', params: { _meta } };
    input.write(`${JSON.stringify(ping)}\n`);
  }

  await expect(adapted).rejects.toMatchObject({ message: 'the client does not read its messages' });
});

function connectTo(url: string, signal: AbortSignal): Promise<McpClient> {
  return McpClient.connect({ url, transport: 'streamable-http', version, signal });
}
