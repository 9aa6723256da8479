import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as bodyOf } from 'node:stream/consumers';
import { Client as ClientOf2 } from '@modelcontextprotocol/client';
import { StreamableHTTPClientTransport as TransportOf2 } from '@modelcontextprotocol/client';
import { Client as ClientOf1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportOf1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ScriptedServer, openScriptedProxy } from './testing/scripted-server.ts';
import { RawSession, openTestProxy, readEvents } from './testing/test-proxy.ts';
import type { Received, TestProxy } from './testing/test-proxy.ts';

type Json = Record<string, unknown>;

/** The results of a server that is otherwise correct, by method. */
type Results = Record<string, unknown>;

/** The requests of an official client. */
interface OfficialClient {
  close(): Promise<void>;
  listTools(): Promise<object>;
  listPrompts(): Promise<object>;
  listResources(): Promise<object>;
  listResourceTemplates(): Promise<object>;
  callTool(call: { name: string; arguments: Json }): Promise<object>;
  getPrompt(prompt: { name: string }): Promise<object>;
  readResource(resource: { uri: string }): Promise<object>;
  complete(asked: {
    ref: { type: 'ref/prompt'; name: string };
    argument: { name: string; value: string };
  }): Promise<object>;
}

const asks: Record<string, (client: OfficialClient) => Promise<object>> = {
  'tools/list': (client) => client.listTools(),
  'prompts/list': (client) => client.listPrompts(),
  'resources/list': (client) => client.listResources(),
  'resources/templates/list': (client) => client.listResourceTemplates(),
  'tools/call': (client) => client.callTool({ name: 'good', arguments: {} }),
  'prompts/get': (client) => client.getPrompt({ name: 'good' }),
  'resources/read': (client) => client.readResource({ uri: 'a:good' }),
  'completion/complete': (client) =>
    client.complete({ ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } }),
};

const clientInfo = { name: 'client', version: '1' };

async function open1(url: string): Promise<OfficialClient> {
  const client = new ClientOf1(clientInfo);
  await client.connect(new TransportOf1(new URL(`${url}/mcp`)));
  return client;
}

async function open2(url: string, isModern: boolean): Promise<OfficialClient> {
  const versionNegotiation = { mode: isModern ? { pin: '2026-07-28' } : 'legacy' } as const;
  const client = new ClientOf2(clientInfo, { versionNegotiation });
  await client.connect(new TransportOf2(new URL(`${url}/mcp`)));
  return client;
}

const initialized = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
  serverInfo: { name: 'odd', version: '1' },
};

function answerTo(results: Results, id: unknown, method: string): string {
  const result = method === 'initialize' ? initialized : method === 'ping' ? {} : results[method];
  const answer = result === undefined ? { error: { code: -32601, message: 'unknown method' } } : { result };
  return JSON.stringify({ jsonrpc: '2.0', id, ...answer });
}

async function openStdio(results: Results): Promise<TestProxy & { deviations: string[] }> {
  const deviations: string[] = [];
  const proxy = await openTestProxy({
    repairsResults: true,
    onTolerance: (deviation) => deviations.push(deviation),
  });
  const manners = Object.fromEntries(
    ['initialize', ...Object.keys(asks)].map((method) => [
      method,
      (server: ScriptedServer, { id }: { id?: unknown }) =>
        server.write(`${answerTo(results, id, method)}\n`),
    ]),
  ) as unknown as ScriptedServer['manners'];
  const start = async () => new ScriptedServer('odd', manners);
  await proxy.proxy.connect(await start(), start, new AbortController().signal);
  return { ...proxy, deviations };
}

/** A server over streamable HTTP without sessions, or over HTTP+SSE with one. */
async function openHttp(results: Results, transport: 'streamable-http' | 'sse'): Promise<TestProxy> {
  const streams: { write: (text: string) => void }[] = [];
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      if (transport !== 'sse') return void response.writeHead(405).end();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: endpoint\ndata: /messages\n\n');
      streams.push(response);
      return undefined;
    }
    bodyOf(request).then(
      (body) => {
        const { id, method } = JSON.parse(body || '{}') as { id?: unknown; method?: string };
        const answer = id === undefined ? '' : answerTo(results, id, method ?? '');
        if (transport === 'sse') {
          for (const stream of streams)
            if (answer !== '') stream.write(`event: message\ndata: ${answer}\n\n`);
          response.writeHead(202).end();
        } else if (answer === '') response.writeHead(202).end();
        else response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
        return undefined;
      },
      () => {}, // the client has disconnected
    );
    return undefined;
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address() as AddressInfo;
  const proxy = await openTestProxy({ transport, repairsResults: true });
  const instance = {
    id: 'odd',
    address: { kind: 'local' as const, host: '127.0.0.1', port },
    exited: new Promise<never>(() => {}),
    stop: async () => {},
    async [Symbol.asyncDispose]() {},
  };
  await proxy.proxy.connect(instance as never, async () => instance as never, new AbortController().signal);
  return {
    ...proxy,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
    },
  };
}

const none = Symbol('absent');
const nothing: readonly unknown[] = [null, false, 1, 'x', [], {}];

/** An object with one member that is replaced or left out. */
function withMember(whole: Json, name: string, value: unknown): Json {
  const { [name]: _before, ...others } = whole;
  return value === none ? others : { ...others, [name]: value };
}

const goodTool = { name: 'good', inputSchema: { type: 'object' } };
const goodPrompt = { name: 'good' };
const goodResource = { uri: 'a:good', name: 'good' };
const goodTemplate = { uriTemplate: 'a:{good}', name: 'good' };

const members: Record<string, { member: string; good: Json; names: string[] }> = {
  'tools/list': {
    member: 'tools',
    good: goodTool,
    names: ['name', 'title', 'description', 'annotations', '_meta', 'icons', 'execution', 'inputSchema'],
  },
  'prompts/list': {
    member: 'prompts',
    good: goodPrompt,
    names: ['name', 'title', 'description', 'arguments', '_meta', 'icons'],
  },
  'resources/list': {
    member: 'resources',
    good: goodResource,
    names: ['uri', 'name', 'title', 'description', 'mimeType', 'size', 'annotations', '_meta', 'icons'],
  },
  'resources/templates/list': {
    member: 'resourceTemplates',
    good: goodTemplate,
    names: ['uriTemplate', 'name', 'title', 'description', 'mimeType', 'annotations', '_meta', 'icons'],
  },
};

/** Things beside which a good one must be listed. */
const badThings: [method: string, thing: unknown][] = [
  ...Object.entries(members).flatMap(([method, { good, names }]) => [
    ...nothing.map((thing): [string, unknown] => [method, thing]),
    ...names.flatMap((name) =>
      [none, ...nothing].map((value): [string, unknown] => [
        method,
        withMember({ ...good, ...renamed(good) }, name, value),
      ]),
    ),
    ...[
      [null],
      ['x'],
      [{}],
      [{ src: null }],
      [{ src: 'a:b', mimeType: null }],
      [{ src: 'a:b', sizes: null }],
      [{ src: 'a:b', sizes: '48x48' }],
      [{ src: 'a:b', theme: 'x' }],
    ].map((icons): [string, unknown] => [method, { ...good, ...renamed(good), icons }]),
  ]),
  ...[
    { type: null },
    { type: '' },
    { type: 'string' },
    { type: 'Object' },
    { type: ['object'] },
    { type: ['object', 'null'] },
    { type: ['string'] },
    { properties: {} },
    { anyOf: [{ type: 'object' }] },
    { oneOf: [] },
    { $ref: '#/$defs/x', $defs: { x: { type: 'object' } } },
    { type: 'object', properties: null },
    { type: 'object', properties: [] },
    { type: 'object', properties: { a: null } },
    { type: 'object', properties: { a: true, b: false, c: 1 } },
    { type: 'object', required: null },
    { type: 'object', required: 'a' },
    { type: 'object', required: [null, 'a'] },
    { type: 'object', $schema: null },
    { type: 'object', additionalProperties: null },
    { type: 'object', $ref: '#/$defs/none' },
    { type: 'object', properties: { a: { type: 'strin' } } },
    { type: 'object', properties: { a: { type: null } } },
    { type: 'object', properties: { a: { pattern: '(?i)x' } } },
    { type: 'object', properties: { a: { enum: [] } } },
    { type: 'object', properties: { a: { minimum: '1' } } },
    { type: 'object', properties: { a: { items: null } } },
    { type: 'object', properties: { a: { required: true } } },
    { type: 'object', properties: { a: { nullable: true } } },
    { type: 'object', properties: { a: { $ref: 'https://a.example/b' } } },
    { type: 'object', properties: { a: { exclusiveMinimum: true } } },
    ...nothing,
  ].flatMap((schema): [string, unknown][] => [
    ['tools/list', { ...goodTool, name: 'odd', inputSchema: schema }],
    ['tools/list', { ...goodTool, name: 'odd', outputSchema: schema }],
  ]),
  ...['title', 'readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'].flatMap((hint) =>
    [null, 'true', 1].map((value): [string, unknown] => [
      'tools/list',
      { ...goodTool, name: 'odd', annotations: { [hint]: value } },
    ]),
  ),
  ['tools/list', { ...goodTool, execution: { taskSupport: null } }],
  ...[null, 'x', {}, { name: 1 }, { name: 'a', description: null }, { name: 'a', required: 'true' }].map(
    (argument): [string, unknown] => ['prompts/list', { name: 'odd', arguments: [argument] }],
  ),
  ...[
    { audience: null },
    { audience: 'user' },
    { audience: ['x'] },
    { priority: 2 },
    { priority: '1' },
    { lastModified: null },
    { lastModified: '2025-01-01' },
  ].map((annotations): [string, unknown] => [
    'resources/list',
    { ...goodResource, uri: 'a:odd', annotations },
  ]),
];

function renamed(good: Json): Json {
  return Object.fromEntries(
    Object.keys(good).flatMap((key) => (key === 'inputSchema' ? [] : [[key, 'a:{odd}']])),
  );
}

const said = { type: 'text', text: 'said' };

/** Results that must arrive, and a part of what arrives. */
const oddResults: [method: string, result: unknown, part: unknown][] = [
  ...Object.entries(members).flatMap(([method, { member, good }]): [string, unknown, unknown][] => [
    ...[null, false, 'x', {}].map((list): [string, unknown, unknown] => [
      method,
      { [member]: list },
      { [member]: [] },
    ]),
    [method, {}, { [member]: [] }],
    [method, null, { [member]: [] }],
    [method, [good], { [member]: [good] }],
    ...[null, false, [], {}].map((nextCursor): [string, unknown, unknown] => [
      method,
      { [member]: [good], nextCursor },
      { [member]: [good] },
    ]),
    [method, { [member]: [good], _meta: null }, { [member]: [good] }],
  ]),
  ['tools/call', {}, { content: [] }],
  ['tools/call', null, { content: [] }],
  ['tools/call', 'said', { content: [said] }],
  ['tools/call', [said], { content: [said] }],
  ['tools/call', { structuredContent: { a: 1 } }, { content: [{ type: 'text', text: '{"a":1}' }] }],
  ['tools/call', { content: null }, { content: [] }],
  ['tools/call', { toolResult: 'said' }, { content: [said] }],
  ['tools/call', { output: 'said', _meta: {} }, { content: [said] }],
  ['tools/call', { a: 1, b: null, c: [2] }, { content: [{ type: 'text', text: '{"a":1,"c":[2]}' }] }],
  ['tools/call', { error: 'said' }, { content: [said], isError: true }],
  ['tools/call', { content: [said], is_error: true }, { content: [said], isError: true }],
  ['tools/call', { content: [said], error: 'x' }, { content: [said], error: 'x' }],
  ['tools/call', { content: 'said' }, { content: [said] }],
  ['tools/call', { content: said }, { content: [said] }],
  ['tools/call', { content: [said], structuredContent: null }, { content: [said] }],
  ['tools/call', { content: [], structuredContent: [1] }, {}],
  ['tools/call', { content: [said], _meta: null }, { content: [said] }],
  [
    'tools/call',
    { content: [said], _meta: { progressToken: null, a: 1 } },
    { _meta: expect.objectContaining({ a: 1 }) },
  ],
  ['tools/call', { content: [said], isError: 'true' }, { isError: true }],
  ['tools/call', { content: [said], isError: 1 }, { isError: true }],
  ...[null, 0, 'false'].map((isError): [string, unknown, unknown] => [
    'tools/call',
    { content: [said], isError },
    { content: [said] },
  ]),
  ...(
    [
      [null, undefined],
      ['said', said],
      [{ text: 'said' }, said],
      [{ type: 'Text', text: 'said' }, said],
      [{ ...said, annotations: null, _meta: null }, said],
      [{ type: 'text' }, { type: 'text', text: '' }],
      [
        { type: 'text', text: null },
        { type: 'text', text: '' },
      ],
      [
        { type: 'text', text: { a: 1 } },
        { type: 'text', text: '{"a":1}' },
      ],
      [
        { type: 'json', json: 1 },
        { type: 'text', text: '{"type":"json","json":1}' },
      ],
      [
        { type: 'video', data: 'A'.repeat(400) },
        { type: 'text', text: '{"type":"video","data":"400 characters"}' },
      ],
      [
        { type: 'image', data: 'iVBORw0KGgo=' },
        { type: 'image', mimeType: 'image/png' },
      ],
      [
        { type: 'image', data: 'AAAA', mimeType: null },
        { type: 'image', mimeType: 'application/octet-stream' },
      ],
      [
        { type: 'image', data: 'data:image/webp;base64,AAAA' },
        { type: 'image', data: 'AAAA', mimeType: 'image/webp' },
      ],
      [
        { type: 'image', data: '_-A=', mimeType: 'image/png' },
        { type: 'image', data: '/+A=' },
      ],
      [{ type: 'image', data: '@@', mimeType: 'image/png' }, { type: 'text' }],
      [{ type: 'image', url: 'https://a.example' }, { type: 'text' }],
      [
        { type: 'resource', resource: { uri: 'a:b' } },
        { type: 'resource', resource: { uri: 'a:b', text: '' } },
      ],
      [
        { type: 'resource', resource: { uri: 'a:b', text: 'x', mimeType: null } },
        { type: 'resource', resource: { uri: 'a:b', text: 'x' } },
      ],
      [{ type: 'resource', resource: { text: 'x' } }, { type: 'text' }],
      [
        { type: 'resource_link', uri: 'a:b' },
        { type: 'resource_link', name: 'a:b' },
      ],
      [{ type: 'resource_link', name: 'x' }, { type: 'text' }],
    ] as const
  ).map(([part, shown]): [string, unknown, unknown] => [
    'tools/call',
    { content: [part] },
    { content: shown === undefined ? [] : [expect.objectContaining(shown)] },
  ]),
  ['prompts/get', {}, { messages: [] }],
  ['prompts/get', { messages: null, description: null }, { messages: [] }],
  ['prompts/get', { messages: [null] }, { messages: [] }],
  [
    'prompts/get',
    'all of it',
    { messages: [{ role: 'user', content: { type: 'text', text: 'all of it' } }] },
  ],
  ...[
    { role: 'system', content: said },
    { content: said },
    { role: 'user', content: 'said' },
    { role: 'user', content: [said] },
    'said',
  ].map((message): [string, unknown, unknown] => [
    'prompts/get',
    { messages: [message] },
    { messages: [{ role: 'user', content: said }] },
  ]),
  ['resources/read', {}, { contents: [] }],
  ...[
    { text: 'x' },
    { uri: null, text: 'x' },
    { uri: 'a:good', text: 'x', mimeType: null },
    { uri: 'a:good', text: 'x', _meta: null },
  ].map((one): [string, unknown, unknown] => [
    'resources/read',
    { contents: [one] },
    { contents: [{ uri: 'a:good', text: 'x' }] },
  ]),
  ['resources/read', { contents: { uri: 'a:b', text: 'x' } }, { contents: [{ uri: 'a:b', text: 'x' }] }],
  ['resources/read', { contents: [{ uri: 'a:b', text: null }] }, { contents: [{ uri: 'a:b', text: '' }] }],
  ['resources/read', { contents: [{ uri: 'a:b', text: [1] }] }, { contents: [{ uri: 'a:b', text: '[1]' }] }],
  ['resources/read', { contents: [{ uri: 'a:b', blob: '@@' }] }, { contents: [] }],
  ['completion/complete', {}, { completion: { values: [] } }],
  ['completion/complete', { completion: null }, { completion: { values: [] } }],
  ['completion/complete', { completion: { values: null } }, { completion: { values: [] } }],
  [
    'completion/complete',
    { completion: { values: ['a'], total: null, hasMore: null } },
    { completion: { values: ['a'] } },
  ],
];

describe.each(['stdio', 'streamable-http', 'sse'] as const)('through a proxy of a %s server', (transport) => {
  const results: Results = {};
  let proxy: TestProxy;
  let clients: [string, OfficialClient][] = [];

  beforeAll(async () => {
    proxy = transport === 'stdio' ? await openStdio(results) : await openHttp(results, transport);
    clients = [
      ['1.x', await open1(proxy.url)],
      ['2.x', await open2(proxy.url, false)],
      ['2.x of 2026-07-28', await open2(proxy.url, true)],
    ];
  });

  afterAll(async () => {
    for (const [, client] of clients) await client.close();
    await proxy[Symbol.asyncDispose]();
  });

  async function askAll(method: string, result: unknown): Promise<[string, unknown][]> {
    results[method] = result;
    return Promise.all(
      clients.map(async ([name, client]): Promise<[string, unknown]> => [
        name,
        await asks[method]?.(client).catch((error: unknown) => `refused: ${String(error).slice(0, 300)}`),
      ]),
    );
  }

  test.each(Object.entries(members))('no thing spoils the others in %s', async (method, { member, good }) => {
    const things = badThings.flatMap(([of, thing]) => (of === method ? [thing] : []));

    for (const [client, answer] of await askAll(method, { [member]: [...things, good] })) {
      const listed = (answer as Record<string, unknown>)[member];
      expect([client, listed ?? answer]).toEqual([
        client,
        expect.arrayContaining([expect.objectContaining(good)]),
      ]);
    }
  });

  test('results arrive in a form that clients can read', async () => {
    const refused: unknown[] = [];
    for (const [method, result, part] of oddResults)
      for (const [client, answer] of await askAll(method, result))
        try {
          expect(answer).toEqual(expect.objectContaining(part as object));
        } catch {
          refused.push([client, method, JSON.stringify(result), answer]);
        }

    expect(refused).toEqual([]);
  });
});

test('corrections and omissions are reported once, with an example', async () => {
  await using proxy = await openStdio({
    'tools/list': {
      tools: [
        { name: 'without', description: 'no schema' },
        { name: 'no text', inputSchema: { type: 'object' }, description: null },
        { name: 'text', inputSchema: { type: 'string' } },
        { name: 'second', inputSchema: {} },
      ],
    },
    'tools/call': { content: null },
  });
  const client = await open1(proxy.url);

  await client.listTools();
  await client.listTools();
  await client.callTool({ name: 'without', arguments: {} });
  await client.close();

  expect(proxy.deviations).toEqual([
    'the server lists tools without "type": "object" in their input schemas, which ToolHive adds, for example the tool "without"',
    'the server sends values that clients refuse, which ToolHive corrects or leaves out, for example null as description of the tool "no text"',
    'the server lists things that clients refuse, which ToolHive leaves out, for example the tool "text", because its inputSchema has the type "string" instead of the type "object"',
  ]);
  expect(proxy.proxy.deviations).toEqual(proxy.deviations);
});

test('a healthy result passes as its bytes', async () => {
  const number = '12345678901234567890';
  const healthy = `{"jsonrpc":"2.0", "id":ID, "result":{"content":[{"type":"text","text":"n"}],  "structuredContent":{"n":${number}}}}`;
  await using proxy = await openTestProxy({ repairsResults: true });
  const server = new ScriptedServer('exact', {
    'tools/call': (self, { id }) => self.write(`${healthy.replace('ID', String(id))}\n`),
  });
  await proxy.proxy.connect(server, async () => server, new AbortController().signal);
  const session = await RawSession.open(proxy.url);

  const answer = await (await session.postCall(7, 'any')).text();

  expect(answer).toContain(healthy.replace('ID', '7').slice('{"jsonrpc":"2.0", "id":7, '.length));
});

test('large numbers survive beside a value that is corrected', async () => {
  const number = '12345678901234567890';
  await using proxy = await openTestProxy({ repairsResults: true });
  const server = new ScriptedServer('exact', {
    'tools/call': (self, { id }) =>
      self.write(
        `{"jsonrpc":"2.0","id":${id},"result":{"content":null,"structuredContent":{"n":${number}}}}\n`,
      ),
  });
  await proxy.proxy.connect(server, async () => server, new AbortController().signal);
  const session = await RawSession.open(proxy.url);

  const answer = await (await session.postCall(7, 'any')).text();

  expect(answer).toContain(`"structuredContent":{"n":${number}}`);
});

test('an error without a code or a message reaches clients as an error', async () => {
  await using proxy = await openTestProxy({ repairsResults: true });
  const server = new ScriptedServer('odd', {
    'tools/call': (self, { id }) => self.send({ id, error: { code: '-32001', message: { why: 'no' } } }),
  });
  await proxy.proxy.connect(server, async () => server, new AbortController().signal);

  for (const client of [await open1(proxy.url), await open2(proxy.url, true)]) {
    await expect(client.callTool({ name: 'any', arguments: {} })).rejects.toMatchObject({
      code: -32001,
      message: expect.stringContaining('{"why":"no"}'),
    });
    await client.close();
  }
});

test('structured results other than objects reach the clients that know them', async () => {
  await using proxy = await openHttp(
    {
      'tools/list': { tools: [{ ...goodTool, outputSchema: { type: 'array' } }] },
      'tools/call': { content: [], structuredContent: [1] },
    },
    'streamable-http',
  );
  const modern = await open2(proxy.url, true);
  const legacy = await open1(proxy.url);

  expect(await modern.listTools()).toMatchObject({ tools: [{ outputSchema: { type: 'array' } }] });
  expect(await modern.callTool({ name: 'good', arguments: {} })).toMatchObject({ structuredContent: [1] });
  expect(await legacy.listTools()).toEqual({ tools: [goodTool] });
  expect(await legacy.callTool({ name: 'good', arguments: {} })).toEqual({
    content: [{ type: 'text', text: '[1]' }],
  });
  await modern.close();
  await legacy.close();
});

test('input schemas that combine others reach the clients that know them, and others get their properties', async () => {
  const text = { type: 'string' };
  const inputSchema = {
    type: 'object',
    anyOf: [
      { type: 'object', properties: { content: text }, required: ['content'] },
      { type: 'object', properties: { source_url: text }, required: ['source_url'] },
    ],
  };
  await using proxy = await openStdio({ 'tools/list': { tools: [{ ...goodTool, inputSchema }] } });
  const modern = await open2(proxy.url, true);
  const legacy = await open1(proxy.url);

  expect(await modern.listTools()).toMatchObject({ tools: [{ inputSchema }] });
  expect(await legacy.listTools()).toEqual({
    tools: [
      {
        ...goodTool,
        inputSchema: {
          type: 'object',
          properties: { content: text, source_url: text },
          description: 'Requires at least one of these groups of arguments: content; source_url.',
        },
      },
    ],
  });
  await modern.close();
  await legacy.close();
});

test.each<[string, Json]>([
  ['as a JSON text', { inputSchema: '{"type": "object", "properties": {"a": {"type": "string"}}}' }],
  ['as input_schema', { input_schema: { type: 'object', properties: { a: { type: 'string' } } } }],
  ['as parameters', { parameters: { properties: { a: { type: 'string' } } } }],
])('a tool keeps its arguments if the server writes them %s', async (_what, members) => {
  await using proxy = await openStdio({ 'tools/list': { tools: [{ name: 'good', ...members }] } });
  const client = await open1(proxy.url);

  const list = await client.listTools();
  await client.close();

  const inputSchema = { type: 'object', properties: { a: { type: 'string' } } };
  expect(list).toMatchObject({ tools: [{ name: 'good', inputSchema }] });
});

test('a structured text is passed on as it is', async () => {
  await using proxy = await openStdio({ 'tools/call': { structuredContent: 'said' } });
  const client = await open1(proxy.url);

  expect(await client.callTool({ name: 'good', arguments: {} })).toEqual({ content: [said] });
  await client.close();
});

test('a page that names itself as the next one ends the list', async () => {
  await using proxy = await openStdio({ 'tools/list': { tools: [goodTool], nextCursor: 'again' } });
  const client = await open2(proxy.url, false);

  // The client of 2.x reads all pages, and refuses a list without an end.
  expect(await client.listTools()).toMatchObject({ tools: [goodTool, goodTool] });
  expect(proxy.deviations).toEqual([expect.stringContaining('names the same page of a list again')]);
  await client.close();
});

describe('a message that a server sends on its own', () => {
  const progress = 'notifications/progress';
  const ask = 'elicitation/create';
  const message = 'a';
  const sample = 'sampling/createMessage';
  const messages = [{ role: 'user', content: said }];
  const formOf = (properties: object): Json => ({ type: 'object', properties });

  test.each<[string, string, Json, Json]>([
    ['null beside progress', progress, { progress: 1, total: null, message: null }, { progress: 1 }],
    ['progress as text', progress, { progress: '50', total: ' 1e2' }, { progress: 50, total: 100 }],
    ['something else as progress', progress, { progress: 1, total: 'many', message: {} }, { progress: 1 }],
    [
      'null beside the messages for a model',
      sample,
      {
        messages,
        maxTokens: 1,
        systemPrompt: null,
        temperature: null,
        stopSequences: null,
        modelPreferences: { hints: null },
      },
      { messages, maxTokens: 1, modelPreferences: {} },
    ],
    [
      'text as a message for a model',
      sample,
      { messages: [{ role: 'user', content: 'said' }], maxTokens: 1 },
      { messages, maxTokens: 1 },
    ],
    [
      'null in a form',
      ask,
      {
        message,
        mode: null,
        requestedSchema: { ...formOf({ a: { type: 'string', title: null, default: null } }), required: null },
      },
      { message, requestedSchema: formOf({ a: { type: 'string' } }) },
    ],
    [
      'a choice of null in a form',
      ask,
      {
        message,
        requestedSchema: formOf({
          a: { anyOf: [{ type: 'integer', minimum: 1 }, { type: 'null' }], default: null, title: 'A' },
        }),
      },
      { message, requestedSchema: formOf({ a: { type: 'integer', minimum: 1, title: 'A' } }) },
    ],
    [
      'a form that is correct',
      ask,
      {
        message,
        requestedSchema: formOf({ a: { type: 'string', default: '' }, b: { anyOf: [{ const: 'x' }] } }),
      },
      {
        message,
        requestedSchema: formOf({ a: { type: 'string', default: '' }, b: { anyOf: [{ const: 'x' }] } }),
      },
    ],
  ])('is readable with %s', async (_what, method, params, readable) => {
    const isReport = method === progress;
    await using proxy = await openScriptedProxy(
      { repairsResults: true },
      {
        'tools/call': (server, { params: asked }) => {
          const { progressToken } = asked?._meta ?? {};
          server.send(
            isReport ? { method, params: { progressToken, ...params } } : { id: 'q', method, params },
          );
          return isReport ? { content: [] } : undefined;
        },
      },
    );
    const session = await RawSession.open(proxy.url, { capabilities: { elicitation: {}, sampling: {} } });
    const token = { progressToken: 'p' };

    const call = await session.postCall(1, 'any', {}, { _meta: token });
    const { value } = await readEvents(call).next();

    expect(value).toMatchObject({ method });
    expect((value as Received).params).toEqual(isReport ? { ...token, ...readable } : readable);
  });
});

test('a response with other members is readable, and keeps its numbers', async () => {
  await using proxy = await openScriptedProxy(
    { repairsResults: true },
    {
      'tools/call': (server, { id }) =>
        server.write(
          `{"type":"x","jsonrpc":"2.0","id":${id},"time":1,"result":{"content":[],"n":12345678901234567890}}\n`,
        ),
    },
  );
  const session = await RawSession.open(proxy.url);

  const response = await session.postCall(7, 'any');

  expect(await response.text()).toBe(
    '{"jsonrpc":"2.0","id":7,"result":{"content":[],"n":12345678901234567890}}',
  );
});

test.each([false, true])('models accept the input schemas of a server (modern: %s)', async (isModern) => {
  const properties = {
    list: { type: 'array' },
    page: { type: 'integer', minimum: 0, exclusiveMinimum: true },
  };
  const inputSchema = { type: 'object', properties };
  await using proxy = await openStdio({ 'tools/list': { tools: [{ ...goodTool, inputSchema }] } });
  const client = await open2(proxy.url, isModern);

  const first = await client.listTools();
  const second = await client.listTools();
  await client.close();

  const accepted = { list: { type: 'array', items: {} }, page: { type: 'integer', exclusiveMinimum: 0 } };
  expect(first).toMatchObject({ tools: [{ inputSchema: { type: 'object', properties: accepted } }] });
  expect(second).toMatchObject(first);
});

test('large numbers survive beside a schema in an earlier form', async () => {
  const number = '12345678901234567890';
  const tool = `{"name":"a","inputSchema":{"type":"object","properties":{"b":{"type":"array","default":[${number}]}},"anyOf":[{}]},"_meta":{"n":${number}}}`;
  await using proxy = await openTestProxy({ repairsResults: true });
  const server = new ScriptedServer('exact', {
    'tools/list': (self, { id }) => self.write(`{"jsonrpc":"2.0","id":${id},"result":{"tools":[${tool}]}}\n`),
  });
  await proxy.proxy.connect(server, async () => server, new AbortController().signal);
  const session = await RawSession.open(proxy.url);

  const answer = await (await session.post({ jsonrpc: '2.0', id: 7, method: 'tools/list' })).text();

  expect(answer).toContain(`"_meta":{"n":${number}}`);
  expect(answer).toContain(`"default":[${number}],"items":{}`);
});

describe('a tool with an output schema that returns only text', () => {
  const schema = (properties: Json, required?: string[]): Json => ({
    type: 'object',
    properties,
    ...(required === undefined ? {} : { required }),
  });
  const number = { type: 'number' };

  /** Opens a server whose only tool has the schema and answers with the content. */
  const openTool = (outputSchema: Json, content: Json[], more: Json = {}) =>
    openStdio({
      'tools/list': { tools: [{ ...goodTool, outputSchema }] },
      'tools/call': { content, ...more },
    });
  const text = (said: string): Json => ({ type: 'text', text: said });

  test.each<[string, Json, string, Json]>([
    ['an object', schema({ a: number }, ['a']), '{\n  "a": 1\n}', { a: 1 }],
    ['a text in an object', schema({ result: { type: 'string' } }, ['result']), '12', { result: '12' }],
    ['a list in an object', schema({ result: { type: 'array' } }, ['result']), '[1]', { result: [1] }],
    ['a number in an object', schema({ result: number }, ['result']), '4', { result: 4 }],
    ['an object in an object', schema({ result: schema({ a: number }) }), '{"a":1}', { a: 1 }],
  ])('returns %s to clients that require it', async (_what, outputSchema, said, structuredContent) => {
    await using proxy = await openTool(outputSchema, [text(said)]);
    for (const client of [
      await open1(proxy.url),
      await open2(proxy.url, false),
      await open2(proxy.url, true),
    ]) {
      await client.listTools();

      const answer = await client.callTool({ name: 'good', arguments: {} });
      await client.close();

      expect(answer).toMatchObject({ content: [text(said)], structuredContent });
    }
  });

  test.each<[string, Json[]]>([
    ['no JSON', [text('done')]],
    ['JSON of something else', [text('{"b":1}')]],
    ['several parts', [text('{"a":1}'), text('done')]],
    ['JSON with too many levels', [text(`{"a":${'['.repeat(501)}${']'.repeat(501)}}`)]],
  ])('has none in later lists if the text is %s', async (_what, content) => {
    await using proxy = await openTool(schema({ a: number }, ['a']), content);
    const first = await open1(proxy.url);
    await first.listTools();
    await expect(first.callTool({ name: 'good', arguments: {} })).rejects.toThrow('structured content');

    const second = await open1(proxy.url);
    const list = await second.listTools();
    const answer = await second.callTool({ name: 'good', arguments: {} });
    await Promise.all([first.close(), second.close()]);

    expect(list).toEqual({ tools: [goodTool] });
    expect(answer).toEqual({ content });
  });

  test.each<[string, Json]>([
    ['an error', { isError: true }],
    ['a structured result', { structuredContent: { a: 2 } }],
  ])('stays as it is for %s', async (_what, more) => {
    await using proxy = await openTool(schema({ a: number }, ['a']), [text('{"a":1}')], more);
    const client = await open1(proxy.url);
    await client.listTools();

    const answer = await client.callTool({ name: 'good', arguments: {} });
    await client.close();

    expect(answer).toEqual({ content: [text('{"a":1}')], ...more });
  });
});

test.each<[string, Json]>([
  ['other members', { error: 'no' }],
  ['more members', { a: 1, error: 'no' }],
])('an error with %s than those of the output schema reaches clients', async (_what, structure) => {
  const outputSchema = {
    type: 'object',
    properties: { a: {} },
    required: ['a'],
    additionalProperties: false,
  };
  await using proxy = await openStdio({
    'tools/list': { tools: [{ ...goodTool, outputSchema }] },
    'tools/call': { content: [], structuredContent: structure, isError: true },
  });
  for (const client of [await open1(proxy.url), await open2(proxy.url, true)]) {
    await client.listTools();

    const answer = await client.callTool({ name: 'good', arguments: {} });
    await client.close();

    expect(answer).toMatchObject({ isError: true, content: [{ text: JSON.stringify(structure) }] });
    expect(answer).not.toHaveProperty('structuredContent');
  }
});

test('an error with the members of the output schema keeps its structure', async () => {
  const outputSchema = { type: 'object', properties: { a: {} }, required: ['a'] };
  const result = { content: [said], structuredContent: { a: 1 }, isError: true };
  await using proxy = await openStdio({
    'tools/list': { tools: [{ ...goodTool, outputSchema }] },
    'tools/call': result,
  });
  const client = await open1(proxy.url);
  await client.listTools();

  expect(await client.callTool({ name: 'good', arguments: {} })).toEqual(result);
  await client.close();
});

test('a structured result without any content is text, too, with its large numbers', async () => {
  const number = '12345678901234567890';
  await using proxy = await openTestProxy({ repairsResults: true });
  const server = new ScriptedServer('exact', {
    'tools/call': (self, { id }) =>
      self.write(
        `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"n":${number}}}}\n`,
      ),
  });
  await proxy.proxy.connect(server, async () => server, new AbortController().signal);
  const session = await RawSession.open(proxy.url);

  const answer = await (await session.postCall(7, 'any')).text();

  expect(answer).toContain(`"content":[{"type":"text","text":"{\\"n\\":${number}}"}]`);
  expect(answer).toContain(`"structuredContent":{"n":${number}}`);
});

test('large numbers of a text survive in the structured result', async () => {
  const number = '12345678901234567890';
  await using proxy = await openTestProxy({ repairsResults: true });
  const server = new ScriptedServer('exact', {
    'tools/list': (self, { id }) =>
      self.send({ id, result: { tools: [{ ...goodTool, outputSchema: { type: 'object' } }] } }),
    'tools/call': (self, { id }) =>
      self.send({ id, result: { content: [{ type: 'text', text: `{"n":${number}}` }] } }),
  });
  await proxy.proxy.connect(server, async () => server, new AbortController().signal);
  const session = await RawSession.open(proxy.url);
  await (await session.post({ id: 6, method: 'tools/list' })).text();

  const answer = await (await session.postCall(7, 'good')).text();

  expect(answer).toContain(`"structuredContent":{"n":${number}}`);
});
