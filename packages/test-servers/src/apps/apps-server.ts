import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler, fromJsonSchema } from '@modelcontextprotocol/server';
import { serveOwn } from '../conformance/http.ts';
import type { HttpFixture } from '../conformance/http.ts';

/** One app: the tool `show-NAME` has the page `ui://apps/NAME`. */
export interface TestApp {
  /** The page, or the content of its resource. */
  html: string;
  /** The metadata of the page, such as the hosts that the app asks for. */
  ui?: Record<string, unknown>;
  mimeType?: string;
}

export interface AppsFixture extends HttpFixture {
  /** The calls of tools, and the resources that were read. */
  seen: string[];
}

/** Serves MCP Apps (SEP-1865) over streamable HTTP, with two tools for the apps and one that is not for apps. */
export async function serveApps(apps: Readonly<Record<string, TestApp>>): Promise<AppsFixture> {
  const seen: string[] = [];
  const handler = createMcpHandler(() => appsServer(apps, seen), { legacy: 'reject' });
  const served = await serveOwn(toNodeHandler(handler), { host: '127.0.0.1', port: 0 });
  return { ...served, seen, [Symbol.asyncDispose]: () => served[Symbol.asyncDispose]() };
}

const anything = fromJsonSchema<Record<string, unknown>>({
  type: 'object',
  properties: { word: { type: 'string' } },
});

function appsServer(apps: Readonly<Record<string, TestApp>>, seen: string[]): McpServer {
  const server = new McpServer(
    { name: 'apps', version: '1.0.0' },
    { capabilities: { tools: {}, resources: {}, extensions: { 'io.modelcontextprotocol/ui': {} } } },
  );
  const addTool = (name: string, ui: Record<string, unknown> | undefined): void => {
    const _meta = ui === undefined ? undefined : { ui };
    server.registerTool(name, { inputSchema: anything, ...(_meta && { _meta }) }, (args) => {
      seen.push(`${name} ${JSON.stringify(args)}`);
      return { content: [{ type: 'text', text: `${name} says ${String(args['word'])}` }] };
    });
  };
  for (const [name, { html, ui, mimeType = 'text/html;profile=mcp-app' }] of Object.entries(apps)) {
    const uri = `ui://apps/${name}`;
    addTool(`show-${name}`, { resourceUri: uri });
    server.registerResource(name, uri, { mimeType }, () => {
      seen.push(uri);
      return { contents: [{ uri, mimeType, text: html, ...(ui && { _meta: { ui } }) }] };
    });
  }
  addTool('greet', undefined);
  addTool('refresh', { visibility: ['app'] });
  addTool('model-only', { visibility: ['model'] });
  server.registerResource('note', 'test://note', { mimeType: 'text/plain' }, () => {
    seen.push('test://note');
    return { contents: [{ uri: 'test://note', mimeType: 'text/plain', text: 'a note' }] };
  });
  return server;
}
