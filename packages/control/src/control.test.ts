import { appendFile, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as PreviousClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { aWorkload, openTestApi } from '@toolhive/api/testing';
import { unavailable } from '@toolhive/contract/failure';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openControl } from './control.ts';
import type { Control, ControlOptions } from './control.ts';

let api: Awaited<ReturnType<typeof openTestApi>>;
let control: Control;
const faults: unknown[] = [];

function open(changes: Partial<ControlOptions> = {}): Promise<Control> {
  return openControl({
    host: 'localhost',
    port: 0,
    daemon: async () => api.client,
    version: 'v0.0.0-test',
    onFault: (error) => faults.push(error),
    ...changes,
  });
}

beforeAll(async () => {
  api = await openTestApi();
  control = await open();
});
afterAll(async () => {
  await control?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
});

const identity = { name: 'test', version: '1.0.0' };

async function connect(url = control.url) {
  const client = new Client(identity, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return {
    client,
    async call(name: string, given: Record<string, unknown> = {}) {
      const { content, structuredContent, isError } = await client.callTool({ name, arguments: given });
      const [first] = content as { text?: string }[];
      return { text: first?.text ?? '', structured: structuredContent, failed: isError === true };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

test('a model runs a server, sees it, stops it, starts it again and removes it', async () => {
  await using model = await connect();
  const { image, cmd_arguments: _none, ...rest } = aWorkload({ name: 'by-a-model' });

  const run = await model.call('run_server', { server: image, name: rest['name'] });
  const listed = await model.call('list_servers');
  const stopped = await model.call('stop_server', { name: 'by-a-model' });
  const restarted = await model.call('restart_server', { name: 'by-a-model' });
  const removed = await model.call('remove_server', { name: 'by-a-model' });
  const after = await model.call('list_servers');

  const workload = {
    name: 'by-a-model',
    server: expect.stringContaining('toolhive-test-servers'),
    status: 'running',
  };
  expect(run.structured).toMatchObject({ ...workload, port: expect.any(Number), url: expect.any(String) });
  expect(JSON.parse(run.text)).toEqual(run.structured);
  expect(listed.structured).toMatchObject({ servers: [workload] });
  expect(stopped.structured).toEqual({ status: 'stopped', name: 'by-a-model' });
  expect(restarted.structured).toMatchObject(workload);
  expect(removed.structured).toEqual({ status: 'removed', name: 'by-a-model' });
  expect(after.structured).toEqual({ servers: [] });
});

test('whatever characters a model writes, they are taken for what they are', async () => {
  await using model = await connect();
  const name = 'two\u2028lines\u2029of\nwords\r';

  const { failed, text } = await model.call('remove_server', { name });
  const after = await model.call('list_servers');

  expect(failed).toBe(true);
  expect(text).toContain('a workload name consists of letters');
  expect(after.failed).toBe(false);
});

test('a model that waits for a server is told how far it is', async () => {
  await using model = await connect();
  const steps: (string | undefined)[] = [];

  await model.client.callTool(
    { name: 'run_server', arguments: { server: aWorkload()['image'], name: 'awaited' } },
    { onprogress: ({ message }) => void steps.push(message) },
  );
  await model.call('remove_server', { name: 'awaited' });

  expect(steps.length).toBeGreaterThan(0);
});

test('a call that is cancelled is given up, and is no bug', async () => {
  await using model = await connect();
  const over = new AbortController();

  const called = model.client.callTool(
    { name: 'run_server', arguments: { server: aWorkload()['image'], name: 'unwanted' } },
    { signal: over.signal, onprogress: () => over.abort() },
  );

  await expect(called).rejects.toThrow();
  await model.call('remove_server', { name: 'unwanted' });
  expect((await model.call('list_servers')).structured).toEqual({ servers: [] });
  expect(faults).toEqual([]);
});

test('an older client, over HTTP+SSE, has the same tools', async () => {
  const client = new PreviousClient(identity);
  await client.connect(new SSEClientTransport(new URL('/sse', control.url)));

  const { tools } = await client.listTools();
  const { structuredContent } = await client.callTool({ name: 'list_servers', arguments: {} });
  await client.close();

  expect(client.getServerVersion()).toMatchObject({ name: 'toolhive-mcp' });
  expect(tools.map(({ name }) => name)).toContain('run_server');
  expect(structuredContent).toEqual({ servers: [] });
});

test('says of every tool whether it changes or destroys anything, and what it takes and gives', async () => {
  await using model = await connect();

  const { tools } = await model.client.listTools();

  expect(
    tools.map(({ name, annotations }) => {
      const { readOnlyHint, destructiveHint } = annotations ?? {};
      return `${name}: ${readOnlyHint === true ? 'reads' : destructiveHint === true ? 'destroys' : 'changes'}`;
    }),
  ).toEqual([
    'search_registry: reads',
    'run_server: changes',
    'list_servers: reads',
    'stop_server: destroys',
    'restart_server: changes',
    'remove_server: destroys',
    'get_server_logs: reads',
    'list_secrets: reads',
    'set_secret: destroys',
  ]);
  expect(tools.find(({ name }) => name === 'run_server')?.inputSchema).toMatchObject({
    type: 'object',
    required: ['server'],
    additionalProperties: false,
    properties: {
      name: { type: 'string', maxLength: 100 },
      env: { type: 'object' },
      secrets: { type: 'array', items: { required: ['name', 'target'] } },
    },
  });
  expect(JSON.stringify(tools)).not.toContain('$ref');
});

describe('what a model does wrong is told to the model', () => {
  test.each([
    ['remove_server', { name: 'nobody' }, 'workload nobody not found'],
    ['remove_server', { name: '../..' }, 'remove_server was not called: name: a workload name'],
    ['stop_server', {}, 'stop_server was not called: name:'],
    ['list_servers', { all: true }, 'list_servers was not called: arguments: Unrecognized key: "all"'],
    ['run_server', { server: 'no-such-server-anywhere' }, 'no-such-server-anywhere'],
    [
      'run_server',
      { server: 'npx:///home/ada/server' },
      'a path of this machine can be run only by the user',
    ],
    ['run_server', { server: 'uvx://../server.py' }, 'a path of this machine can be run only by the user'],
    ['set_secret', { name: 'a', file_path: 'relative' }, 'the path of a secret file must be absolute'],
    ['set_secret', { name: 'a', file_path: '/dev/zero' }, '/dev/zero is not a regular file'],
    ['set_secret', { name: 'a', file_path: '/nowhere' }, '/nowhere cannot be read: ENOENT'],
  ])('%s %j', async (name, given, message) => {
    await using model = await connect();

    const { failed, text } = await model.call(name, given);

    expect(failed).toBe(true);
    expect(text).toContain(message);
  });
});

test('finds servers of the registry, and tells of no more than a model reads', async () => {
  await using model = await connect();
  await using folder = await makeFolder();
  const entry = { image: 'example/one:1', transport: 'stdio', description: 'One of Many', tools: ['do'] };
  const many = Array.from({ length: 60 }, (_none, index) => [`many-${index}`, { ...entry, tags: ['crowd'] }]);
  const registry = { version: '1', servers: { ...Object.fromEntries(many), alone: entry } };
  await writeFile(join(folder.path, 'registry.json'), JSON.stringify(registry));

  const builtIn = await model.call('search_registry', { query: 'FILEsystem' });
  await api.client.updateRegistry({
    params: { name: 'default' },
    body: { local_path: join(folder.path, 'registry.json') },
  });
  const alone = await model.call('search_registry', { query: 'ALONE' });
  const crowd = await model.call('search_registry', { query: 'crowd' });
  await api.client.updateRegistry({ params: { name: 'default' }, body: {} });

  expect(builtIn.structured).toMatchObject({ servers: [{ name: 'filesystem' }], more: 0 });
  expect(alone.structured).toEqual({ servers: [{ name: 'alone', ...entry }], more: 0 });
  expect(crowd.structured).toMatchObject({ servers: { length: 50 }, more: 10 });
});

test('stores secrets from files, and never tells them', async () => {
  await using model = await connect();
  await using folder = await makeFolder();
  const path = join(folder.path, 'value');
  await api.post('/api/v1beta/secrets', { provider_type: 'encrypted', password: 'a password' });

  await writeFile(path, '  the value itself\n');
  const stored = await model.call('set_secret', { name: 'from-a-file', file_path: path });
  await symlink(path, `${path}-link`);
  const replaced = await model.call('set_secret', { name: 'from-a-file', file_path: `${path}-link` });
  await writeFile(path, ' \n');
  const empty = await model.call('set_secret', { name: 'from-a-file', file_path: path });
  const listed = await model.call('list_secrets');
  const value = await api.core.secrets.resolve({ name: 'from-a-file', target: '' });

  expect([stored, replaced].map(({ structured }) => structured)).toEqual(
    [1, 2].map(() => ({ status: 'success', name: 'from-a-file' })),
  );
  expect(empty).toMatchObject({ failed: true, text: `${path} is empty` });
  expect(listed.structured).toEqual({ secrets: [{ key: 'from-a-file' }] });
  expect(value).toBe('the value itself');
});

test('tells what a server wrote, but no more than a model reads', async () => {
  await api.run('chatty');
  await using model = await connect();
  await model.call('stop_server', { name: 'chatty' });
  const log = join(api.core.paths.logs, 'chatty.server.log');

  const none = await model.call('get_server_logs', { name: 'chatty' });
  await appendFile(log, 'one line\n');
  const one = await model.call('get_server_logs', { name: 'chatty' });
  await appendFile(log, `${'x'.repeat(100_000)} the end\n`);
  const many = await model.call('get_server_logs', { name: 'chatty' });
  await model.call('remove_server', { name: 'chatty' });

  expect(none).toMatchObject({ failed: false, text: 'chatty has written nothing' });
  expect(one).toMatchObject({ failed: false, text: 'one line\n' });
  expect(many.text.length).toBeLessThan(21_000);
  expect(many.text).toMatch(/^…x.* the end\n$/s);
});

test('continues after the daemon was away', async () => {
  let isAway = true;
  await using own = await open({
    daemon: async () => {
      if (isAway) throw unavailable('the daemon is away', { hint: 'wait for it' });
      return api.client;
    },
  });
  await using model = await connect(own.url);

  const away = await model.call('list_servers');
  isAway = false;
  const back = await model.call('list_servers');

  expect(away).toMatchObject({ failed: true, text: 'the daemon is away (hint: wait for it)' });
  expect(back.failed).toBe(false);
});

test('reports a bug only to the log', async () => {
  const told: unknown[] = [];
  await using own = await open({
    daemon: () => Promise.reject(new Error('with a secret in it')),
    onFault: (error) => told.push(error),
  });
  await using model = await connect(own.url);

  const { failed, text } = await model.call('list_servers');

  expect(failed).toBe(true);
  expect(text).not.toContain('secret');
  expect(told).toEqual([expect.objectContaining({ message: 'with a secret in it' })]);
});

test.each([
  ['another page of this machine', { origin: 'http://localhost:3000' }, 403],
  ['a page of elsewhere', { origin: 'https://evil.example' }, 403],
  ['a name that leads here', { host: 'evil.example' }, 403],
  ['a form', { 'content-type': 'text/plain' }, 415],
])('does nothing for %s', async (_title, headers, status) => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });

  const answer = await send({ 'content-type': 'application/json', ...headers }, body);

  expect(answer).toBe(status);
});

async function makeFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'thv-control-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

/** By hand, as no `fetch` sends another host. */
async function send(headers: Record<string, string>, body: string): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const sent = request(control.url, { method: 'POST', headers, agent: false }, (response) => {
    response.resume();
    resolve(response.statusCode);
  });
  sent.on('error', reject);
  sent.end(body);
  return promise;
}

test('no bug has shown itself', () => {
  expect(faults).toEqual([]);
});
