import { expect, test } from 'vitest';
import { readMessage } from '../jsonrpc/message.ts';
import { promisedResults } from './promised-results.ts';
import type { CallContext } from './middleware.ts';

/** What a client gets of a result that is only text, after the server has listed its tool with these members. */
function structuredAfter(required: readonly string[]): unknown {
  const middleware = promisedResults({ repairsResults: true });
  const answer = (method: string, params: object, result: object): unknown => {
    const context: CallContext = {
      workload: 'test',
      principal: { id: '' },
      client: { protocolVersion: '2025-11-25', capabilities: {} },
      direction: 'to client',
      request: readMessage(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })),
      message: readMessage(JSON.stringify({ jsonrpc: '2.0', id: 1, result })),
    };
    const outcome = middleware?.message?.(context);
    return outcome !== undefined && 'value' in outcome ? outcome.value.result : outcome;
  };
  const value = JSON.stringify(Object.fromEntries(required.map((name) => [name, 1])));
  const outputSchema = { type: 'object', required };
  answer('tools/list', {}, { tools: [{ name: 'a', inputSchema: { type: 'object' }, outputSchema }] });
  return answer('tools/call', { name: 'a' }, { content: [{ type: 'text', text: value }] });
}

test('a result in text gets the structure that the schema of its tool promises', () => {
  expect(structuredAfter(['x'])).toMatchObject({ structuredContent: { x: 1 } });
});

test('a schema with very long names is not remembered, because a server can list thousands of them', () => {
  expect(structuredAfter(['x'.repeat(20_000)])).not.toHaveProperty('structuredContent');
});
