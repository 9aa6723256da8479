import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { unauthorized } from '@toolhive/contract/failure';
import { describe, expect, test } from 'vitest';
import type { RemoteServer } from './transport/upstream-client.ts';
import { RawSession, answerOf, openTestProxy } from './testing/test-proxy.ts';

interface Asked {
  id?: number | string;
  method?: string;
  params?: { name?: string; protocolVersion?: string };
}

interface Exchange {
  message: Asked;
  request: IncomingMessage;
  response: ServerResponse;
  /** The answer that a correct server would give. */
  answer: string;
  session: string | undefined;
}

/** Handles a request in its own way, and tells whether it did. */
type Manners = (exchange: Exchange) => boolean;

const json = { 'content-type': 'application/json' };

/** A server with sessions over streamable HTTP, which can forget them. */
async function openServer(manners: Manners) {
  const sessions = new Set<string>();
  const calls: string[] = [];
  const seen: string[] = [];
  let count = 0;
  const server = createServer((request, response) => {
    text(request).then(handle, () => {}); // the client has disconnected

    function handle(body: string): void {
      seen.push(`${request.method} ${request.url}`);
      const message: Asked = body === '' ? {} : JSON.parse(body);
      const { id, method, params } = message;
      const session = request.headers['mcp-session-id'] as string | undefined;
      if (method === 'initialize') {
        sessions.add(`s${++count}`);
        response.setHeader('mcp-session-id', `s${count}`);
      }
      const results: Record<string, object> = {
        initialize: {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {} },
          serverInfo: { name: 'odd', version: '1' },
        },
        'tools/call': { content: [{ type: 'text', text: 'done' }] },
        'tools/list': { tools: [] },
        ping: {},
      };
      const result = results[method ?? ''];
      const content = result ? { result } : { error: { code: -32601, message: 'unknown method' } };
      const answer = JSON.stringify({ jsonrpc: '2.0', id, ...content });
      if (manners({ message, request, response, answer, session })) return;
      if (request.method !== 'POST') response.writeHead(405).end();
      else if (id === undefined) response.writeHead(202).end();
      else {
        if (method === 'tools/call') calls.push(params?.name ?? '');
        response.writeHead(200, json).end(answer);
      }
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}/mcp`,
    sessions,
    /** The names of the tools that were called. */
    calls,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

async function openBehind(
  url: string,
  transport: 'sse' | 'streamable-http' = 'streamable-http',
  headers: Record<string, string> = {},
) {
  const deviations: string[] = [];
  const test = await openTestProxy({
    transport,
    sessions: 'own',
    onTolerance: (deviation) => deviations.push(deviation),
  });
  const refused: RemoteServer['refused'] = async ({ wwwAuthenticate }) => {
    if (wwwAuthenticate === undefined) return false;
    throw unauthorized('sign-in missing');
  };
  const remote = { kind: 'remote', url, headers: async () => headers, refused } as const;
  await test.proxy.connect(
    { address: remote },
    () => Promise.reject(new Error('no other')),
    AbortSignal.timeout(20_000),
  );
  return { ...test, deviations };
}

test('a server that refuses every optional stream does not ask for a sign-in', async () => {
  const asked: string[] = [];
  await using server = await openServer(({ request, response }) => {
    if (request.method !== 'GET') return false;
    response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    return true;
  });
  await using test = await openTestProxy({ transport: 'streamable-http', sessions: 'own' });
  const refused = async (): Promise<boolean> => asked.push('sign in') === 0;
  const remote = { kind: 'remote', url: server.url, headers: async () => ({}), refused } as const;
  await test.proxy.connect(
    { address: remote },
    () => Promise.reject(new Error('no other')),
    AbortSignal.timeout(20_000),
  );
  const session = await RawSession.open(test.url);

  expect(await session.call('any')).toBe('done');

  await expect.poll(() => server.seen).toContain('GET /mcp');
  expect(asked).toEqual([]);
});

describe('a server that has forgotten a session gets a new one, and the call is made once, if it says so with', () => {
  type Refusal = (response: ServerResponse, id: unknown) => void;
  const says =
    (status: number, message: string): Refusal =>
    (response) =>
      response
        .writeHead(status, json)
        .end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32000, message }, id: null }));
  const answers =
    (message: string): Refusal =>
    (response, id) =>
      response
        .writeHead(200, json)
        .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32001, message } }));
  const refusals: [string, Refusal][] = [
    ['404 in plain text', (response) => response.writeHead(404).end('unknown session')],
    ['404 and nothing', (response) => response.writeHead(404).end()],
    ['410', (response) => response.writeHead(410).end('Session gone')],
    ['400 of an SDK', says(400, 'Bad Request: No valid session ID provided')],
    ['400 without an initialized server', says(400, 'Bad Request: Server not initialized')],
    ['400 in plain text', (response) => response.writeHead(400).end('Invalid or missing session ID')],
    ['401', (response) => response.writeHead(401, json).end('{"error":"invalid_session"}')],
    ['403', (response) => response.writeHead(403, json).end('{"detail":"Session does not exist"}')],
    ['422', says(422, 'sessionId is unknown')],
    ['500 and a message', says(500, 'Session not found')],
    [
      '500 and the ID of the request',
      (response, id) => {
        const error = { code: -32603, message: 'No transport found for sessionId' };
        response.writeHead(500, json).end(JSON.stringify({ jsonrpc: '2.0', id, error }));
      },
    ],
    ['410 and JSON', says(410, 'gone')],
    ['409', says(409, 'session is not active')],
    [
      '404 and an answer with the ID',
      (response, id) =>
        response
          .writeHead(404, json)
          .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32001, message: 'Session not found' } })),
    ],
    ['400 and another wording', says(400, 'Mcp-Session-Id header is invalid')],
    ['400 and its words apart', says(400, 'No active session for this id')],
    ['500 in plain text', (response) => response.writeHead(500).end('Error: session s1 not found')],
    [
      '500 in HTML',
      (response) =>
        response.writeHead(500, { 'content-type': 'text/html' }).end('<pre>Invalid session</pre>'),
    ],
    ['502', says(502, 'unknown session')],
    ['200 and an unknown session', answers('Unknown session ID')],
    ['200 and a wrong session', answers('Bad Request: Invalid session')],
    ['200 and a server that is not initialized', answers('Server not initialized')],
    ['503', (response) => response.writeHead(503).end('session expired')],
    ['200 and an error', answers('Session not found')],
    ['200 and an error about initialization', answers('Received request before initialization was complete')],
    ['200 and an error without an ID', says(200, 'session_not_found')],
    [
      'an error in an event stream',
      (response, id) =>
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(
            `data: ${JSON.stringify({ jsonrpc: '2.0', id, error: { code: 1, message: 'Unknown session' } })}\n\n`,
          ),
    ],
  ];

  test.each(refusals)('%s', async (_what, refuse) => {
    const sessions = new Set<string>();
    await using server = await openServer(({ message, request, response, session }) => {
      if (request.method !== 'POST' || message.method === 'initialize') return false;
      if (session !== undefined && server.sessions.has(session)) return false;
      sessions.add(session ?? '');
      refuse(response, message.id);
      return true;
    });
    await using proxy = await openBehind(server.url);
    const session = await RawSession.open(proxy.url);
    await session.call('first');
    server.sessions.clear();

    expect(await session.call('second')).toBe('done');
    expect(await session.call('third')).toBe('done');

    expect(server.calls).toEqual(['first', 'second', 'third']);
    expect(proxy.faults).toEqual([]);
  });

  test('401 and a challenge, as for a missing token', async () => {
    await using server = await openServer(({ response, session }) => {
      if (session === undefined || server.sessions.has(session)) return false;
      response
        .writeHead(401, { ...json, 'www-authenticate': 'Bearer error="invalid_token"' })
        .end('{"error":"invalid_token","error_description":"No active session found"}');
      return true;
    });
    await using proxy = await openBehind(server.url);
    const session = await RawSession.open(proxy.url);
    await session.call('first');
    server.sessions.clear();

    expect(await session.call('second')).toBe('done');

    expect(server.calls).toEqual(['first', 'second']);
  });

  test.each(['Unauthorized', 'The session has expired, please log in again', 'Invalid session token'])(
    'is told apart from a server that refuses the token: %s',
    async (message) => {
      await using server = await openServer(({ message: { method }, response }) => {
        if (method !== 'tools/call') return false;
        response.writeHead(401, { ...json, 'www-authenticate': 'Bearer' }).end(JSON.stringify({ message }));
        return true;
      });
      await using proxy = await openBehind(server.url);
      const session = await RawSession.open(proxy.url);

      await expect(session.call('any')).rejects.toThrow('sign-in missing');

      expect(server.sessions.size).toBe(2); // one is that of the check
    },
  );

  test('is told apart from a tool that knows sessions itself', async () => {
    await using server = await openServer(({ message: { id, method }, response }) => {
      if (method !== 'tools/call') return false;
      server.calls.push('tried');
      const error = { code: -32603, message: 'browser session not found' };
      response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id, error }));
      return true;
    });
    await using proxy = await openBehind(server.url);
    const session = await RawSession.open(proxy.url);

    await expect(session.call('any')).rejects.toThrow('browser session not found');

    expect(server.calls).toEqual(['tried']);
  });

  test('is told apart from a failure, after which the call may have been executed', async () => {
    let isBroken = false;
    await using server = await openServer(({ message: { method }, response, session }) => {
      if (method === 'initialize' || method === undefined || !isBroken) return false;
      if (session !== undefined && server.sessions.has(session)) return false;
      if (method === 'tools/call') server.calls.push('tried');
      response.writeHead(500).end('Internal Server Error');
      return true;
    });
    await using proxy = await openBehind(server.url);
    const session = await RawSession.open(proxy.url);
    await session.call('first');
    isBroken = true;
    server.sessions.clear();

    await expect(session.call('second')).rejects.toThrow('status 500');
    expect(await session.call('third')).toBe('done');

    expect(server.calls).toEqual(['first', 'tried', 'third']);
  });

  test('is not asked without end if it refuses every session', async () => {
    let isBroken = false;
    await using server = await openServer(({ message: { method }, response }) => {
      if (method !== 'tools/call' || !isBroken) return false;
      server.calls.push('tried');
      response.writeHead(400).end('no valid session');
      return true;
    });
    await using proxy = await openBehind(server.url);
    const session = await RawSession.open(proxy.url);
    await session.call('first');
    isBroken = true;

    await expect(session.call('second')).rejects.toThrow('the server ended the session');

    expect(server.calls).toEqual(['first', 'tried', 'tried']);
  });

  test('restores subscriptions in the new session', async () => {
    const subscribed: (string | undefined)[] = [];
    await using server = await openServer(({ message: { id, method }, request, response, session }) => {
      if (request.method !== 'POST' || method === 'initialize') return false;
      if (!server.sessions.has(session ?? '')) {
        response.writeHead(410).end();
        return true;
      }
      if (method !== 'resources/subscribe') return false;
      subscribed.push(session);
      response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id, result: {} }));
      return true;
    });
    await using proxy = await openBehind(server.url);
    const session = await RawSession.open(proxy.url);
    await session.post({ id: 1, method: 'resources/subscribe', params: { uri: 'test://one' } });
    server.sessions.clear();

    expect(await session.call('any')).toBe('done');

    await expect.poll(() => new Set(subscribed).size, { interval: 5 }).toBe(2);
  });
});

describe('an answer is understood', () => {
  type Reply = (exchange: Exchange) => void;
  const withType =
    (type: string | undefined, write = (answer: string): string => answer): Reply =>
    ({ response, answer }) =>
      void response.writeHead(200, type === undefined ? {} : { 'content-type': type }).end(write(answer));
  const event = (answer: string): string => `data: ${answer}\n\n`;

  test.each<[string, Reply]>([
    ['in an array', withType('application/json', (answer) => `[${answer}]`)],
    [
      'in an array with a notification',
      withType(
        'application/json',
        (answer) => `[{"jsonrpc":"2.0","method":"notifications/message","params":{}},${answer}]`,
      ),
    ],
    ['with a media type in capitals', withType('Application/JSON')],
    ['with a media type in capitals and parameters', withType('APPLICATION/JSON; Charset=UTF-8')],
    ['called JSON-RPC', withType('application/json-rpc')],
    ['called binary', withType('application/octet-stream')],
    ['called JSON by an old name', withType('text/json')],
    ['with an empty media type', withType('')],
    ['with white space around it', withType('application/json', (answer) => `\r\n ${answer}\n\n`)],
    [
      'in an array with IDs as text',
      withType('application/json', (answer) => `[${answer.replace(/"id":(\d+)/, '"id":"$1"')}]`),
    ],
    [
      'in an event with error: null',
      withType('TEXT/EVENT-STREAM', (answer) => event(answer.replace(/}$/, ',"error":null}'))),
    ],
    [
      'in an event with an ID as text',
      withType('text/event-stream', (answer) => event(answer.replace(/"id":(\d+)/, '"id":"$1"'))),
    ],
    [
      'in an event without an empty line at its end',
      withType('text/event-stream', (answer) => `data: ${answer}\n`),
    ],
    ['in an event without any line end', withType('text/event-stream', (answer) => `data: ${answer}`)],
    [
      'in an event with null as its ID',
      withType('text/event-stream', (answer) => event(answer.replace(/"id":\d+/, '"id":null'))),
    ],
    [
      'in an event without an ID',
      withType('text/event-stream', (answer) => event(answer.replace(/"id":\d+,/, ''))),
    ],
    ['with parameters', withType('application/json;charset=UTF-8')],
    ['of another kind of JSON', withType('application/vnd.api+json')],
    ['called text', withType('text/plain')],
    ['called HTML', withType('text/html; charset=utf-8')],
    ['without a media type', withType(undefined)],
    ['with a byte order mark', withType('application/json', (answer) => `\uFEFF${answer}`)],
    ['with error: null', withType('application/json', (answer) => answer.replace(/}$/, ',"error":null}'))],
    [
      'with an ID as text',
      withType('application/json', (answer) => answer.replace(/"id":(\d+)/, '"id":"$1"')),
    ],
    ['in an event stream in capitals', withType('Text/Event-Stream', event)],
    ['in an event stream with parameters', withType('text/event-stream ; charset=utf-8', event)],
    ['in an event stream that is called JSON', withType('application/json', event)],
    [
      'in an event stream that is called text',
      withType('text/plain', (answer) => `event: message\n${event(answer)}`),
    ],
    ['as JSON that is called an event stream', withType('text/event-stream')],
    ['in an event without a space', withType('text/event-stream', (answer) => `data:${answer}\n\n`)],
    ['in an event with CR', withType('text/event-stream', (answer) => `event: message\rdata: ${answer}\r\r`)],
    ['in an event with CRLF', withType('text/event-stream', (answer) => `data: ${answer}\r\n\r\n`)],
    [
      'in an event with several lines of data',
      withType('text/event-stream', (answer) => `data: ${answer.replace(',', ',\ndata: ')}\n\n`),
    ],
    ['in another event', withType('text/event-stream', (answer) => `event: response\n${event(answer)}`)],
    [
      'in an event with a byte order mark',
      withType('text/event-stream', (answer) => `\uFEFF${event(answer)}`),
    ],
    [
      'in an event after a byte order mark of its own',
      withType('text/event-stream', (answer) => event(`\uFEFF${answer}`)),
    ],
    ['in an array in an event', withType('text/event-stream', (answer) => event(`[${answer}]`))],
  ])('%s', async (_what, reply) => {
    await using server = await openServer((exchange) => {
      if (exchange.request.method !== 'POST' || exchange.message.id === undefined) return false;
      reply(exchange);
      return true;
    });
    await using proxy = await openBehind(server.url);
    const session = await RawSession.open(proxy.url);

    expect(await session.call('any')).toBe('done');
    expect(await session.call('any')).toBe('done');

    expect(new Set(proxy.deviations).size).toBe(proxy.deviations.length);
  });

  test.each([
    ['ISO-8859-1', 'latin1', 'fünf'],
    ['iso-8859-1', 'utf8', 'fünf €'],
  ] as const)('called %s and encoded as %s', async (charset, encoding, said) => {
    await using server = await openServer(({ message, response, answer }) => {
      if (message.method !== 'tools/call') return false;
      response
        .writeHead(200, { 'content-type': `application/json;charset=${charset}` })
        .end(Buffer.from(answer.replace('done', said), encoding));
      return true;
    });
    await using proxy = await openBehind(server.url);

    expect(await (await RawSession.open(proxy.url)).call('any')).toBe(said);
  });

  test('and otherwise the error says what came', async () => {
    await using server = await openServer(({ message, response }) => {
      if (message.method !== 'tools/call') return false;
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end(`<h1>Sign in\x1b[2J</h1>${'x'.repeat(500)}`);
      return true;
    });
    await using proxy = await openBehind(server.url);

    const failure = await (await RawSession.open(proxy.url)).call('any').catch((error: unknown) => error);

    expect(String(failure)).toMatch(/returned status 200 with text\/html: <h1>Sign in\\u001b\[2J<\/h1>x+…$/);
  });
});

describe('a server that closes a connection when it gets the next request', () => {
  /** Answers one request over each connection. */
  const once = (): Manners => {
    const used = new WeakSet<object>();
    return ({ request }) => {
      const { socket } = request;
      if (!used.has(socket)) {
        used.add(socket);
        return false;
      }
      socket.destroy();
      return true;
    };
  };

  test('gets a request that executes nothing again', async () => {
    await using server = await openServer(once());
    await using proxy = await openBehind(server.url);

    const session = await RawSession.open(proxy.url);

    expect(
      (await answerOf(await session.post({ jsonrpc: '2.0', id: 1, method: 'ping' }))).error,
    ).toBeUndefined();
    expect(
      (await answerOf(await session.post({ jsonrpc: '2.0', id: 2, method: 'tools/list' }))).result,
    ).toEqual({
      tools: [],
    });
  });

  test('gets a call only once', async () => {
    let calls = 0;
    await using server = await openServer(({ message, request }) => {
      if (message.method !== 'tools/call') return false;
      calls++;
      request.socket.destroy();
      return true;
    });
    await using proxy = await openBehind(server.url);
    const session = await RawSession.open(proxy.url);

    await expect(session.call('any')).rejects.toThrow('other side closed');
    expect(calls).toBe(1);
  });
});

describe('the error of a call in an event stream', () => {
  const failed = { code: -32603, message: 'the tool broke' };

  test.each<[string, object, string]>([
    ['with null as its ID', { jsonrpc: '2.0', id: null, error: failed }, 'the tool broke'],
    ['without an ID', { error: failed }, 'the tool broke'],
    ['with another ID', { jsonrpc: '2.0', id: 'server-error', error: failed }, 'the tool broke'],
    ['of another request', { jsonrpc: '2.0', id: 4711, error: failed }, 'before the answer'],
    ['in another form', { failure: 'the tool broke' }, 'before the answer: {"failure":"the tool broke"}'],
  ])('reaches the client %s', async (_what, failure, shown) => {
    await using server = await openServer(({ message, response }) => {
      if (message.method !== 'tools/call') return false;
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(`data: ${JSON.stringify(failure)}\n\n`);
      return true;
    });
    await using proxy = await openBehind(server.url);

    await expect((await RawSession.open(proxy.url)).call('any')).rejects.toThrow(shown);
  });
});

describe('a compressed answer', () => {
  const codings: [string, (bytes: string) => Buffer][] = [
    ['gzip', gzipSync],
    ['X-GZIP', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
    ['UTF-8', (bytes) => Buffer.from(bytes)],
    ['identity', (bytes) => Buffer.from(bytes)],
  ];
  /** Answers requests with a coding and a media type, and notifications with an empty body that is called compressed. */
  const answers =
    (coding: string, type: string, compressed: (answer: string) => Buffer): Manners =>
    ({ request, response, message, answer }) => {
      if (request.method !== 'POST') return false;
      response.writeHead(message.id === undefined ? 202 : 200, {
        'content-type': type,
        'content-encoding': coding,
      });
      response.end(message.id === undefined ? undefined : compressed(answer));
      return true;
    };

  test.each(codings)(
    'with the coding %s is read, though the request did not ask for it',
    async (coding, compress) => {
      await using server = await openServer(answers(coding, 'application/json', compress));
      await using proxy = await openBehind(server.url);

      expect(await (await RawSession.open(proxy.url)).call('any')).toBe('done');
    },
  );

  test.each(codings)('with the coding %s is read as an event', async (coding, compress) => {
    await using server = await openServer(
      answers(coding, 'text/event-stream', (answer) => compress(`data: ${answer}\n\n`)),
    );
    await using proxy = await openBehind(server.url);

    expect(await (await RawSession.open(proxy.url)).call('any')).toBe('done');
  });

  test.each<[string, string, Buffer, string]>([
    ['much larger than it arrives', 'gzip', gzipSync(Buffer.alloc(64 * 1024 * 1024)), 'larger than 16 MiB'],
    ['damaged', 'gzip', gzipSync('{}').subarray(0, 12), 'damaged'],
    ['not compressed', 'br', Buffer.from('{}'), 'damaged'],
    ['compressed twice', 'gzip, gzip', gzipSync(gzipSync('{}')), 'unknown compression gzip, gzip'],
  ])('that is %s costs its call only, and the error says why', async (_what, coding, bytes, reason) => {
    await using server = await openServer(({ message, response }) => {
      if (message.method !== 'tools/call' || message.params?.name !== 'bad') return false;
      response.writeHead(200, { ...json, 'content-encoding': coding }).end(bytes);
      return true;
    });
    await using proxy = await openBehind(server.url);
    const session = await RawSession.open(proxy.url);

    await expect(session.call('bad')).rejects.toThrow(reason);
    expect(await session.call('any')).toBe('done');

    expect(proxy.excesses).toEqual([]);
  });
});

describe('a legacy server is used though it', () => {
  const says =
    (status: number, body = '', type = 'application/json') =>
    ({ response }: Exchange) =>
      void response.writeHead(status, { 'content-type': type }).end(body);
  const failure = '{"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"Internal error"}}';

  test.each<[string, (exchange: Exchange) => void]>([
    ['fails at an unknown request', says(500, failure)],
    ['fails with text', says(500, 'Internal Server Error', 'text/plain')],
    ['does not implement it', says(501)],
    ['forbids it', says(403, 'method not allowed', 'text/plain')],
    ['accepts it, and says nothing', says(202)],
    ['closes the connection', ({ request }) => void request.socket.destroy()],
    ['does not answer it', () => {}],
    [
      'opens a stream without an answer',
      ({ response }) =>
        void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': a\n\n'),
    ],
  ])('%s', async (_what, refuse) => {
    await using server = await openServer((exchange) => {
      if (exchange.message.method !== 'server/discover') return false;
      refuse(exchange);
      return true;
    });
    await using proxy = await openBehind(server.url);

    expect(await (await RawSession.open(proxy.url)).call('any')).toBe('done');
  });

  test('sends a notification before each answer', async () => {
    await using server = await openServer(({ message, response, answer }) => {
      if (message.id === undefined) return false;
      const notification = '{"jsonrpc":"2.0","method":"notifications/message","params":{}}';
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(`data: ${notification}\n\ndata: ${answer}\n\n`);
      return true;
    });
    await using proxy = await openBehind(server.url);

    expect(await (await RawSession.open(proxy.url)).call('any')).toBe('done');
  });
});

describe('a redirect', () => {
  const redirects: [string, number, (server: { port: number }) => string][] = [
    ['to the path with a slash', 307, () => '/mcp/'],
    ['with 301', 301, () => '/mcp/'],
    ['with a query', 308, () => '/mcp/?a=b'],
    ['with a relative path', 307, () => './mcp/'],
    ['without a scheme', 307, ({ port }) => `//127.0.0.1:${port}/mcp/`],
    ['that names the machine in IPv6', 308, ({ port }) => `http://[::1]:${port}/mcp/`],
    ['behind a proxy that ends TLS', 307, ({ port }) => `https://127.0.0.1:${port}/mcp/`],
    ['with 303', 303, () => '/mcp/'],
    ['with 302', 302, () => 'mcp/'],
    ['with 308 to another path', 308, ({ port }) => `http://127.0.0.1:${port}/v2/mcp`],
    ['that names the address that the server listens on', 307, ({ port }) => `http://0.0.0.0:${port}/mcp/`],
    ['that names the machine', 307, ({ port }) => `http://localhost:${port}/mcp/`],
  ];

  test.each(redirects)('%s is followed', async (_what, status, location) => {
    await using server = await openServer(({ request, response }) => {
      if (request.url !== '/mcp') return false;
      response.writeHead(status, { location: location(server) }).end();
      return true;
    });
    await using proxy = await openBehind(server.url);
    const session = await RawSession.open(proxy.url);

    expect(await session.call('any')).toBe('done');

    expect(server.calls).toEqual(['any']);
    expect(proxy.deviations).toEqual([expect.stringContaining('redirects')]);
  });

  test('to another server gets no message and no token', async () => {
    await using other = await openServer(() => false);
    await using server = await openServer(({ message, response }) => {
      if (message.method !== 'tools/call') return false;
      response.writeHead(307, { location: `http://other.example:${other.port}/mcp` }).end();
      return true;
    });
    await using proxy = await openBehind(server.url);

    await expect((await RawSession.open(proxy.url)).call('any')).rejects.toThrow('status 307');

    expect(other.seen).toEqual([]);
  });

  test('that is not followed is named in the error', async () => {
    await using server = await openServer(({ message, response }) => {
      if (message.method !== 'tools/call') return false;
      response.writeHead(307, { location: 'https://other.example/mcp' }).end();
      return true;
    });
    await using proxy = await openBehind(server.url);

    const called = (await RawSession.open(proxy.url)).call('any');

    await expect(called).rejects.toThrow(
      'status 307, which leads to https://other.example/mcp; ToolHive does not follow redirects to another host or port, so if you trust that address, use it as the URL of the server',
    );
  });

  test('without end is given up', async () => {
    await using server = await openServer(({ message, request, response }) => {
      if (message.method !== 'tools/call') return false;
      response.writeHead(307, { location: request.url === '/mcp' ? '/mcp/' : '/mcp' }).end();
      return true;
    });
    await using proxy = await openBehind(server.url);

    await expect((await RawSession.open(proxy.url)).call('any')).rejects.toThrow(
      /status 307, which leads to .*, a redirect that does not end/,
    );
  });
});

describe('a server that refuses a newer protocol version is asked for an older one if it says so with', () => {
  const message = 'Unsupported protocol version: 2025-11-25';
  type Refusal = (id: unknown) => [number, object];
  test.each<[string, Refusal]>([
    ['400', () => [400, { jsonrpc: '2.0', id: null, error: { code: -32600, message } }]],
    ['400 and the ID', (id) => [400, { jsonrpc: '2.0', id, error: { code: -32602, message } }]],
    ['200', (id) => [200, { jsonrpc: '2.0', id, error: { code: -32602, message } }]],
    ['400 and no message', () => [400, { error: 'unsupported protocolVersion' }]],
  ])('%s', async (_what, refusal) => {
    await using server = await openServer(({ message: { id, method, params }, response }) => {
      if (method !== 'initialize' || (params?.protocolVersion ?? '') <= '2025-06-18') return false;
      const [status, body] = refusal(id);
      response.writeHead(status, json).end(JSON.stringify(body));
      return true;
    });
    await using proxy = await openBehind(server.url);
    await proxy.proxy.checkSession(AbortSignal.timeout(20_000));

    const session = await RawSession.open(proxy.url);

    expect(await session.call('any')).toBe('done');
  });
});

describe('a server with a limit', () => {
  type Refuse = (response: ServerResponse) => void;
  const status =
    (code: number, retryAfter?: string): Refuse =>
    (response) =>
      response.writeHead(code, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end('busy');
  const inBody: Refuse = (response) =>
    response
      .writeHead(429, { ...json, 'retry-after': '0' })
      .end('{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-32004,"message":"Too many requests."}}');

  /** Refuses the first requests with a method. */
  function refusing(refused: string, refuse: Refuse, times = 1): Manners {
    return ({ message: { method }, response }) => {
      if (method !== refused || times-- <= 0) return false;
      refuse(response);
      return true;
    };
  }

  test.each<[string, string, Refuse]>([
    ['429', 'tools/call', status(429, '0')],
    ['429 and a date in the past', 'tools/call', status(429, 'Wed, 21 Oct 2015 07:28:00 GMT')],
    ['429 and an error', 'tools/call', inBody],
    ['429 at the beginning of a session', 'initialize', status(429, '0')],
    ['429 for the first question', 'server/discover', status(429, '0')],
    ['503 for a list', 'tools/list', status(503, '0')],
  ])('that answers with %s gets the request again', async (_what, method, refuse) => {
    await using server = await openServer(refusing(method, refuse));
    await using proxy = await openBehind(server.url);

    await proxy.proxy.checkSession(AbortSignal.timeout(20_000));
    const session = await RawSession.open(proxy.url);

    expect(await session.call('any')).toBe('done');
    expect(server.calls).toEqual(['any']);
  });

  test.each<[string, Refuse]>([
    ['503 to a call, which may have run', status(503, '0')],
    ['503 without a time', status(503)],
    ['429 and a long time', status(429, '3600')],
  ])('that answers with %s does not get it again', async (_what, refuse) => {
    let asked = 0;
    await using server = await openServer(({ message, response }) => {
      if (message.method !== 'tools/call') return false;
      asked += 1;
      refuse(response);
      return true;
    });
    await using proxy = await openBehind(server.url);

    await expect((await RawSession.open(proxy.url)).call('any')).rejects.toThrow(/status (?:429|503)/);

    expect(asked).toBe(1);
  });

  test('has its time in the error', async () => {
    await using server = await openServer(refusing('tools/call', status(429, '3600')));
    await using proxy = await openBehind(server.url);
    const session = await RawSession.open(proxy.url);

    const { error } = await answerOf(await session.postCall(7, 'any'));

    expect(error).toMatchObject({
      message: expect.stringContaining('the server returned status 429, and asks to wait 3600 s: busy'),
      data: { retryAfterMs: 3_600_000 },
    });
  });

  test('that never takes a request is named', async () => {
    await using server = await openServer(({ request, response }) => {
      if (request.method !== 'POST') return false;
      status(429, '3600')(response);
      return true;
    });

    await expect(openBehind(server.url)).rejects.toThrow(/returned status 429, because/);
  });
});

describe('a notification', () => {
  test.each<[string, Manners]>([
    [
      'with a stream that stays open',
      ({ response }) =>
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': accepted\n\n'),
    ],
    ['with nothing', () => true],
    [
      'with an error',
      ({ response }) => response.writeHead(400, json).end('{"error":"unknown"}') !== undefined,
    ],
  ])('that a server answers %s holds no call up', async (_what, reply) => {
    await using server = await openServer((exchange) => {
      const { request, message } = exchange;
      return request.method === 'POST' && message.id === undefined && reply(exchange);
    });
    await using proxy = await openBehind(server.url);

    expect(await (await RawSession.open(proxy.url)).call('any')).toBe('done');
  });
});

describe('an answer on the stream of the session', () => {
  /** A server that answers calls on that stream, after it has replied to the request in some way. */
  async function openServerWithStream(reply: (response: ServerResponse) => void) {
    let stream: ServerResponse | undefined;
    const opened = Promise.withResolvers<void>();
    const server = await openServer(({ request, response, message, answer }) => {
      if (request.method === 'GET') {
        stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
        stream.write(': open\n\n');
        opened.resolve();
        return true;
      }
      if (message.method !== 'tools/call') return false;
      reply(response);
      if (message.params?.name === 'lost') stream?.end();
      else stream?.write(`data: ${answer}\n\n`);
      return true;
    });
    return { ...server, opened: opened.promise };
  }

  const replies: [string, (response: ServerResponse) => void][] = [
    ['nothing', (response) => response.writeHead(202).end()],
    ['an empty stream', (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end()],
  ];

  test.each(replies)('is found after %s', async (_what, reply) => {
    await using server = await openServerWithStream(reply);
    await using proxy = await openBehind(server.url);
    const session = await RawSession.open(proxy.url);
    await server.opened;
    await session.send('POST'); // behind the start of the stream

    expect(await session.call('any')).toBe('done');
    expect(await session.call('any')).toBe('done');
  });

  test.each(replies)('after %s is given up with the stream', async (_what, reply) => {
    await using server = await openServerWithStream(reply);
    await using proxy = await openBehind(server.url);
    const session = await RawSession.open(proxy.url);
    await server.opened;
    await session.send('POST');

    await expect(session.call('lost')).rejects.toThrow('gave no answer');
  });
});

describe('cookies of a load balancer', () => {
  /** A server behind one that sets the cookies, which calls must have. */
  async function openBalanced(set: string[]) {
    const got: (string | undefined)[] = [];
    const server = await openServer(({ message, request, response }) => {
      if (message.method === 'initialize') response.setHeader('set-cookie', set);
      if (message.method === 'tools/call') got.push(request.headers.cookie);
      return false;
    });
    return { ...server, got };
  }

  test.each<[string, string[], string | undefined]>([
    ['are sent back', ['lb=a1==; Path=/; HttpOnly', 'other=b; SameSite=None; Secure'], 'lb=a1==; other=b'],
    [
      'are forgotten when the server says so',
      ['lb=a', 'lb=; Max-Age=0', 'x=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT'],
      undefined,
    ],
    [
      'are not sent back if they are not cookies',
      ['lb', '=a', 'a b=c', 'a="b', `a=${'x'.repeat(5000)}`],
      'a="b',
    ],
  ])('%s', async (_what, set, sent) => {
    await using server = await openBalanced(set);
    await using proxy = await openBehind(server.url);

    await (await RawSession.open(proxy.url)).call('any');

    expect(server.got).toEqual([sent]);
  });

  test('belong to one conversation', async () => {
    let count = 0;
    const got: [string | undefined, string | undefined][] = [];
    await using server = await openServer(({ message, request, response, session }) => {
      if (message.method === 'initialize') response.setHeader('set-cookie', `lb=c${++count}`);
      if (message.method === 'tools/call') got.push([request.headers.cookie, session]);
      return false;
    });
    await using proxy = await openBehind(server.url);
    const [one, two] = [await RawSession.open(proxy.url), await RawSession.open(proxy.url)];

    await one.call('any');
    await two.call('any');

    expect(got).toHaveLength(2);
    for (const [cookie, session] of got) expect(cookie?.replace('lb=c', 's')).toBe(session);
    expect(new Set(got.map(([cookie]) => cookie)).size).toBe(2);
  });

  test('give way to those that the user has configured', async () => {
    await using server = await openBalanced(['lb=a']);
    await using proxy = await openBehind(server.url, 'streamable-http', { Cookie: 'mine=1' });

    await (await RawSession.open(proxy.url)).call('any');

    expect(server.got).toEqual(['mine=1']);
  });
});

describe('an endpoint of HTTP+SSE', () => {
  /** A server that names its endpoint in its own way. */
  async function openSse(
    endpoint: (port: number) => string,
    accept = (response: ServerResponse, tell: () => void): void => {
      response.writeHead(202).end();
      tell();
    },
  ) {
    let stream: ServerResponse | undefined;
    const server = await openServer(({ request, response, answer, message }) => {
      if (request.method === 'GET') {
        stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
        stream.write(`event: endpoint\ndata: ${endpoint(server.port)}\n\n`);
        return true;
      }
      if (!request.url?.startsWith('/messages')) return false;
      accept(response, () => message.id !== undefined && stream?.write(`data: ${answer}\n\n`));
      return true;
    });
    return { ...server, url: `http://127.0.0.1:${server.port}/sse` };
  }

  test.each<[string, (port: number) => string]>([
    ['every address', (port) => `http://0.0.0.0:${port}/messages?session_id=1`],
    ['every address of IPv6', (port) => `http://[::]:${port}/messages`],
    ['the machine by its name', (port) => `http://localhost:${port}/messages`],
    ['the port inside of a container', () => 'http://127.0.0.1:8000/messages'],
    ['the scheme behind a proxy that ends TLS', () => 'https://127.0.0.1/messages'],
    ['its address in quotes', () => '"/messages?session_id=1"'],
    ['its address with spaces', () => '  /messages?session_id=1 '],
    ['its relative address', () => 'messages'],
  ])('that names %s is where the server is reached', async (_what, endpoint) => {
    await using server = await openSse(endpoint);
    await using proxy = await openBehind(server.url, 'sse');

    expect(await (await RawSession.open(proxy.url)).call('any')).toBe('done');
  });

  test('that accepts messages only after their execution holds no message up', async () => {
    await using server = await openSse(
      () => '/messages',
      (_response, tell) => tell(),
    );
    await using proxy = await openBehind(server.url, 'sse');

    expect(await (await RawSession.open(proxy.url)).call('any')).toBe('done');
  });

  test.each(['http://169.254.169.254/messages', 'http://10.0.0.1/messages', 'ftp://127.0.0.1/messages'])(
    'of a remote server is not believed to be %s',
    async (endpoint) => {
      await using server = await openSse(() => endpoint);
      await using proxy = await openBehind(server.url, 'sse');

      const session = new RawSession(proxy.url);
      const response = await session.post({ id: 1, method: 'initialize', params: {} });

      expect(await response.text()).toContain('another origin');
    },
  );
});
