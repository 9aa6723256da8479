import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Transport } from '@modelcontextprotocol/client';
import { unauthorized } from '@toolhive/contract/failure';
import { expect, test } from 'vitest';
import type { ProxyOptions } from '../proxy.ts';
import { openTestProxy } from '../testing/test-proxy.ts';

const events = { accept: 'text/event-stream' };

const transports = [
  ['HTTP+SSE', SSEClientTransport],
  ['streamable HTTP', StreamableHTTPClientTransport],
] as const;

/** Every address at which a client of the original or of this ToolHive may have been told to connect. */
const addresses = transports.flatMap(([name, Kind]) =>
  ['/mcp', '/sse', '/mcp#echo', '/sse#echo'].map((path) => ({ name, path, Kind })),
);

async function callEcho(transport: Transport): Promise<unknown> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  try {
    return (await client.callTool({ name: 'echo', arguments: { message: 'hello' } })).content;
  } finally {
    await client.close();
  }
}

test.each(addresses)('a client of $name connects at $path to a stdio server', async ({ path, Kind }) => {
  await using proxy = await openTestProxy();
  await proxy.connect();

  const content = await callEcho(new Kind(new URL(`${proxy.url}${path}`)));

  expect(content).toMatchObject([{ type: 'text' }]);
});

test.each(addresses)(
  'a client of $name connects at $path to a server of HTTP+SSE',
  async ({ path, Kind }) => {
    await using proxy = await openTestProxy({ transport: 'sse' });
    await proxy.connect();

    const content = await callEcho(new Kind(new URL(`${proxy.url}${path}`)));

    expect(content).toMatchObject([{ type: 'text' }]);
  },
);

test('a result that is nearly as large as ToolHive accepts does not end an event stream', async () => {
  await using proxy = await openTestProxy();
  await proxy.connect();
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new SSEClientTransport(new URL(`${proxy.url}/sse`)));

  const { content } = await client.callTool({ name: 'large', arguments: { bytes: 16_000_000 } });
  const next = await client.callTool({ name: 'echo', arguments: { message: 'hello' } });
  await client.close();

  expect(content).toEqual([{ type: 'text', text: expect.toSatisfy((text) => text.length === 16_000_000) }]);
  expect(next.content).toMatchObject([{ type: 'text' }]);
});

test.each([
  ['that names its protocol version', { 'mcp-protocol-version': '2025-06-18' }, 400],
  ['that resumes a stream', { 'last-event-id': '1' }, 400],
  ['with the ID of no session', { 'mcp-session-id': 'none' }, 404],
  ['that does not take events', { accept: 'application/json' }, 406],
])('a stream at /mcp for a client %s begins no session', async (_what, headers, status) => {
  await using proxy = await openTestProxy();
  await proxy.connect();

  const response = await fetch(`${proxy.url}/mcp`, { headers: { ...events, ...headers } });

  expect(response.status).toBe(status);
  expect(proxy.proxy.sessions()).toEqual([]);
});

const access = {
  check: async (authorization?: string) => {
    if (authorization === undefined) throw unauthorized('who are you');
    return { id: authorization };
  },
};

test.each<[string, Partial<ProxyOptions>, Record<string, string>, number]>([
  ['from a foreign page', {}, { origin: 'https://a.example' }, 403],
  ['without a token', { access }, {}, 401],
])('a stream at /mcp %s is refused like one at /sse', async (_what, options, headers, status) => {
  await using proxy = await openTestProxy(options);
  await proxy.connect();

  const responses = await Promise.all(
    ['/mcp', '/sse'].map((path) => fetch(`${proxy.url}${path}`, { headers: { ...events, ...headers } })),
  );

  expect(responses.map((response) => response.status)).toEqual([status, status]);
});

test.each(['/mcp', '/sse'])('policies decide calls of a session of HTTP+SSE at %s', async (path) => {
  await using proxy = await openTestProxy({ authorizer: { isAllowed: () => false } });
  await proxy.connect();

  const call = callEcho(new SSEClientTransport(new URL(`${proxy.url}${path}`)));

  await expect(call).rejects.toThrow('not authorized');
});

test('a session of HTTP+SSE at /mcp belongs to its caller', async () => {
  await using proxy = await openTestProxy({ access });
  await proxy.connect();
  const leaving = new AbortController();
  const stream = await fetch(`${proxy.url}/mcp`, {
    headers: { ...events, authorization: 'ada' },
    signal: leaving.signal,
  });
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  const endpoint = /^data: (.*)$/m.exec(String((await reader?.read())?.value))?.[1] ?? '';
  const post = (authorization: string): Promise<Response> =>
    fetch(new URL(endpoint, proxy.url), {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    });

  const [other, own] = [await post('eve'), await post('ada')];
  leaving.abort();

  expect([other.status, own.status]).toEqual([404, 202]);
});
