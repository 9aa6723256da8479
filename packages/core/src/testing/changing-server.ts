import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { json } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { openMemoryRuntime } from '@toolhive/runtime/memory';
import type { MemoryServer } from '@toolhive/runtime/memory';
import type { Runtime } from '@toolhive/runtime/runtime';
import { formatSource } from '@toolhive/runtime/source';
import { testServersSource } from '@toolhive/runtime/testing/memory-servers';

/** What a server says about itself. A test changes it while the server runs. */
export interface Says {
  generation: 'legacy' | 'modern';
  instructions?: string | undefined;
  tools: Record<string, unknown>[];
  prompts: Record<string, unknown>[];
  resources: Record<string, unknown>[];
  resourceTemplates: Record<string, unknown>[];
  /** The entries of skills (SEP-2640). Without them, the server does not have the extension. */
  skills?: Record<string, unknown>[];
  /** The content of resources that can be read. All others are empty. */
  files?: Record<string, string>;
  /** How many items a page has; all of them by default. */
  pageSize?: number;
  /** Replaces the whole text of a result, by method. */
  rawResults: Record<string, string>;
  /** The names in the calls, reads, and gets that have reached the server. */
  used: string[];
}

export function says(changes: Partial<Says> = {}): Says {
  return {
    generation: 'legacy',
    tools: [],
    prompts: [],
    resources: [],
    resourceTemplates: [],
    rawResults: {},
    used: [],
    ...changes,
  };
}

interface Asked {
  id?: string | number;
  method?: string;
  params?: { cursor?: string; name?: string; uri?: string };
}

const listed: Record<string, 'tools' | 'prompts' | 'resources' | 'resourceTemplates' | 'skills'> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
  'skills/list': 'skills',
};

const plainCapabilities = { tools: { listChanged: true }, prompts: {}, resources: { subscribe: true } };
const serverInfo = { name: 'changing', version: '1' };

/** A runtime in memory whose servers all say the same, over standard input and output or over HTTP. */
export function openChangingRuntime(said: Says): Runtime {
  const server: MemoryServer = async ({ args: [transport], env, input, output, ended }) => {
    if (transport === 'http') {
      const { close } = await serveChanging(said, Number(env['MCP_PORT']));
      await ended;
      return close();
    }
    for await (const line of createInterface({ input })) {
      const answer = answerOf(said, JSON.parse(line) as Asked);
      if (answer !== undefined) output.write(`${answer}\n`);
    }
  };
  return openMemoryRuntime(new Map([[formatSource(testServersSource), server]]));
}

/** The same server over streamable HTTP, without sessions. Port 0 chooses a free one. */
export async function serveChanging(
  said: Says,
  port: number,
): Promise<{ url: string; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    if (request.method === 'POST') void respond(said, request, response);
    else response.writeHead(405).end();
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const { port: bound } = server.address() as AddressInfo; // it listens on TCP
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${bound}/mcp`, close };
}

async function respond(said: Says, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const answer = answerOf(said, (await json(request)) as Asked);
  if (answer === undefined) response.writeHead(202).end();
  else response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
}

function answerOf(said: Says, { id, method = '', params = {} }: Asked): string | undefined {
  if (id === undefined) return undefined;
  const raw = said.rawResults[method];
  if (raw !== undefined) return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${raw}}`;
  const result = resultOf(said, method, params);
  const error = { code: -32601, message: `no ${method}` };
  return JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) });
}

function resultOf(said: Says, method: string, params: NonNullable<Asked['params']>): object | undefined {
  const { generation, instructions, used, skills, files = {} } = said;
  const extensions = { 'io.modelcontextprotocol/skills': {} };
  const capabilities = { ...plainCapabilities, ...(skills === undefined ? {} : { extensions }) };
  const own = instructions === undefined ? {} : { instructions };
  if (method === 'initialize' && generation === 'legacy')
    return { protocolVersion: '2025-11-25', capabilities, serverInfo, ...own };
  if (method === 'server/discover' && generation === 'modern') {
    const _meta = { 'io.modelcontextprotocol/serverInfo': serverInfo };
    return modern({ supportedVersions: ['2026-07-28'], capabilities, serverInfo, _meta, ...own });
  }
  const wrap = generation === 'modern' ? modern : (result: object): object => result;
  const list = listed[method];
  if (list !== undefined) {
    const { pageSize = Infinity } = said;
    const from = Number(params.cursor ?? 0);
    const all = said[list];
    if (all === undefined) return undefined;
    const items = all.slice(from, from + pageSize);
    const rest = from + pageSize < all.length ? { nextCursor: String(from + pageSize) } : {};
    return wrap({ [list]: items, ...rest });
  }
  const name = params.name ?? params.uri;
  if (name !== undefined) used.push(name);
  if (method === 'tools/call') return wrap({ content: [{ type: 'text', text: `called ${name}` }] });
  if (method === 'prompts/get') return wrap({ messages: [] });
  if (method === 'resources/read') return wrap({ contents: [{ uri: name, text: files[name ?? ''] ?? '' }] });
  if (method === 'skills/get') return wrap({ skill: skills?.find(({ uri }) => uri === name) });
  return method === 'ping' ? {} : undefined;
}

function modern(result: object): object {
  return { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result };
}
