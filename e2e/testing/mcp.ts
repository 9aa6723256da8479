import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as PreviousClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as PreviousSse } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as PreviousStreamableHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** What the tests need of an MCP client, of whichever version. */
export interface TestClient extends AsyncDisposable {
  tools(): Promise<string[]>;
  call(name: string, given?: Record<string, unknown>): Promise<{ text: string; failed: boolean }>;
}

const identity = { name: 'toolhive-e2e', version: '1.0.0' };

/** The official client: the current SDK or the previous major version, over streamable HTTP or over SSE. */
export const officialClients: Record<string, (url: string) => Promise<TestClient>> = {
  'current SDK, streamable HTTP': (url) =>
    connect(new Client(identity), new StreamableHTTPClientTransport(new URL(url))),
  'current SDK, SSE': (url) => connect(new Client(identity), new SSEClientTransport(new URL(url))),
  'previous SDK, streamable HTTP': (url) =>
    connect(new PreviousClient(identity), new PreviousStreamableHttp(new URL(url))),
  'previous SDK, SSE': (url) => connect(new PreviousClient(identity), new PreviousSse(new URL(url))),
};

/** The official client over streamable HTTP. */
export function connectTo(url: string): Promise<TestClient> {
  return connect(new Client(identity), new StreamableHTTPClientTransport(new URL(url)));
}

interface AnyClient<Transport> {
  connect(transport: Transport): Promise<void>;
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(request: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

async function connect<Transport>(client: AnyClient<Transport>, transport: Transport): Promise<TestClient> {
  await client.connect(transport);
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    async call(name, given = {}) {
      const { content, isError } = (await client.callTool({ name, arguments: given })) as ToolResult;
      return { text: content[0]?.text ?? '', failed: isError === true };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

interface ToolResult {
  content: { text?: string }[];
  isError?: boolean;
}
