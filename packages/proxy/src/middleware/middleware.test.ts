import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { unauthorized } from '@toolhive/contract/failure';
import { testPort } from '@toolhive/testing/port';
import { describe, expect, test } from 'vitest';
import { startHttpServer, startStdioServer } from '../testing/conformance-servers.ts';
import { recorder } from '../testing/recorder.ts';
import type { Recorded } from '../testing/recorder.ts';
import { openScriptedProxy } from '../testing/scripted-server.ts';
import type { Said, ScriptedServer } from '../testing/scripted-server.ts';
import { RawSession, answerOf, openTestProxy, postModern, readRawEvents } from '../testing/test-proxy.ts';
import { refusal } from './message-pipeline.ts';
import type { CallContext, Middleware, Outcome, Principal } from './middleware.ts';

async function check(authorization: string | undefined): Promise<Principal> {
  const [, name] = /^Bearer (.+)$/.exec(authorization ?? '') ?? [];
  if (name === undefined) throw unauthorized('a token is missing');
  return { id: name };
}

const as = (name: string): Record<string, string> => ({ authorization: `Bearer ${name}` });
const quick = { timeout: 10_000, interval: 5 };

describe.each([
  ['legacy', 'stdio'],
  ['modern', 'stdio'],
  ['legacy', 'streamable-http'],
  ['modern', 'streamable-http'],
] as const)('middleware in front of a %s server over %s', (generation, transport) => {
  test.each(['2025-11-25', '2026-07-28'])('sees all messages of a client of %s', async (version) => {
    const records: Recorded[] = [];
    await using proxy = await openTestProxy({
      transport,
      sessions: 'own',
      access: { check },
      middleware: [recorder(records)],
    });
    await using servers = new AsyncDisposableStack();
    const start = async () =>
      servers.use(
        transport === 'stdio' ? startStdioServer(generation) : startHttpServer(generation, await testPort()),
      );
    await proxy.proxy.connect(await start(), start, AbortSignal.timeout(20_000));
    const client = await connectClient(proxy.url, version);

    await client.listTools();
    await client.callTool({ name: 'test_tool_with_progress', arguments: {} }, { onprogress: () => {} });
    await client.callTool({ name: 'test_input_required_result_elicitation', arguments: {} });
    await client.close();

    const isModern = version === '2026-07-28';
    const seen = new Set(records.map(({ direction, kind, method }) => `${direction}: ${kind} ${method}`));
    expect([...seen]).toEqual(
      expect.arrayContaining([
        'to server: request tools/list',
        'to client: response tools/list',
        'to server: request tools/call',
        'to client: notification notifications/progress',
        'to client: request elicitation/create',
        // A retried request between two modern sides does not say what it answers.
        `to server: response ${isModern && generation === 'modern' ? undefined : 'elicitation/create'}`,
        'to client: response tools/call',
        ...(isModern
          ? []
          : ['to server: request initialize', 'to server: notification notifications/initialized']),
      ]),
    );
    const whose = records.map(({ principal, workload, session, method }) => [
      principal,
      workload,
      method === 'initialize' || session !== undefined,
    ]);
    expect(new Set(whose.map((one) => one.join()))).toEqual(new Set([`alice,test,${!isModern}`]));
    expect(proxy.faults).toEqual([]);
  });
});

async function connectClient(url: string, version: string): Promise<Client> {
  const isModern = version === '2026-07-28';
  const client = new Client(
    { name: 'test', version: '1' },
    {
      capabilities: { elicitation: { form: {} } },
      ...(isModern
        ? { versionNegotiation: { mode: { pin: version } } }
        : { supportedProtocolVersions: [version] }),
    },
  );
  client.setRequestHandler('elicitation/create', async () => ({
    action: 'accept' as const,
    content: { name: 'Ada' },
  }));
  const requestInit = { headers: as('alice') };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  return client;
}

/** Answers everything that it sees with what `decide` says. */
function middlewareOf(decide: (context: CallContext) => Outcome | Promise<Outcome>): Middleware {
  return { message: decide };
}

describe('middleware', () => {
  test('refuses a request, and what is outside of it sees the refusal as the response', async () => {
    const outcomes: unknown[] = [];
    const outer = middlewareOf(({ message, direction }) => {
      if (direction === 'to client') outcomes.push(message.value.error);
      return message;
    });
    const inner = middlewareOf(({ message }) =>
      message.value.method === 'tools/list' ? refusal(-32001, 'not for you', { why: 'policy' }) : message,
    );
    await using test = await openScriptedProxy({ middleware: [outer, inner] });

    const legacy = await answerOf(await new RawSession(test.url).post({ id: 7, method: 'tools/list' }));
    const modern = await answerOf(await postModern(test.url, 'tools/list'));

    const error = { code: -32001, message: 'not for you', data: { why: 'policy' } };
    expect([legacy, modern]).toMatchObject([{ id: 7, error }, { error }]);
    expect(outcomes).toEqual([error, error]);
    expect(test.servers[0]?.methods).not.toContain('tools/list');
  });

  test('refuses a response, a notification, and a request of the server', async () => {
    const isRefused = new Set(['notifications/message', 'elicitation/create']);
    const middleware = middlewareOf(({ message, direction, request }) => {
      const method = message.value.method ?? request?.value.method;
      const isList = message.kind === 'response' && method === 'tools/list';
      return direction === 'to client' && (isList || isRefused.has(method ?? ''))
        ? refusal(-32001, 'not for you')
        : message;
    });
    await using test = await openScriptedProxy({ middleware: [middleware] });
    const session = await RawSession.open(test.url, { capabilities: { elicitation: {} } });

    const list = await answerOf(await session.post({ id: 1, method: 'tools/list' }));
    const asked = await session.call('ask', { method: 'elicitation/create', params: {} });
    const logged = await session.postCall(3, 'say', { method: 'notifications/message', params: {} });

    expect(list).toMatchObject({ id: 1, error: { code: -32001, message: 'not for you' } });
    expect(JSON.parse(asked)).toEqual({ code: -32001, message: 'not for you' });
    expect(await logged.text()).not.toContain('notifications/message');
  });

  test('that throws refuses, and the fault is reported', async () => {
    const middleware = middlewareOf(({ direction, message }) => {
      if (direction === 'to client' && message.kind === 'response') throw new Error('a bug');
      return message;
    });
    await using test = await openScriptedProxy({ middleware: [middleware] });

    const answer = await answerOf(await new RawSession(test.url).post({ id: 1, method: 'tools/list' }));

    expect(answer).toMatchObject({ id: 1, error: { message: 'internal server error' } });
    expect(test.faults).toEqual([expect.objectContaining({ message: 'a bug' })]);
  });

  test('that waits keeps the messages of a stream in order', async () => {
    const waits = Promise.withResolvers<void>();
    const middleware = middlewareOf(({ direction, message }) => {
      const isWaiting = direction === 'to client' && message.value.method === 'notifications/message';
      return isWaiting ? waits.promise.then(() => message) : message;
    });
    await using test = await openScriptedProxy({ middleware: [middleware] });
    const session = await RawSession.open(test.url);

    const called = session.postCall(1, 'say', { method: 'notifications/message', params: { data: 'first' } });
    await expect
      .poll(() => test.servers.some(({ methods }) => methods.includes('tools/call')), quick)
      .toBe(true);
    waits.resolve();

    const text = await (await called).text();
    expect(text.indexOf('first')).toBeGreaterThan(-1);
    expect(text.indexOf('first')).toBeLessThan(text.indexOf('"result"'));
  });

  test('that waits lets no cancellation overtake its request', async () => {
    const waits = Promise.withResolvers<void>();
    const middleware = middlewareOf(({ direction, message }) =>
      direction === 'to server' && message.value.method === 'tools/call'
        ? waits.promise.then(() => message)
        : message,
    );
    await using test = await openScriptedProxy({ middleware: [middleware] });
    const session = await RawSession.open(test.url);

    const called = session.postCall(1, 'hold');
    const params = { requestId: 1 };
    // The first one is accepted as soon as it was read, so the request has been read before it.
    await session.post({ method: 'notifications/cancelled', params });
    waits.resolve();

    expect(await answerOf(await called)).toMatchObject({
      id: 1,
      error: { message: 'the request was cancelled' },
    });
  });
});

describe('attacks by another principal:', () => {
  test('a session cannot be used or ended', async () => {
    await using test = await openScriptedProxy({ access: { check } });
    const initialize = { id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25' } };
    const opened = await new RawSession(test.url).post(initialize, as('alice'));
    const session = new RawSession(test.url);
    session.id = opened.headers.get('mcp-session-id') ?? '';
    const list = { id: 1, method: 'tools/list' };

    const own = await session.post(list, as('alice'));
    const other = await session.post(list, as('bob'));
    const ended = await fetch(`${test.url}/mcp`, {
      method: 'DELETE',
      headers: { ...session.headers(), ...as('bob') },
    });

    expect([own.status, other.status, ended.status]).toEqual([200, 404, 404]);
  });

  test('the process that is kept for a client cannot be used', async () => {
    await using test = await openScriptedProxy({ access: { check } });
    const clientInfo = { name: 'the same', version: '1' };
    const call = async (principal: string, name: string, given: object): Promise<string> => {
      const response = await postModern(
        test.url,
        'tools/call',
        { name, arguments: given },
        { headers: as(principal), clientInfo },
      );
      return JSON.stringify((await answerOf(response)).result?.['content']);
    };

    await call('alice', 'remember', { value: 'a secret' });

    expect(await call('alice', 'recall', {})).toContain('a secret');
    expect(await call('bob', 'recall', {})).not.toContain('a secret');
  });

  test('a parked call cannot be continued with its request state', async () => {
    await using test = await openScriptedProxy({ access: { check } });
    const params = { name: 'ask', arguments: { method: 'elicitation/create', params: {} } };
    const options = { capabilities: { elicitation: {} } };
    const asked = await answerOf(
      await postModern(test.url, 'tools/call', params, { ...options, headers: as('alice') }),
    );
    const { requestState } = asked.result ?? {};
    const retry = { ...params, requestState, inputResponses: { q1: { action: 'accept', content: {} } } };

    const stolen = await answerOf(
      await postModern(test.url, 'tools/call', retry, { ...options, headers: as('bob') }),
    );
    const resumed = await answerOf(
      await postModern(test.url, 'tools/call', retry, { ...options, headers: as('alice') }),
    );

    expect(stolen).toMatchObject({ error: { code: -32602 } });
    expect(JSON.stringify(resumed.result)).toContain('accept');
  });

  test('a stream cannot be resumed with its event ID', async () => {
    await using test = await openScriptedProxy({ access: { check } });
    const begin = async (name: string): Promise<RawSession> => {
      const session = new RawSession(test.url);
      const params = { protocolVersion: '2025-11-25' };
      const opened = await session.post({ id: 0, method: 'initialize', params }, as(name));
      session.id = opened.headers.get('mcp-session-id') ?? '';
      return session;
    };
    const [alice, bob] = [await begin('alice'), await begin('bob')];
    const said = { method: 'notifications/message', params: { level: 'info', data: 'for alice' } };
    const call = { id: 1, method: 'tools/call', params: { name: 'say', arguments: said } };
    const events = await Array.fromAsync(readRawEvents(await alice.post(call, as('alice'))));
    const resume = (session: RawSession, name: string): Promise<Response> =>
      fetch(`${test.url}/mcp`, {
        headers: { ...session.headers(), ...as(name), 'last-event-id': events[0]?.id ?? '' },
      });

    const [inHis, inHers] = [await resume(bob, 'bob'), await resume(alice, 'bob')];
    const own = await (await resume(alice, 'alice')).text();

    expect([inHis.status, inHers.status]).toEqual([404, 404]);
    expect(own).toContain('for alice');
  });
});

describe('input that a modern server asks for', () => {
  const modern = {
    'server/discover': () => ({
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      serverInfo: { name: 'hostile', version: '1' },
    }),
    initialize: (server: ScriptedServer, { id }: Said) =>
      server.send({ id, error: { code: -32022, message: 'only 2026-07-28' } }),
  };
  const many = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, n) => [`q${n}`, { method: 'roots/list' }]),
  );

  test.each<[string, unknown, RegExp]>([
    ['is nothing', { a: null }, /asks for something that is not a request/],
    ['has no method', { a: { method: 5 } }, /asks for something that is not a request/],
    ['has parameters in an array', { a: { method: 'roots/list', params: [] } }, /is not a request/],
    ['is more than anyone can answer', many, /sent more than 100 requests at once/],
  ])('%s is an error for clients of both generations', async (_what, inputRequests, message) => {
    await using test = await openScriptedProxy(
      { middleware: [recorder([])] },
      { ...modern, 'tools/call': () => ({ resultType: 'input_required', inputRequests }) },
    );
    const session = await RawSession.open(test.url, { capabilities: { roots: {} } });

    const legacy = await answerOf(await session.postCall(1, 'any'));
    const current = await answerOf(await postModern(test.url, 'tools/call', { name: 'any' }));

    for (const { error } of [legacy, current]) expect(error?.message).toMatch(message);
    expect(test.faults).toEqual([]);
  });

  test('is answered with as much as a client can be asked', async () => {
    await using test = await openScriptedProxy({ middleware: [recorder([])] }, modern);
    const params = { name: 'any', inputResponses: many };

    const { error } = await answerOf(await postModern(test.url, 'tools/call', params));

    expect(error?.message).toBe('inputResponses has more than 100 members');
    expect(test.faults).toEqual([]);
  });
});
