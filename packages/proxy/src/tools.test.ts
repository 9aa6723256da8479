import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { testPort } from '@toolhive/testing/port';
import type { Instance } from '@toolhive/runtime/runtime';
import { describe, expect, test } from 'vitest';
import { toolFilter } from './middleware/tool-filter.ts';
import type { ToolRules } from './middleware/tool-filter.ts';
import { startHttpServer, startStdioServer } from './testing/conformance-servers.ts';
import { openScriptedProxy } from './testing/scripted-server.ts';
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
] as const)('tools of a %s server over %s, for a %s client', (generation, transport, client) => {
  test('are shown and called by the names that they were given', async () => {
    await using opened = new AsyncDisposableStack();
    const proxy = opened.use(await openTestProxy({ transport, tools: rules, sessions: 'shared' }));
    const start = async (): Promise<Instance> =>
      opened.use(
        transport === 'stdio' ? startStdioServer(generation) : startHttpServer(generation, await testPort()),
      );
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
      await expect(call(hidden)).rejects.toThrow(`tool ${hidden} not found`);
    }
    await caller.close();
  });
});

describe('a message that a server could read in another way than the tool filter', () => {
  const visible = '"method":"tools/call","params":{"name":"say"}';
  const hidden = '{"name":"test_sampling"}';
  test.each([
    ['a name that appears twice', '"method":"tools/call","params":{"name":"say","name":"test_sampling"}'],
    ['a second name in another case', '"method":"tools/call","params":{"name":"say","Name":"test_sampling"}'],
    [
      'a second name with an escape',
      '"method":"tools/call","params":{"name":"say","n\\u0061me":"test_sampling"}',
    ],
    ['a second method', `"method":"ping","method":"tools/call","params":${hidden}`],
    ['a second method in another case', `"method":"ping","METHOD":"tools/call","params":${hidden}`],
    ['a second method with an escape', `"m\\u0065thod":"tools/call","method":"ping","params":${hidden}`],
    ['second params', `${visible},"params":${hidden}`],
    ['second params in another case', `${visible},"Params":${hidden}`],
    ['second params with a long s', `${visible},"param\u017f":${hidden}`],
    [
      'an argument that appears twice',
      '"method":"tools/call","params":{"name":"say","arguments":{"a":{"b":1,"b":2}}}',
    ],
  ])('reaches no server: %s', async (_title, members) => {
    await using test = await openScriptedProxy({ tools: rules, sessions: 'shared' });
    const session = await RawSession.open(test.url);

    for (const id of ['"id":1,', '']) {
      const response = await session.postText(`{"jsonrpc":"2.0",${id}${members}}`);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { code: -32600 } });
    }

    expect(test.servers[0]?.methods).not.toContain('tools/call');
    expect(test.servers[0]?.methods).not.toContain('ping');
  });

  test('is refused to a client of the stateless protocol version, too', async () => {
    await using test = await openScriptedProxy({ tools: rules });
    const session = new RawSession(test.url);
    const meta = '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}';

    const response = await session.postText(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_sampling","Name":"say",${meta}}}`,
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'say' },
    );

    expect(response.status).toBe(400);
    expect(test.servers[0]?.methods).not.toContain('tools/call');
  });
});

test('a call without the name of a tool reaches no server', async () => {
  await using test = await openTestProxy({ tools: rules });
  await test.connect();
  const session = await RawSession.open(test.url);

  const response = await session.postText(
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}',
  );

  expect(await response.json()).toMatchObject({ id: 1, error: { code: -32602 } });
});

test('arguments may differ in case only, and keep their exact numbers and __proto__', async () => {
  await using test = await openScriptedProxy({ tools: { filter: ['say'] }, sessions: 'shared' });
  const session = await RawSession.open(test.url);
  const args = '{"a":1,"A":12345678901234567890,"__proto__":{"x":1}}';
  const heard: string[] = [];
  test.servers[0]?.stdio.input.on('data', (chunk: Buffer) => heard.push(chunk.toString()));

  await session.postText(
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":${args}}}`,
  );

  expect(heard.join('')).toContain(args);
});

test.each([
  ['a second list', '"result":{"tools":[],"tools":[{"name":"say"},{"name":"secret"}]}'],
  ['a second result', '"result":{"tools":[]},"result":{"tools":[{"name":"say"},{"name":"secret"}]}'],
  ['a list in another case', '"result":{"Tools":[{"name":"secret"}],"tools":[{"name":"say"}]}'],
])('a list of tools is filtered when the server sends %s', async (_title, result) => {
  await using test = await openScriptedProxy(
    { tools: { filter: ['say'] }, sessions: 'shared' },
    { 'tools/list': (server, { id }) => server.write(`{"jsonrpc":"2.0","id":${id},${result}}\n`) },
  );
  const session = await RawSession.open(test.url);

  const response = await session.post({ id: 1, method: 'tools/list' });

  expect(await response.text()).toBe('{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"say"}]}}');
});

test('a server whose tools are hidden is not reached past what hides them', async () => {
  await using test = await openTestProxy({ transport: 'streamable-http', tools: rules });
  await test.connect();

  const response = await fetch(`${test.url}/other`, { method: 'POST', body: '{}' });

  expect(response.status).toBe(404);
});

test('rules by which two tools would have one name are refused', () => {
  expect(() =>
    toolFilter({ tools: { overrides: { one: { name: 'same' }, other: { name: 'same' } } } }),
  ).toThrow('cannot both be called same');
});

test('rules that change nothing make no view', () => {
  expect(toolFilter({ tools: { filter: [], overrides: { one: { name: '' } } } })).toBeUndefined();
});
