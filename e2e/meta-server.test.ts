import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askableClients, officialClients } from './testing/mcp.ts';
import type { TestClient } from './testing/mcp.ts';
import { cachedPackages } from './testing/package-cache.ts';
import { hasEnded, makeUser, testServer, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

/** Eight published servers, each with the arguments of `thv run`. None of them has a network. */
const servers: Readonly<Record<string, readonly string[]>> = {
  everything: ['npx://@modelcontextprotocol/server-everything@2026.8.31'],
  filesystem: ['npx://@modelcontextprotocol/server-filesystem@2026.8.31'],
  memory: ['npx://@modelcontextprotocol/server-memory@2026.8.31', '--env=MEMORY_FILE_PATH=/tmp/memory.jsonl'],
  thinking: ['npx://@modelcontextprotocol/server-sequential-thinking@2026.8.31'],
  database: ['npx://@bytebase/dbhub@1.4.0', '--env=DSN=sqlite:///:memory:'],
  runner: ['npx://mcp-server-code-runner@0.1.8'],
  clock: ['uvx://mcp-server-time@2026.10.19'],
  calculator: ['uvx://mcp-server-calculator@0.2.1'],
};

/** What a user asks for, the arguments that a model would choose, and the result. */
const tasks: readonly (readonly [task: string, given: object, result: RegExp])[] = [
  ['read a text file', { path: '/projects/hello.txt' }, /^a note$/],
  ['list the files of a directory', { path: '/projects' }, /\[FILE\] hello\.txt/],
  ['add two numbers', { a: 2, b: 3 }, /\b5\b/],
  ['echo a message', { message: 'hello' }, /hello/],
  [
    'create entities in the knowledge graph',
    { entities: [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }] },
    /writes programs|^\[\]$/, // the server returns only entities that are new
  ],
  ['read the whole knowledge graph', {}, /Ada/],
  [
    'think step by step',
    { thought: 'a', thoughtNumber: 1, totalThoughts: 1, nextThoughtNeeded: false },
    /thoughtHistoryLength/,
  ],
  ['run a SQL query', { sql: 'select 6 * 7 as answer' }, /"answer": 42/],
  ['run a code snippet', { code: 'console.log(6 * 7)', languageId: 'javascript' }, /42/],
  [
    'convert a time to another time zone',
    { source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo' },
    /\+9\.0h/,
  ],
  ['calculate an expression', { expression: '6*7' }, /^42$/],
];

let user: User;
let url: string;

beforeAll(async () => {
  user = await makeUser({ env: await cachedPackages() });
  const folder = join(user.home, 'notes');
  await mkdir(folder);
  await writeFile(join(folder, 'hello.txt'), 'a note');
  for (const [name, [source = '', ...flags]] of Object.entries(servers)) {
    const own = name === 'filesystem' ? [`--volume=${folder}:/projects:ro`] : [];
    const args = name === 'filesystem' ? ['--', '/projects'] : [];
    await user.mustThv('run', source, '--name', name, '--permission-profile=none', ...flags, ...own, ...args);
  }
  url = /http:\S+/.exec(await user.mustThv('run', 'meta-mcp'))?.[0] ?? '';
}, 300_000);
afterAll(() => user?.[Symbol.asyncDispose]());

interface Found {
  server_name: string;
  tool_name: string;
  input_schema: { required?: string[] };
}

async function find(client: TestClient, query: string): Promise<Found[]> {
  const { text } = await client.call('find_tool', { query });
  return (JSON.parse(text) as { tools: Found[] }).tools;
}

describe.each(Object.keys(askableClients) as (keyof typeof askableClients)[])('a %s agent', (era) => {
  test.each(tasks)('can %s with find_tool and call_tool only', async (task, given, result) => {
    await using client = await askableClients[era](url);

    const found = await find(client, task);
    // A model chooses the first tool that takes the arguments.
    const chosen = found
      .slice(0, 3)
      .find(({ input_schema: { required = [] } }) => required.every((name) => name in given));
    const { text } = await client.call('call_tool', {
      server_name: chosen?.server_name,
      tool_name: chosen?.tool_name,
      parameters: given,
    });

    expect(text).toMatch(result);
  });
});

test.each(Object.entries(officialClients))(
  'the official client finds and calls tools: %s',
  async (_name, connect) => {
    await using client = await connect(url);

    const tools = await client.tools();
    const [first] = await find(client, 'read a text file');
    const { text, failed } = await client.call('call_tool', {
      server_name: 'everything',
      tool_name: 'echo',
      parameters: { message: 'hello' },
    });

    expect(tools).toEqual(['find_tool', 'call_tool', 'list_tools', 'search_registry', 'install_server']);
    expect(first?.server_name).toBe('filesystem');
    expect([text, failed]).toEqual(['Echo: hello', false]);
  },
);

test('a server is installed once the user agrees, and its tools are found at once', async () => {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: { form: {} } } });
  const questions: string[] = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params: { message } }) => {
    questions.push(message);
    return { action: 'accept', content: { agree: true } };
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));

  const installed = await client.callTool(
    { name: 'install_server', arguments: { name: 'context7' } },
    undefined,
    { timeout: 180_000 },
  );
  const { content } = await client.callTool({
    name: 'find_tool',
    arguments: { query: 'documentation of a library', server: 'context7' },
  });
  await client.close();

  expect(questions).toEqual([expect.stringContaining('install and run npx://@upstash/context7-mcp@')]);
  expect(JSON.stringify(installed.content)).toContain('running');
  expect(JSON.stringify(content)).toContain('library');
  await user.mustThv('rm', 'context7', '--yes');
});

test('with ALLOW_INSTALL, a server is installed without a question', async () => {
  const started = await user.mustThv('run', 'meta-mcp', '--name=installer', '--env=ALLOW_INSTALL=true');
  await using client = await askableClients.modern(/http:\S+/.exec(started)?.[0] ?? '');

  const { text, failed } = await client.call('install_server', { name: 'context7' });

  expect([JSON.parse(text), failed]).toEqual([{ server_name: 'context7', status: 'running' }, false]);
  await user.mustThv('rm', 'context7', 'installer', '--yes');
});

test('the meta server takes far fewer tokens than the tools of eight servers', async () => {
  const { listing_tokens: all, meta_listing_tokens: meta } = JSON.parse(
    await user.mustThv('tools', '--format', 'json'),
  ) as { listing_tokens: number; meta_listing_tokens: number };

  expect(all).toBeGreaterThan(3_000);
  expect(meta).toBeLessThan(all / 3);
});

test('a group has its meta server again after the daemon restarts', async () => {
  await using restarted = await makeUser();
  await restarted.mustThv('group', 'create', 'work', '--meta');
  await restarted.mustThv('run', testServer, '--name', 'echo', '--group', 'work', '--', 'echo');
  const urlOf = async (): Promise<string | undefined> => {
    const { code, stdout } = await restarted.thv('list', '--format', 'json');
    if (code !== 0) return undefined;
    const listed = JSON.parse(stdout) as { name: string; status: string; url: string }[];
    const running = listed.filter(({ status }) => status === 'running');
    return running.length === 2 ? running.find(({ name }) => name === 'meta-work')?.url : undefined;
  };
  const before = await until(urlOf);
  const pid = await restarted.daemonPid();

  await restarted.api('POST', '/api/v1beta/hive/stop');
  await until(() => hasEnded(pid));
  const after = await until(urlOf);
  const result = await restarted.mustThv(
    'mcp',
    'call',
    'meta-work',
    'find_tool',
    'query=echo a message',
    '--format',
    'json',
  );

  expect(after).toBe(before);
  expect(JSON.stringify(JSON.parse(result))).toContain('"tool_name":"echo"');
});
