import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ScriptedServer, openScriptedProxy } from './testing/scripted-server.ts';
import type { Said } from './testing/scripted-server.ts';
import { RawSession, answerOf, openTestProxy, postModern, readEvents } from './testing/test-proxy.ts';
import type { Received, TestProxy } from './testing/test-proxy.ts';

const quick = { interval: 5 };
const never = new AbortController().signal;

async function untilHeld(server: ScriptedServer | undefined, times = 1): Promise<Said[]> {
  const pending = (): Said[] => server?.heard.filter(({ params }) => params?.name === 'hold') ?? [];
  await expect.poll(() => pending().length, quick).toBe(times);
  return pending();
}

describe('a process of a session that ends in the middle of a call', () => {
  test('costs that call, and no other call', async () => {
    await using test = await openScriptedProxy();
    const [one, two] = [await RawSession.open(test.url), await RawSession.open(test.url)];
    const [first, second] = [await test.serverOf(one), await test.serverOf(two)];
    const [lost, kept] = [one.postCall(1, 'hold'), two.postCall(1, 'hold')];
    const [, [call]] = await Promise.all([untilHeld(first), untilHeld(second)]);

    first.exit({ code: 7, signal: null });
    const answer = await answerOf(await lost);
    second.send({ id: call?.id, result: { fine: true } });

    expect(answer).toMatchObject({ id: 1, error: { code: -32000 } });
    expect(answer.error?.message).toBe('the server ended before answering: it exited with code 7');
    expect(await answerOf(await kept)).toMatchObject({ result: { fine: true } });
    expect((await test.serverOf(one)).isRunning).toBe(true);
  });

  test('that cannot be replaced is reported with every call, and the next one tries again', async () => {
    let isBroken = true;
    await using test = await openTestProxy({ sessions: 'own' });
    const start = async (): Promise<ScriptedServer> => {
      const server = new ScriptedServer('own');
      if (isBroken) server.exit({ code: 3, signal: null });
      return server;
    };
    await test.proxy.connect(new ScriptedServer('first'), start, never);
    const session = await RawSession.open(test.url);

    await expect(session.call('instance')).rejects.toThrow('the server');
    isBroken = false;
    await expect.poll(() => session.call('instance').catch(String), quick).toBe('own');
  });
});

describe('a process of its own that ends with the shared server, before it was asked anything', () => {
  type Caller = (url: string) => Promise<Response>;
  const callers: [string, Caller][] = [
    ['a legacy client', async (url) => (await RawSession.open(url)).postCall(1, 'instance')],
    [
      'a modern client',
      (url) => postModern(url, 'tools/call', { name: 'instance' }, { capabilities: { elicitation: {} } }),
    ],
  ];

  /** Makes the call, and waits until the process that was started for it is greeted, which the server does not answer. */
  async function untilItStarts(
    { proxy, url }: TestProxy,
    call: Caller,
  ): Promise<{ answer: Promise<Response> }> {
    const silent = new ScriptedServer('silent', { initialize: undefined });
    await proxy.connect(new ScriptedServer('first'), async () => silent, never);
    const answer = call(url);
    await expect.poll(() => silent.methods, quick).toContain('initialize');
    return { answer };
  }

  test.each(callers)('has a successor, which %s is answered by', async (_client, call) => {
    await using test = await openTestProxy({ sessions: 'own' });
    const asked = await untilItStarts(test, call);

    test.proxy.disconnect('it was killed by SIGKILL', false);
    await test.proxy.connect(new ScriptedServer('second'), async () => new ScriptedServer('own'), never);

    const { result } = await answerOf(await asked.answer);
    expect(result?.['content']).toEqual([{ type: 'text', text: 'own' }]);
  });

  test.each(callers)('has none when no server will come, and %s is told', async (_client, call) => {
    await using test = await openTestProxy({ sessions: 'own' });
    const asked = await untilItStarts(test, call);

    test.proxy.disconnect('it was killed by SIGKILL', true);

    const { error } = await answerOf(await asked.answer);
    expect(error?.message).toBe('the server is not running: it was killed by SIGKILL');
  });
});

test('a call that has waited in vain for the next server is told why the last one ended', async () => {
  await using test = await openTestProxy({ sessions: 'own', limits: { waitForServerMs: 20 } });
  await test.proxy.connect(new ScriptedServer('first'), async () => new ScriptedServer('own'), never);
  const session = await RawSession.open(test.url);
  test.proxy.disconnect('it exited with code 0', false);

  await expect(session.call('instance')).rejects.toThrow('the server is not running: it exited with code 0');
});

describe('a shared server that ends', () => {
  test('costs what is under way, and sessions carry on with the next one', async () => {
    await using test = await openTestProxy();
    const [first, second] = [new ScriptedServer('first'), new ScriptedServer('second')];
    await test.proxy.connect(first, async () => first, never);
    const sessions = [await RawSession.open(test.url), await RawSession.open(test.url)];
    await sessions[0]?.post({ id: 1, method: 'resources/subscribe', params: { uri: 'test://one' } });
    const pending = sessions.map((session, n) => session.postCall(n, 'hold'));
    await untilHeld(first, 2);

    first.exit();
    test.proxy.disconnect('it exited with code 1', false);
    const answers = await Promise.all(pending.map(async (response) => answerOf(await response)));
    const waiting = sessions.map((session) => session.call('instance'));
    await test.proxy.connect(second, async () => second, never);

    expect(answers.map(({ id, error }) => [id, error?.code])).toEqual([
      [0, -32000],
      [1, -32000],
    ]);
    expect(await Promise.all(waiting)).toEqual(['second', 'second']);
    expect(second.methods.filter((method) => method === 'initialize')).toHaveLength(1);
    expect(second.last('resources/subscribe')?.params).toEqual({ uri: 'test://one' });
  });
});

describe('a server that writes', () => {
  /** A proxy with one shared server and a session whose call waits. */
  async function openHolding(): Promise<
    TestProxy & { server: ScriptedServer; session: RawSession; pending: Promise<Response>; id: Said['id'] }
  > {
    const test = await openTestProxy();
    const server = new ScriptedServer('only');
    await test.proxy.connect(server, async () => server, never);
    const session = await RawSession.open(test.url);
    const pending = session.postCall('mine', 'hold');
    const [call] = await untilHeld(server);
    return { ...test, server, session, pending, id: call?.id };
  }

  test('its answer in pieces is understood', async () => {
    await using test = await openHolding();
    const bytes = Buffer.from(`{"jsonrpc":"2.0","id":${test.id},"result":{"text":"ä"}}\n`);

    for (const byte of bytes) test.server.write(Buffer.of(byte));

    expect(await answerOf(await test.pending)).toMatchObject({ id: 'mine', result: { text: 'ä' } });
  });

  test('invalid UTF-8 is understood as far as that goes', async () => {
    await using test = await openHolding();

    test.server.write(Buffer.from([0xff, 0xfe, 0x0a]));
    test.server.write(Buffer.from(`{"jsonrpc":"2.0","id":${test.id},"result":{"text":"\xe4"}}\n`, 'latin1'));

    expect(await answerOf(await test.pending)).toMatchObject({ result: { text: '\ufffd' } });
    expect(test.invalidOutput).toEqual(['\ufffd\ufffd']);
  });

  test.each([-32700, -32600])('an error %i without an ID answers the only call', async (code) => {
    await using test = await openHolding();
    const other = test.session.postCall('other', 'hold');
    const [, second] = await untilHeld(test.server, 2);
    test.server.send({ id: second?.id, result: { content: [] } });
    await other;

    test.server.send({ id: null, error: { code, message: 'the request is not readable' } });

    expect(await answerOf(await test.pending)).toMatchObject({
      id: 'mine',
      error: { code, message: 'the request is not readable' },
    });
  });

  test('an error without an ID answers no call if it may be about another message', async () => {
    await using test = await openHolding();
    const other = test.session.postCall('other', 'hold');
    const [, second] = await untilHeld(test.server, 2);

    test.server.send({ id: null, error: { code: -32700, message: 'the request is not readable' } });
    test.server.send({ id: second?.id, result: { content: [] } });
    expect((await answerOf(await other)).error).toBeUndefined();
    await test.session.post({ method: 'notifications/cancelled', params: { requestId: 'unknown' } });
    await test.session.post({ method: 'notifications/roots/list_changed' });
    test.server.send({ id: null, error: { code: -32601, message: 'the method is unknown' } });
    test.server.send({ id: test.id, result: { content: [] } });

    expect((await answerOf(await test.pending)).error).toBeUndefined();
  });

  test.each([
    ['broken JSON', '"result":{"text":oops}}'],
    ['an error that is none', '"error":null}'],
    ['neither a result nor an error', '"more":1}'],
    ['a result nested without end', `"result":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ])('%s in place of an answer is told to the waiting client', async (_title, rest) => {
    await using test = await openHolding();

    test.server.write(`{"jsonrpc":"2.0","id":${test.id},${rest}\n`);

    expect(await answerOf(await test.pending)).toMatchObject({ id: 'mine', error: { code: -32000 } });
    expect(test.invalidOutput).toHaveLength(1);
    expect(test.faults).toEqual([]);
  });

  test('a line of 100 MB is not kept, and the waiting client is told', async () => {
    await using test = await openHolding();
    const megabyte = Buffer.alloc(1024 * 1024, 'x');

    test.server.write(`{"jsonrpc":"2.0","id":${test.id},"result":{"text":"`);
    for (let n = 0; n < 100; n++) {
      test.server.write(megabyte);
      await new Promise(setImmediate);
    }
    test.server.write('"}}\n');

    const { error } = await answerOf(await test.pending);
    expect(error?.message).toContain('the line is larger than 16 MiB');
    expect(await test.session.call('instance')).toBe('only');
  });

  test('answers without a request is not listened to', async () => {
    await using test = await openHolding();

    for (const id of [test.id, test.id, 999, -1, 'mine', `${test.id}`, 0])
      test.server.send({ id, result: { nr: id } });

    expect(await answerOf(await test.pending)).toMatchObject({ id: 'mine', result: { nr: test.id } });
    expect(await test.session.call('instance')).toBe('only');
  });

  test('more than anybody reads is remembered up to a bound', async () => {
    await using test = await openHolding();
    const data = 'x'.repeat(100_000);

    for (let n = 0; n < 300; n++)
      test.server.send({ method: 'notifications/tools/list_changed', params: { n, data } });
    await test.session.call('instance');
    await using messages = await test.session.listen();

    const { value } = await messages.next();
    expect(value?.params?.['n']).toBeGreaterThan(250); // 4 MiB are 41 of these
  });

  test('a thousand questions has as many answers, though the client gives none', async () => {
    await using test = await openScriptedProxy();
    const session = await RawSession.open(test.url, { capabilities: { sampling: {} } });
    const server = await test.serverOf(session);

    for (let n = 0; n < 1000; n++) server.send({ id: `q${n}`, method: 'sampling/createMessage', params: {} });
    await session.call('instance');
    const refused = (): number => server.heard.filter(({ error }) => error !== undefined).length;

    await expect.poll(refused, quick).toBe(900);
    await session.end();
    await expect.poll(() => server.isRunning, quick).toBe(false);
    expect(refused()).toBe(1000);
  });

  test('a thousand questions in one call of a modern client is cut off as well', async () => {
    await using test = await openScriptedProxy(
      {},
      {
        'tools/call': (server) => {
          for (let n = 0; n < 1000; n++)
            server.send({ id: `q${n}`, method: 'sampling/createMessage', params: {} });
        },
      },
    );

    const capabilities = { sampling: {} };
    const response = await postModern(test.url, 'tools/call', { name: 'hold' }, { capabilities });

    const { result } = await answerOf(response);
    const questions = Object.keys((result as { inputRequests: object }).inputRequests);
    expect(questions.length).toBeGreaterThan(0);
    expect(questions.length).toBeLessThanOrEqual(100); // others may follow with the next answer
    const refused = (): unknown => test.servers[1]?.heard.filter(({ error }) => error !== undefined);
    await expect.poll(refused, quick).toHaveLength(900);
  });
});

describe('a server that is greeted', () => {
  /** Puts a server behind a proxy as the supervisor does, which tells when it has ended. */
  async function performHandshake(test: TestProxy, server: ScriptedServer, signal = never): Promise<void> {
    void server.exited.then(() => test.proxy.disconnect('it exited with code 1', false));
    await test.proxy.connect(server, async () => server, signal);
  }

  test('and says nothing is waited for as long as its starter wants', async () => {
    await using test = await openTestProxy({ limits: { probeMs: 5 } });
    const silent = new ScriptedServer('silent', { initialize: undefined, 'server/discover': undefined });
    const over = new AbortController();

    const greeted = performHandshake(test, silent, over.signal);
    await expect.poll(() => silent.methods, quick).toEqual(['server/discover', 'initialize']);
    over.abort(new Error('it said nothing'));

    await expect(greeted).rejects.toThrow('it said nothing');
  });

  test('and ends at server/discover is asked in the other way the next time', async () => {
    await using test = await openTestProxy();
    const manners: ScriptedServer['manners'] = { 'server/discover': (server) => server.exit() };
    const [first, second] = [new ScriptedServer('1', manners), new ScriptedServer('2', manners)];

    await expect(performHandshake(test, first)).rejects.toThrow();
    await performHandshake(test, second);

    await expect.poll(() => second.methods, quick).toEqual(['initialize', 'notifications/initialized']);
    expect(test.proxy.generation).toBe('legacy');
  });

  test('and is silent on server/discover is a legacy one, whose logs find their call', async () => {
    await using test = await openTestProxy({ limits: { probeMs: 5 } });
    const server = new ScriptedServer('only', { 'server/discover': undefined });
    await performHandshake(test, server);
    const [session] = [await RawSession.open(test.url), await RawSession.open(test.url)];
    const log = { method: 'notifications/message', params: { level: 'info', data: 'x' } };

    const messages = await Array.fromAsync(readEvents(await session.postCall(1, 'say', log)));

    expect(messages).toMatchObject([log, { id: 1 }]);
  });

  test.each([
    ['what it says of itself', { protocolVersion: '2025-11-25', capabilities: { tools: {} } }],
    ['nothing in particular', {}],
    [
      'the protocolVersions that it speaks, all of them old',
      { supportedVersions: ['2025-11-25'], capabilities: {} },
    ],
  ])('and answers server/discover with %s is a legacy one', async (_what, result) => {
    await using test = await openTestProxy();
    const server = new ScriptedServer('only', { 'server/discover': () => result });

    await performHandshake(test, server);

    const greeted = ['server/discover', 'initialize', 'notifications/initialized'];
    await expect.poll(() => server.methods, quick).toEqual(greeted);
    expect(test.proxy.generation).toBe('legacy');
  });

  test('and answers late, and both questions, is of one generation only', async () => {
    await using test = await openTestProxy({ limits: { probeMs: 5 } });
    const server = new ScriptedServer('late', { initialize: undefined, 'server/discover': undefined });
    const greeted = performHandshake(test, server);
    await expect.poll(() => server.methods, quick).toContain('initialize');
    const identity = { capabilities: {}, serverInfo: { name: 'both', version: '1' } };

    server.send({
      id: server.last('server/discover')?.id,
      result: { resultType: 'complete', supportedVersions: ['2026-07-28'], ...identity },
    });
    await greeted;
    server.send({
      id: server.last('initialize')?.id,
      result: { protocolVersion: '2025-11-25', ...identity },
    });
    await answerOf(await postModern(test.url, 'tools/list'));

    expect(test.proxy.generation).toBe('modern');
    expect(server.methods).not.toContain('notifications/initialized');
    expect(server.last('tools/list')?.params?._meta).toMatchObject({
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    });
  });

  test('and answers both questions when it has started is a legacy one, as the last one was initialize', async () => {
    await using test = await openTestProxy({ limits: { probeMs: 5 } });
    const server = new ScriptedServer('slow', { initialize: undefined, 'server/discover': undefined });
    const greeted = performHandshake(test, server);
    await expect.poll(() => server.methods, quick).toContain('initialize');
    const identity = { capabilities: {}, serverInfo: { name: 'both', version: '1' } };

    server.send({
      id: server.last('server/discover')?.id,
      result: { resultType: 'complete', supportedVersions: ['2026-07-28'], ...identity },
    });
    server.send({
      id: server.last('initialize')?.id,
      result: { protocolVersion: '2025-11-25', ...identity },
    });
    await greeted;

    expect(test.proxy.generation).toBe('legacy');
    await expect.poll(() => server.methods, quick).toContain('notifications/initialized');
  });

  test('and answers initialize twice is talked to once', async () => {
    await using test = await openTestProxy();
    const server = new ScriptedServer('twice');
    server.manners['initialize'] = (_server, { id }) => {
      const result = { protocolVersion: '2025-11-25', capabilities: {} };
      server.send({ id, result });
      server.send({ id, result });
    };

    await performHandshake(test, server);

    expect(await (await RawSession.open(test.url)).call('instance')).toBe('twice');
    expect(server.methods.filter((method) => method === 'notifications/initialized')).toHaveLength(1);
  });
});

interface HttpServer extends AsyncDisposable {
  url: string;
  seen: { method: string | undefined; path: string | undefined; session: unknown; said: Received }[];
}

type Answering = (message: Received, response: ServerResponse, request: IncomingMessage) => void;

/** A legacy server over HTTP that behaves until it is called. */
async function openHttpServer(
  called: Answering,
  other: Answering = (_m, r) => r.writeHead(405).end(),
): Promise<HttpServer> {
  const seen: HttpServer['seen'] = [];
  let sessions = 0;
  const answer: Answering = (message, response, request) => {
    const { method: verb, url: path, headers } = request;
    seen.push({ method: verb, path, session: headers['mcp-session-id'], said: message });
    const reply = (result: object): void => {
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': `session${sessions}` });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...result }));
    };
    if (verb !== 'POST') other(message, response, request);
    else if (message.method === 'initialize') {
      sessions++;
      reply({ result: { protocolVersion: '2025-11-25', capabilities: { tools: {} } } });
    } else if (message.id === undefined) response.writeHead(202).end();
    else if (message.method === 'tools/call') called(message, response, request);
    else reply({ error: { code: -32601, message: 'unknown' } });
  };
  const server = createServer((request, response) => {
    response.on('error', () => {});
    void (async () => {
      const body = Buffer.concat(await Array.fromAsync(request)).toString();
      answer(body === '' ? {} : JSON.parse(body), response, request);
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A proxy in front of it, and a session. */
async function openRemote(
  url: string,
  transport: 'streamable-http' | 'sse' = 'streamable-http',
  sessions: 'own' | 'shared' = 'own',
): Promise<TestProxy> {
  const test = await openTestProxy({ transport, sessions });
  const address = { kind: 'remote', url, headers: async () => ({}), refused: async () => false } as const;
  await test.proxy.connect({ address }, () => Promise.reject(new Error('there is none')), never);
  return test;
}

describe.each(['POST', 'GET', 'DELETE'])('an invalid HTTP response to %s', (method) => {
  test.each([
    'HTTP/1.1 000 Odd\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 099 Odd\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    'HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\nzz\r\n',
    'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: -1\r\n\r\n',
    'HTTP/1.1 200 OK\r\nX: \x7f\r\nContent-Length: 2\r\n\r\nok',
    'not HTTP at all\r\n\r\n',
  ])('costs this request, and no other one: %j', async (answer) => {
    let isOdd = false;
    const server = createServer((request, response) => {
      if (isOdd && request.method === method) {
        request.socket.end(answer);
        return;
      }
      request.resume();
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          result: {
            protocolVersion: '2025-11-25',
            capabilities: {},
            serverInfo: { name: 'odd', version: '1' },
          },
        }),
      );
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // it listens on TCP
    await using opened = await openRemote(`http://127.0.0.1:${port}/mcp`);
    const send = (): Promise<number> =>
      new RawSession(opened.url).send(method).then(
        ({ status }) => status,
        () => 0, // its connection was broken off
      );
    isOdd = true;

    const status = await send();
    isOdd = false;

    expect(status).toBeGreaterThanOrEqual(0);
    await expect
      .poll(async () => (await new RawSession(opened.url).post({ id: 1, method: 'ping' })).status)
      .toBeLessThan(500);
    expect(opened.faults).toEqual([]);
    server.closeAllConnections();
    server.close();
  });
});

describe('a server over HTTP', () => {
  const fine = (id: unknown): string =>
    JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'fine' }] } });
  const json = { 'content-type': 'application/json' };
  const events = { 'content-type': 'text/event-stream' };

  test.each<[string, Answering, string]>([
    ['answers with status 500', (_m, response) => response.writeHead(500).end('oh no'), 'status 500: oh no'],
    [
      'answers with a page',
      (_m, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hello</h1>'),
      'status 200 with text/html: <h1>Hello</h1>',
    ],
    ['answers with nothing', (_m, response) => response.writeHead(200, json).end(), 'status 200'],
    ['hangs up', (_m, response) => response.destroy(), 'gave no answer'],
    [
      'hangs up in the middle',
      (_m, response) =>
        response.writeHead(200, { ...json, 'content-length': 100 }).write('{', () => response.destroy()),
      'gave no answer',
    ],
    [
      'sends it on somewhere else',
      (_m, response) => response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
      'status 307',
    ],
    ['answers without end', (_m, response) => flood(response.writeHead(200, json)), 'larger than 16 MiB'],
    [
      'sends an event without end',
      (_m, response) => flood(response.writeHead(200, events)),
      'larger than 16 MiB',
    ],
    [
      'ends its stream before the answer',
      (_m, response) => response.writeHead(200, events).end('data: {"jsonrpc":"2.0","method":"x"}\n\n'),
      'its stream ended before the answer',
    ],
  ])('that %s is said to have given no answer, and is called again', async (_title, misbehave, why) => {
    let calls = 0;
    await using server = await openHttpServer((message, response, request) => {
      if (calls++ === 0) misbehave(message, response, request);
      else response.writeHead(200, json).end(fine(message.id));
    });
    await using test = await openRemote(server.url);
    const session = await RawSession.open(test.url);

    await expect(session.call('any')).rejects.toThrow(why);
    expect(await session.call('any')).toBe('fine');
    expect(test.faults).toEqual([]);
  });

  test('that breaks its stream in the middle continues at the requested event', async () => {
    let asked: unknown;
    await using server = await openHttpServer(
      ({ id }, response) => {
        asked = id;
        response
          .writeHead(200, events)
          .end('id: e1\nretry: 1\ndata: {"jsonrpc":"2.0","method":"notifications/x"}\n\n');
      },
      (_message, response, { headers }) => {
        if (headers['last-event-id'] !== 'e1') return response.writeHead(405).end();
        return response.writeHead(200, events).end(`id: e2\ndata: ${fine(asked)}\n\n`);
      },
    );
    await using test = await openRemote(server.url);

    expect(await (await RawSession.open(test.url)).call('any')).toBe('fine');
  });

  test.each([
    ['in plain text', {}, 'unknown session'],
    // As the servers of the official TypeScript SDK do.
    [
      'in an error without an id',
      json,
      '{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}',
    ],
  ])('that says %s that the session is over gets a new one', async (_title, type, gone) => {
    await using server = await openHttpServer(({ id }, response, { headers }) => {
      // The first session is the one that all share, the second the client's own.
      if (headers['mcp-session-id'] === 'session2') response.writeHead(404, type).end(gone);
      else response.writeHead(200, json).end(fine(id));
    });
    await using test = await openRemote(server.url);
    const session = await RawSession.open(test.url);

    expect(await session.call('any')).toBe('fine');
    expect(await session.call('any')).toBe('fine');
    expect(server.seen.findLast(({ said }) => said.method === 'tools/call')?.session).toBe('session3');
  });

  test('that answers a request with status 404 and its id has not ended the session', async () => {
    await using server = await openHttpServer(({ id }, response) => {
      response
        .writeHead(404, json)
        .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32001, message: 'no such thing' } }));
    });
    await using test = await openRemote(server.url);
    const session = await RawSession.open(test.url);

    await expect(session.call('any')).rejects.toThrow('no such thing');
    await expect(session.call('any')).rejects.toThrow('no such thing');

    const sessions = server.seen.filter(({ said }) => said.method === 'tools/call').map((one) => one.session);
    expect(new Set(sessions).size).toBe(1);
  });

  test('that has ended the session which all share hears nothing more in it', async () => {
    let streams = 0;
    await using server = await openHttpServer(
      ({ id }, response, { headers: sent }) => {
        if (sent['mcp-session-id'] === 'session1') response.writeHead(404).end('unknown session');
        else response.writeHead(200, json).end(fine(id));
      },
      (_message, response, { method }) => {
        if (method !== 'GET') return response.writeHead(204).end();
        streams++;
        response.writeHead(200, events).flushHeaders();
        return response.once('close', () => streams--);
      },
    );
    await using test = await openRemote(server.url, 'streamable-http', 'shared');
    const call = async (): Promise<Received> =>
      answerOf(await postModern(test.url, 'tools/call', { name: 'any' }));

    const [first, second] = [await call(), await call()];

    expect([first.result, second.result]).toEqual([expect.anything(), expect.anything()]);
    await expect
      .poll(() => server.seen.filter(({ method }) => method === 'GET').length, quick)
      .toBeGreaterThan(1);
    await expect.poll(() => streams, quick).toBe(1);
  });

  test('that names another server as its endpoint is not believed', async () => {
    await using server = await openHttpServer(
      (_m, response) => response.end(),
      (_m, response) =>
        response.writeHead(200, events).write('event: endpoint\ndata: https://other.example/messages\n\n'),
    );
    await using test = await openRemote(server.url, 'sse');

    const response = await new RawSession(test.url).post({ id: 1, method: 'initialize', params: {} });

    expect(await response.json()).toMatchObject({
      id: 1,
      error: { code: -32000, message: expect.stringContaining('another origin: https://other.example') },
    });
  });

  /** Writes until the other end has enough. */
  function flood(response: ServerResponse): void {
    const chunk = Buffer.alloc(4 * 1024 * 1024, 'x');
    const more = (): void => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', more);
    response.write('data: "');
    more();
  }
});

describe('a client', () => {
  // Whatever takes more than time in proportion does not come to an end here.
  test.each([100, 100_000, 8_000_000])('that nests %i levels costs little', async (depth) => {
    await using test = await openScriptedProxy();
    const nested = '['.repeat(depth) + ']'.repeat(depth);

    const response = await new RawSession(test.url).postText(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":{"x":${nested}}}}`,
    );

    expect(response.status).toBe(depth > 500 ? 400 : 200);
    expect(test.faults).toEqual([]);
  });

  test.each([
    ['another method', { 'mcp-method': 'tools/list' }],
    ['another name', { 'mcp-name': 'remember' }],
    ['another name, encoded', { 'mcp-name': `=?base64?${btoa('remember')}?=` }],
    ['another revision', { 'mcp-protocol-version': '2027-01-01' }],
  ])('whose headers tell %s than the body is refused', async (_title, headers) => {
    await using test = await openScriptedProxy();

    const response = await postModern(test.url, 'tools/call', { name: 'recall' }, { headers });

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32020 } });
    expect(test.servers[0]?.methods).not.toContain('tools/call');
  });

  const message = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const inner = 'POST /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n';
  test.each([
    [
      'both lengths',
      `content-length: ${message.length}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
    ],
    ['two lengths', `content-length: 0\r\ncontent-length: ${message.length}\r\n\r\n${message}`],
    ['a length that is none', `content-length: +${message.length}\r\n\r\n${message}`],
    ['an unknown coding', `transfer-encoding: xchunked\r\n\r\n${message}`],
    ['a coding after chunked', `transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['a second host', `host: localhost\r\ncontent-length: ${message.length}\r\n\r\n${message}`],
    ['a space before the colon', `content-length : ${message.length}\r\n\r\n${message}`],
    ['a folded header', `x: y\r\n content-length: 0\r\n\r\n${message}`],
    ['a chunk with a bad size', `transfer-encoding: chunked\r\n\r\n0x1\r\nx\r\n0\r\n\r\n`],
  ])('that sends %s is refused, and nothing behind that is read', async (_title, rest) => {
    await using test = await openScriptedProxy();
    const socket = connect(Number(new URL(test.url).port), '127.0.0.1');
    const closed = once(socket, 'close');
    let answered = '';
    socket.on('data', (chunk: Buffer) => (answered += chunk.toString()));

    socket.write(`POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${rest}`);
    await closed;

    expect(answered).toMatch(/^HTTP\/1\.1 400 /);
    expect(answered.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(test.servers[0]?.methods).not.toContain('ping');
  });

  test.each([
    ['its headers', { headersMs: 50 }, 'GET /health HTTP/1.1\r\nhost: loc'],
    [
      'its body',
      { requestMs: 50 },
      'POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{',
    ],
  ])('that never ends %s is cut off with 408', async (_title, connections, begun) => {
    await using test = await openScriptedProxy({ connections: { headersMs: 50, ...connections } });
    const socket = connect(Number(new URL(test.url).port), '127.0.0.1');
    let answered = '';
    socket.on('data', (chunk: Buffer) => (answered += chunk.toString()));

    socket.write(begun);
    await once(socket, 'close');

    expect(answered).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('that opens one connection after the other does not keep others away', async () => {
    await using test = await openScriptedProxy({ connections: { connections: 20 } });
    const session = await RawSession.open(test.url);
    await using messages = await session.listen();
    const server = await test.serverOf(session);
    const port = Number(new URL(test.url).port);
    const sockets = Array.from({ length: 100 }, () => connect(port, '127.0.0.1'));
    let gone = 0;
    for (const socket of sockets) socket.on('error', () => {}).on('close', () => gone++);

    await expect.poll(() => gone, quick).toBeGreaterThan(80);
    const log = { method: 'notifications/message', params: { level: 'info', data: 'still here' } };
    server.send(log);

    expect((await messages.next()).value).toMatchObject(log);
    expect((await RawSession.open(test.url)).id).not.toBe('');
    for (const socket of sockets) socket.destroy();
  });

  test('that opens more streams than there may be gets no more, and the first ones stay', async () => {
    await using test = await openScriptedProxy({ connections: { connections: 20 } });
    const session = await RawSession.open(test.url);
    await using messages = await session.listen();
    const server = await test.serverOf(session);
    const over = new AbortController();
    const capabilities = {};
    const streams = await Promise.allSettled(
      Array.from({ length: 60 }, () =>
        postModern(
          test.url,
          'subscriptions/listen',
          { notifications: { toolsListChanged: true } },
          { capabilities, signal: over.signal },
        ),
      ),
    );

    server.send({ method: 'notifications/tools/list_changed' });

    expect(streams.filter(({ status }) => status === 'fulfilled').length).toBeLessThan(20);
    expect((await messages.next()).value).toMatchObject({ method: 'notifications/tools/list_changed' });
    over.abort();
  });

  test('that does not read its stream is cut off, and others are not concerned', async () => {
    await using test = await openScriptedProxy();
    const session = await RawSession.open(test.url);
    const other = await RawSession.open(test.url);
    const server = await test.serverOf(session);
    const socket = connect(Number(new URL(test.url).port), '127.0.0.1');
    const headers = Object.entries({ host: 'localhost', ...session.headers() });
    const lines = headers.map(([name, value]) => `${name}: ${value}`).join('\r\n');
    socket.write(`GET /mcp HTTP/1.1\r\n${lines}\r\n\r\n`);
    await once(socket, 'data');
    socket.pause();
    const closed = once(socket, 'close');

    for (let n = 0; n < 40; n++) {
      server.send({
        method: 'notifications/message',
        params: { level: 'info', data: 'x'.repeat(1024 * 1024) },
      });
    }
    await expect.poll(() => server.stdio.output.readableLength, quick).toBe(0);
    socket.resume(); // what is in the buffers of the system is still there, and then the end
    await closed;

    expect(await other.call('recall')).toBe('');
  });

  test('that disconnects before it is answered leaves its place to another one', async () => {
    await using test = await openScriptedProxy({ limits: { maxOwn: 2, waitForRoomMs: 20_000 } });
    for (let n = 0; n < 2; n++) {
      const session = await RawSession.open(test.url);
      const server = await test.serverOf(session);
      const gone = new AbortController();
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold' } });
      const call = fetch(`${test.url}/mcp`, {
        method: 'POST',
        headers: session.headers(),
        body,
        signal: gone.signal,
      }).catch(() => {});
      await untilHeld(server);
      gone.abort();
      await call;
    }

    const another = await RawSession.open(test.url);

    expect(await another.call('recall')).toBe('');
  });

  test('that disconnects and does not come back has its request cancelled in the end', async () => {
    await using test = await openScriptedProxy({ limits: { abandonedMs: 20, maintenanceMs: 10 } });
    const session = await RawSession.open(test.url);
    const server = await test.serverOf(session);
    const gone = new AbortController();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold' } });
    const call = fetch(`${test.url}/mcp`, {
      method: 'POST',
      headers: session.headers(),
      body,
      signal: gone.signal,
    }).catch(() => {});
    const [pending] = await untilHeld(server);

    gone.abort();
    await call;

    await expect
      .poll(() => server.last('notifications/cancelled')?.params, quick)
      .toMatchObject({ requestId: pending?.id });
  });

  test.each([
    ['gets JSON, also if a maintenance happens meanwhile', 1, 'application/json'],
    ['for a long time gets a stream', 2, 'text/event-stream'],
  ])('that waits %s', async (_title, maintenances, type) => {
    const maintenanceMs = 60_000;
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    await using test = await openScriptedProxy({ limits: { maintenanceMs } });
    const session = await RawSession.open(test.url);
    const server = await test.serverOf(session);
    const answer = session.postCall(1, 'hold');
    const [pending] = await untilHeld(server);

    vi.advanceTimersByTime(maintenances * maintenanceMs);
    server.send({ id: pending?.id, result: { content: [] } });

    expect((await answer).headers.get('content-type')).toContain(type);
    await session.end();
  });

  test('that waits for a long time gets comments that old Python clients do not take for events', async () => {
    const maintenanceMs = 60_000;
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    await using test = await openScriptedProxy({ limits: { maintenanceMs } });
    const session = await RawSession.open(test.url);
    const server = await test.serverOf(session);
    const answer = session.postCall(1, 'hold');
    const [pending] = await untilHeld(server);

    vi.advanceTimersByTime(4 * maintenanceMs);
    server.send({ id: pending?.id, result: { content: [] } });

    const text = await (await answer).text();
    expect(text).toMatch(/^: keep-alive$/m);
    expect(text).not.toMatch(/^:.*\n\n/m);
    await session.end();
  });

  test('has a hundred requests under way in a session, and others are answered', async () => {
    await using test = await openScriptedProxy({ sessions: 'shared' });
    const [greedy, other] = [await RawSession.open(test.url), await RawSession.open(test.url)];
    const calls = Array.from({ length: 101 }, (_, n) => greedy.postCall(n, 'hold'));
    await untilHeld(test.servers[0], 100);

    const first = await Promise.race(calls);

    expect((await answerOf(first)).error?.message).toContain('more than 100 requests of this session');
    expect(await other.call('recall')).toBe('');
    await greedy.end();
    await Promise.allSettled(calls);
  });

  test('that ends subscriptions/listen ends it at a server of the stateless protocol version, too', async () => {
    const discovered = {
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: { listChanged: true } },
    };
    await using test = await openScriptedProxy(
      {},
      { 'server/discover': () => discovered, 'subscriptions/listen': undefined },
    );
    const server = test.servers[0];
    const over = new AbortController();
    const notifications = { toolsListChanged: true };
    const listening = postModern(
      test.url,
      'subscriptions/listen',
      { notifications },
      { signal: over.signal },
    );
    await expect.poll(() => server?.last('subscriptions/listen'), quick).toBeDefined();

    over.abort();
    await listening.catch(() => {});

    await expect
      .poll(() => server?.last('notifications/cancelled')?.params, quick)
      .toMatchObject({ requestId: server?.last('subscriptions/listen')?.id });
  });
});

test('a server that does not confirm a subscription is reported, and asked no more for a while', async () => {
  const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: { listChanged: true } } };
  await using test = await openScriptedProxy(
    { sessions: 'shared' },
    { 'server/discover': () => discovered, 'subscriptions/listen': () => ({ resultType: 'complete' }) },
  );

  await RawSession.open(test.url);

  await expect
    .poll(() => test.invalidOutput, quick)
    .toEqual([expect.stringContaining('ended subscriptions/listen without confirming it')]);
});
