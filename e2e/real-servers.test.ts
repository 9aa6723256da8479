// @suite published-servers
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import defaultRegistry from '../packages/registry/src/default-registry.json' with { type: 'json' };
import { proves } from '@toolhive/testing/promises';
import { askableClients, connectTo } from './testing/mcp.ts';
import type { TestClient } from './testing/mcp.ts';
import { cachedPackages } from './testing/package-cache.ts';
import { publishedServers } from './testing/published-servers.ts';
import type { PublishedServer } from './testing/published-servers.ts';
import { makeUser } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

/** A server that people use, as it is published. */
interface RealServer {
  /** On npm, pinned: what a server offers changes with its version. */
  package: string;
  args?: readonly string[];
  /** What it wants to see before it starts. No account stands behind any of it. */
  env?: Record<string, string>;
  /** One of the tools that it offers. */
  tool: string;
  /** What it answers a legacy client with. */
  revision?: string;
}

const servers = {
  everything: { package: '@modelcontextprotocol/server-everything@2026.8.31', tool: 'echo' },
  filesystem: {
    package: '@modelcontextprotocol/server-filesystem@2026.8.31',
    args: ['/projects'],
    tool: 'list_directory',
  },
  memory: {
    package: '@modelcontextprotocol/server-memory@2026.8.31',
    env: { MEMORY_FILE_PATH: '/tmp/memory.jsonl' },
    tool: 'create_entities',
  },
  'sequential-thinking': {
    package: '@modelcontextprotocol/server-sequential-thinking@2026.8.31',
    tool: 'sequentialthinking',
  },
  context7: { package: '@upstash/context7-mcp@4.1.1', tool: 'resolve-library-id' },
  notion: {
    package: '@notionhq/notion-mcp-server@2.5.2',
    env: { NOTION_TOKEN: 'ntn_nobody' },
    tool: 'API-get-self',
  },
  playwright: { package: '@playwright/mcp@0.0.83', tool: 'browser_navigate' },
  'chrome-devtools': { package: 'chrome-devtools-mcp@1.11.0', tool: 'navigate_page' },
  sentry: {
    package: '@sentry/mcp-server@0.39.0',
    env: { SENTRY_ACCESS_TOKEN: 'nobody' },
    tool: 'find_organizations',
  },
  tavily: { package: 'tavily-mcp@0.2.22', env: { TAVILY_API_KEY: 'tvly-nobody' }, tool: 'tavily_search' },
  github: {
    package: '@modelcontextprotocol/server-github@2025.4.8',
    env: { GITHUB_PERSONAL_ACCESS_TOKEN: 'ghp_nobody' },
    tool: 'create_issue',
    revision: '2024-11-05',
  },
  slack: {
    package: '@modelcontextprotocol/server-slack@2025.4.25',
    env: { SLACK_BOT_TOKEN: 'xoxb-nobody', SLACK_TEAM_ID: 'T0' },
    tool: 'slack_post_message',
    revision: '2024-11-05',
  },
} satisfies Record<string, RealServer>;

type Name = keyof typeof servers;
const names = Object.keys(servers) as Name[]; // a record has no other keys than its own

/** A server is installed first, which for a Go module means that it is compiled. */
const operationTimeoutMs = 600_000;

/** How many servers are installed and started at once. */
const atOnce = 3;

let user: User;
let folder: string;
const urls = new Map<string, string>();
const failures: string[] = [];

// The packages come from the public registries, as for every user, unless an earlier run has installed them. None of the
// servers has a network.
beforeAll(async () => {
  user = await makeUser({ env: await cachedPackages() });
  folder = join(user.home, 'notes');
  await mkdir(folder);
  await writeFile(join(folder, 'hello.txt'), 'a note');
  await makeRepository(join(user.home, 'repository'));
  const waiting = [...names];
  const startOthers = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) await start(name);
  };
  await Promise.all(Array.from({ length: atOnce }, startOthers));
}, 300_000);
afterAll(() => user?.[Symbol.asyncDispose]());

async function makeRepository(repository: string): Promise<void> {
  const git = promisify(execFile);
  const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
  await git('git', ['init', '--quiet', repository]);
  await git('git', [
    '-C',
    repository,
    ...identity,
    'commit',
    '--quiet',
    '--allow-empty',
    '-m',
    'first commit',
  ]);
}

/** Runs it; what went wrong is told by the tests of this server, and not by those of all. */
async function start(name: Name): Promise<void> {
  const { package: source, args = [], env = {} }: RealServer = servers[name];
  const flags = [
    '--permission-profile=none',
    '--proxy-mode=streamable-http',
    ...Object.entries(env).map(([variable, value]) => `--env=${variable}=${value}`),
    ...(name === 'filesystem' ? [`--volume=${folder}:/projects:ro`] : []),
  ];
  await run(name, `npx://${source}`, flags, args).then(
    (url) => urls.set(name, url),
    (error: Error) => failures.push(error.message),
  );
}

/** Runs a server and returns its URL. The error says whether its package registry or the server is to blame. */
async function run(
  name: string,
  source: string,
  flags: readonly string[],
  args: readonly string[],
): Promise<string> {
  const { stdout, stderr } = await user.thv('run', source, '--name', name, ...flags, '--', ...args);
  const url = /http:\S+/.exec(stdout)?.[0];
  if (url !== undefined) return url;
  const culprit = registryFailure.test(stderr) ? 'the package registry, not the server' : 'the server';
  throw new Error(`${name}: ${culprit}: ${stderr}`);
}

/** What `thv run` says if a package is not in the cache of the tests and cannot be installed. */
const registryFailure =
  /cannot reach the package registry|Go module proxy|could not install|(?:package|version) .* not found/;

const published = Object.entries(publishedServers);

describe.concurrent('performs an operation', { timeout: operationTimeoutMs }, () => {
  test.for(published)('%s', async ([name, server]) => {
    proves('run.package.npx', 'run.package.uvx', 'run.package.go', 'transport.stdio');
    const { package: source, args = [], env = {}, mount, with: other, tool, given = {}, answer } = server;
    const workload = `published-${name}`;
    const flags = [
      '--permission-profile=none',
      ...Object.entries(env).map(([variable, value]) => `--env=${variable}=${value}`),
      ...(other === undefined ? [] : [`--with=${other}`]),
      ...(mount === undefined ? [] : [`--volume=${join(user.home, mount)}:/${mount}:ro`]),
    ];
    const running = urlOfSame(name, server);
    const url = running ?? (await run(workload, source, flags, args));

    const text = await vi.waitFor(() => operate(url, tool, given), { timeout: 180_000, interval: 500 });

    expect(text).toMatch(answer);
    if (running !== undefined) return;
    await user.api('DELETE', `/api/v1beta/workloads/${workload}`); // its memory is for the next servers
  });
});

/** The URL of a server that runs for the tests below, if a user would run it in the same way here. */
function urlOfSame(name: string, { package: source, args, mount, with: other }: PublishedServer) {
  const own = (servers as Record<string, RealServer>)[name];
  const isPlain = [own?.args, args, mount, other].every((setting) => setting === undefined);
  return isPlain && source === `npx://${own?.package}` ? urls.get(name) : undefined;
}

/** Calls a tool; an error that the server itself answers with counts as its answer. */
async function operate(url: string, tool: string, given: Record<string, unknown>): Promise<string> {
  await using client = await connectTo(url);
  try {
    return (await client.call(tool, given)).text;
  } catch (error) {
    if (error instanceof Error && 'code' in error && typeof error.code === 'number') return error.message;
    throw error;
  }
}

/** The entries of the built-in registry that come from npm in one version: what others have changes with time. */
const pinned = Object.entries(defaultRegistry.servers).flatMap(([name, server]) => {
  const source = 'package' in server ? server.package.source : '';
  return /^npx:\/\/.+@\d/.test(source) ? [{ name, tools: server.tools }] : [];
});

test.concurrent.each(pinned)('the registry knows the tools of $name', async ({ name, tools }) => {
  proves('registry.tools');
  const words = ['--name', `entry-${name}`, '--permission-profile=none', '--proxy-mode=streamable-http'];
  const stdout = await user.mustThv('run', name, ...words, `--volume=${folder}:/projects:ro`);
  await using client = await askableClients.modern(/http:\S+/.exec(stdout)?.[0] ?? '');

  const offered = await client.tools();

  expect(offered.toSorted()).toEqual(tools.toSorted());
});

const eras = Object.keys(askableClients) as (keyof typeof askableClients)[]; // see `names`

describe.concurrent.each(eras)('a %s client', (era) => {
  function connect(name: Name): Promise<TestClient> {
    const url = urls.get(name);
    if (url === undefined) throw new Error(failures.find((text) => text.startsWith(`${name}: `)));
    // A server that ends without a connection is restarted a moment later.
    return vi.waitFor(() => askableClients[era](url), { timeout: 30_000, interval: 500 });
  }

  test.each(names)('lists the tools of %s, which has no network', async (name) => {
    proves('run.package.npx', 'transport.stdio', 'run.client.current', 'run.client.previous');
    const { tool, revision = '2025-11-25' }: RealServer = servers[name];
    await using client = await connect(name);

    expect(client.revision).toBe(era === 'modern' ? '2026-07-28' : revision);
    expect(await client.tools()).toContain(tool);
  });

  test('has everything echo a message', async () => {
    await using client = await connect('everything');

    expect(await client.call('echo', { message: 'hello' })).toEqual({ text: 'Echo: hello', failed: false });
  });

  test('is asked by everything to fill in a form', async () => {
    await using client = await connect('everything');

    const { text, failed } = await client.call('trigger-elicitation-request');

    expect([failed, text]).toEqual([false, expect.stringContaining('User provided')]);
  });

  test('is asked by everything for a completion', async () => {
    await using client = await connect('everything');

    const { text, failed } = await client.call('trigger-sampling-request', { prompt: 'say something' });

    expect([failed, text]).toEqual([false, expect.stringContaining('a completion')]);
  });

  test('has filesystem list a folder that is shared', async () => {
    await using client = await connect('filesystem');

    const { text } = await client.call('list_directory', { path: '/projects' });

    expect(text).toBe('[FILE] hello.txt');
  });

  test('has memory remember something from one call to the next', async () => {
    const entity = { name: era, entityType: 'client', observations: ['asks'] };
    await using client = await connect('memory');

    await client.call('create_entities', { entities: [entity] });
    const { text } = await client.call('open_nodes', { names: [era] });

    expect(JSON.parse(text)).toMatchObject({ entities: [entity] });
  });

  test('has sequential-thinking think a thought', async () => {
    await using client = await connect('sequential-thinking');

    const { text } = await client.call('sequentialthinking', {
      thought: 'so it works',
      thoughtNumber: 1,
      totalThoughts: 1,
      nextThoughtNeeded: false,
    });

    expect(JSON.parse(text)).toMatchObject({ thoughtNumber: 1, nextThoughtNeeded: false });
  });

  test('is told by github that it reaches nothing', async () => {
    await using client = await connect('github');

    const asked = client.call('search_repositories', { query: 'toolhive' });

    await expect(asked).rejects.toThrow('fetch failed');
  });
});

describe('with the default of sessions', { timeout: operationTimeoutMs }, () => {
  /** Opens clients, each of which has called a tool, and returns the number of processes while all are connected. */
  async function processesOf(
    name: string,
    source: string,
    { clients, tool, given = {} }: { clients: number; tool: string; given?: Record<string, unknown> },
  ): Promise<number> {
    const url = await run(name, source, ['--permission-profile=none'], []);
    await using opened = new AsyncDisposableStack();
    const connected = await Promise.all(
      Array.from({ length: clients }, async () => opened.use(await askableClients.legacy(url))),
    );
    const answers = await Promise.all(connected.map((client) => client.call(tool, given)));
    expect(answers.every(({ failed }) => !failed)).toBe(true);
    const { text } = await user.api('GET', `/api/v1beta/workloads/${name}/usage`);
    const { processes } = JSON.parse(text) as { processes: number };
    await user.api('DELETE', `/api/v1beta/workloads/${name}`);
    return processes;
  }

  test('40 sessions of a server whose tools are read-only use at most three processes', async () => {
    proves('run.sessions.auto');
    const given = { timezone: 'Europe/Berlin' };
    const called = { clients: 40, tool: 'get_current_time', given };

    const processes = await processesOf('forty', 'uvx://mcp-server-time@2026.10.19', called);

    expect(processes).toBeLessThanOrEqual(3);
  });

  test('each session of a server that keeps something for its sessions has a process', async () => {
    proves('run.sessions.auto');
    const called = { clients: 4, tool: 'get-sum', given: { a: 40, b: 2 } };

    const processes = await processesOf('four', `npx://${servers.everything.package}`, called);

    expect(processes).toBeGreaterThanOrEqual(4);
  });
});
