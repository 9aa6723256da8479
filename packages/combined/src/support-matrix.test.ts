import { setTimeout as delay } from 'node:timers/promises';
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { mcpCaller } from '@toolhive/api/testing/mcp-caller';
import { clientVersions, features, unsupportedReason, ways } from '@toolhive/proxy/support';
import type { ClientVersion, Feature, Way } from '@toolhive/proxy/support';
import { deliverOneByOne } from '@toolhive/proxy/testing/deliver-one-by-one';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { openWorld } from './testing/world.ts';
import type { World } from './testing/world.ts';
import { serverWithAll } from './testing/server-with-all.ts';
import type { Observed } from './testing/server-with-all.ts';

// Each feature of MCP, for each version of clients, each generation of servers, and each way between them.

const generations = ['legacy', 'modern'] as const;
type Generation = (typeof generations)[number];

/** The places of one generation of servers. */
interface Places extends AsyncDisposable {
  urlOf: (way: Way) => string;
  /** The process that a way leads to has seen this. */
  observed: Observed;
  update: () => void;
}

const policies = ['permit(principal, action, resource);'];

async function openPlaces(generation: Generation): Promise<Places> {
  const observed: Observed = { canceled: 0 };
  const server = serverWithAll(generation, observed);
  await using opened = new AsyncDisposableStack();
  const direct: World = opened.use(
    await openWorld(
      { plain: server, cedar: server, pinning: server },
      {
        changes: {
          cedar: {
            authz_config: JSON.stringify({
              version: '1.0',
              type: 'cedarv1',
              cedar: { policies, entities_json: '[]' },
            }),
          },
          pinning: { tool_pinning: 'block' },
        },
      },
    ),
  );
  const combined: World = opened.use(await openWorld({ all: server }));
  const meta: World = opened.use(await openWorld({ all: server }, { endpoint: 'meta' }));
  const everything = opened.move();
  const urlOf = (way: Way): string => {
    if (way === 'combined') return combined.url;
    if (way === 'meta') return meta.url;
    return `http://127.0.0.1:${direct.api.core.workloads.require(way).runConfig.port}/mcp`;
  };
  return {
    urlOf,
    observed,
    update() {
      for (const name of ['plain', 'cedar', 'pinning'])
        direct.notify(name, 'notifications/resources/updated', { uri: 'notes://1' });
      for (const world of [combined, meta])
        world.notify('all', 'notifications/resources/updated', { uri: 'notes://1' });
    },
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

/** A client of one version at one place. */
interface Caller extends AsyncDisposable {
  client: Client;
  /** Calls a tool of the server, also through a meta server. */
  call: (
    name: string,
    options?: { onprogress?: () => void; signal?: AbortSignal },
  ) => Promise<{ content: { type: string; text?: string }[]; structuredContent?: unknown }>;
  /** The tool as clients see it. */
  tool: () => Promise<Record<string, unknown>>;
  updated: string[];
}

async function connect(version: ClientVersion, way: Way, url: string): Promise<Caller> {
  const isModern = version === '2026-07-28';
  const client = new Client(
    { name: 'matrix', version: '1' },
    {
      capabilities: { elicitation: { form: {}, url: {} } },
      ...(isModern
        ? { versionNegotiation: { mode: { pin: version } } }
        : { supportedProtocolVersions: [version] }),
    },
  );
  client.setRequestHandler('elicitation/create', async () => ({ action: 'accept' }));
  const updated: string[] = [];
  client.setNotificationHandler(
    'notifications/resources/updated',
    ({ params }) => void updated.push(params.uri),
  );
  const transport =
    version === '2024-11-05'
      ? new SSEClientTransport(new URL('/sse', url))
      : new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  deliverOneByOne(transport);
  const isMeta = way === 'meta';
  return {
    client,
    updated,
    async call(name, options) {
      const asked = isMeta
        ? { name: 'call_tool', arguments: { server_name: 'all', tool_name: name, parameters: {} } }
        : { name, arguments: {} };
      return client.callTool(asked, options);
    },
    async tool() {
      if (!isMeta) {
        const { tools } = await client.listTools();
        return { ...tools.find(({ name }) => name === 'everything') };
      }
      const { structuredContent } = await client.callTool({
        name: 'find_tool',
        arguments: { query: 'paint and sing', limit: 50 },
      });
      const { tools } = structuredContent as { tools: Record<string, unknown>[] };
      return tools.find((tool) => tool['tool_name'] === 'everything') ?? {};
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

const text = ({ content }: { content: { text?: string }[] }): string => content[0]?.text ?? '';

/** Returns whether a feature works. Throws if it should and does not. */
const trials: Record<
  Feature,
  (
    caller: Caller,
    place: { version: ClientVersion; way: Way; url: string; places: Places },
  ) => Promise<boolean>
> = {
  async apps({ client, tool }) {
    const { _meta } = (await tool()) as { _meta?: { ui?: { resourceUri?: string } } };
    const { contents } = await client.readResource({ uri: _meta?.ui?.resourceUri ?? '' });
    return JSON.stringify(contents).includes('<h1>app</h1>');
  },
  async skills({ client }) {
    const entry = z.looseObject({ uri: z.string() });
    const { skills } = await client.request(
      { method: 'skills/list', params: {} },
      z.looseObject({ skills: z.array(entry) }),
    );
    const uri = skills[0]?.uri ?? '';
    const { skill } = await client.request(
      { method: 'skills/get', params: { uri } },
      z.looseObject({ skill: entry }),
    );
    const { contents } = await client.readResource({ uri });
    return skill.uri === uri && JSON.stringify(contents).includes('# Help');
  },
  async tasks({ call }, { version, way, url }) {
    const plain = text(await call('job'));
    if (plain !== 'done') throw new Error(`the call ended with ${plain}`);
    if (way === 'meta' || version < '2025-11-25') return false;
    return taskEnds(version, url);
  },
  async urlElicitation({ call }) {
    return text(await call('sign')).includes('accept');
  },
  async completion({ client }) {
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'greet' },
      argument: { name: 'who', value: 'a' },
    });
    return completion.values.includes('ada');
  },
  async subscriptions({ client, updated }, { version, places }) {
    if (version === '2026-07-28') await client.listen({ resourceSubscriptions: ['notes://1'] });
    else await client.subscribeResource({ uri: 'notes://1' });
    // The way to the server is set up in the background.
    while (updated.length === 0) {
      places.update();
      await delay(20);
    }
    return updated[0] === 'notes://1';
  },
  async progress({ call }) {
    let count = 0;
    await call('count', { onprogress: () => void (count += 1) });
    return count === 2;
  },
  async cancellation({ call }, { places }) {
    const before = places.observed.canceled;
    const controller = new AbortController();
    places.observed.onWaiting = () => controller.abort(new Error('not needed'));
    await call('wait', { signal: controller.signal }).then(
      () => expect.unreachable('it ended'),
      () => undefined,
    );
    await expect.poll(() => places.observed.canceled).toBe(before + 1);
    return true;
  },
  async structuredOutput({ call, tool }) {
    const { structuredContent } = await call('everything');
    const described = await tool();
    return (
      JSON.stringify(structuredContent) === '{"n":1}' &&
      (described['outputSchema'] ?? described['output_schema']) !== undefined
    );
  },
  async resourceLinks({ call }) {
    return (await call('everything')).content.some((part) => part.type === 'resource_link');
  },
  async icons({ tool }) {
    return Array.isArray((await tool())['icons']);
  },
  async audio({ call }) {
    return (await call('everything')).content.some((part) => part.type === 'audio');
  },
};

/** Runs a tool as a task, and returns whether its result arrives. False if there are no tasks. */
async function taskEnds(version: ClientVersion, url: string): Promise<boolean> {
  const isModern = version === '2026-07-28';
  const caller = mcpCaller(url, { version: isModern ? '2026-07-28' : '2025-11-25' });
  const extensions = { 'io.modelcontextprotocol/tasks': {} };
  const _meta = { 'io.modelcontextprotocol/clientCapabilities': { extensions } };
  const own = isModern ? { _meta } : {};
  const greeting = await caller.ask(isModern ? 'server/discover' : 'initialize', own);
  const { capabilities } = greeting.result as { capabilities: { tasks?: object; extensions?: object } };
  const offered = isModern
    ? Object.hasOwn(capabilities.extensions ?? {}, 'io.modelcontextprotocol/tasks')
    : capabilities.tasks !== undefined;
  if (!offered) return false;
  const asTask = isModern ? own : { task: { ttl: 60_000 } };
  const { result, text: answered } = await caller.ask('tools/call', {
    name: 'job',
    arguments: {},
    ...asTask,
  });
  const { taskId } = (isModern ? result : (result['task'] ?? {})) as { taskId?: string };
  if (taskId === undefined) throw new Error(`no task: ${answered}`);
  for (;;) {
    const { result: state, text: told } = await caller.ask('tasks/get', { taskId, ...own });
    if (state['status'] === 'completed') break;
    if (state['status'] !== 'working') throw new Error(told);
    await delay(50);
  }
  const final = await caller.ask(isModern ? 'tasks/get' : 'tasks/result', { taskId, ...own });
  return final.text.includes('done');
}

describe.each(generations)('a %s server', (generation) => {
  let places: Places;
  beforeAll(async () => (places = await openPlaces(generation)));
  afterAll(() => places?.[Symbol.asyncDispose]());

  describe.each(clientVersions)('and a client of %s', (version) => {
    test.each(Object.keys(ways) as Way[])('at the place %s', async (way) => {
      const url = places.urlOf(way);
      const found: Partial<Record<Feature, string>> = {};
      const expected: Partial<Record<Feature, string>> = {};

      for (const feature of Object.keys(features) as Feature[]) {
        await using caller = await connect(version, way, url);
        expected[feature] =
          unsupportedReason(feature, { client: version, way }) === undefined ? 'works' : 'refused';
        found[feature] = await trials[feature](caller, { version, way, url, places }).then(
          (isThere) => (isThere ? 'works' : 'refused'),
          (error: unknown) => `refused${expected[feature] === 'refused' ? '' : `: ${String(error)}`}`,
        );
      }

      expect(found).toEqual(expected);
    });
  });
});
