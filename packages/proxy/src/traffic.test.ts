import { testPort } from '@toolhive/testing/port';
import type { Instance } from '@toolhive/runtime/runtime';
import { describe, expect, test } from 'vitest';
import type { EndedCall } from './middleware/traffic.ts';
import { startHttpServer } from './testing/conformance-servers.ts';
import { RawSession, openTestProxy, postModern } from './testing/test-proxy.ts';
import type { TestProxy } from './testing/test-proxy.ts';

// What is told of calls to servers that speak HTTP, whose messages need not be read.

const approving = {
  version: 1,
  isEnforced: false,
  review: async ({ items }: { items: readonly { content: unknown }[] }) => ({
    shown: items.map(({ content }) => content),
    isSettled: true,
  }),
  refusalOf: () => undefined,
  refusalOfFile: () => undefined,
  annotationsOf: () => undefined,
  listedResources: () => [],
};

interface Told extends AsyncDisposable {
  proxy: TestProxy;
  calls: EndedCall[];
}

async function openTold(isRead: boolean): Promise<Told> {
  await using opened = new AsyncDisposableStack();
  const calls: EndedCall[] = [];
  const proxy = opened.use(
    await openTestProxy({
      transport: 'streamable-http',
      traffic: { recordsBodies: false, record: (call) => calls.push(call) },
      ...(isRead ? { pins: approving } : {}),
    }),
  );
  const everything = opened.move();
  return { proxy, calls, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

async function openHttp(generation: 'legacy' | 'modern', isRead: boolean): Promise<Told> {
  await using opened = new AsyncDisposableStack();
  const told = opened.use(await openTold(isRead));
  const start = async (): Promise<Instance> => opened.use(startHttpServer(generation, await testPort()));
  await told.proxy.proxy.connect(await start(), start, AbortSignal.timeout(20_000));
  const everything = opened.move();
  return { ...told, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

describe('messages that nothing needs to read', () => {
  test('pass unread, and a call is what the headers of its request say', async () => {
    await using told = await openHttp('modern', false);
    const { proxy, calls } = told;

    await (await postModern(proxy.url, 'tools/call', { name: 'test_simple_text' })).text();
    await (
      await fetch(`${proxy.url}/mcp`, { method: 'POST', body: '{', headers: { 'mcp-method': 'x' } })
    ).text();
    await fetch(`${proxy.url}/health`);

    expect(proxy.proxy.readsMessages).toBe(false);
    await expect.poll(() => calls.length).toBe(2);
    expect(calls).toMatchObject([
      {
        method: 'tools/call',
        kind: 'tool',
        name: 'test_simple_text',
        protocolVersion: '2026-07-28',
        outcome: 'ok',
        client: undefined,
      },
      { method: 'x', outcome: 'error' },
    ]);
    expect(calls[0]?.requestBytes).toBeGreaterThan(50);
    expect(proxy.proxy.sessions()).toEqual([]);
  });
});

describe('messages that are read for something else', () => {
  test('are told of with their client, session, and outcome', async () => {
    await using told = await openHttp('legacy', true);
    const { proxy, calls } = told;
    const clientInfo = { name: 'cursor', version: '1' };
    const session = await RawSession.open(proxy.url, { capabilities: {}, clientInfo });

    await session.call('test_simple_text');
    await session.call('test_error_handling');
    await expect(session.call('no_such_tool')).rejects.toThrow();

    expect(proxy.proxy.readsMessages).toBe(true);
    expect(calls.filter(({ method }) => method === 'tools/call')).toMatchObject([
      { name: 'test_simple_text', client: clientInfo, outcome: 'ok' },
      { name: 'test_error_handling', outcome: 'error', reason: 'the tool reported an error' },
      { name: 'no_such_tool', outcome: 'error' },
    ]);
  });

  test('show the sessions of the server, which can be ended', async () => {
    await using told = await openTold(true);
    const { proxy } = told;
    await proxy.connect('http');
    const session = await RawSession.open(proxy.url, { capabilities: {}, clientInfo: { name: 'cursor' } });

    const [open] = proxy.proxy.sessions();
    const ended = await proxy.proxy.endSession(session.id);
    const unknown = await proxy.proxy.endSession('another');
    const after = await session.postCall(1, 'echo');

    expect(open).toMatchObject({ id: session.id, process: 'shared', inFlight: 0, isRelayed: false });
    expect(open?.client.clientInfo).toEqual({ name: 'cursor' });
    expect([ended, unknown]).toEqual([true, false]);
    expect(after.status).toBe(404);
    expect(proxy.proxy.sessions()).toEqual([]);
  });
});
