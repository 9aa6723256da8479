import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client as PreviousClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as PreviousStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { officialClients } from './testing/mcp.ts';
import { testServer, thvScript, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

/** A server of which official clients refuse everything: the tools that they can use are good, untyped, nothing, and out. */
const server = `
import { createInterface } from 'node:readline';
const tools = [
  { name: 'good', inputSchema: { type: 'object' } },
  { name: 'untyped', description: null, inputSchema: { properties: { a: { type: 'string' } } } },
  { name: 'nothing' },
  { name: 'texty', inputSchema: { type: 'string' } },
  { name: 7, inputSchema: { type: 'object' } },
  { name: 'out', inputSchema: {}, outputSchema: { type: 'array' } },
];
const initialized = {
  protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' },
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const results = {
    initialize: initialized,
    'tools/list': { tools, nextCursor: null },
    'tools/call': { content: [{ type: 'text', text: 'hello from ' + params?.name }], isError: null, structuredContent: null },
  };
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }));
});
`;
const usable = ['good', 'untyped', 'nothing', 'out'];

let user: User;
const urls = new Map<string, string>();

beforeAll(async () => {
  user = await openUsedHomes().take();
  const script = join(user.home, 'odd/server.mjs');
  await mkdir(join(user.home, 'odd'));
  await writeFile(script, server);
  const isolated = ['--permission-profile=none', '--group', 'work'];
  await user.mustThv('group', 'create', 'work', '--endpoint', 'combined');
  await user.mustThv('run', '--name', 'odd', ...isolated, '--', 'node', script);
  await user.mustThv('run', '--name', 'some', ...isolated, '--tools', 'untyped', '--', 'node', script);
  await user.mustThv('run', testServer, '--name', 'echo', ...isolated, '--', 'echo');
  const listed = JSON.parse(await user.mustThv('list', '--all', '--format', 'json')) as {
    name: string;
    url: string;
  }[];
  for (const { name, url } of listed) urls.set(name, url);
});
afterAll(() => user?.[Symbol.asyncDispose]());

test.each(Object.entries(officialClients))('%s reads all lists and results', async (_name, connect) => {
  await using all = await connect(urls.get('odd') ?? '');
  await using filtered = await connect(urls.get('some') ?? '');

  expect(await all.tools()).toEqual(usable);
  expect(await all.call('untyped')).toEqual({ text: 'hello from untyped', failed: false });
  expect(await filtered.tools()).toEqual(['untyped']);
});

test.each(Object.entries(officialClients))(
  '%s reads the tools of all servers of a group',
  async (_name, connect) => {
    await using client = await connect(urls.get('combined-work') ?? '');

    const names = await until(async () => {
      const listed = await client.tools();
      return listed.includes('echo') && listed.some((name) => name.endsWith('nothing')) ? listed : undefined;
    });

    for (const name of usable) expect(names.filter((one) => one.endsWith(name)).length).toBeGreaterThan(0);
    expect(names.filter((name) => name.endsWith('texty'))).toEqual([]);
  },
);

test('thv proxy stdio passes on what clients can read', async () => {
  const client = new PreviousClient({ name: 'toolhive-e2e', version: '1.0.0' });
  await client.connect(
    new PreviousStdio({
      command: process.execPath,
      args: ['--', thvScript, 'proxy', 'stdio', 'odd'],
      env: user.env as Record<string, string>, // nothing in it is undefined
      stderr: 'ignore',
    }),
  );

  const { tools } = await client.listTools();
  await client.close();

  expect(tools.map(({ name }) => name)).toEqual(usable);
});

test('thv doctor names the faults for the author of the server', async () => {
  const { code, stdout } = await user.thv('doctor', 'odd');

  expect(code).toBe(0);
  expect(stdout).toContain(
    'lists tools without "type": "object" in their input schemas, which ToolHive adds',
  );
  expect(stdout).toMatch(/values that clients refuse.*null as description of the tool "untyped"/);
  expect(stdout).toMatch(/leaves out.*the tool "texty", because its inputSchema has the type "string"/);
  expect(stdout).toMatch(/^listing +ok +the server offers 4 tools$/m);
});
