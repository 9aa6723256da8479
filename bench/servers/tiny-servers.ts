import { createInterface } from 'node:readline';
import type { MemoryServer } from '@toolhive/runtime/memory';
import { identity, unknown } from './answer.ts';

/** The sources of benchmark workloads. The names have no meaning, because neither runtime installs anything. */
export const image = 'npx://bench-server@1.0.0';
export const imageWithTools = 'npx://bench-tools@1.0.0';

/** The number of tools of a server with tools. */
export const toolCount = 15;

/** Tools with descriptions and parameters of about the length of real ones. */
const tools = Array.from({ length: toolCount }, (_, at) => ({
  name: `search_documents_${at}`,
  description:
    `Searches the documents of a collection, and returns the best ${at + 1} with their titles and places. `.repeat(
      3,
    ),
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'The words that the documents should contain' },
      limit: { type: 'integer', description: 'The number of results', minimum: 1, maximum: 100 },
    },
    required: ['query'],
  },
}));

/** Servers in the daemon's own memory. */
export const memoryServers: ReadonlyMap<string, MemoryServer> = new Map([
  // Answers the handshake and then nothing.
  [image, serverWith({})],
  [imageWithTools, serverWith({ 'tools/list': { tools } })],
]);

function serverWith(results: Readonly<Record<string, object>>): MemoryServer {
  const known: Readonly<Record<string, object>> = { initialize: identity, ...results };
  return async ({ input, output }) => {
    for await (const line of createInterface(input)) {
      const { id, method } = JSON.parse(line) as { id?: number; method: string }; // the bridge wrote it
      const result = Object.hasOwn(known, method) ? known[method] : undefined;
      const answer = result === undefined ? { error: unknown } : { result };
      if (id !== undefined) output.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
    }
  };
}
