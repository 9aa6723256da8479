import { expect, test } from 'vitest';
import type { ServerConnection } from '../connection/connection.ts';
import { listTools } from './tool-list.ts';

/** A server with pages of one tool of the given size. */
function serverWith(pages: number, chars: number) {
  let asked = 0;
  const connection = {
    generation: 'modern',
    identity: { capabilities: { tools: {} } },
    request: async () => {
      asked += 1;
      const tools = [{ name: `tool-${asked}`, description: 'x'.repeat(chars) }];
      return { tools, ...(asked < pages ? { nextCursor: asked } : {}) };
    },
  } as unknown as ServerConnection; // only these members are used
  return { connection, asked: () => asked };
}

test('a list of several pages is read as a whole', async () => {
  const { tools, isWhole } = await listTools(serverWith(3, 10).connection);

  expect(tools.map(({ name }) => name)).toEqual(['tool-1', 'tool-2', 'tool-3']);
  expect(isWhole).toBe(true);
});

test('a list that is too large is not read to its end, however few tools it has', async () => {
  const { connection, asked } = serverWith(100, 8_000_000);

  const { tools, isWhole } = await listTools(connection);

  expect([tools.length, isWhole, asked()]).toEqual([4, false, 5]);
});
