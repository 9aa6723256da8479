import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Tool } from '@modelcontextprotocol/client';

/** Longer than servers try to reach a service that this machine does not reach. */
const answerMs = 120_000;

/**
 * Connects the official client, lists the tools, and calls one that only reads as far as its name tells. Returns the
 * answer, which can be an error of the server itself. Throws if there is no session, no tool, or no answer.
 */
export async function firstAnswer(url: string): Promise<{ tool: string; answer: string }> {
  const client = new Client({ name: 'toolhive-survey', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  try {
    const { tools } = await client.listTools();
    const tool = mostHarmless(tools);
    if (tool === undefined) throw new Error('the server offers no tools');
    const given = Object.fromEntries(requiredOf(tool).map((name) => [name, exampleOf(tool, name)]));
    return { tool: tool.name, answer: await answerOf(client, tool.name, given) };
  } finally {
    await client.close();
  }
}

async function answerOf(client: Client, name: string, given: Record<string, unknown>): Promise<string> {
  try {
    const { content } = await client.callTool({ name, arguments: given }, { timeout: answerMs });
    return JSON.stringify(content);
  } catch (error) {
    // The server's own error has a number. Others are of the client or the connection.
    if (error instanceof Error && 'code' in error && typeof error.code === 'number') return error.message;
    throw error;
  }
}

/** Of the tools with the name of a query, the one that requires the fewest arguments. */
function mostHarmless(tools: readonly Tool[]): Tool | undefined {
  const reading = tools.filter(({ name }) => /list|get|search|status|read|help|info|find|query/i.test(name));
  return (reading.length > 0 ? reading : tools).toSorted(
    (one, other) => requiredOf(one).length - requiredOf(other).length,
  )[0];
}

const requiredOf = ({ inputSchema }: Tool): readonly string[] => inputSchema.required ?? [];

const examples: Readonly<Record<string, unknown>> = {
  number: 1,
  integer: 1,
  boolean: false,
  array: [],
  object: {},
};

function exampleOf({ inputSchema }: Tool, name: string): unknown {
  const { enum: choices, type } = (inputSchema.properties?.[name] ?? {}) as {
    enum?: unknown[];
    type?: string;
  };
  return choices?.[0] ?? examples[type ?? ''] ?? 'hello';
}
