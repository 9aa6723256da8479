import { afterAll, beforeAll, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { connectTo, officialClients } from './testing/mcp.ts';
import { makeUser, serve, testServer } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

let user: User;

beforeAll(async () => {
  user = await openUsedHomes().take();
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
    await using sse = await officialClients['previous SDK, SSE']!(new URL('/sse', url).href); // one of its own keys
    await using streamable = await connectTo(url);

    const results = [
      await sse.call('echo', { message: 'as events' }),
      await streamable.call('echo', { message: 'as one answer' }),
    ];

    expect(new URL(url).pathname).toBe('/mcp');
    expect(results.map(({ text }) => text)).toEqual(['as events', 'as one answer']);
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

test('lets no server with a network reach the daemon or the proxies of others', async () => {
  proves('run.sandbox.loopback');
  const other = new URL(await run('neighbour'));
  await using daemonUser = await makeUser();
  await using daemon = await serve(daemonUser);
  await using client = await connectTo(
    await run('curious', '--proxy-mode', 'streamable-http', '--permission-profile', 'network'),
  );

  const targets = [other, new URL(daemon.base)].flatMap(({ port }) =>
    ['127.0.0.1', 'localhost', '10.0.2.2'].map((host) => ({ host, port })),
  );
  const dialled = await Promise.all(targets.map((target) => client.call('dial', { ...target, ms: 1000 })));

  expect(dialled.map(({ failed }) => failed)).toEqual(targets.map(() => true));
});
