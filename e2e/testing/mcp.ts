import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as PreviousClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as PreviousSse } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as PreviousStreamableHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

/** What the tests need of an MCP client, of whichever version. */
export interface TestClient extends AsyncDisposable {
  /** What it and the server agreed on; over SSE only where the client tells. */
  revision: string | undefined;
  tools(): Promise<string[]>;
  call(name: string, given?: Record<string, unknown>): Promise<{ text: string; failed: boolean }>;
}

const identity = { name: 'toolhive-e2e', version: '1.0.0' };

/** The official client: the current SDK or the previous major version, over streamable HTTP or over SSE. */
export const officialClients: Record<string, (url: string) => Promise<TestClient>> = {
  'current SDK, streamable HTTP': (url) =>
    connect(new Client(identity), new StreamableHTTPClientTransport(new URL(url))),
  'current SDK, SSE': (url) => connect(new Client(identity), new SSEClientTransport(new URL('/sse', url))),
  'previous SDK, streamable HTTP': (url) =>
    connect(new PreviousClient(identity), new PreviousStreamableHttp(new URL(url))),
  'previous SDK, SSE': (url) => connect(new PreviousClient(identity), new PreviousSse(new URL('/sse', url))),
};

/** The revision of the stateless generation, which the current SDK speaks only when told to. */
const modernRevision = '2026-07-28';

/** The official client of each generation over streamable HTTP, with somebody behind it who answers what servers ask. */
export const askableClients = {
  legacy(url) {
    const client = new PreviousClient(identity, { capabilities: { sampling: {}, elicitation: {} } });
    client.setRequestHandler(CreateMessageRequestSchema, () => completion);
    client.setRequestHandler(ElicitRequestSchema, () => filledForm);
    return connect(client, new PreviousStreamableHttp(new URL(url)));
  },
  modern(url) {
    const client = new Client(identity, {
      capabilities: { sampling: {}, elicitation: {} },
      versionNegotiation: { mode: { pin: modernRevision } },
    });
    client.setRequestHandler('sampling/createMessage', () => completion);
    client.setRequestHandler('elicitation/create', () => filledForm);
    return connect(client, new StreamableHTTPClientTransport(new URL(url)));
  },
} satisfies Record<string, (url: string) => Promise<TestClient>>;

const completion = {
  model: 'nobody',
  role: 'assistant' as const,
  content: { type: 'text' as const, text: 'a completion' },
};
const filledForm = { action: 'accept' as const, content: { name: 'a name' } };

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

async function connect<Transport>(
  client: AnyClient<Transport>,
  transport: Transport & { protocolVersion?: string | undefined },
): Promise<TestClient> {
  await client.connect(transport);
  return {
    revision: transport.protocolVersion,
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
