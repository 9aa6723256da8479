import type { MemoryServer } from '@toolhive/runtime/memory';
import { identity } from './answer.ts';

/** What workloads of a benchmark run. The name means nothing: neither runtime installs anything. */
export const image = 'npx://bench-server@1.0.0';

/** A server in the hive's own memory that answers `initialize` and then nothing. */
export const memoryServers: ReadonlyMap<string, MemoryServer> = new Map([
  [
    image,
    async ({ input, output }) => {
      input.once('data', (line: Buffer) => {
        const { id } = JSON.parse(line.toString()) as { id: number }; // the bridge wrote it
        output.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: identity })}\n`);
        input.resume();
      });
    },
  ],
]);
