import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { freePort } from '@toolhive/runtime/free-port';
import type { Instance } from '@toolhive/runtime/runtime';
import { describe, expect, test } from 'vitest';
import { viewOf } from './bridge/tool-view.ts';
import type { ToolRules } from './bridge/tool-view.ts';
import { startHttpServer, startStdioServer } from './testing/conformance-servers.ts';
import { RawSession, openTestProxy } from './testing/test-proxy.ts';

const rules: ToolRules = {
  filter: ['say', 'test_error_handling', 'region', 'test_image_content'],
  overrides: {
    test_simple_text: { name: 'say', description: 'Says something.' },
    test_error_handling: { description: 'Never works.' },
    test_x_mcp_header: { name: 'region' },
    // Its old name is given to another tool, which hides the one that the server calls so.
    test_audio_content: { name: 'test_image_content' },
  },
};

describe.each([
  ['legacy', 'stdio', 'legacy'],
  ['legacy', 'stdio', 'modern'],
  ['modern', 'stdio', 'legacy'],
  ['legacy', 'streamable-http', 'legacy'],
  ['modern', 'streamable-http', 'modern'],
] as const)('tools of a %s server over %s, for a %s client', (era, transport, client) => {
  test('are shown and called by the names that they were given', async () => {
    await using opened = new AsyncDisposableStack();
    const proxy = opened.use(await openTestProxy({ transport, tools: rules, sessions: 'shared' }));
    const start = async (): Promise<Instance> =>
      opened.use(transport === 'stdio' ? startStdioServer(era) : startHttpServer(era, await freePort()));
    await proxy.proxy.connect(await start(), start, AbortSignal.timeout(20_000));
    const versionNegotiation = client === 'modern' ? { mode: { pin: '2026-07-28' } } : undefined;
    const caller = new Client({ name: 'test', version: '1' }, { versionNegotiation });
    await caller.connect(new StreamableHTTPClientTransport(new URL(`${proxy.url}/mcp`)));
    const call = async (name: string, given: Record<string, unknown> = {}): Promise<string> =>
      JSON.stringify((await caller.callTool({ name, arguments: given })).content);

    const { tools } = await caller.listTools();
    const described = Object.fromEntries(tools.map(({ name, description }) => [name, description]));

    expect(described).toMatchObject({ say: 'Says something.', test_error_handling: 'Never works.' });
    expect(Object.keys(described).toSorted()).toEqual([...(rules.filter ?? [])].toSorted());
    expect(await call('say')).toContain('simple text');
    expect(await call('region', { region: 'eu' })).toContain('region=eu');
    expect(await call('test_image_content')).toContain('audio');
    for (const hidden of ['test_simple_text', 'test_x_mcp_header', 'test_audio_content', 'test_sampling']) {
      await expect(call(hidden)).rejects.toThrow(`there is no tool ${hidden}`);
    }
    await caller.close();
  });
});

test.each([
  ['a name that stands there twice', '"name":"say","name":"test_sampling"', -32600],
  ['a name that some readers would take for one', '"name":"say","Name":"test_sampling"', -32602],
  ['no name', '"arguments":{}', -32602],
])('a call with %s reaches no server', async (_title, params, code) => {
  await using test = await openTestProxy({ tools: rules });
  await test.connect();
  const session = await RawSession.open(test.url);

  const response = await session.postText(
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${params}}}`,
  );

  expect(await response.json()).toMatchObject({ id: 1, error: { code } });
});

test('a server whose tools are hidden is not reached past what hides them', async () => {
  await using test = await openTestProxy({ transport: 'streamable-http', tools: rules });
  await test.connect();

  const response = await fetch(`${test.url}/other`, { method: 'POST', body: '{}' });

  expect(response.status).toBe(404);
});

test('rules by which two tools would have one name are refused', () => {
  expect(() => viewOf({ overrides: { one: { name: 'same' }, other: { name: 'same' } } })).toThrow(
    'both to be called same',
  );
});

test('rules that change nothing make no view', () => {
  expect(viewOf({ filter: [], overrides: { one: { name: '' } } })).toBeUndefined();
});
