// A server for the tests of the web UI: it uses every part of MCP, and with the word `hostile` it tries to deceive.
import { createInterface } from 'node:readline';

const isHostile = process.argv.includes('hostile');
const rlo = '\u202e';
const hostile = `<img src=x onerror=alert(1)><script>alert(2)</script>${rlo}evil\u200b\u001b[31m</textarea><h1>ToolHive needs your password</h1>[click](javascript:alert(3)) https://attacker.example/`;
const text = isHostile ? hostile : 'A text of the server.';

const inputSchema = {
  $defs: { color: { type: 'string', enum: ['red', 'green'] } },
  type: 'object',
  properties: {
    message: { type: 'string', description: text },
    count: { type: 'integer', minimum: 1, maximum: 10 },
    color: { $ref: '#/$defs/color' },
    size: {
      oneOf: [
        { const: 1, title: 'Small' },
        { const: 2, title: 'Large' },
      ],
    },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    when: { type: 'string', format: 'date' },
    tags: {
      type: 'array',
      items: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    },
    place: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    either: {
      oneOf: [
        { title: 'Word', type: 'string' },
        { title: 'Number', type: 'number' },
      ],
    },
  },
  required: ['message'],
};
const empty = { type: 'object', properties: {} };
const tools = [
  { name: 'form', description: text, inputSchema },
  { name: 'ask', description: text, inputSchema: empty },
  { name: 'sample', inputSchema: empty },
  { name: 'slow', inputSchema: empty },
  { name: 'content', inputSchema: empty },
  {
    name: 'structured',
    inputSchema: empty,
    outputSchema: { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] },
    annotations: { readOnlyHint: true, title: text },
  },
  {
    name: 'regular',
    inputSchema: { type: 'object', properties: { word: { type: 'string', pattern: '^(a+)+$' } } },
  },
  {
    name: 'write',
    inputSchema: {
      type: 'object',
      properties: { lines: { type: 'integer' }, perSecond: { type: 'integer' } },
    },
  },
];
const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const sound = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

let nextId = 1;
const waiting = new Map();
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const ask = (method, params) =>
  new Promise((resolve) => {
    const id = `server-${nextId++}`;
    waiting.set(id, resolve);
    send({ id, method, params });
  });
const reply = (value) => ({
  content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }],
});

const calls = {
  form: async (args) => reply(isHostile ? hostile : args),
  async ask() {
    const requestedSchema = {
      type: 'object',
      properties: { name: { type: 'string', title: 'Your name' }, age: { type: 'integer' } },
      required: ['name'],
    };
    return reply(await ask('elicitation/create', { message: text, requestedSchema }));
  },
  async sample() {
    const messages = [{ role: 'user', content: { type: 'text', text } }];
    return reply(await ask('sampling/createMessage', { messages, maxTokens: 10 }));
  },
  async slow(_args, { progressToken, isCanceled }) {
    for (let progress = 1; progress <= 200 && !isCanceled(); progress++) {
      if (progressToken !== undefined) {
        send({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 200, message: `step ${progress}` },
        });
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return reply('done');
  },
  content: async () => ({
    content: [
      { type: 'text', text },
      { type: 'image', mimeType: 'image/png', data: picture },
      {
        type: 'image',
        mimeType: 'image/svg+xml',
        data: Buffer.from(
          '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(4)"><script>alert(5)</script></svg>',
        ).toString('base64'),
      },
      { type: 'image', mimeType: 'image/png"onerror="alert(6)', data: picture },
      { type: 'audio', mimeType: 'audio/wav', data: sound },
      {
        type: 'resource_link',
        uri: isHostile ? 'javascript:alert(7)' : 'https://example.com/file',
        name: text,
      },
      { type: 'resource', resource: { uri: 'test://note', mimeType: 'text/plain', text } },
    ],
  }),
  structured: async () => ({
    content: [{ type: 'text', text: '{}' }],
    structuredContent: isHostile ? { total: hostile } : { total: 3 },
  }),
  regular: async (args) => reply(args),
  async write({ lines = 1, perSecond = Infinity }) {
    const start = performance.now();
    for (let line = 0; line < lines; line++) {
      while (line >= ((performance.now() - start) / 1000) * perSecond)
        await new Promise((resolve) => setTimeout(resolve, 10));
      process.stderr.write(`${line % 10 === 0 ? 'ERROR ' : ''}line ${line} ${text}\n`);
    }
    return reply('written');
  },
};

const canceled = new Set();
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, prompts: {}, resources: {}, logging: {} },
    serverInfo: { name: isHostile ? hostile : 'ui-test', version: '1' },
    instructions: text,
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'prompts/list': () => ({
    prompts: [
      { name: 'greet', description: text, arguments: [{ name: 'who', description: text, required: true }] },
    ],
  }),
  'prompts/get': ({ arguments: args }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Greet ${args?.who}. ${text}` } }],
  }),
  'resources/list': () => ({
    resources: [{ uri: 'test://note', name: 'note', description: text, mimeType: 'text/plain' }],
  }),
  'resources/templates/list': () => ({
    resourceTemplates: [{ uriTemplate: 'test://item/{id}', name: 'item', description: text }],
  }),
  'resources/read': ({ uri }) => ({
    contents: [{ uri, mimeType: 'text/plain', text: `Content of ${uri}. ${text}` }],
  }),
  'tools/call': ({ name, arguments: args = {}, _meta }, id) =>
    calls[name](args, { progressToken: _meta?.progressToken, isCanceled: () => canceled.has(id) }),
};

process.stderr.write(`ready ${text}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {}, result, error } = JSON.parse(line);
  if (method === undefined) {
    waiting.get(id)?.(result ?? { error });
    waiting.delete(id);
  } else if (method === 'notifications/cancelled') {
    canceled.add(params.requestId);
    process.stderr.write('a call was canceled\n');
  } else if (id !== undefined) {
    const answer = answers[method];
    if (answer === undefined) send({ id, error: { code: -32601, message: `unknown method ${method}` } });
    else void Promise.resolve(answer(params, id)).then((value) => send({ id, result: value }));
  }
}
