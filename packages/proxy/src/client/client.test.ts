import { PassThrough } from 'node:stream';
import { createInterface } from 'node:readline';
import type { Instance } from '@toolhive/runtime/runtime';
import { describe, expect, test } from 'vitest';
import type { Limits } from '../bridge/limits.ts';
import type { Era } from '../protocol.ts';
import { startStdioServer } from '../testing/conformance-servers.ts';
import { RawSession, openTestProxy } from '../testing/test-proxy.ts';
import { McpClient } from './mcp-client.ts';
import { adaptStdio } from './stdio-adapter.ts';

const version = 'v0.0.0-test';

async function openProxy(era: Era, limits: Partial<Limits> = {}) {
  await using opened = new AsyncDisposableStack();
  const test = opened.use(await openTestProxy({ sessions: 'own', limits }));
  const first = opened.use(startStdioServer(era));
  // The proxy ends those that it starts.
  const start = async (): Promise<Instance> => startStdioServer(era);
  await test.proxy.connect(first, start, AbortSignal.timeout(20_000));
  const everything = opened.move();
  return { ...test, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

describe.each(['legacy', 'modern'] as const)('a server of the %s era', (era) => {
  test.each(['streamable-http', 'sse'] as const)(
    'tells a client over %s all that it has',
    async (transport) => {
      await using server = await openProxy(era);
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
  ['nothing', 'http://127.0.0.1:1/mcp', 'unavailable'],
  ['no URL', 'nowhere', 'invalid'],
])('a client of %s is told so', async (_title, url, kind) => {
  const signal = AbortSignal.timeout(5_000);
  const connected = McpClient.connect({ url, transport: 'streamable-http', version, signal });

  await expect(connected).rejects.toMatchObject({ kind });
});

/** A client on standard streams, of which the test is the other end. */
function openAdapter(url: string) {
  const input = new PassThrough();
  const output = new PassThrough();
  const junk: string[] = [];
  const over = new AbortController();
  const done = adaptStdio({ input, output, url, onJunk: (line) => junk.push(line), signal: over.signal });
  const lines = createInterface({ input: output })[Symbol.asyncIterator]();
  return {
    junk,
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

test('a client on standard streams uses a server behind a proxy, in either era', async () => {
  await using server = await openProxy('legacy');
  await using adapter = openAdapter(`${server.url}/mcp`);

  const greeted = await adapter.ask(initialize);
  adapter.input.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\nno message\n');
  const called = await adapter.ask({ id: 'b', ...callText });
  const modern = await adapter.ask({ id: 7, ...callText, params: { ...callText.params, _meta } });

  expect(greeted).toMatchObject({ id: 'a', result: { protocolVersion: '2025-06-18' } });
  expect(called).toMatchObject({ id: 'b', result: { content: [{ type: 'text' }] } });
  expect(modern).toMatchObject({ id: 7, result: { resultType: 'complete' } });
  expect(adapter.junk).toEqual(['no message']);
});

test('a client on standard streams goes on when its session was forgotten', async () => {
  await using server = await openProxy('legacy', { maxSessions: 1 });
  await using adapter = openAdapter(`${server.url}/mcp`);
  await adapter.ask(initialize);
  adapter.input.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  await adapter.ask({ id: 1, ...callText });

  await RawSession.open(server.url);
  const lost = await adapter.ask({ id: 2, ...callText });
  const again = await adapter.ask({ id: 3, ...callText });

  expect(lost).toMatchObject({ id: 2, error: { message: 'the session has ended, ask again' } });
  expect(again).toMatchObject({ id: 3, result: { content: [{ type: 'text' }] } });
});

test('when the input ends, what was asked is still answered', async () => {
  await using server = await openProxy('modern');
  await using adapter = openAdapter(`${server.url}/mcp`);

  const answer = adapter.ask({ id: 7, ...callText, params: { ...callText.params, _meta } });
  adapter.input.end();

  expect(await answer).toMatchObject({ id: 7, result: {} });
  await adapter.done;
});
