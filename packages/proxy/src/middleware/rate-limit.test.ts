import { expect, test } from 'vitest';
import { ownMessage, readMessage } from '../jsonrpc/message.ts';
import { unknownClient } from '../upstream/server-sessions.ts';
import { rateLimit } from './rate-limit.ts';
import type { RateLimits, TokenBuckets } from './rate-limit.ts';

const hour = 3_600_000;

function limiter(limits: RateLimits, shared?: TokenBuckets) {
  let nowMs = 0;
  const middleware = rateLimit({ rateLimits: { limits, shared, now: () => nowMs } });
  const call = async (user = '', tool: unknown = 'search', method = 'tools/call'): Promise<number> => {
    const outcome = await middleware?.message?.({
      workload: 'weather',
      principal: { id: user },
      client: unknownClient,
      direction: 'to server',
      message: ownMessage({ id: 1, method, params: { name: tool } }),
    });
    return outcome?.kind === 'refusal' ? (outcome.http?.status ?? 0) : 200;
  };
  const calls = async (count: number, ...given: Parameters<typeof call>): Promise<number> => {
    let passed = 0;
    for (let n = 0; n < count; n += 1) passed += (await call(...given)) === 200 ? 1 : 0;
    return passed;
  };
  return { call, calls, wait: (ms: number) => (nowMs += ms) };
}

test('calls beyond the limit are refused until tokens are there again', async () => {
  const { call, calls, wait } = limiter({ shared: { maxTokens: 4, refillMs: 4_000 } });

  const first = await calls(10);
  const refused = await call();
  wait(2_000);
  const second = await calls(10);
  wait(1_000_000);

  expect([first, refused, second, await calls(10)]).toEqual([4, 429, 2, 4]);
});

test('a refusal says when the next call is possible', async () => {
  const middleware = rateLimit({
    rateLimits: { limits: { shared: { maxTokens: 1, refillMs: 10_000 } }, now: () => 0 },
  });
  const context = {
    workload: 'weather',
    principal: { id: '' },
    client: unknownClient,
    direction: 'to server' as const,
    message: readMessage('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}'),
  };
  await middleware?.message?.(context);

  expect(await middleware?.message?.(context)).toMatchObject({
    message: 'too many tool calls: the next one is possible in 10 s',
    http: { status: 429, headers: { 'retry-after': '10' } },
  });
});

test('users have a limit each, unless they are anonymous', async () => {
  const { calls } = limiter({ perUser: { maxTokens: 2, refillMs: hour } });

  expect([await calls(5, 'alice'), await calls(5, 'bob'), await calls(5)]).toEqual([2, 2, 5]);
});

test('a call that one limit refuses takes no token of another one', async () => {
  const { calls } = limiter({
    shared: { maxTokens: 5, refillMs: hour },
    tools: { search: { shared: { maxTokens: 2, refillMs: hour } } },
  });

  expect([await calls(9), await calls(9, '', 'other')]).toEqual([2, 3]);
});

test('only tool calls count, and names of other things are no tools', async () => {
  const { calls } = limiter({ tools: { search: { shared: { maxTokens: 1, refillMs: hour } } } });

  const others = [
    await calls(3, '', 'search', 'prompts/get'),
    await calls(3, '', '__proto__'),
    await calls(3, '', 7),
  ];

  expect([others, await calls(3)]).toEqual([[3, 3, 3], 1]);
});

test('a storage that fails leaves the limit of this proxy', async () => {
  const { calls } = limiter(
    { shared: { maxTokens: 3, refillMs: hour } },
    { take: () => Promise.reject(new Error('down')) },
  );

  expect(await calls(9)).toBe(3);
});
