import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { openScriptedProxy } from './testing/scripted-server.ts';
import type { Said, ScriptedServer } from './testing/scripted-server.ts';
import { RawSession, answerOf, postModern, readEvents, readRawEvents } from './testing/test-proxy.ts';

const log = (data: string): Said => ({ method: 'notifications/message', params: { level: 'info', data } });
const sampling = { protocolVersion: '2025-11-25', capabilities: { sampling: {} } };
const question = { method: 'sampling/createMessage', params: { messages: [] } };

/** The texts of the answers to calls. */
async function textOf(response: Promise<Response>): Promise<string | undefined> {
  const { result } = await answerOf(await response);
  const content = result?.['content'] as { text: string }[] | undefined;
  return content?.[0]?.text;
}

/** Returns when a server has got as many requests for a tool. */
async function untilCalled(server: ScriptedServer, tool: string, times = 1): Promise<Said[]> {
  const calls = (): Said[] => server.heard.filter(({ params }) => params?.name === tool);
  await expect.poll(() => calls().length, { interval: 5 }).toBe(times);
  return calls();
}

const quick = { interval: 5 };

/** A session of HTTP+SSE that is initialized. */
async function openEventSession(
  url: string,
  signal: AbortSignal,
  before?: string,
): Promise<{
  post: (body: string) => Promise<Response>;
  call: (method: string, params: object) => Promise<Response>;
}> {
  const stream = await fetch(`${url}/sse`, { signal });
  const first = await stream.body?.pipeThrough(new TextDecoderStream()).getReader().read();
  const endpoint = /data: (\S+)/.exec(String(first?.value))?.[1];
  const post = (body: string): Promise<Response> => fetch(`${url}${endpoint}`, { method: 'POST', body });
  const call = (method: string, params: object): Promise<Response> =>
    post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  if (before !== undefined) await call(before, {});
  await call('initialize', {
    protocolVersion: '2024-11-05',
    capabilities: {},
    clientInfo: { name: 'sse', version: '1' },
  });
  return { post, call };
}

describe('sessions with processes of their own', () => {
  test('do not see what others have changed in theirs', async () => {
    await using test = await openScriptedProxy();
    const [one, two] = await Promise.all([RawSession.open(test.url), RawSession.open(test.url)]);

    await one.call('remember', { value: 'secret' });

    expect(await one.call('recall')).toBe('secret');
    expect(await two.call('recall')).toBe('');
  });

  test('hear only what their own server says', async () => {
    await using test = await openScriptedProxy();
    const [one, two] = await Promise.all([RawSession.open(test.url), RawSession.open(test.url)]);
    const [first, second] = [await test.serverOf(one), await test.serverOf(two)];
    await using heardByOne = await one.listen();
    await using heardByTwo = await two.listen();

    first.send(log('private'));
    first.send({ method: 'notifications/resources/updated', params: { uri: 'test://one' } });
    first.send({ method: 'notifications/tools/list_changed' });
    second.send(log('other'));

    const three = [await heardByOne.next(), await heardByOne.next(), await heardByOne.next()];
    expect(three.map(({ value }) => value.method)).toEqual([
      'notifications/message',
      'notifications/resources/updated',
      'notifications/tools/list_changed',
    ]);
    expect((await heardByTwo.next()).value).toMatchObject(log('other'));
  });

  test('get what is said in the course of a call with its answer', async () => {
    await using test = await openScriptedProxy();
    const [one, two] = await Promise.all([RawSession.open(test.url), RawSession.open(test.url)]);

    const [first, second] = await Promise.all(
      [one, two].map(async (session, n) =>
        Array.fromAsync(readEvents(await session.postCall(1, 'say', log(`for ${n}`)))),
      ),
    );

    expect(first).toEqual([expect.objectContaining(log('for 0')), expect.objectContaining({ id: 1 })]);
    expect(second).toEqual([expect.objectContaining(log('for 1')), expect.objectContaining({ id: 1 })]);
  });

  test('are asked by their own server, and only they can answer', async () => {
    await using test = await openScriptedProxy();
    const one = await RawSession.open(test.url, sampling);
    const two = await RawSession.open(test.url, sampling);
    await two.call('instance');
    const events = readEvents(await one.postCall(7, 'ask', question));
    const { value: asked } = await events.next();

    await two.post({ id: asked.id, result: { from: 'two' } });
    await one.post({ id: String(asked.id), result: { from: 'one, under another id' } });
    await one.post({ id: asked.id, result: { from: 'one' } });

    expect(asked).toMatchObject(question);
    const { value: answer } = await events.next();
    expect(answer).toMatchObject({ id: 7, result: { content: [{ text: '{"from":"one"}' }] } });
  });

  test('that offer nothing are not asked', async () => {
    await using test = await openScriptedProxy();
    const session = await RawSession.open(test.url, { capabilities: null });

    expect(await session.call('ask', question)).toContain('does not offer sampling/createMessage');
    expect(test.faults).toEqual([]);
  });

  test('tell their own server what the client can do', async () => {
    await using test = await openScriptedProxy();
    const session = await RawSession.open(test.url, sampling);

    const server = await test.serverOf(session);

    expect(server.last('initialize')?.params).toMatchObject(sampling);
  });

  test('have the number of their processes bounded, and carry on when one had to make room', async () => {
    await using test = await openScriptedProxy({ limits: { maxOwn: 2 } });
    const first = await RawSession.open(test.url);
    await first.post({ id: 1, method: 'resources/subscribe', params: { uri: 'test://one' } });
    await first.post({ id: 2, method: 'logging/setLevel', params: { level: 'error' } });
    const before = await test.serverOf(first);
    const others = [await RawSession.open(test.url), await RawSession.open(test.url)];

    for (const other of others) await other.call('instance');
    const wasEnded = !before.isRunning;
    const after = await test.serverOf(first);

    expect(wasEnded).toBe(true);
    expect(after).not.toBe(before);
    expect(after.methods).toEqual([
      'initialize',
      'notifications/initialized',
      'resources/subscribe',
      'logging/setLevel',
      'tools/call',
    ]);
    expect(after.last('resources/subscribe')?.params).toEqual({ uri: 'test://one' });
    expect(after.last('logging/setLevel')?.params).toEqual({ level: 'error' });
    await expect.poll(() => test.running.length, quick).toBe(3); // the shared one, and two
  });

  test('never have more processes than there may be, however many want one at once', async () => {
    await using test = await openScriptedProxy({ limits: { maxOwn: 3 } });
    const sessions = await Promise.all(Array.from({ length: 20 }, () => RawSession.open(test.url)));
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, test.running.length)), 1);

    const answers = await Promise.all(
      sessions.map(async (session, n) => {
        const answer = await session.call('say', log(String(n))).catch(String);
        most = Math.max(most, test.running.length);
        return answer;
      }),
    );
    clearInterval(watch);

    expect(new Set(answers)).toEqual(new Set(['said']));
    expect(most).toBeLessThanOrEqual(4);
  });

  test('wait while all processes are busy, and get the first that is free', async () => {
    await using test = await openScriptedProxy({ limits: { maxOwn: 1, waitForRoomMs: 600_000 } });
    const untilWaiting = async (): Promise<unknown> => [await fetch(test.url), await fetch(test.url)];
    const [one, two] = [await RawSession.open(test.url), await RawSession.open(test.url)];
    const server = await test.serverOf(one);
    const pending = one.postCall(1, 'hold');
    const [call] = await untilCalled(server, 'hold');

    const waiting = two.call('recall');
    await untilWaiting();
    server.send({ id: call?.id, result: {} });

    expect(await answerOf(await pending)).toMatchObject({ id: 1, result: {} });
    expect(await waiting).toBe('');
  });

  test('are told when no process became free in time', async () => {
    await using test = await openScriptedProxy({ limits: { maxOwn: 1, waitForRoomMs: 20 } });
    const [one, two] = [await RawSession.open(test.url), await RawSession.open(test.url)];
    const pending = one.postCall(1, 'hold');
    await expect.poll(() => test.servers[1]?.methods, quick).toContain('tools/call');

    await expect(two.call('recall')).rejects.toThrow(
      'too many clients use the server at once, try again later',
    );

    await one.end();
    await pending;
  });

  test('end their process with DELETE, and what was under way is answered', async () => {
    await using test = await openScriptedProxy();
    const session = await RawSession.open(test.url);
    const server = await test.serverOf(session);
    const pending = session.postCall('x', 'hold');
    await untilCalled(server, 'hold');

    await session.end();

    expect(await answerOf(await pending)).toMatchObject({ id: 'x', error: { code: -32000 } });
    await expect.poll(() => server.isRunning, quick).toBe(false);
  });

  test('end their process when they have been silent for long', async () => {
    let nowMs = 0;
    const limits = { sessionIdleMs: 1000, maintenanceMs: 5 };
    await using test = await openScriptedProxy({ limits, now: () => nowMs });
    const [idle, listening] = [await RawSession.open(test.url), await RawSession.open(test.url)];
    const [server, other] = [await test.serverOf(idle), await test.serverOf(listening)];
    await using _messages = await listening.listen();

    nowMs = 1001;

    await expect.poll(() => server.isRunning, quick).toBe(false);
    expect((await idle.post({ id: 1, method: 'ping' })).status).toBe(404);
    expect(other.isRunning).toBe(true);
  });

  test('lose their process before that if their client is not connected, and get another one', async () => {
    let nowMs = 0;
    const limits = { ownIdleMs: 1000, maintenanceMs: 5 };
    await using test = await openScriptedProxy({ limits, now: () => nowMs });
    const [idle, listening] = [await RawSession.open(test.url), await RawSession.open(test.url)];
    const [server, other] = [await test.serverOf(idle), await test.serverOf(listening)];
    await using _messages = await listening.listen();

    nowMs = 1001;

    await expect.poll(() => server.isRunning, quick).toBe(false);
    expect((await test.serverOf(idle)).isRunning).toBe(true);
    expect(other.isRunning).toBe(true);
  });

  test('list tools without one, unless their client can be asked', async () => {
    await using test = await openScriptedProxy();
    const [one, able] = [await RawSession.open(test.url), await RawSession.open(test.url, sampling)];

    await answerOf(await one.post({ id: 1, method: 'tools/list' }));
    const before = test.servers.map(({ methods }) => methods.includes('tools/list'));
    await answerOf(await able.post({ id: 1, method: 'tools/list' }));
    const after = test.servers.map(({ methods }) => methods.includes('tools/list'));

    expect(before).toEqual([true, false]); // the other one waits for the first call
    expect(after.filter(Boolean)).toHaveLength(2);
  });

  test('are not taken for silent while they wait for an answer', async () => {
    let nowMs = 0;
    await using test = await openScriptedProxy({
      limits: { sessionIdleMs: 1000, maintenanceMs: 5 },
      now: () => nowMs,
    });
    const [waiting, idle] = [await RawSession.open(test.url), await RawSession.open(test.url)];
    const [server, other] = [await test.serverOf(waiting), await test.serverOf(idle)];
    const pending = await waiting.postCall(1, 'hold'); // has become a stream
    const [call] = await untilCalled(server, 'hold');

    nowMs = 1001;
    await expect.poll(() => other.isRunning, quick).toBe(false);
    server.send({ id: call?.id, result: { late: true } });

    expect(await answerOf(pending)).toMatchObject({ id: 1, result: { late: true } });
  });

  test.each(['ping', 'server/discover'])(
    'of HTTP+SSE name their client, also if %s comes first',
    async (method) => {
      await using test = await openScriptedProxy();
      const over = new AbortController();
      const { call } = await openEventSession(test.url, over.signal, method);

      await call('tools/call', { name: 'remember', arguments: { value: 'sse' } });

      const isOwn = ({ memory }: ScriptedServer): boolean => memory === 'sse';
      await expect.poll(() => test.servers.some(isOwn), quick).toBe(true);
      const clientInfo = { name: 'sse', version: '1' };
      expect(test.servers.find(isOwn)?.last('initialize')?.params).toMatchObject({ clientInfo });
      over.abort();
    },
  );

  test('of HTTP+SSE end their process with their stream', async () => {
    await using test = await openScriptedProxy();
    const over = new AbortController();
    const { call } = await openEventSession(test.url, over.signal);
    await call('tools/call', { name: 'remember', arguments: { value: 'sse' } });
    await expect.poll(() => test.servers[1]?.memory, quick).toBe('sse');

    over.abort();

    await expect.poll(() => test.servers[1]?.isRunning, quick).toBe(false);
  });

  test('without a listener make room for new ones first', async () => {
    let nowMs = 0;
    await using test = await openScriptedProxy({ limits: { maxSessions: 2 }, now: () => nowMs++ });
    const listening = await RawSession.open(test.url);
    await using _messages = await listening.listen();
    const idle = await RawSession.open(test.url);

    await RawSession.open(test.url);

    const left = [
      await listening.post({ id: 1, method: 'ping' }),
      await idle.post({ id: 1, method: 'ping' }),
    ];
    expect(left.map(({ status }) => status)).toEqual([200, 404]);
  });

  test('are subscribed to so many resources and no more', async () => {
    await using test = await openScriptedProxy();
    const session = await RawSession.open(test.url, { protocolVersion: '2025-03-26' });
    const subscribe = async (from: number): Promise<{ error?: object }[]> => {
      const messages = Array.from({ length: 100 }, (_, n) => ({
        jsonrpc: '2.0',
        id: n,
        method: 'resources/subscribe',
        params: { uri: `test://${from + n}` },
      }));
      const response = await session.postText(JSON.stringify(messages));
      return (await response.json()) as { error?: object }[];
    };

    const answers = [];
    for (let from = 0; from < 1100; from += 100) answers.push(...(await subscribe(from)));
    const again = await subscribe(900);

    expect(answers.filter(({ error }) => error === undefined)).toHaveLength(1000);
    expect(again.filter(({ error }) => error !== undefined)).toEqual([]);
  });

  test('that are abandoned leave no process behind', async () => {
    await using test = await openScriptedProxy({ limits: { maxSessions: 5 } });

    for (let n = 0; n < 30; n++) {
      const session = await RawSession.open(test.url);
      if (n % 3 === 0) void session.postCall(1, 'hold').catch(() => {});
      else await session.call('instance');
    }

    // The shared one, those of the last sessions, and one that waits for the next.
    await expect.poll(() => test.running.length, quick).toBeLessThanOrEqual(7);
  });

  test('have it started before their first list and call', async () => {
    await using test = await openScriptedProxy();

    const session = await RawSession.open(test.url);

    await expect.poll(() => test.servers.length, quick).toBe(2);
    expect(test.servers[1]?.methods).toEqual([]); // its handshake names the client
    expect(await session.call('instance')).toBe('s1');
    expect(test.servers.length).toBe(2);
  });

  test('are closed with the proxy only when their processes have ended, which may take its time', async () => {
    await using test = await openScriptedProxy();
    const server = await test.serverOf(await RawSession.open(test.url));
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    server.stop = () => mayEnd.then(() => server.exit());

    const closed = test.proxy[Symbol.asyncDispose]().then(() => server.isRunning);
    setTimeout(end, 50);

    expect(await closed).toBe(false);
  });

  test('are closed with the proxy only when one that was being started for the next client has ended, too', async () => {
    await using test = await openScriptedProxy();
    await test.serverOf(await RawSession.open(test.url));
    expect(test.servers.length).toBe(2); // the shared one and the session's
    await test.serverOf(await RawSession.open(test.url));
    await expect.poll(() => test.servers.length, quick).toBe(4); // more clients may follow the second one
    const [, , , spare] = test.servers;
    if (spare === undefined) throw new Error('there is no spare one');
    spare.stop = () => delay(50).then(() => spare.exit());

    test.proxy.disconnect('the workload is being removed', false); // and closed at once, before that is through
    await test.proxy[Symbol.asyncDispose]();

    expect(spare.isRunning).toBe(false);
  });
});

describe.each(['own', 'shared'] as const)('sessions with %s processes', (sessions) => {
  test('have every server initialized once', async () => {
    await using test = await openScriptedProxy({ sessions });
    const [one, two] = [await RawSession.open(test.url), await RawSession.open(test.url)];
    await one.post({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } });
    await one.post({ method: 'notifications/initialized' });
    await Promise.all([one, two].map((session) => session.call('instance')));

    const counts = test.servers.map(
      ({ methods }) => methods.filter((method) => method === 'initialize').length,
    );

    expect(counts.every((count) => count <= 1)).toBe(true);
    expect(counts[0]).toBe(1);
  });

  test('cancel the request that they name, and not another with an id that looks the same', async () => {
    await using test = await openScriptedProxy({ sessions });
    const [session, other] = [await RawSession.open(test.url), await RawSession.open(test.url)];
    const server = await test.serverOf(session);
    const ofOther = other.postCall('1', 'hold');
    const asNumber = session.postCall(1, 'hold');
    await untilCalled(server, 'hold', sessions === 'own' ? 1 : 2);
    const asText = session.postCall('1', 'hold', { last: true });
    await expect
      .poll(() => server.heard.some(({ params }) => params?.arguments?.['last'] === true), quick)
      .toBe(true);

    await session.post({ method: 'notifications/cancelled', params: { requestId: '1' } });

    expect(await answerOf(await asText)).toMatchObject({
      id: '1',
      error: { message: 'the request was cancelled' },
    });
    const last = server.heard.findLast(({ params }) => params?.arguments?.['last'] === true);
    // The client is answered without waiting for the server.
    await expect
      .poll(() => server.heard.filter(({ method }) => method === 'notifications/cancelled'), quick)
      .toMatchObject([{ params: { requestId: last?.id } }]);
    await session.end();
    expect(await answerOf(await asNumber)).toMatchObject({ id: 1, error: {} });
    await other.end();
    await ofOther;
  });

  test('get an answer to what was under way when they are ended', async () => {
    await using test = await openScriptedProxy({ sessions });
    const session = await RawSession.open(test.url);
    const server = await test.serverOf(session);
    const pending = session.postCall(5, 'hold');
    const [call] = await untilCalled(server, 'hold');

    await session.end();

    expect(await answerOf(await pending)).toMatchObject({ id: 5, error: { code: -32000 } });
    expect(server.last('notifications/cancelled')?.params?.['requestId']).toBe(
      sessions === 'shared' ? call?.id : undefined, // a process that is ended need not be told
    );
  });
});

describe('a stream that breaks', () => {
  /** A session whose call has said something, over a connection that is gone. */
  async function breakCall(url: string): Promise<{ session: RawSession; ids: (string | undefined)[] }> {
    const session = await RawSession.open(url);
    const events = readRawEvents(await session.postCall(1, 'hold', {}, { _meta: { progressToken: 'p' } }));
    const ids = [(await events.next()).value?.id, (await events.next()).value?.id];
    await events.return(undefined); // closes the connection
    return { session, ids };
  }

  const progress = (progressToken: unknown, n: number): Said => ({
    method: 'notifications/progress',
    params: { progressToken, progress: n },
  });

  /** Has the server make progress with every call, on and on as the test says. */
  async function openProgressing(): Promise<Awaited<ReturnType<typeof openScriptedProxy>>> {
    return openScriptedProxy(
      {},
      {
        'tools/call': (server, { params }) => server.send(progress(params?._meta?.progressToken, 1)),
      },
    );
  }

  test('in the middle of a call is taken up again by its event, and every message comes once', async () => {
    await using test = await openProgressing();
    const { session, ids } = await breakCall(test.url);
    const server = test.servers[1];
    const call = server?.last('tools/call');

    server?.send(progress(call?.id, 2));
    server?.send({ id: call?.id, result: { done: true } });
    const rest = await Array.fromAsync(readEvents(await session.get(ids[1])));
    const again = await Array.fromAsync(readEvents(await session.get(ids[0])));

    expect(rest).toEqual([
      expect.objectContaining({ params: { progressToken: 'p', progress: 2 } }),
      expect.objectContaining({ id: 1, result: { done: true } }),
    ]);
    expect(again.map(({ method = 'answer' }) => method)).toEqual([
      'notifications/progress',
      'notifications/progress',
      'answer',
    ]);
  });

  test('can be taken up while the call still runs', async () => {
    await using test = await openProgressing();
    const { session, ids } = await breakCall(test.url);
    const server = test.servers[1];
    const call = server?.last('tools/call');

    const rest = readEvents(await session.get(ids[1]));
    server?.send({ id: call?.id, result: { done: true } });

    expect(await Array.fromAsync(rest)).toMatchObject([{ id: 1, result: { done: true } }]);
  });

  test('belongs to its session', async () => {
    await using test = await openProgressing();
    const { ids } = await breakCall(test.url);
    const other = await RawSession.open(test.url);

    expect((await other.get(ids[1])).status).toBe(404);
  });

  test.each(['no such event', 'r1_99', 's_1', 'r2_0', ''])('is not found by the event id %j', async (id) => {
    await using test = await openProgressing();
    const { session } = await breakCall(test.url);

    expect((await session.get(id)).status).toBe(404);
  });

  test('of the session itself is taken up by its event, too', async () => {
    await using test = await openScriptedProxy();
    const session = await RawSession.open(test.url);
    const server = await test.serverOf(session);
    const events = readRawEvents(await session.get());
    server.send(log('one'));
    const first = (await events.next()).value;
    await events.return(undefined);

    for (const data of ['two', 'three']) server.send(log(data));
    await using resumed = await session.listen(first?.id);

    expect((await resumed.next()).value).toMatchObject(log('two'));
    expect((await resumed.next()).value).toMatchObject(log('three'));
  });

  test('is not taken up by an event after which others are forgotten', async () => {
    await using test = await openScriptedProxy();
    const session = await RawSession.open(test.url);
    const server = await test.serverOf(session);
    const events = readRawEvents(await session.get());
    server.send(log('seen'));
    const seen = (await events.next()).value;
    await events.return(undefined);
    for (let n = 0; n < 101; n++) server.send(log(String(n)));
    await server.read();

    const response = await session.get(seen?.id);

    expect(response.status).toBe(404);
    expect(await response.text()).toContain('not available, initialize a new session');
    expect((await session.get(seen?.id?.replace('_1', '_2'))).status).toBe(200);
  });

  test('is remembered up to a bound, the oldest is forgotten', async () => {
    await using test = await openScriptedProxy();
    const session = await RawSession.open(test.url);
    const server = await test.serverOf(session);

    for (let n = 0; n < 150; n++) server.send(log(String(n)));
    await server.read();
    await using messages = await session.listen();

    expect((await messages.next()).value).toMatchObject(log('50'));
  });

  test.each([
    ['2025-11-25', true],
    ['2025-06-18', false],
  ])('has an event to come back with from the beginning for %s: %s', async (protocolVersion, isPrimed) => {
    await using test = await openScriptedProxy();
    const session = await RawSession.open(test.url, { protocolVersion });

    const events = await Array.fromAsync(readRawEvents(await session.postCall(1, 'say', log('x'))));

    expect(events[0]?.message === undefined).toBe(isPrimed);
    expect(events.map(({ id }) => id)).toEqual(isPrimed ? ['r1_0', 'r1_1', 'r1_2'] : ['r1_1', 'r1_2']);
  });

  test('is kept open while as many calls are under way as a client likes', async () => {
    await using test = await openProgressing();
    const session = await RawSession.open(test.url);
    const calls = Array.from({ length: 40 }, (_, n) =>
      session.postCall(n, 'hold', {}, { _meta: { progressToken: n } }),
    );
    const responses = await Promise.all(calls);

    const [, server] = test.servers;
    for (const { id, method } of server?.heard ?? [])
      if (method === 'tools/call') server?.send({ id, result: {} });
    const answers = await Promise.all(responses.map(answerOf));

    expect(answers.map(({ id }) => id)).toEqual(calls.map((_, n) => n));
  });
});

describe('several messages at once', () => {
  const batch = (messages: object[]): string =>
    JSON.stringify(messages.map((message) => ({ jsonrpc: '2.0', ...message })));

  test('are answered at once for 2025-03-26', async () => {
    await using test = await openScriptedProxy();
    const session = await RawSession.open(test.url, { protocolVersion: '2025-03-26' });

    const response = await session.postText(
      batch([
        { id: 1, method: 'ping' },
        { method: 'notifications/initialized' },
        { id: '1', method: 'ping' },
      ]),
    );

    expect(await response.json()).toEqual([
      expect.objectContaining({ id: 1, result: {} }),
      expect.objectContaining({ id: '1', result: {} }),
    ]);
  });

  test('are refused over HTTP+SSE for 2024-11-05', async () => {
    await using test = await openScriptedProxy();
    const { post } = await openEventSession(test.url, new AbortController().signal);

    const response = await post(batch([{ id: 1, method: 'ping' }]));

    expect(response.status).toBe(400);
  });

  test.each(['2024-11-05', '2025-06-18', '2025-11-25'])('are refused for %s', async (protocolVersion) => {
    await using test = await openScriptedProxy();
    const session = await RawSession.open(test.url, { protocolVersion });

    const response = await session.postText(batch([{ id: 1, method: 'ping' }]));

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32600 } });
  });
});

describe('a modern client', () => {
  const able = { capabilities: { sampling: {} } };
  const ask = { name: 'ask', arguments: question };
  type Asked = { resultType?: string; requestState?: string; inputRequests?: Record<string, unknown> };

  /** Calls a tool that asks, and gives the answer for now. */
  async function beginToAsk(url: string): Promise<Asked> {
    const { result } = await answerOf(await postModern(url, 'tools/call', ask, able));
    return result as Asked;
  }

  /** Comes back with the answer to whatever was asked. */
  function comeBack(
    url: string,
    { requestState, inputRequests = {} }: Asked,
    params: object = ask,
  ): Promise<Response> {
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, { said: key }]));
    return postModern(url, 'tools/call', { name: 'ask', ...params, requestState, inputResponses }, able);
  }

  test('cancels by going away', async () => {
    await using test = await openScriptedProxy();
    const leaving = new AbortController();
    const pending = postModern(test.url, 'tools/call', { name: 'hold' }, { signal: leaving.signal });
    await expect.poll(() => test.servers[1]?.methods, quick).toContain('tools/call');
    const server = test.servers[1];

    leaving.abort();

    await expect(pending).rejects.toThrow('abort');
    await expect.poll(() => server?.methods, quick).toContain('notifications/cancelled');
    expect(server?.last('notifications/cancelled')?.params?.['requestId']).toBe(
      server?.last('tools/call')?.id,
    );
  });

  test('answers what it is asked with the request made again', async () => {
    await using test = await openScriptedProxy();
    const asked = await beginToAsk(test.url);

    const answer = await textOf(comeBack(test.url, asked));

    expect(asked).toMatchObject({ resultType: 'input_required', inputRequests: { q1: question } });
    expect(answer).toBe('{"said":"q1"}');
  });

  test('is told of tools that exist only for clients that answer questions, and takes one process for all lists', async () => {
    const offered = (server: ScriptedServer): object => {
      const { capabilities = {} } = server.last('initialize')?.params ?? {};
      server.send({ id: 'early', method: 'roots/list' }); // some want to know that before anything else
      return { tools: [{ name: 'sampling' in (capabilities as object) ? 'for the able' : 'for all' }] };
    };
    await using test = await openScriptedProxy({}, { 'tools/list': offered });
    const namesFor = async (client: object): Promise<unknown> => {
      const { result } = await answerOf(await postModern(test.url, 'tools/list', {}, client));
      return (result as { tools: { name: string }[] }).tools.map(({ name }) => name);
    };

    const lists = await Promise.all([namesFor(able), namesFor(able), namesFor(able), namesFor({})]);

    expect(lists).toEqual([['for the able'], ['for the able'], ['for the able'], ['for all']]);
    expect(test.servers.filter((server) => server.methods.includes('tools/list'))).toHaveLength(2);
  });

  test('can use a requestState once', async () => {
    await using test = await openScriptedProxy();
    const asked = await beginToAsk(test.url);
    await textOf(comeBack(test.url, asked));

    const again = await answerOf(await comeBack(test.url, asked));

    expect(again).toMatchObject({ error: { code: -32602 } });
  });

  test.each<[string, (asked: Asked) => Asked, object]>([
    ['for another request', (asked) => asked, { ...ask, arguments: { ...question, other: true } }],
    ['that it has changed', (asked) => ({ ...asked, requestState: changed(asked.requestState) }), ask],
    ['that it made up', (asked) => ({ ...asked, requestState: 'mine' }), ask],
    ['that is no text', (asked) => ({ ...asked, requestState: {} as string }), ask],
  ])('cannot use a requestState %s', async (_title, spoilt, params) => {
    await using test = await openScriptedProxy();
    const asked = await beginToAsk(test.url);

    const answer = await answerOf(await comeBack(test.url, spoilt(asked), params));

    expect(answer).toMatchObject({ error: { code: -32602 } });
    expect(await textOf(comeBack(test.url, asked))).toBe('{"said":"q1"}'); // it was not used up
  });

  test('cannot use a requestState that has expired', async () => {
    let nowMs = 0;
    await using test = await openScriptedProxy({ now: () => nowMs });
    const asked = await beginToAsk(test.url);

    nowMs = 10 * 60_000;

    expect(await answerOf(await comeBack(test.url, asked))).toMatchObject({ error: { code: -32602 } });
  });

  test('that never comes back does not keep its process', async () => {
    await using test = await openScriptedProxy({ limits: { clientAnswerMs: 20 } });

    await beginToAsk(test.url);

    expect(test.servers[1]?.methods).toContain('tools/call');
    await expect.poll(() => test.servers[1]?.isRunning, quick).toBe(false);
  });

  test('that does not come back makes room for another one', async () => {
    await using test = await openScriptedProxy({ limits: { maxOwn: 1 } });
    const asked = await beginToAsk(test.url);

    const answer = await textOf(postModern(test.url, 'tools/call', { name: 'instance' }, able));

    expect(answer).toBe('s2');
    expect(await answerOf(await comeBack(test.url, asked))).toMatchObject({ error: { code: -32602 } });
  });

  test('shares the one process of a server that asks nothing', async () => {
    await using test = await openScriptedProxy({ sessions: 'shared' });

    const answer = await textOf(postModern(test.url, 'tools/call', { name: 'instance' }, able));

    expect(answer).toBe('s0');
    expect(test.servers).toHaveLength(1);
  });

  test('gets its other lists from a server that never answers one of them', async () => {
    await using test = await openScriptedProxy(
      { limits: { listTurnMs: 20 } },
      { 'resources/list': undefined },
    );
    const over = new AbortController();
    const given = { ...able, signal: over.signal };
    const silent = postModern(test.url, 'resources/list', {}, given).catch(() => 'given up');
    await expect.poll(() => test.servers[1]?.methods, quick).toContain('resources/list');

    const answer = await answerOf(await postModern(test.url, 'tools/list', {}, able));

    expect(answer.result).toMatchObject({ tools: expect.any(Array) });
    over.abort();
    expect(await silent).toBe('given up');
  });

  test('finds the process of its last call, which is ended after the last call', async () => {
    await using test = await openScriptedProxy({ limits: { keepMs: 300, maxOwn: 1 } });
    using connection = new Connection(test.url);
    const call = (): Promise<string> => connection.call('instance', modern);

    const [first, second] = [await call(), await call()];

    expect(second).toBe(first);
    await expect.poll(() => test.running, quick).toEqual(['s0']);
  });
});

test('an initialize that is refused begins no session', async () => {
  await using test = await openScriptedProxy();
  test.proxy.disconnect('it is broken', true);
  const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: sampling };

  const response = await new RawSession(test.url).post(initialize);

  expect(await response.json()).toMatchObject({
    error: { message: expect.stringContaining('it is broken') },
  });
  expect(response.headers.get('mcp-session-id')).toBeNull();
});

test('clients of a shared server have a thousand requests under way at most', async () => {
  await using test = await openScriptedProxy({ sessions: 'shared' });
  const open = (): Promise<RawSession> => RawSession.open(test.url, { protocolVersion: '2025-03-26' });
  const session = await open();
  const sessions = await Promise.all(Array.from({ length: 10 }, open));
  const calls = Array.from({ length: 100 }, (_none, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'hold' },
  }));
  const pending = sessions.map((other) => other.postText(JSON.stringify(calls)));
  const server = (): ScriptedServer | undefined =>
    test.servers.find(({ methods }) => methods.includes('tools/call'));
  await expect
    .poll(() => server()?.methods.filter((method) => method === 'tools/call').length, quick)
    .toBe(1000);

  const answer = await answerOf(await session.postCall(1, 'instance'));

  expect(answer).toMatchObject({
    error: { message: 'too many requests are not answered yet, try again later' },
  });
  for (const other of sessions) await other.end();
  for (const response of await Promise.all(pending)) await response.body?.cancel();
});

describe('tasks', () => {
  const task = { taskId: 't1', status: 'working' };
  const withTasks = {
    initialize: () => ({
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, tasks: { list: {}, requests: { tools: { call: {} } } } },
      serverInfo: { name: 'busy', version: '1' },
    }),
    'tools/call': () => ({ task }),
    'tasks/get': () => task,
    'tasks/list': () => ({ tasks: [task] }),
  };
  const client = { protocolVersion: '2025-11-25', capabilities: { tasks: { list: {} } } };

  test('of a session are its own, and both sides may ask about theirs', async () => {
    await using test = await openScriptedProxy({}, withTasks);
    const [one, two] = await Promise.all([RawSession.open(test.url, client), RawSession.open(test.url)]);
    await using heardByOne = await one.listen();
    await using heardByTwo = await two.listen();

    const created = await answerOf(await one.postCall(1, 'any', {}, { task: { ttl: 60_000 } }));
    await two.postCall(1, 'any');
    await expect
      .poll(() => test.servers.filter(({ methods }) => methods.includes('tools/call')).length, quick)
      .toBe(2);
    const listed = await answerOf(await one.post({ id: 2, method: 'tasks/list' }));
    const server = test.servers.find(({ heard }) =>
      heard.some(({ params }) => params?.['task'] !== undefined),
    );
    const other = test.servers.find(
      (candidate) => candidate !== server && candidate.methods.includes('tools/call'),
    );
    server?.send({ method: 'notifications/tasks/status', params: task });
    server?.send({ id: 'theirs', method: 'tasks/get', params: { taskId: 'of the client' } });
    other?.send({ id: 'theirs', method: 'tasks/get', params: { taskId: 'of nobody' } });
    other?.send(log('the first that it hears'));

    expect(created).toMatchObject({ result: { task } });
    expect(listed).toMatchObject({ result: { tasks: [task] } });
    expect((await heardByOne.next()).value).toMatchObject({ method: 'notifications/tasks/status' });
    expect((await heardByOne.next()).value).toMatchObject({ method: 'tasks/get' });
    expect((await heardByTwo.next()).value).toMatchObject(log('the first that it hears'));
    const declined = expect.objectContaining({ id: 'theirs', error: expect.anything() });
    await expect.poll(() => other?.heard, quick).toContainEqual(declined);
  });

  test('are not offered to those who share a conversation, as each would see those of the others', async () => {
    await using test = await openScriptedProxy({ sessions: 'shared' }, withTasks);
    const session = new RawSession(test.url);
    const response = await session.post({ id: 1, method: 'initialize', params: client });
    const { result } = await answerOf(response);
    session.id = response.headers.get('mcp-session-id') ?? '';

    const legacy = await answerOf(await session.post({ id: 2, method: 'tasks/list' }));
    const modern = await answerOf(await postModern(test.url, 'tasks/list'));

    expect(result?.['capabilities']).toEqual({ tools: {} });
    expect(legacy).toMatchObject({ error: { code: -32601 } });
    expect(modern).toMatchObject({ error: { code: -32601 } });
  });

  test('of the modern generation go through unchanged', async () => {
    const modern = {
      initialize: undefined,
      'server/discover': () => ({
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
        ttlMs: 0,
        cacheScope: 'private',
      }),
      'tools/call': () => ({ resultType: 'task', ...task }),
      'tasks/get': () => ({ resultType: 'complete', ...task, status: 'completed', result: { content: [] } }),
    };
    await using test = await openScriptedProxy({}, modern);
    const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
    const ask = async (method: string, params: object): Promise<unknown> =>
      (await answerOf(await postModern(test.url, method, { ...params }, { capabilities }))).result;

    expect(await ask('server/discover', {})).toMatchObject({ capabilities });
    expect(await ask('tools/call', { name: 'long' })).toEqual(modern['tools/call']());
    expect(await ask('tasks/get', { taskId: 't1' })).toEqual(modern['tasks/get']());
  });
});

/** The text with one character in its middle replaced. */
function changed(text = ''): string {
  const at = text.length >> 1;
  return text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
}

/** What a client of the stateless protocol version sends with every call. */
const modern = {
  headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' },
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  },
};

/** Calls without a session, over one connection. */
class Connection implements Disposable {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string) {
    this.#url = `${url}/mcp`;
  }

  /** The text of the answer. */
  async call(
    name: string,
    { headers, _meta }: { headers: Record<string, string>; _meta?: object },
    given: object = {},
  ): Promise<string> {
    const params = { name, arguments: given, _meta };
    const named: Record<string, string> = _meta === undefined ? {} : { 'mcp-name': name };
    const answer = await this.post({ id: 1, method: 'tools/call', params }, { ...headers, ...named });
    return (JSON.parse(answer) as { result: { content: [{ text: string }] } }).result.content[0].text;
  }

  async post(message: object, headers: Record<string, string> = {}): Promise<string> {
    const request = httpRequest(this.#url, {
      method: 'POST',
      agent: this.#agent,
      headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
    });
    request.end(JSON.stringify(Array.isArray(message) ? message : { jsonrpc: '2.0', ...message }));
    const [response] = (await once(request, 'response')) as [IncomingMessage]; // as it is documented
    return (await Array.fromAsync(response.setEncoding('utf8'))).join('');
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

describe.each([
  ['the stateless protocol version', modern],
  ['no session', { headers: {} }],
])('clients of %s', (_title, how) => {
  test('find what they did over the same connection, and nothing that others did', async () => {
    await using test = await openScriptedProxy();
    using one = new Connection(test.url);
    using other = new Connection(test.url);

    await one.call('remember', how, { value: 'secret' });

    expect(await one.call('recall', how)).toBe('secret');
    expect(await other.call('recall', how)).toBe('');
  });

  test('have processes that end with their connection', async () => {
    await using test = await openScriptedProxy();
    using one = new Connection(test.url);
    const instance = await one.call('instance', how);
    const server = test.servers.find(({ id }) => id === instance);

    one[Symbol.dispose]();

    await expect.poll(() => server?.isRunning, quick).toBe(false);
  });

  test('share one process when the workload is shared', async () => {
    await using test = await openScriptedProxy({ sessions: 'shared' });
    using one = new Connection(test.url);
    using other = new Connection(test.url);

    expect(await one.call('instance', how)).toBe(await other.call('instance', how));
  });
});

test('a stateless client that names itself finds what it did over any connection, and nothing that others did', async () => {
  await using test = await openScriptedProxy();
  const named = (name: string) => ({
    ...modern,
    _meta: { ...modern._meta, 'io.modelcontextprotocol/clientInfo': { name, version: '1' } },
  });
  using one = new Connection(test.url);
  using again = new Connection(test.url);
  using other = new Connection(test.url);

  await one.call('remember', named('editor'), { value: 'secret' });

  expect(await again.call('recall', named('editor'))).toBe('secret');
  expect(await other.call('recall', named('terminal'))).toBe('');
});

describe('several messages at once without a session', () => {
  const ping = (id: number): object => ({ jsonrpc: '2.0', id, method: 'ping' });

  test.each([
    ['that name no protocol version', {}],
    ['of 2025-03-26', { 'mcp-protocol-version': '2025-03-26' }],
  ])('are answered to clients %s', async (_title, headers) => {
    await using test = await openScriptedProxy();
    using connection = new Connection(test.url);

    const answers = JSON.parse(await connection.post([ping(1), ping(2)], headers)) as object[];

    expect(answers).toHaveLength(2);
  });

  test('are refused to clients of later protocol versions, and with initialize among them', async () => {
    await using test = await openScriptedProxy();
    using connection = new Connection(test.url);
    const later = await connection.post([ping(1)], { 'mcp-protocol-version': '2025-06-18' });
    const beginning = await connection.post([{ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} }]);

    expect(later).toContain('only clients of 2025-03-26 can send several messages at once');
    expect(beginning).toContain('initialize must not be one of several messages');
  });
});

test.each<[string, object]>([
  ['without parameters', { method: 'roots/list' }],
  ['with empty parameters', { method: 'roots/list', params: {} }],
])(
  'a request of the server %s reaches clients of both generations with empty ones',
  async (_what, asking) => {
    await using test = await openScriptedProxy();
    const roots = { capabilities: { roots: {} } };
    const session = await RawSession.open(test.url, roots);

    const events = readEvents(await session.postCall(7, 'ask', asking));
    const { value: legacy } = await events.next();
    const params = { name: 'ask', arguments: asking };
    const modern = await answerOf(await postModern(test.url, 'tools/call', params, roots));

    expect(legacy).toEqual({ jsonrpc: '2.0', id: 1, method: 'roots/list', params: {} });
    expect(modern.result).toMatchObject({ inputRequests: { q1: { method: 'roots/list', params: {} } } });
  },
);

describe.each(['own', 'shared'] as const)(
  'a legacy server with %s processes that asks without need',
  (sessions) => {
    const asking = { method: 'roots/list' };
    const params = { name: 'ask', arguments: asking };

    test('goes on when the client cannot be asked', async () => {
      await using test = await openScriptedProxy({ sessions });

      expect(await textOf(postModern(test.url, 'tools/call', params))).toContain('does not offer roots/list');
      expect(await textOf(postModern(test.url, 'tools/call', params))).toContain('does not offer roots/list');
    });

    test('gets no further if its call needs the answer', async () => {
      await using test = await openScriptedProxy({ sessions });
      const needing = { name: 'ask', arguments: { method: 'sampling/createMessage' } };

      const { error } = await answerOf(await postModern(test.url, 'tools/call', needing));

      expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { sampling: {} } } });
    });

    test('names the missing capability if the call fails', async () => {
      const failing: ScriptedServer['manners'][string] = (server, { id }) => {
        for (const question of ['one', 'two']) server.send({ id: question, ...asking });
        server.onAnswer('two', ({ error }) => server.send({ id, error }));
      };
      await using test = await openScriptedProxy({ sessions }, { 'tools/call': failing });

      const { id, error } = await answerOf(await postModern(test.url, 'tools/call', params, { id: 'mine' }));

      expect({ id, error }).toEqual({
        id: 'mine',
        error: {
          code: -32021,
          message: 'the server asks the client for roots',
          data: { requiredCapabilities: { roots: {} } },
        },
      });
    });
  },
);
