import { createInterface } from 'node:readline';
import type { MemoryServer } from '@toolhive/runtime/memory';
import { identity, unknown } from './answer.ts';

/** The source of benchmark workloads. The name has no meaning, because neither runtime installs anything. */
export const image = 'npx://bench-server@1.0.0';

/** A server in the daemon's own memory that answers the handshake and then nothing. */
export const memoryServers: ReadonlyMap<string, MemoryServer> = new Map([
  [
    image,
    async ({ input, output }) => {
      for await (const line of createInterface(input)) {
        const { id, method } = JSON.parse(line) as { id?: number; method: string }; // the bridge wrote it
        const answer = method === 'initialize' ? { result: identity } : { error: unknown };
        if (id !== undefined) output.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
      }
    },
  ],
]);
