import { expect, test } from 'vitest';
import { openScriptedProxy } from '../testing/scripted-server.ts';
import { RawSession, answerOf } from '../testing/test-proxy.ts';

test.each([
  ['with many tools', 3_000, 'short', 2_000],
  ['with long descriptions', 20, 'x'.repeat(200_000), 5],
])(
  'the start of a list %s is kept, and the client gets all of it',
  async (_what, count, description, kept) => {
    const tools = Array.from({ length: count }, (_, n) => ({
      name: `tool_${n}`,
      description,
      inputSchema: { type: 'object' },
    }));
    const listed: [string, number, boolean][] = [];
    const listings = {
      greeted() {},
      unchanged() {},
      listed(kind: string, items: readonly unknown[], isComplete: boolean) {
        listed.push([kind, items.length, isComplete]);
      },
    };
    await using proxy = await openScriptedProxy(
      { listings, repairsResults: true },
      { 'tools/list': () => ({ tools }) },
    );
    const session = await RawSession.open(proxy.url);

    const answer = await answerOf(await session.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }));

    expect(answer.result?.['tools']).toHaveLength(count);
    expect(listed).toContainEqual(['tool', kept, false]);
  },
);
