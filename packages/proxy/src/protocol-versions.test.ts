import {
  Client as ModernClient,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { testPort } from '@toolhive/testing/port';
import type { Instance } from '@toolhive/runtime/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startHttpServer, startStdioServer } from './testing/conformance-servers.ts';
import { deliverOneByOne } from './testing/deliver-one-by-one.ts';
import { openTestProxy } from './testing/test-proxy.ts';
import type { TestProxy } from './testing/test-proxy.ts';

const clients = ['2024-11-05 over SSE', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const;
type ClientKind = (typeof clients)[number];

/** What every client here can be asked, and what it answers. */
const capabilities = { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } };

interface Connected extends AsyncDisposable {
  client: ModernClient;
  /** The methods of what it heard. */
  heard: { method: string; params?: unknown }[];
}

async function connectClient(kind: ClientKind, url: string): Promise<Connected> {
  const revision = kind.slice(0, 10);
  const isModern = kind === '2026-07-28';
  const client = new ModernClient(
    { name: 'test', version: '1' },
    {
      capabilities,
      ...(isModern
        ? { versionNegotiation: { mode: { pin: revision } } }
        : { supportedProtocolVersions: [revision] }),
    },
  );
  client.setRequestHandler('sampling/createMessage', async () => ({
    model: 'test',
    role: 'assistant',
    content: { type: 'text', text: 'a completion' },
  }));
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    const fields = 'requestedSchema' in params ? Object.keys(params.requestedSchema.properties) : [];
    return { action: 'accept', content: Object.fromEntries(fields.map((field) => [field, `a ${field}`])) };
  });
  client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///root' }] }));
  const heard: Connected['heard'] = [];
  client.fallbackNotificationHandler = async (notification) => void heard.push(notification);
  const transport =
    kind === '2024-11-05 over SSE'
      ? new SSEClientTransport(new URL(`${url}/sse`))
      : new StreamableHTTPClientTransport(new URL(`${url}/mcp`));
  await client.connect(transport);
  deliverOneByOne(transport);
  return { client, heard, [Symbol.asyncDispose]: () => client.close() };
}

async function callText(
  client: ModernClient,
  name: string,
  given: Record<string, unknown> = {},
): Promise<string> {
  const { content } = await client.callTool({ name, arguments: given });
  const [first] = content;
  return first?.type === 'text' ? first.text : '';
}

describe.each([
  ['legacy', 'stdio'],
  ['modern', 'stdio'],
  ['dual', 'stdio'],
  ['legacy', 'streamable-http'],
  ['modern', 'streamable-http'],
  ['dual', 'streamable-http'],
] as const)('a %s server over %s', (generation, transport) => {
  let server: TestProxy;
  const opened = new AsyncDisposableStack();

  beforeAll(async () => {
    server = opened.use(await openTestProxy({ sessions: 'own', transport }));
    const start = async (): Promise<Instance> =>
      opened.use(
        transport === 'stdio' ? startStdioServer(generation) : startHttpServer(generation, await testPort()),
      );
    await server.proxy.connect(await start(), start, AbortSignal.timeout(20_000));
  });
  afterAll(() => opened.disposeAsync());

  describe.each(clients)('and a client of %s', (kind) => {
    let connection: Connected;
    beforeAll(async () => (connection = await connectClient(kind, server.url)));
    afterAll(() => connection[Symbol.asyncDispose]());

    test('tools, prompts, resources and completion', async () => {
      const { client } = connection;

      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('test_simple_text');
      expect(await callText(client, 'test_simple_text')).toContain('simple text');
      const prompt = await client.getPrompt({
        name: 'test_prompt_with_arguments',
        arguments: { arg1: 'a', arg2: 'b' },
      });
      expect(JSON.stringify(prompt.messages)).toContain("arg1='a'");
      expect((await client.listResources()).resources.length).toBeGreaterThan(1);
      expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(1);
      expect((await client.readResource({ uri: 'test://static-text' })).contents).toHaveLength(1);
      const { completion } = await client.complete({
        ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
        argument: { name: 'arg1', value: 'p' },
      });
      expect(completion.values).toBeInstanceOf(Array);
      await expect(client.readResource({ uri: 'test://nowhere' })).rejects.toThrow('test://nowhere');
    });

    test('progress', async () => {
      const seen: number[] = [];

      await connection.client.callTool(
        { name: 'test_tool_with_progress', arguments: {} },
        { onprogress: ({ progress }) => void seen.push(progress) },
      );

      expect(seen).toEqual([0, 50, 100]);
    });

    test('elicitation', async () => {
      expect(await callText(connection.client, 'test_input_required_result_elicitation')).toContain('a name');
    });

    test('sampling', async () => {
      expect(await callText(connection.client, 'test_sampling', { prompt: 'x' })).toContain('a completion');
    });

    test('roots, sampling and elicitation at once', async () => {
      const text = await callText(connection.client, 'test_input_required_result_multiple_inputs');

      expect(text).toContain('file:///root');
      expect(text).toContain('a completion');
    });

    test('questions one after the other', async () => {
      expect(await callText(connection.client, 'test_input_required_result_multi_round')).toContain('step2');
    });

    test('changes of lists', async () => {
      const { client, heard } = connection;
      if (kind === '2026-07-28') await client.listen({ toolsListChanged: true });

      await callText(client, 'test_trigger_tool_change');

      await expect
        .poll(() => heard.map(({ method }) => method))
        .toContain('notifications/tools/list_changed');
    });
  });
});
