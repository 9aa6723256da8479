import { testPort } from '@toolhive/testing/port';
import type { Instance } from '@toolhive/runtime/runtime';
import { unauthorized } from '@toolhive/contract/failure';
import { describe, expect, test } from 'vitest';
import type { ProxyOptions } from '../proxy.ts';
import { startHttpServer } from '../testing/conformance-servers.ts';
import { openScriptedProxy } from '../testing/scripted-server.ts';
import { RawSession, answerOf, openTestProxy, postModern } from '../testing/test-proxy.ts';
import type { TestProxy } from '../testing/test-proxy.ts';

// Which status `toolhive_mcp_requests_total` has for requests that are refused, most of them with the HTTP status 200.

/** How many requests of a method were counted with a status. */
async function counted(url: string, method: string, status: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return text
    .split('\n')
    .filter((line) => line.startsWith('toolhive_mcp_requests_total{'))
    .filter((line) => line.includes(`mcp_method="${method}"`) && line.includes(`status="${status}"`))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

const denyingPins = {
  version: 1,
  isEnforced: true,
  review: async ({ items }: { items: readonly { content: unknown }[] }) => ({
    shown: items.map(({ content }) => content),
    isSettled: true,
  }),
  refusalOf: (_kind: string, name: string) => (name === 'open' ? undefined : 'it changed'),
  refusalOfFile: () => undefined,
  annotationsOf: () => undefined,
  listedResources: () => [],
};

const authorizer = { isAllowed: ({ target }: { target: string }) => target === 'open' };
const answers = { 'tools/call': () => ({ content: [{ type: 'text', text: 'done' }] }) };

/** The ways to deny the tool `shut`, or the second call. */
const denials: [string, Partial<ProxyOptions>][] = [
  ['a policy', { authorizer }],
  ['the tool filter', { tools: { filter: ['open'] } }],
  ['the pinning of tools', { pins: denyingPins }],
  [
    'a rate limit',
    { rateLimits: { limits: { tools: { shut: { shared: { maxTokens: 0.5, refillMs: 3_600_000 } } } } } },
  ],
  ['a policy for a renamed tool', { authorizer, tools: { overrides: { real: { name: 'shut' } } } }],
];

describe.each(denials)('a call that %s denies', (_by, options) => {
  test('is counted as an error for a client of streamable HTTP', async () => {
    await using proxy = await openScriptedProxy({ metrics: true, ...options }, answers);
    const session = await RawSession.open(proxy.url);

    const open = await answerOf(await session.postCall(1, 'open'));
    const shut = await answerOf(await session.postCall(2, 'shut'));

    expect([open.error, shut.error]).toEqual([undefined, expect.anything()]);
    expect(await counted(proxy.url, 'tools/call', 'success')).toBe(1);
    expect(await counted(proxy.url, 'tools/call', 'error')).toBe(1);
  });

  test('is counted as an error for a client of 2026-07-28', async () => {
    await using proxy = await openScriptedProxy({ metrics: true, ...options }, answers);

    const open = await answerOf(await postModern(proxy.url, 'tools/call', { name: 'open' }));
    const shut = await answerOf(await postModern(proxy.url, 'tools/call', { name: 'shut' }));

    expect([open.error, shut.error]).toEqual([undefined, expect.anything()]);
    expect(await counted(proxy.url, 'tools/call', 'success')).toBe(1);
    expect(await counted(proxy.url, 'tools/call', 'error')).toBe(1);
  });

  test('is counted as an error for a client of HTTP+SSE', async () => {
    await using proxy = await openScriptedProxy({ metrics: true, ...options }, answers);
    const leaving = new AbortController();
    const stream = await fetch(`${proxy.url}/sse`, { signal: leaving.signal });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    const endpoint = /^data: (.*)$/m.exec(String((await reader?.read())?.value))?.[1] ?? '';
    const send = (message: object): Promise<Response> =>
      fetch(new URL(endpoint, proxy.url), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      });

    await send({ id: 0, method: 'initialize', params: { protocolVersion: '2024-11-05' } });
    await send({ id: 1, method: 'tools/call', params: { name: 'shut', arguments: {} } });

    await expect.poll(() => counted(proxy.url, 'tools/call', 'error')).toBe(1);
    leaving.abort();
  });

  test('is counted as an error in front of a server that speaks HTTP', async () => {
    await using opened = new AsyncDisposableStack();
    const proxy: TestProxy = opened.use(
      await openTestProxy({ transport: 'streamable-http', metrics: true, ...options }),
    );
    const start = async (): Promise<Instance> => opened.use(startHttpServer('legacy', await testPort()));
    await proxy.proxy.connect(await start(), start, AbortSignal.timeout(20_000));
    const session = await RawSession.open(proxy.url, {
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    });

    const shut = await answerOf(await session.postCall(1, 'shut'));

    expect(shut.error).toBeDefined();
    expect(await counted(proxy.url, 'tools/call', 'error')).toBe(1);
    expect(await counted(proxy.url, 'initialize', 'success')).toBe(1);
  });
});

test('a request without a valid token is counted as an error', async () => {
  const access = {
    check: async (authorization?: string) => {
      if (authorization !== 'Bearer good') throw unauthorized('who are you');
      return { id: 'ada' };
    },
  };
  await using proxy = await openScriptedProxy({ metrics: true, access }, answers);
  const authorized = { authorization: 'Bearer good' };

  const refused = await postModern(proxy.url, 'tools/call', { name: 'open' });

  const figures = await fetch(`${proxy.url}/metrics`, { headers: authorized });
  expect(refused.status).toBe(401);
  expect(await figures.text()).toMatch(
    /toolhive_mcp_requests_total\{.*status_code="401",status="error".* 1$/m,
  );
});

test('a request for another host is counted as an error', async () => {
  await using proxy = await openScriptedProxy({ metrics: true }, answers);

  const refused = await postModern(
    proxy.url,
    'tools/call',
    { name: 'open' },
    { headers: { origin: 'https://a.example' } },
  );

  expect(refused.status).toBe(403);
  expect(await counted(proxy.url, 'unknown', 'error')).toBe(1);
});

test('one denied call of several at once makes their request an error', async () => {
  await using proxy = await openScriptedProxy({ metrics: true, authorizer }, answers);
  const session = await RawSession.open(proxy.url, { protocolVersion: '2025-03-26' });
  const call = (id: number, name: string): object => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: {} },
  });

  await (await session.postText(JSON.stringify([call(1, 'open'), call(2, 'open')]))).text();
  await (await session.postText(JSON.stringify([call(3, 'open'), call(4, 'shut')]))).text();

  expect(await counted(proxy.url, 'unknown', 'success')).toBe(1);
  expect(await counted(proxy.url, 'unknown', 'error')).toBe(1);
});
