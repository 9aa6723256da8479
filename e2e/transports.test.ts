import { afterAll, beforeAll, expect, test } from 'vitest';
import { proves } from './promises.ts';
import { connectTo, officialClients } from './testing/mcp.ts';
import { makeUser, testServer } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

let user: User;

beforeAll(async () => {
  user = await makeUser();
});
afterAll(() => user?.[Symbol.asyncDispose]());

async function run(name: string, ...words: string[]): Promise<string> {
  const stdout = await user.mustThv('run', testServer, '--name', name, ...words);
  return /http:\S+/.exec(stdout)?.[0] ?? '';
}

test.each(['none', 'network'])(
  'reaches a server that speaks streamable HTTP, with the network profile %s',
  async (profile) => {
    proves('transport.http');
    const url = await run(
      `http-${profile}`,
      '--transport',
      'streamable-http',
      '--permission-profile',
      profile,
      '--target-port',
      '18123',
      '--',
      'http',
    );
    await using client = await connectTo(url);

    const { text } = await client.call('echo', { message: 'through the proxy' });

    expect(new URL(url).pathname).toBe('/mcp');
    expect(text).toBe('through the proxy');
  },
);

test.each(['none', 'network'])(
  'reaches a server that speaks SSE, with the network profile %s',
  async (profile) => {
    proves('transport.http');
    const url = await run(
      `sse-${profile}`,
      '--transport',
      'sse',
      '--permission-profile',
      profile,
      '--target-port',
      '18124',
      '--',
      'sse',
    );
    await using client = await officialClients['previous SDK, SSE']!(url); // one of its own keys

    const { text } = await client.call('echo', { message: 'as events' });

    expect(new URL(url).pathname).toBe('/sse');
    expect(text).toBe('as events');
  },
);

test('answers nothing to foreign hosts and origins at the port of a workload', async () => {
  proves('api.host-origin');
  const url = new URL(await run('guarded', '--proxy-mode', 'streamable-http'));

  const foreign = await fetch(url, {
    method: 'POST',
    headers: { origin: 'https://evil.example', 'content-type': 'application/json' },
    body: '{}',
  });
  const own = await fetch(new URL('/health', url));

  expect([foreign.status, own.status]).toEqual([403, 200]);
});
