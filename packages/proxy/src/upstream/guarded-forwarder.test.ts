import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { unauthorized } from '@toolhive/contract/failure';
import type { Instance } from '@toolhive/runtime/runtime';
import { describe, expect, test } from 'vitest';
import { refusal } from '../middleware/message-pipeline.ts';
import type { CallContext, Outcome } from '../middleware/middleware.ts';
import { recorder } from '../testing/recorder.ts';
import type { Recorded } from '../testing/recorder.ts';
import { RawSession, answerOf, openTestProxy, postModern, readRawEvents } from '../testing/test-proxy.ts';
import type { Received, TestProxy } from '../testing/test-proxy.ts';
import type { ProxyOptions } from '../proxy.ts';

/** What a scripted HTTP server got. */
interface Got {
  request: IncomingMessage;
  response: ServerResponse;
  message: Received;
}

type Behavior = (got: Got) => void;

interface HttpTest extends AsyncDisposable {
  url: string;
  proxy: TestProxy;
  got: Got[];
}

/** A proxy in front of an HTTP server that answers `initialize` with a session `s1`, `s2`, … and the rest as the test says. */
async function open(
  options: Partial<ProxyOptions>,
  behave: Behavior,
  { hasSessions = true, movedTo }: { hasSessions?: boolean; movedTo?: string } = {},
): Promise<HttpTest> {
  await using opened = new AsyncDisposableStack();
  const got: Got[] = [];
  let sessions = 0;
  const server = createServer((request, response) => {
    if (movedTo !== undefined && request.url !== movedTo) {
      response.writeHead(308, { location: movedTo }).end();
      return;
    }
    void text(request).then((body) => {
      const message = (body === '' ? {} : JSON.parse(body)) as Received;
      const one = { request, response, message };
      if (message.method === 'server/discover' && message.id === 0) {
        return json(response, 200, { jsonrpc: '2.0', id: 0, error: { code: -32601, message: 'no' } });
      }
      got.push(one);
      if (message.method !== 'initialize' || !hasSessions) return behave(one);
      response.setHeader('mcp-session-id', `s${++sessions}`);
      return result(one, { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} });
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  opened.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const proxy = opened.use(await openTestProxy({ transport: 'streamable-http', ...options }));
  const instance: Instance = {
    id: 'scripted',
    address: { kind: 'tcp', host: '127.0.0.1', port: (server.address() as AddressInfo).port },
    exited: new Promise(() => {}),
    stop: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
  await proxy.proxy.connect(instance, async () => instance, AbortSignal.timeout(10_000));
  const everything = opened.move();
  return { url: proxy.url, proxy, got, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function result({ response, message: { id } }: Got, value: object): void {
  json(response, 200, { jsonrpc: '2.0', id, result: value });
}

function stream({ response }: Got): (value: unknown, id?: string) => void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  return (value, id) =>
    void response.write(
      `${id === undefined ? '' : `id: ${id}\n`}data: ${value === '' ? '' : JSON.stringify(value)}\n\n`,
    );
}

const tools = [{ name: 'shown' }, { name: 'hidden' }];
const rules = { tools: { filter: ['shown'] } };

async function check(authorization: string | undefined): Promise<{ id: string }> {
  const [, name] = /^Bearer (.+)$/.exec(authorization ?? '') ?? [];
  if (name === undefined) throw unauthorized('a token is missing');
  return { id: name };
}

const as = (name: string): Record<string, string> => ({ authorization: `Bearer ${name}` });

test('a list is filtered in a whole reply, in an event, and in the resumed stream of another request', async () => {
  await using opened = await open(rules, (got) => {
    const { request, message, response } = got;
    if (message.id === 1) return result(got, { tools });
    const send = stream(got);
    if (request.method === 'GET') send({ jsonrpc: '2.0', id: 3, result: { tools } }, 'e2');
    else if (message.id === 2) send({ jsonrpc: '2.0', id: 2, result: { tools } });
    else send('', 'e1'); // and then the connection is lost
    response.end();
  });
  const session = await RawSession.open(opened.url);

  const whole = await (await session.post({ id: 1, method: 'tools/list' })).json();
  const events = await Array.fromAsync(readRawEvents(await session.post({ id: 2, method: 'tools/list' })));
  const lost = await Array.fromAsync(readRawEvents(await session.post({ id: 3, method: 'tools/list' })));
  const resumed = await Array.fromAsync(readRawEvents(await session.get('e1')));

  const shown = { tools: [{ name: 'shown' }] };
  expect(whole).toMatchObject({ result: shown });
  expect(events).toMatchObject([{ message: { id: 2, result: shown } }]);
  expect(lost).toEqual([{ id: 'e1', message: undefined }]);
  expect(resumed).toMatchObject([{ id: 'e2', message: { id: 3, result: shown } }]);
});

test('a response that answers nothing does not reach the client', async () => {
  await using opened = await open(rules, (got) => {
    if (got.message.id === 1) return json(got.response, 200, { jsonrpc: '2.0', id: 77, result: { tools } });
    const send = stream(got);
    send({ jsonrpc: '2.0', id: 77, result: { tools } });
    send({ jsonrpc: '2.0', id: got.message.id, result: {} });
    got.response.end();
  });
  const session = await RawSession.open(opened.url);

  const whole = await session.post({ id: 1, method: 'ping' });
  const events = await Array.fromAsync(readRawEvents(await session.post({ id: 2, method: 'ping' })));

  expect([whole.status, await whole.text()]).toEqual([
    502,
    'the server did not answer: the response does not answer the request\n',
  ]);
  expect(events).toMatchObject([{ message: { id: 2 } }]);
});

test('a stream without an answer ends with the reason', async () => {
  await using opened = await open(rules, ({ message, response }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (message.id === 2) response.write(`data: {"jsonrpc":"2.0","id":2,"result":{]}\n\n`);
    if (message.id === 3) response.write(`data: {"jsonrpc":"2.0","id":3,"result":{"n":NaN}}\n\n`);
    if (message.id === 4) response.write(`id: 1\nretry: 10\ndata:\n\n`); // can be resumed
    response.end();
  });
  const session = await RawSession.open(opened.url);
  const eventsOf = async (id: number) =>
    Array.fromAsync(readRawEvents(await session.post({ id, method: 'ping' })));

  expect([await eventsOf(1), await eventsOf(2), await eventsOf(3), await eventsOf(4)]).toMatchObject([
    [{ message: { id: 1, error: { message: expect.stringContaining('stream ended before the answer') } } }],
    [{ message: { id: 2, error: { message: expect.stringContaining('its event is invalid: ') } } }],
    [{ message: { id: 3, result: { n: null } } }],
    [{ id: '1' }],
  ]);
});

test('a stream tells reverse proxies not to keep its events', async () => {
  await using opened = await open(rules, (got) => {
    stream(got)({ jsonrpc: '2.0', id: got.message.id, result: {} });
    got.response.end();
  });
  const session = await RawSession.open(opened.url);

  const response = await session.post({ id: 1, method: 'ping' });

  expect(response.headers.get('x-accel-buffering')).toBe('no');
  await response.body?.cancel();
});

test('progress reaches the client only for its open requests, and for tasks', async () => {
  await using opened = await open(rules, (got) => {
    const { id } = got.message;
    const send = stream(got);
    const report = (progressToken: unknown) =>
      send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } });
    for (const token of ['t1', `tool-call-${String(id)}`, 7, '7']) report(token);
    send({ jsonrpc: '2.0', id, result: {} });
    report('t1');
    got.response.end();
  });
  const session = await RawSession.open(opened.url);
  const reportsOf = async (params: object) => {
    const response = await session.post({
      id: 1,
      method: 'tools/call',
      params: { name: 'shown', ...params },
    });
    const events = await Array.fromAsync(readRawEvents(response));
    return events.flatMap(
      ({ message }) => (message?.params as { progressToken?: unknown })?.progressToken ?? [],
    );
  };

  expect(await reportsOf({ _meta: { progressToken: 't1' } })).toEqual(['t1']);
  expect(await reportsOf({ _meta: { progressToken: 7 } })).toEqual([7, '7']);
  expect(await reportsOf({})).toEqual([]);
  expect(await reportsOf({ _meta: { progressToken: 't1' }, task: {} })).toEqual(['t1', 't1']);
});

test.each<[string, (response: ServerResponse) => void]>([
  ['null', (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('null')],
  ['nothing as JSON', (response) => response.writeHead(200, { 'content-type': 'application/json' }).end()],
  ['text', (response) => response.writeHead(202, { 'content-type': 'text/plain' }).end('Accepted')],
  ['no content', (response) => response.writeHead(204).end()],
])('a reply to a notification with %s reaches the client as 202', async (_what, reply) => {
  await using opened = await open(rules, ({ response }) => reply(response));
  const session = await RawSession.open(opened.url);

  const response = await session.post({ method: 'notifications/initialized' });

  expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
    202,
    null,
    '',
  ]);
});

test.each([
  [400, 'Bad Request: No valid session ID provided'],
  [400, 'Bad Request: Server not initialized'],
  [410, 'gone'],
  [503, 'Service Unavailable: MCP session is unknown or expired on this API instance'],
])('a session that ends with status %i (%s) ends for the client with 404', async (status, message) => {
  await using opened = await open(rules, ({ response }) =>
    json(response, status, { jsonrpc: '2.0', id: null, error: { code: -32000, message } }),
  );
  const session = await RawSession.open(opened.url);

  const response = await session.post({ id: 1, method: 'tools/list' });

  expect(response.status).toBe(404);
  expect(await response.text()).toContain(message);
});

test.each([
  [400, 'Invalid arguments'],
  [500, 'database is down'],
])('another failure with status %i (%s) stays', async (status, message) => {
  await using opened = await open(rules, ({ response }) =>
    json(response, status, { jsonrpc: '2.0', id: null, error: { code: -32000, message } }),
  );
  const session = await RawSession.open(opened.url);

  expect((await session.post({ id: 1, method: 'tools/list' })).status).toBe(status);
});

test('the error of a request that mentions a session stays', async () => {
  await using opened = await open(rules, ({ response, message: { id } }) =>
    json(response, 400, { jsonrpc: '2.0', id, error: { code: -32602, message: 'the session is required' } }),
  );
  const session = await RawSession.open(opened.url);

  expect((await session.post({ id: 1, method: 'tools/list' })).status).toBe(400);
});

test('a server does not get a version before its negotiation, and both media types from clients that accept all', async () => {
  await using opened = await open(rules, (got) => result(got, { tools }));
  const session = new RawSession(opened.url);
  const anything = { accept: '*/*', 'mcp-protocol-version': '2025-11-25' };

  await session.post({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25' } }, anything);
  await session.post({ id: 1, method: 'tools/list' }, { ...anything, 'mcp-session-id': 's1' });
  await session.post({ id: 2, method: 'tools/list' }, { accept: 'application/json', 'mcp-session-id': 's1' });

  const [first, second, third] = opened.got
    .slice(-3)
    .map(({ request: { headers } }) => [headers.accept, headers['mcp-protocol-version']]);
  expect(first).toEqual(['application/json, text/event-stream', undefined]);
  expect(second).toEqual(['application/json, text/event-stream', '2025-11-25']);
  expect(third).toEqual(['application/json', undefined]);
});

test('a body that is almost a message is passed on, and the reason against another one', async () => {
  const bodies = [
    '{"jsonrpc":"2.0","id":1,"result":{"n":NaN}}',
    Buffer.from('\uFEFF{"jsonrpc":"2.0","id":2,"result":{"t":"\u00e9"}}', 'utf16le'),
    Buffer.from('{"jsonrpc":"2.0","id":3,"result":{"t":"\u4e2d"}}', 'utf16le'),
    '{"jsonrpc":"2.0","id":4,"result":{]}',
  ];
  await using opened = await open(rules, ({ message, response }) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(bodies[Number(message.id) - 1]),
  );
  const session = await RawSession.open(opened.url);
  const textOf = async (id: number) => (await session.post({ id, method: 'ping' })).text();

  expect([await textOf(1), await textOf(2), await textOf(3), await textOf(4)]).toEqual([
    '{"jsonrpc":"2.0","id":1,"result":{"n":null}}',
    '{"jsonrpc":"2.0","id":2,"result":{"t":"\u00e9"}}',
    '{"jsonrpc":"2.0","id":3,"result":{"t":"\u4e2d"}}',
    'the server did not answer: the response does not answer the request: the body is not JSON: {"jsonrpc":"2.0","id":4,"result":{]}\n',
  ]);
});

describe('the answer to a request is found', () => {
  const list = { tools: [{ name: 'shown' }, { name: 'hidden' }] };
  const answer = (id: unknown): string => JSON.stringify({ jsonrpc: '2.0', id, result: list });
  const whole =
    (write: (id: unknown) => string, type?: string, status = 200): Behavior =>
    ({ message: { id }, response }) =>
      void response.writeHead(status, type === undefined ? {} : { 'content-type': type }).end(write(id));

  test.each<[string, Behavior]>([
    ['without a media type', whole(answer)],
    ['in a text', whole(answer, 'text/plain')],
    ['in another kind of JSON', whole(answer, 'application/json-rpc')],
    [
      'in an event that is called JSON',
      whole((id) => `event: message\ndata: ${answer(id)}\n\n`, 'application/json'),
    ],
    ['in an event stream in capitals', whole((id) => `data: ${answer(id)}\n\n`, 'Text/Event-Stream')],
    ['with status 202', whole(answer, 'application/json', 202)],
    ['without an ID', whole(() => answer(undefined), 'application/json')],
    ['with null as its ID', whole(() => answer(null), 'application/json')],
    ['in an event without an ID', whole(() => `data: ${answer(undefined)}\n\n`, 'text/event-stream')],
    ['in an event with null as its ID', whole(() => `data: ${answer(null)}\n\n`, 'text/event-stream')],
  ])('%s, and filtered', async (_what, behave) => {
    await using opened = await open(rules, behave);
    const session = await RawSession.open(opened.url);

    const response = await session.post({ id: 5, method: 'tools/list' });

    expect(response.status).toBe(200);
    expect(await answerOf(response)).toEqual({
      jsonrpc: '2.0',
      id: 5,
      result: { tools: [{ name: 'shown' }] },
    });
  });

  const failed = { code: -32603, message: 'broken' };

  test.each<[string, object]>([
    ['null', { jsonrpc: '2.0', id: null, error: failed }],
    ['no', { error: failed }],
    ['another', { jsonrpc: '2.0', id: 'server-error', error: failed }],
  ])('in an event with %s ID if the request failed', async (_what, failure) => {
    await using opened = await open(rules, (got) => {
      stream(got)(failure);
      got.response.end();
    });
    const session = await RawSession.open(opened.url);

    const answer = await answerOf(await session.post({ id: 5, method: 'ping' }));

    expect(answer).toEqual({ jsonrpc: '2.0', id: 5, error: failed });
  });

  test('on the stream of the session after the request was accepted', async () => {
    let stream: ServerResponse | undefined;
    await using opened = await open(rules, ({ request, response, message: { id } }) => {
      if (request.method === 'GET') {
        stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
        stream.write(':\n\n');
      } else {
        response.writeHead(202).end();
        stream?.write(`data: ${answer(id)}\n\n`);
      }
    });
    const session = await RawSession.open(opened.url);
    await using messages = await session.listen();

    const accepted = await session.post({ id: 5, method: 'tools/list' });

    expect(accepted.status).toBe(202);
    expect((await messages.next()).value).toMatchObject({ id: 5, result: { tools: [{ name: 'shown' }] } });
  });
});

test.each(['{"detail":"the field a is missing"}', '["the field a is missing"]', 'the field a is missing'])(
  'the reason of a failure reaches the client: %s',
  async (body) => {
    await using opened = await open(rules, ({ response }) =>
      response.writeHead(422, { 'content-type': 'application/json' }).end(body),
    );
    const session = await RawSession.open(opened.url);

    const response = await session.post({ id: 1, method: 'ping' });

    expect([response.status, await response.text()]).toEqual([422, body]);
  },
);

test('a notification that the server does not know is accepted', async () => {
  await using opened = await open(rules, ({ response }) =>
    json(response, 400, { jsonrpc: '2.0', id: null, error: { code: -32601, message: 'Method not found' } }),
  );
  const session = await RawSession.open(opened.url);

  const response = await session.post({ method: 'notifications/initialized' });

  expect([response.status, await response.text()]).toEqual([202, '']);
});

test.each(['/mcp/', '/other/mcp'])(
  'a server that redirects requests to %s is reached there',
  async (path) => {
    await using opened = await open({ ...rules, sessions: 'own' }, (got) => result(got, { tools }), {
      movedTo: path,
    });
    const session = await RawSession.open(opened.url);

    const answer = await answerOf(await session.post({ id: 1, method: 'tools/list' }));
    const ended = await session.end();

    expect(answer.result).toEqual({ tools: [{ name: 'shown' }] });
    expect(ended.status).toBe(200);
    expect(new Set(opened.got.map(({ request }) => request.url))).toEqual(new Set([path]));
  },
);

test('a server may write the ID of a request in another way', async () => {
  await using opened = await open(rules, (got) => result(got, { tools }));
  const session = await RawSession.open(opened.url);

  const response = await session.postText('{"jsonrpc":"2.0","id":1.0,"method":"tools/list"}');

  expect(await response.json()).toMatchObject({ id: 1, result: { tools: [{ name: 'shown' }] } });
});

test('a call of a hidden tool does not reach the server, and a renamed one reaches it under its own name', async () => {
  const overrides = { tools: { filter: ['say'], overrides: { shown: { name: 'say' } } } };
  await using opened = await open(overrides, (got) => result(got, { content: [] }));
  const session = await RawSession.open(opened.url);

  const hidden = await (await session.postCall(1, 'hidden')).json();
  const renamed = await session.postCall(2, 'say');

  expect(hidden).toMatchObject({ error: { message: 'tool hidden not found' } });
  expect(renamed.status).toBe(200);
  expect(opened.got.map(({ message }) => message.params?.['name']).filter(Boolean)).toEqual(['shown']);
});

test('sessions belong to the principal that began them, and tokens for the proxy are not for the server', async () => {
  await using opened = await open({ access: { check } }, (got) => result(got, {}));
  const begun = await fetch(`${opened.url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...as('alice') },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: {} }),
  });
  const id = begun.headers.get('mcp-session-id') ?? '';
  const session = new RawSession(opened.url);
  session.id = id;
  const ping = (who: string, over = id): Promise<Response> =>
    session.post({ id: 1, method: 'ping' }, { ...as(who), 'mcp-session-id': over });

  const [own, foreign, made] = await Promise.all([ping('alice'), ping('mallory'), ping('alice', 'made-up')]);
  const listening = await fetch(`${opened.url}/mcp`, {
    headers: { accept: 'text/event-stream', 'mcp-session-id': id, ...as('mallory') },
  });
  const ended = await fetch(`${opened.url}/mcp`, {
    method: 'DELETE',
    headers: { 'mcp-session-id': id, ...as('mallory') },
  });

  expect(id).toBe('s1');
  expect([own.status, foreign.status, made.status, listening.status, ended.status]).toEqual([
    200, 404, 404, 404, 404,
  ]);
  expect(opened.got).toHaveLength(2);
  expect(opened.got.map(({ request }) => request.headers.authorization)).toEqual([undefined, undefined]);
});

test('two callers never get the same session from a server', async () => {
  await using opened = await open(
    { access: { check } },
    (got) => {
      got.response.setHeader('mcp-session-id', 'always-the-same');
      result(got, {});
    },
    { hasSessions: false },
  );
  const begin = async (who: string): Promise<[number, string | null]> => {
    const response = await new RawSession(opened.url).post(
      { id: 0, method: 'initialize', params: {} },
      as(who),
    );
    return [response.status, response.headers.get('mcp-session-id')];
  };

  expect([await begin('alice'), await begin('mallory')]).toEqual([
    [200, 'always-the-same'],
    [502, null],
  ]);
});

test('a request of the server and its response pass the middleware, and a refused one is answered', async () => {
  const seen: string[] = [];
  const message = ({ direction, message: passing, request }: CallContext): Outcome => {
    const method = passing.value.method ?? `answer to ${request?.value.method}`;
    seen.push(`${direction}: ${method}`);
    return method === 'sampling/createMessage' && direction === 'to client'
      ? refusal(-32001, 'not asked')
      : passing;
  };
  const answered: unknown[] = [];
  await using opened = await open({ middleware: [{ message }] }, (got) => {
    if (got.message.method === undefined) {
      answered.push(got.message);
      got.response.writeHead(202).end();
      return;
    }
    const send = stream(got);
    send({ jsonrpc: '2.0', id: 'q1', method: 'sampling/createMessage', params: {} });
    send({ jsonrpc: '2.0', id: 'q2', method: 'elicitation/create', params: {} });
    send({ jsonrpc: '2.0', id: got.message.id, result: { content: [] } });
    got.response.end();
  });
  const session = await RawSession.open(opened.url);

  const events = await Array.fromAsync(readRawEvents(await session.postCall(5, 'ask')));
  await session.post({ id: 'q2', result: { action: 'accept' } });

  expect(events.map(({ message: { id } = {} }) => id)).toEqual(['q2', 5]);
  await expect
    .poll(() => answered)
    .toEqual([
      { jsonrpc: '2.0', id: 'q1', error: { code: -32001, message: 'not asked' } },
      { jsonrpc: '2.0', id: 'q2', result: { action: 'accept' } },
    ]);
  expect(seen).toEqual([
    'to server: initialize',
    'to client: answer to initialize',
    'to server: tools/call',
    'to client: sampling/createMessage',
    'to client: elicitation/create',
    'to client: answer to tools/call',
    'to server: answer to elicitation/create',
  ]);
});

test('messages of one stream keep their order when one of them has to wait', async () => {
  const held = Promise.withResolvers<void>();
  const message = async ({ message: passing }: CallContext): Promise<Outcome> => {
    if (passing.value.params?.['n'] === 1) await held.promise;
    return passing;
  };
  await using opened = await open({ middleware: [{ message }] }, (got) => {
    const send = stream(got);
    send({ jsonrpc: '2.0', method: 'notifications/message', params: { n: 1 } });
    send({ jsonrpc: '2.0', method: 'notifications/message', params: { n: 2 } });
    send({ jsonrpc: '2.0', id: got.message.id, result: {} });
    got.response.end();
  });
  const session = await RawSession.open(opened.url);
  const response = await session.postCall(1, 'any');

  held.resolve();
  const events = await Array.fromAsync(readRawEvents(response));

  expect(events.map(({ message: one }) => one?.params?.['n'] ?? one?.id)).toEqual([1, 2, 1]);
});

test('a batch goes to the server message by message, and its answers come back together', async () => {
  const records: Recorded[] = [];
  await using opened = await open({ middleware: [recorder(records)] }, (got) => {
    if (got.message.id === undefined) got.response.writeHead(202).end();
    else result(got, { n: got.message.id });
  });
  const session = await RawSession.open(opened.url);
  const body = JSON.stringify([
    { jsonrpc: '2.0', id: 1, method: 'ping' },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'ping' },
  ]);

  const answers = (await (await session.postText(body)).json()) as Received[];

  expect(answers.toSorted((a, b) => Number(a.id) - Number(b.id))).toMatchObject([
    { id: 1, result: { n: 1 } },
    { id: 2, result: { n: 2 } },
  ]);
  expect(records.filter(({ direction }) => direction === 'to server').map(({ method }) => method)).toEqual([
    'initialize',
    'ping',
    'notifications/initialized',
    'ping',
  ]);
});

test('statuses of the server reach the client, and what is not a message does not', async () => {
  await using opened = await open(rules, ({ request, response, message }) => {
    if (request.method === 'DELETE') response.writeHead(405).end();
    else if (message.id === 1) {
      json(response, 404, {
        jsonrpc: '2.0',
        id: null,
        error: { code: -32001, message: 'Session not found' },
      });
    } else if (message.id === 2) response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello');
    else if (message.id === 3) response.writeHead(500, { 'content-type': 'text/plain' }).end('broken');
    else response.writeHead(202).end();
  });
  const session = await RawSession.open(opened.url);
  const say = async (response: Response): Promise<[number, string]> => [
    response.status,
    await response.text(),
  ];

  expect([
    await say(await session.end()),
    await say(await session.post({ id: 1, method: 'ping' })),
    await say(await session.post({ id: 2, method: 'ping' })),
    await say(await session.post({ id: 3, method: 'ping' })),
    await say(await session.post({ method: 'notifications/initialized' })),
  ]).toEqual([
    [405, ''],
    [404, '{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"Session not found"}}'],
    [
      502,
      'the server did not answer: the response does not answer the request: the body is not JSON: <p>hello\n',
    ],
    [500, 'broken'],
    [202, ''],
  ]);
});

test('a request ends at the server when its client disconnects', async () => {
  const closed = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  await using opened = await open(rules, ({ response }) => {
    response.once('close', closed.resolve);
    arrived.resolve();
  });
  const session = await RawSession.open(opened.url);
  const over = new AbortController();
  const asked = fetch(`${opened.url}/mcp`, {
    method: 'POST',
    headers: session.headers(),
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    signal: over.signal,
  });
  await arrived.promise;

  over.abort();

  await expect(asked).rejects.toThrow();
  await closed.promise;
});

test('a modern request whose header says something else than its body is refused', async () => {
  await using opened = await open(rules, (got) => result(got, {}));

  const response = await postModern(opened.url, 'ping', {}, { headers: { 'mcp-method': 'tools/list' } });

  expect(response.status).toBe(400);
  const forwarded = opened.got.filter(({ message }) => message.method !== 'initialize'); // the proxy's own
  expect(forwarded).toEqual([]);
});
