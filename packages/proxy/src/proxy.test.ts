import { PassThrough } from 'node:stream';
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { RawSession, openTestProxy, readEvents } from './testing/test-proxy.ts';

describe('a session of streamable HTTP', () => {
  test('begins with initialize, which the server sees only once', async () => {
    await using test = await openTestProxy();
    await test.connect();

    const one = await RawSession.open(test.url);
    const two = await RawSession.open(test.url);

    expect(one.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(two.id).not.toBe(one.id);
    expect(await two.call('echo', { message: 'hello' })).toBe('hello');
  });

  test.each([
    ['2024-11-05', '2024-11-05'],
    ['2025-06-18', '2025-06-18'],
    ['2025-11-25', '2025-11-25'],
    ['2099-01-01', '2025-11-25'],
  ])('that asks for revision %s speaks %s', async (asked, spoken) => {
    await using test = await openTestProxy();
    await test.connect();

    const response = await new RawSession(test.url).post({
      id: 1,
      method: 'initialize',
      params: { protocolVersion: asked },
    });

    expect(await response.json()).toMatchObject({
      id: 1,
      result: { protocolVersion: spoken, serverInfo: { name: 'test-echo' } },
    });
  });

  test('gets its answers under its own ids, whatever others use', async () => {
    await using test = await openTestProxy();
    await test.connect();
    const sessions = await Promise.all(Array.from({ length: 10 }, () => RawSession.open(test.url)));

    const answers = await Promise.all(
      sessions.flatMap((session, n) =>
        [1, '1', 'x', -5].map(async (id) => {
          const message = `${n}/${JSON.stringify(id)}`;
          const response = await session.post({
            id,
            method: 'tools/call',
            params: { name: 'echo', arguments: { message } },
          });
          const { id: answered, result } = (await response.json()) as {
            id: unknown;
            result: { content: { text: string }[] };
          };
          return { isOwn: answered === id && result.content[0]?.text === message };
        }),
      ),
    );

    expect(answers.every(({ isOwn }) => isOwn)).toBe(true);
  });

  test('gets the progress of its own calls only, under its own tokens', async () => {
    await using test = await openTestProxy();
    await test.connect();
    const sessions = await Promise.all([RawSession.open(test.url), RawSession.open(test.url)]);

    const seen = await Promise.all(
      sessions.map(async (session, n) => {
        const params = {
          name: 'slow',
          arguments: { ms: 60, steps: n + 2 },
          _meta: { progressToken: 'same' },
        };
        const events = readEvents(await session.post({ id: 1, method: 'tools/call', params }));
        return Array.fromAsync(events, ({ params: progress, result }) =>
          result === undefined ? progress : 'answer',
        );
      }),
    );

    const step = (progress: number, total: number): object => ({ progressToken: 'same', progress, total });
    expect(seen).toEqual([
      [step(1, 2), step(2, 2), 'answer'],
      [step(1, 3), step(2, 3), step(3, 3), 'answer'],
    ]);
  });

  test('ends with DELETE, and is unknown from then on', async () => {
    await using test = await openTestProxy();
    await test.connect();
    const session = await RawSession.open(test.url);

    const ended = await session.end();
    const after = await session.post({ id: 1, method: 'ping' });

    expect([ended.status, after.status]).toEqual([204, 404]);
  });

  test('hears when the tools of its server change', async () => {
    await using test = await openTestProxy();
    const { stdio } = await test.connect();
    const session = await RawSession.open(test.url);
    await using messages = await session.listen();

    stdio?.output.push('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n');

    expect((await messages.next()).value).toMatchObject({ method: 'notifications/tools/list_changed' });
  });

  test('hears nothing that may belong to another client', async () => {
    await using test = await openTestProxy();
    const { stdio } = await test.connect();
    const [one, two] = await Promise.all([RawSession.open(test.url), RawSession.open(test.url)]);
    await one.post({ id: 1, method: 'resources/subscribe', params: { uri: 'test://one' } });
    await using first = await one.listen();
    await using second = await two.listen();

    for (const message of [
      { method: 'notifications/message', params: { level: 'info', data: 'private' } },
      { method: 'notifications/resources/updated', params: { uri: 'test://one' } },
      { method: 'notifications/tools/list_changed' },
    ]) {
      stdio?.output.push(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    }

    expect((await first.next()).value).toMatchObject({ method: 'notifications/resources/updated' });
    expect((await second.next()).value).toMatchObject({ method: 'notifications/tools/list_changed' });
  });

  test('continues when its server is replaced, and pending calls get an error', async () => {
    await using test = await openTestProxy();
    const instance = await test.connect();
    const session = await RawSession.open(test.url);
    const before = await session.call('instance');

    const pending = session.call('slow', { ms: 60_000 });
    await session.call('echo', { message: 'so that the slow call has arrived' });
    await instance.stop(0);
    test.proxy.disconnect('it was killed by SIGKILL', false);
    const waiting = session.call('instance');
    await expect(pending).rejects.toThrow('the server ended before answering: it was killed by SIGKILL');
    await test.connect();

    expect(await waiting).not.toBe(before);
  });

  test('is told at once when no server will come', async () => {
    await using test = await openTestProxy();
    test.proxy.disconnect('it exited with code 3', true);

    const response = await new RawSession(test.url).post({ id: 4, method: 'ping' });

    expect(await response.json()).toEqual({
      jsonrpc: '2.0',
      id: 4,
      error: { code: -32000, message: 'the server is not running: it exited with code 3' },
    });
  });
});

describe('a client with bad manners', () => {
  test.each([
    ['no JSON', '{"jsonrpc"', 400, -32700],
    ['a batch', '[]', 400, -32600],
    ['no message', '{}', 400, -32600],
    ['two ids', '{"jsonrpc":"2.0","id":1,"method":"ping","id":2}', 400, -32600],
  ])('that sends %s is told so', async (_title, body, status, code) => {
    await using test = await openTestProxy();
    await test.connect();

    const response = await new RawSession(test.url).postText(body);

    expect([response.status, await response.json()]).toEqual([
      status,
      expect.objectContaining({ error: expect.objectContaining({ code }) }),
    ]);
  });

  test.each([
    ['null as its parameters', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}'],
    ['an empty list as its parameters', '{"jsonrpc":"2.0","params": [ ],"id":1,"method":"tools/list"}'],
    ['null as its metadata', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":null}}'],
    ['a byte order mark', '\uFEFF{"jsonrpc":"2.0","id":1,"method":"tools/list"}'],
  ])('that sends %s is understood', async (_title, body) => {
    await using test = await openTestProxy();
    await test.connect();
    const session = await RawSession.open(test.url);

    const response = await session.postText(body);

    expect(await response.json()).toMatchObject({ id: 1, result: { tools: expect.any(Array) } });
  });

  test.each([
    ['a notification', '{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}', 202],
    [
      'a notification without parameters',
      '{"id": null,"params":null,"jsonrpc":"2.0","method":"notifications/a"}',
      202,
    ],
    ['a notification twice', '{"jsonrpc":"2.0","id":null,"id":null,"method":"notifications/a"}', 400],
    ['a request', '{"jsonrpc":"2.0","id":null,"method":"ping"}', 400],
  ])('that sends null as the ID of %s is answered with its meaning', async (_title, body, status) => {
    await using test = await openTestProxy();
    await test.connect();
    const session = await RawSession.open(test.url);

    expect((await session.postText(body)).status).toBe(status);
  });

  test.each([
    [
      'two parameters',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"},"params":null}',
    ],
    ['parameters in capitals', '{"jsonrpc":"2.0","id":1,"method":"tools/call","Params":{},"params":null}'],
    ['an escaped name', String.raw`{"jsonrpc":"2.0","id":1,"method":"ping","p\u0061rams":{},"params":null}`],
    ['a list with parameters', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[null]}'],
  ])('that sends %s is refused', async (_title, body) => {
    await using test = await openTestProxy();
    await test.connect();
    const session = await RawSession.open(test.url);

    expect((await session.postText(body)).status).toBe(400);
  });

  test.each(['/mcp/', '/mcp/?x=1'])('that uses the path %s reaches the endpoint', async (path) => {
    await using test = await openTestProxy();
    await test.connect();

    const response = await new RawSession(test.url, path).post({ id: 1, method: 'ping' });

    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  });

  test.each(['/mcp//', '/mcp/x', '//mcp', '/sse/x'])('that uses the path %s does not', async (path) => {
    await using test = await openTestProxy();
    await test.connect();

    expect((await new RawSession(test.url, path).post({ id: 1, method: 'ping' })).status).toBe(404);
  });

  test.each([
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['text', { 'content-type': 'text/plain' }, 415],
    ['an unknown session', { 'mcp-session-id': 'no-such' }, 404],
    ['a foreign origin', { origin: 'http://evil.example' }, 403],
  ])('that comes with %s is refused', async (_title, headers, status) => {
    await using test = await openTestProxy();
    await test.connect();

    expect((await new RawSession(test.url).post({ id: 1, method: 'ping' }, headers)).status).toBe(status);
  });

  test('that sends a compressed body is told to send it without compression', async () => {
    await using test = await openTestProxy();
    await test.connect();

    const response = await fetch(`${test.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: gzipSync('{"jsonrpc":"2.0","id":1,"method":"ping"}'),
    });

    expect(response.status).toBe(415);
    expect(await response.text()).toContain('compressed with "gzip", send it without compression');
  });

  test('that names a foreign host is refused', async () => {
    await using test = await openTestProxy();
    await test.connect();

    expect(await statusOf(test.url, { host: 'evil.example' })).toBe(403);
  });

  test('that sends more than is accepted is cut off, and others are not concerned', async () => {
    await using test = await openTestProxy();
    await test.connect();
    const session = await RawSession.open(test.url);

    const response = await session.postText(
      `{"jsonrpc":"2.0","id":1,"method":"${'x'.repeat(17 * 1024 * 1024)}"}`,
    );

    expect(response.status).toBe(413);
    expect(await session.call('echo', { message: 'fine' })).toBe('fine');
  });

  test('that leaves in the middle of a call harms no other client', async () => {
    await using test = await openTestProxy();
    await test.connect();
    const session = await RawSession.open(test.url);
    const leaving = new AbortController();
    const params = { name: 'slow', arguments: { ms: 50 } };
    const call = fetch(`${test.url}/mcp`, {
      method: 'POST',
      headers: session.headers(),
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      signal: leaving.signal,
    });
    await session.call('echo', {});

    leaving.abort();

    await expect(call).rejects.toThrow();
    expect(await session.call('slow', { ms: 100 })).toBe('done');
  });
});

describe('a server with bad manners', () => {
  test('may print what is no protocol', async () => {
    await using test = await openTestProxy();
    await test.connect('noise');

    expect(await (await RawSession.open(test.url)).call('echo', { message: 'fine' })).toBe('fine');
    expect(test.invalidOutput).toEqual(['Welcome to the server!', '{not json}', '[1,2', '"a string"']);
  });

  test('gets no answer from clients to what it may not ask', async () => {
    await using test = await openTestProxy();
    const { stdio } = await test.connect();
    const asked: string[] = [];
    stdio?.input.on('data', (chunk: Buffer) => asked.push(chunk.toString()));

    stdio?.output.push('{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{}}\n');
    stdio?.output.push('{"jsonrpc":"2.0","id":"s2","method":"ping"}\n');
    await (await RawSession.open(test.url)).call('echo', {});

    expect(asked.join('')).toContain('{"jsonrpc":"2.0","id":"s1","error":{"code":-32601');
    expect(asked.join('')).toContain('{"jsonrpc":"2.0","id":"s2","result":{}}');
  });

  test('that answers without a request is not listened to', async () => {
    await using test = await openTestProxy();
    const { stdio } = await test.connect();
    const session = await RawSession.open(test.url);

    stdio?.output.push(
      '{"jsonrpc":"2.0","id":999999,"result":{}}\n{"jsonrpc":"2.0","id":"toolhive","result":{}}\n',
    );

    expect(await session.call('echo', { message: 'fine' })).toBe('fine');
  });
});

test('a bug costs one request, and the next one is answered', async () => {
  await using test = await openTestProxy();
  const { stdio } = await test.connect();
  const session = await RawSession.open(test.url);
  const input = stdio?.input ?? new PassThrough();
  Object.defineProperty(input, 'writableLength', {
    configurable: true,
    get() {
      throw new Error('a bug with a secret');
    },
  });

  const response = await session.post({ id: 1, method: 'ping' });
  Reflect.deleteProperty(input, 'writableLength');

  expect([response.status, await response.text()]).toEqual([500, 'internal server error\n']);
  expect(test.faults).toEqual([expect.objectContaining({ message: 'a bug with a secret' })]);
  expect(await session.call('echo', { message: 'fine' })).toBe('fine');
});

describe('a server that speaks HTTP', () => {
  test('is passed requests and answers as they are', async () => {
    await using test = await openTestProxy({ transport: 'streamable-http' });
    await test.connect();
    const session = await RawSession.open(test.url);

    const missing = await fetch(`${test.url}/elsewhere?x=1`);

    expect(await session.call('echo', { message: 'ünï' })).toBe('ünï');
    expect(missing.status).toBe(404);
  });

  test('carries bodies of any size both ways', async () => {
    await using test = await openTestProxy({ transport: 'streamable-http' });
    await test.connect();
    const session = await RawSession.open(test.url);

    expect(await session.call('echo', { message: 'z'.repeat(3_000_000) })).toHaveLength(3_000_000);
    expect(await session.call('large', { bytes: 5_000_000 })).toHaveLength(5_000_000);
  });

  test('is said not to run while it does not', async () => {
    await using test = await openTestProxy({ transport: 'streamable-http' });
    const before = await fetch(`${test.url}/mcp`);
    const instance = await test.connect();
    await instance.stop(0);
    test.proxy.disconnect('it exited with code 1', false);

    const after = await fetch(`${test.url}/mcp`);

    expect([before.status, after.status]).toEqual([503, 503]);
    expect(await after.text()).toBe('the server is not running: it exited with code 1\n');
  });

  test.each([10, 100_000])('gets a body of %i characters unchanged', async (length) => {
    await using test = await openTestProxy({ transport: 'streamable-http' });
    await test.connect();
    const session = await RawSession.open(test.url);
    const message = 'ä'.repeat(length);

    expect(await session.call('echo', { message })).toBe(message);
  });

  test('hears nothing of a request whose client went away in the middle', async () => {
    await using test = await openTestProxy({ transport: 'streamable-http' });
    await test.connect();
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(test.url).port) });
    socket.write('POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{"jsonrpc"');
    await once(socket, 'connect');
    socket.destroy();

    const session = await RawSession.open(test.url);

    expect(await session.call('echo', { message: 'still here' })).toBe('still here');
    expect(test.faults).toEqual([]);
  });

  test('is protected from foreign hosts and origins', async () => {
    await using test = await openTestProxy({ transport: 'streamable-http' });
    await test.connect();

    const foreign = await fetch(`${test.url}/mcp`, { headers: { origin: 'https://evil.example' } });

    expect([foreign.status, await statusOf(test.url, { host: 'evil.example' })]).toEqual([403, 403]);
  });
});

test('tells its health', async () => {
  await using test = await openTestProxy();
  const before = await fetch(`${test.url}/health`);
  await test.connect();

  const after = await fetch(`${test.url}/health`);

  expect([before.status, after.status]).toEqual([503, 200]);
  expect(await after.json()).toMatchObject({
    status: 'healthy',
    transport: 'stdio',
    mcp: { available: true },
  });
});

test('says when its port belongs to another user', async () => {
  await using first = await openTestProxy();
  const port = Number(new URL(first.url).port);

  await expect(openTestProxy({ port })).rejects.toMatchObject({
    kind: 'conflict',
    message: `port ${port} of workload test is in use by another program`,
  });
});

/** The status of a request with headers that `fetch` would not send. */
function statusOf(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}/mcp`, { headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('error', reject);
    request.end();
  });
}

test('what concerns a client’s connection only is not passed on', async () => {
  const seen: IncomingHttpHeaders[] = [];
  await using test = await openBefore((request, response) => {
    seen.push(request.headers);
    response.writeHead(404).end();
  });

  const headers = { connection: 'keep-alive, X-Hop', 'x-hop': 'for the proxy', 'x-end': 'for the server' };
  const request = httpRequest(`${test.url}/other`, { headers }).end();
  await once(request, 'response');

  expect(seen.at(-1)).toMatchObject({ 'x-end': 'for the server' });
  expect(seen.at(-1)).not.toHaveProperty('x-hop');
});

test('cookies, which browsers send to every port of this machine, are not passed on', async () => {
  const seen: IncomingHttpHeaders[] = [];
  await using test = await openBefore((request, response) => {
    seen.push(request.headers);
    response.setHeader('set-cookie', ['one=1', 'two=2']).end();
  });

  const answer = await fetch(`${test.url}/other`, { headers: { cookie: 'token=of-another-program' } });

  expect(seen.at(-1)).not.toHaveProperty('cookie');
  expect(answer.headers.getSetCookie()).toEqual([]);
});

test('what a server answers is passed on byte for byte', async () => {
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, at) => (at * 7) % 256));
  await using test = await openBefore(({ url }, response) => {
    if (url !== '/in-pieces') response.setHeader('content-length', bytes.length);
    response.setHeader('x-twice', ['one', 'two']);
    response.setHeader('connection', 'x-hop, keep-alive').setHeader('X-End', 'Für dich');
    response.writeHead(200).write(bytes.subarray(0, 10));
    response.end(bytes.subarray(10));
  });

  const answers = await Promise.all(['/at-once', '/in-pieces'].map((path) => fetch(`${test.url}${path}`)));
  const head = await fetch(`${test.url}/at-once`, { method: 'HEAD' });

  for (const answer of answers) expect(bytes.equals(await answer.bytes())).toBe(true);
  expect(head.headers.get('content-length')).toBe('100000');
  expect(head.headers.get('x-twice')).toBe('one, two');
  expect(head.headers.get('x-end')).toBe('Für dich');
});

test('an event stream is open before there is an event', async () => {
  await using test = await openBefore(({ method }, response) => {
    if (method !== 'GET') response.writeHead(405).end();
    else response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).flushHeaders();
  });
  const over = new AbortController();

  const stream = await fetch(`${test.url}/events`, { signal: over.signal });

  expect(stream.status).toBe(200);
  over.abort();
});

/** A proxy in front of a server that is nothing but this. */
async function openBefore(answer: RequestListener): Promise<AsyncDisposable & { url: string }> {
  await using opened = new AsyncDisposableStack();
  const refuse = '{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no such method"}}';
  const server = opened.use(
    createServer((request, response) => {
      if (request.headers['mcp-method'] === 'server/discover') response.end(refuse);
      else answer(request, response);
    }).listen(0, '127.0.0.1'),
  );
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const { proxy, url } = opened.use(await openTestProxy({ transport: 'streamable-http' }));
  const address = { kind: 'tcp', host: '127.0.0.1', port } as const;
  const startAnother = (): Promise<never> => Promise.reject(new Error('one is enough'));
  await proxy.connect({ address }, startAnother, AbortSignal.timeout(20_000));
  const everything = opened.move();
  return { url, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

test('a client that offers HTTP/2 is answered over HTTP/1.1', async () => {
  await using test = await openTestProxy();
  await test.connect();
  const headers = {
    connection: 'Upgrade, HTTP2-Settings',
    upgrade: 'h2c',
    'http2-settings': 'AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA',
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const asked = httpRequest(`${test.url}/mcp`, { method: 'POST', headers });
  asked.end('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}');

  const [response] = (await once(asked, 'response')) as [IncomingMessage];

  expect(response.statusCode).toBe(200);
  response.destroy();
});
