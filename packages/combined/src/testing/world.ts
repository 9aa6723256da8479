import { combinedServerName } from '@toolhive/contract/names';
import { testServer } from '@toolhive/core/testing';
import { openTestApi } from '@toolhive/api/testing';
import type { TestApi } from '@toolhive/api/testing';
import { mcpCaller } from '@toolhive/api/testing/mcp-caller';
import type { McpCaller, McpCallerOptions } from '@toolhive/api/testing/mcp-caller';
import { openServers } from './servers.ts';
import type { Manners, TestServers } from './servers.ts';

/** A daemon with a group whose clients get one endpoint. */
export interface World extends AsyncDisposable {
  api: TestApi;
  /** The endpoint. */
  url: string;
  notify: TestServers['notify'];
  /** Runs another server in the group. */
  add: (name: string) => Promise<void>;
  /** Connects a client of a version to the endpoint. */
  client: (options?: McpCallerOptions) => Promise<McpCaller>;
}

export async function openWorld(
  servers: Record<string, Manners>,
  {
    tools = [],
    later = [],
    changes = {},
    combined,
    endpoint = 'combined',
  }: {
    tools?: string[];
    later?: string[];
    changes?: Record<string, object>;
    combined?: object;
    endpoint?: 'combined' | 'meta';
  } = {},
): Promise<World> {
  const { runtime, notify } = openServers(servers);
  const api = await openTestApi({ runtimes: () => [runtime] });
  const add = async (name: string): Promise<void> => {
    const body = { name, image: testServer, cmd_arguments: [name], group: 'work', ...changes[name] };
    await api.client.createWorkload({ body }, { onProgress: () => {} });
  };
  await api.client.createGroup({ body: { name: 'work', tools } });
  if (combined !== undefined) {
    const body = { name: 'combined-work', image: combinedServerName, group: 'work', ...combined };
    await api.client.createWorkload({ body }, { onProgress: () => {} });
  }
  await api.client.editGroup({ params: { name: 'work' }, body: { endpoint } });
  for (const name of Object.keys(servers)) if (!later.includes(name)) await add(name);
  const server = api.core.workloads.require(`${endpoint}-work`);
  await server.follow(() => {});
  const url = `http://127.0.0.1:${server.runConfig.port}/mcp`;
  return {
    api,
    url,
    notify,
    add,
    async client(options = {}) {
      const client = mcpCaller(url, options);
      if (options.version !== '2026-07-28') await client.ask('initialize');
      return client;
    },
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
}

/** The names and URIs in a list. */
export async function namesIn(client: McpCaller, method: string): Promise<string[]> {
  const { result } = await client.ask(method);
  const [items = []] = Object.values(result).filter(Array.isArray);
  return (items as { name?: string; uri?: string; uriTemplate?: string }[]).map(
    ({ name, uri, uriTemplate }) => uriTemplate ?? uri ?? name ?? '',
  );
}

/** The text of a tool's result, or the message of the error. */
export async function call(client: McpCaller, name: string, args: object = {}): Promise<string> {
  const { result, error } = await client.ask('tools/call', { name, arguments: args });
  const content = (result['content'] ?? []) as { text?: string }[];
  return error?.message ?? content.map(({ text }) => text).join();
}
