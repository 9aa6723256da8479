import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { abandonKey } from '@toolhive/contract/mcp-meta';
import { WorkloadInput } from '../input/workload-input.ts';
import { ownMessage } from '../jsonrpc/message.ts';
import { MessagePipeline } from '../middleware/message-pipeline.ts';
import { ScriptedServer, openScriptedProxy } from '../testing/scripted-server.ts';
import { RawSession, answerOf, openTestProxy, postModern, readEvents } from '../testing/test-proxy.ts';
import type { Received } from '../testing/test-proxy.ts';
import { StdioTransport } from '../transport/stdio-transport.ts';
import { Bridge } from './bridge.ts';
import { defaultLimits } from './limits.ts';

const never = new AbortController().signal;
const quick = { interval: 5 };
const clientInfo = { name: 'editor', version: '1' };

interface CallParams {
  name: string;
  arguments: object;
}

async function callModern(url: string, name: string, given: object = {}): Promise<unknown> {
  const response = await postModern(url, 'tools/call', { name, arguments: given }, { clientInfo });
  return (await answerOf(response)).result?.['content'];
}

describe('a call of a modern client that the client cancels', () => {
  test('is cancelled at a legacy server, which keeps its process and its state', async () => {
    await using proxy = await openScriptedProxy();
    await callModern(proxy.url, 'remember', { value: 'noted' });
    const over = new AbortController();
    const call = { name: 'hold' };
    const held = postModern(proxy.url, 'tools/call', call, { clientInfo, signal: over.signal }).catch(
      () => {},
    );
    const holding = (): ScriptedServer | undefined =>
      proxy.servers.find((server) => server.last('tools/call')?.params?.name === 'hold');
    await expect.poll(holding, quick).toBeDefined();
    const server = holding();

    over.abort();
    await held;

    await expect.poll(() => server?.methods, quick).toContain('notifications/cancelled');
    expect(server?.last('notifications/cancelled')?.params).toMatchObject({
      requestId: server?.last('tools/call')?.id,
    });
    expect(await callModern(proxy.url, 'recall')).toEqual([{ type: 'text', text: 'noted' }]);
    expect(server?.isRunning).toBe(true);
  });
});

test.each(['tools/call', 'tools/list'])(
  'a legacy server gets %s without the description of a modern client',
  async (method) => {
    await using proxy = await openScriptedProxy();
    const _meta = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    const params = method === 'tools/call' ? { name: 'recall', arguments: {} } : {};

    const response = await postModern(proxy.url, method, params, {
      clientInfo,
      capabilities: { sampling: {} },
      _meta,
    });

    expect((await answerOf(response)).error).toBeUndefined();
    const asked = proxy.servers.findLast((server) => server.last(method) !== undefined)?.last(method);
    expect(asked?.params?._meta).toEqual(_meta);
  },
);

describe('many calls of a modern client at once', () => {
  test('take the processes that others give back, instead of replacing them', async () => {
    await using proxy = await openScriptedProxy({ limits: { maxOwn: 2 } });
    const calls = Array.from({ length: 30 }, async (_, n) => callModern(proxy.url, 'remember', { value: n }));

    const answers = await Promise.all(calls);

    expect(answers).toEqual(calls.map((_, n) => [{ type: 'text', text: String(n) }]));
    expect(proxy.servers.length).toBeLessThanOrEqual(4); // with the shared one, and one in advance
  });

  test('do not start a process each while the first ones start', async () => {
    const greeting = {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'scripted', version: '1' },
    };
    const starting = new Set<ScriptedServer>();
    let isSlow = true;
    const initialize = (server: ScriptedServer): unknown => {
      if (!isSlow || server.id === 's0') return greeting;
      starting.add(server);
      return undefined;
    };
    await using proxy = await openScriptedProxy({ limits: { maxStarting: 2 } }, { initialize });
    const calls = Array.from({ length: 8 }, async () => callModern(proxy.url, 'recall'));
    await expect.poll(() => starting.size, quick).toBe(2);
    const other = { clientInfo: { name: 'another editor', version: '1' } };
    const call = postModern(proxy.url, 'tools/call', { name: 'recall', arguments: {} }, other);
    await expect.poll(() => starting.size, quick).toBe(3);

    isSlow = false;
    for (const server of starting) server.send({ id: server.last('initialize')?.id, result: greeting });

    expect(await Promise.all(calls)).toHaveLength(8);
    expect((await answerOf(await call)).error).toBeUndefined();
    expect(starting.size).toBe(3);
  });
});

describe('a call whose modern client was asked something and gives the call up', () => {
  const capabilities = { elicitation: { form: {} }, sampling: {} };
  const abandon = { capabilities, clientInfo, _meta: { [abandonKey]: true } };
  const elicitation = {
    method: 'elicitation/create',
    params: { message: 'Who?', requestedSchema: { type: 'object', properties: {} } },
  };
  const sampling = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } };

  async function askedBy(url: string, question: object): Promise<{ params: CallParams; state: unknown }> {
    const params = { name: 'ask', arguments: { ...question } };
    const response = await postModern(url, 'tools/call', params, { capabilities, clientInfo });
    return { params, state: (await answerOf(response)).result?.['requestState'] };
  }

  test.each([
    ['elicitation', elicitation, { result: { action: 'cancel' } }],
    ['sampling', sampling, { error: { code: -1 } }],
  ])('is cancelled at a legacy server, which gets an answer: %s', async (_name, question, refusal) => {
    await using proxy = await openScriptedProxy();
    const { params, state } = await askedBy(proxy.url, question);
    const server = proxy.servers.find((each) => each.asked > 0);

    const response = await postModern(proxy.url, 'tools/call', { ...params, requestState: state }, abandon);

    expect((await answerOf(response)).error?.message).toBe('the client canceled the request');
    await expect.poll(() => server?.methods, quick).toContain('notifications/cancelled');
    expect(server?.last('notifications/cancelled')?.params?.['requestId']).toBe(
      server?.last('tools/call')?.id,
    );
    expect(server?.heard.find(({ id, method }) => id === 'q1' && method === undefined)).toMatchObject(
      refusal,
    );
    const late = await postModern(
      proxy.url,
      'tools/call',
      { ...params, requestState: state },
      { capabilities, clientInfo },
    );
    expect((await answerOf(late)).error?.message).toContain('requestState was already used');
  });

  test('is not reached by another request', async () => {
    await using proxy = await openScriptedProxy();
    const { params, state } = await askedBy(proxy.url, elicitation);
    const server = proxy.servers.find((each) => each.asked > 0);

    const other = { name: 'ask', arguments: {}, requestState: state };
    await (await postModern(proxy.url, 'tools/call', other, abandon)).text();

    const inputResponses = { q1: { action: 'accept', content: {} } };
    const resumed = { ...params, requestState: state, inputResponses };
    const response = await postModern(proxy.url, 'tools/call', resumed, { capabilities, clientInfo });
    expect(JSON.stringify((await answerOf(response)).result)).toContain('accept');
    expect(server?.methods).not.toContain('notifications/cancelled');
  });

  test('is not made again at a modern server', async () => {
    const server = new ScriptedServer('modern', {
      'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }),
      'tools/list': () => ({ resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' }),
      'tools/call': () => ({ resultType: 'input_required', inputRequests: {}, requestState: 'mine' }),
    });
    await using proxy = await openTestProxy();
    await proxy.proxy.connect(server, async () => server, never);

    const call = { name: 'any', requestState: 'mine' };
    await (await postModern(proxy.url, 'tools/call', call, abandon)).text();

    expect(server.methods).not.toContain('tools/call');
  });
});

test('a legacy client gets rising progress from a modern server that begins a call again', async () => {
  const server = new ScriptedServer('modern', {
    'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }),
    'tools/call'(self, { params }) {
      const progressToken = params?._meta?.progressToken;
      const report = (progress: number): void =>
        self.send({ method: 'notifications/progress', params: { progressToken, progress } });
      report(1);
      if (params?.['inputResponses'] === undefined)
        return { resultType: 'input_required', inputRequests: { where: { method: 'roots/list' } } };
      report(2);
      return { resultType: 'complete', content: [] };
    },
  });
  await using proxy = await openTestProxy();
  await proxy.proxy.connect(server, async () => server, never);
  const session = await RawSession.open(proxy.url, { capabilities: { roots: {} } });
  const call = await session.postCall(1, 'any', {}, { _meta: { progressToken: 'mine' } });

  const received: Received[] = [];
  for await (const message of readEvents(call)) {
    received.push(message);
    if (message.method === 'roots/list') await session.post({ id: message.id, result: { roots: [] } });
  }

  expect(received.map(({ method, params }) => params?.['progress'] ?? method ?? 'answer')).toEqual([
    1,
    'roots/list',
    2,
    'answer',
  ]);
});

test('a session that loses its place while its call waits gets another place for the call', async () => {
  const input = new WorkloadInput();
  const open = async (id: string): Promise<StdioTransport> => {
    const { stdio } = new ScriptedServer(id);
    return new StdioTransport({ ...stdio, limits: input });
  };
  const faults: unknown[] = [];
  const onFault = (fault: unknown): void => {
    faults.push(fault);
  };
  await using bridge = new Bridge({
    workload: 'test',
    version: 'v0.0.0-test',
    sessions: 'own',
    messages: new MessagePipeline([], onFault),
    limits: { ...defaultLimits, maxOwn: 1, maxStarting: 1 },
    isSlowToStart: false,
    input,
    onExcess: () => {},
    onFault,
  });
  await bridge.connect({ transport: await open('shared'), openTransport: () => open('own') }, never);
  const call = ownMessage({ id: 1, method: 'tools/call', params: { name: 'instance' } });
  const begin = () => {
    const session = bridge.sessions.begin({ id: 'local' });
    bridge.sessions.keep(session);
    session.isLasting = true;
    return session;
  };
  const ask = (session: ReturnType<typeof begin>): Promise<string> =>
    new Promise((resolve) =>
      bridge.accept(session, call, { notify() {}, answer: ({ text }) => resolve(text) }),
    );
  const [one, two] = [begin(), begin()];
  await ask(one);
  await nextTurn(); // from now on, the pool may close the connection

  const answers = await Promise.all([ask(one), ask(two)]); // both before anything else happens

  expect(answers).toEqual([expect.stringContaining('"own"'), expect.stringContaining('"own"')]);
  expect(faults).toEqual([]);
});
