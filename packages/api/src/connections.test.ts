import { once } from 'node:events';
import { Hono } from 'hono';
import { beforeAll, describe, expect, test } from 'vitest';
import { defaultLimits } from './connections.ts';
import type { ConnectionLimits } from '@toolhive/proxy/connections';
import { listenOnTcp } from './listen.ts';
import type { Listener } from './listen.ts';
import { breachesOf } from './testing/answer-rules.ts';
import { dial, exchange } from './testing/exchange.ts';
import type { Caller, Reply } from './testing/exchange.ts';
import { openTestApi } from './testing/test-api.ts';
import type { TestApi } from './testing/test-api.ts';

const notHttp = 'the request is not valid HTTP\n';
const own = 'Host: localhost\r\n';
const close = 'Connection: close\r\n';
const health = `GET /health HTTP/1.1\r\n${own}`;
const createGroup = `POST /api/v1beta/groups HTTP/1.1\r\n${own}Content-Type: application/json\r\n`;
const deleteGroup = `DELETE /api/v1beta/groups/other HTTP/1.1\r\n${own}Content-Type: application/json\r\n`;
const chunked = 'Transfer-Encoding: chunked\r\n';
/** Bytes that an attacker would like to smuggle as a second request. */
const smuggled = `GET /api/v1beta/version HTTP/1.1\r\n${own}\r\n`;

/** For tests that leave nothing behind. */
let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
  return () => api[Symbol.asyncDispose]();
});

describe('what is no HTTP', () => {
  test.each<[string, string]>([
    ['nothing that has a meaning', 'nonsense\r\n\r\n'],
    ['a TLS handshake', `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${'\x07'.repeat(400)}`],
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['HTTP/0.9', 'GET /health\r\n\r\n'],
    ['HTTP/2 at once', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a version that there is not', `GET /health HTTP/1.2\r\n${own}\r\n`],
    ['a method that there is not', `FOO /health HTTP/1.1\r\n${own}\r\n`],
    ['lines without a carriage return', `${health}${close}\r\n`.replaceAll('\r', '')],
    ['one line without a carriage return', `${health}X: a\n${close}\r\n`],
    ['a lonely carriage return', `${health}X: a\rY: b\r\n${close}\r\n`],
    ['a NUL in a header', `${health}X: a\0b\r\n\r\n`],
    ['a folded header', `${health}X: a\r\n b\r\n\r\n`],
    ['a header before the first one', `GET /health HTTP/1.1\r\n X: a\r\n${own}\r\n`],
    ['a blank before a colon', `${health}X : a\r\n\r\n`],
    ['two hosts', `${health}${own}\r\n`],
    ['a first host that is another', `GET /health HTTP/1.1\r\nHost: evil.invalid\r\n${own}${close}\r\n`],
    ['a second host that is another', `${health}HOST: example.com\r\n\r\n`],
    ['no host', `GET /health HTTP/1.1\r\n${close}\r\n`],
    ['no host in HTTP/1.0', 'GET /health HTTP/1.0\r\n\r\n'],
    ['a host that is none', `GET /health HTTP/1.1\r\nHost: a b\r\n${close}\r\n`],
    ['a target with an authority only', `GET 127.0.0.1:80 HTTP/1.1\r\n${own}${close}\r\n`],
    ['a target of another protocol', `GET ftp://localhost/health HTTP/1.1\r\n${own}${close}\r\n`],
    ['an absolute target that is none', `GET http://[/health HTTP/1.1\r\n${own}${close}\r\n`],
    ['a target that is a star', `OPTIONS * HTTP/1.1\r\n${own}${close}\r\n`],
    ['a tunnel', `CONNECT localhost:80 HTTP/1.1\r\n${own}\r\n`],
  ])('is answered in our words: %s', async (_what, bytes) => {
    const replies = await exchange(api.port, bytes);

    expect(replies.map(({ status, text }) => [status, text])).toEqual([[400, notHttp]]);
    expect(replies.flatMap((reply) => breachesOf({ method: 'GET', target: '/health' }, reply))).toEqual([]);
    expect((await api.get('/health')).status).toBe(204);
  });

  test.each([
    ['a header that never ends', `${health}X: ${'x'.repeat(100_000)}\r\n\r\n`],
    ['headers that never end', `${health}${'a: b\r\n'.repeat(20_000)}\r\n`],
    ['a target that never ends', `GET /health?${'x'.repeat(100_000)} HTTP/1.1\r\n${own}\r\n`],
  ])('is refused as too large: %s', async (_what, bytes) => {
    const replies = await exchange(api.port, bytes);

    expect(replies.map(({ status, text }) => [status, text])).toEqual([
      [431, 'the headers are larger than accepted\n'],
    ]);
    expect(breachesOf({ method: 'GET', target: '/health' }, replies[0] as Reply)).toEqual([]); // there is one
    expect((await api.get('/health')).status).toBe(204);
  });
});

describe('the end of a body', () => {
  test.each<[string, string]>([
    ['a length and chunks', `Content-Length: 5\r\n${chunked}\r\n0\r\n\r\n`],
    ['chunks and a length', `${chunked}Content-Length: 5\r\n\r\n0\r\n\r\n`],
    ['two lengths', 'Content-Length: 2\r\nContent-Length: 200\r\n\r\n{}'],
    ['one length twice', 'Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}'],
    ['a list of lengths', 'Content-Length: 2, 2\r\n\r\n{}'],
    ['a length with a sign', 'Content-Length: +2\r\n\r\n{}'],
    ['a length below nothing', 'Content-Length: -2\r\n\r\n{}'],
    ['a length beyond all numbers', 'Content-Length: 18446744073709551618\r\n\r\n{}'],
    ['an unknown coding', 'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n'],
    ['chunks that are not the last coding', 'Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n'],
    ['chunks twice', `${chunked}${chunked}\r\n0\r\n\r\n`],
    ['a coding behind a vertical tab', 'Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n'],
    ['a blank before the colon', 'Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n'],
    ['a coding in a folded header', 'Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n'],
    ['a chunk with a sign', `${chunked}\r\n-2\r\n{}\r\n0\r\n\r\n`],
    ['a chunk in another base', `${chunked}\r\n0x2\r\n{}\r\n0\r\n\r\n`],
    ['a chunk beyond all numbers', `${chunked}\r\nfffffffffffffffff2\r\n{}\r\n0\r\n\r\n`],
    ['a chunk that is longer than it says', `${chunked}\r\n2\r\n{}xx0\r\n\r\n`],
    ['chunks without carriage returns', `${chunked}\r\n2\n{}\n0\n\n`],
    ['an extension without a carriage return', `${chunked}\r\n2;a\n{}\r\n0\r\n\r\n`],
    ['extensions that never end', `${chunked}\r\n2;a=${'b'.repeat(50_000)}\r\n{}\r\n0\r\n\r\n`],
  ])('is not guessed: %s', async (_what, framing) => {
    const replies = await exchange(api.port, `${createGroup}${framing}${smuggled}`);

    expect(replies.map(({ status, text }) => [status, text])).toEqual([[400, notHttp]]);
    expect((await api.get('/health')).status).toBe(204);
  });

  test.each<[string, string]>([
    ['a length', 'Content-Length: 16\r\n\r\n{"name":"other"}'],
    ['chunks', `${chunked}\r\n10\r\n{"name":"other"}\r\n0\r\n\r\n`],
    ['chunks behind a tab', 'Transfer-Encoding:\tchunked\r\n\r\n10\r\n{"name":"other"}\r\n0\r\n\r\n'],
    ['chunks with extensions', `${chunked}\r\n10;a="b"\r\n{"name":"other"}\r\n0;c\r\n\r\n`],
    ['chunks with trailers', `${chunked}\r\n10\r\n{"name":"other"}\r\n0\r\nHost: evil.invalid\r\n\r\n`],
    [
      'a length that it is told to wait for',
      'Expect: 100-continue\r\nContent-Length: 16\r\n\r\n{"name":"other"}',
    ],
  ])('is known by %s, and the next request begins there', async (_what, framing) => {
    const replies = await exchange(api.port, `${createGroup}${framing}${deleteGroup}${close}\r\n`);

    expect(replies.map(({ status }) => status)).toEqual([201, 204]);
  });

  test('is known for a request that needs none, too', async () => {
    const bytes = `${health}Content-Length: ${smuggled.length}\r\n\r\n${smuggled}${health}${close}\r\n`;
    const replies = await exchange(api.port, bytes);

    expect(replies.map(({ status }) => status)).toEqual([204, 204]);
  });

  test('is not waited for when the request is refused anyway', async () => {
    const { socket, replies } = await dial(api.port);

    socket.write(`POST /api/v1beta/groups HTTP/1.1\r\n${own}${close}Content-Length: 1000000000\r\n\r\n{`);

    expect((await replies()).map(({ status }) => status)).toEqual([415]);
  });

  test('that never comes is not waited for', async () => {
    const { socket, replies } = await dial(api.port);

    socket.write(`${createGroup}${chunked}\r\n`);
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`;
    const pour = (): void => {
      while (socket.writable && socket.write(chunk));
    };
    socket.on('drain', pour);
    pour();

    expect((await replies())[0]?.status).toBe(413);
    expect((await api.get('/health')).status).toBe(204);
  });

  test('that is cut off is answered while the client listens', async () => {
    const replies = await exchange(api.port, `${createGroup}Content-Length: 16\r\n\r\n{"name":`, {
      halfClose: true,
    });

    expect(replies.map(({ status, text }) => [status, text])).toEqual([[400, notHttp]]);
  });
});

describe('a host', () => {
  const closing = `${close}\r\n`;

  test.each<[string, string]>([
    ['that is another one', `GET /health HTTP/1.1\r\nHost: evil.invalid\r\n${closing}`],
    ['that is another one in the target', `GET http://evil.invalid/health HTTP/1.1\r\n${own}${closing}`],
    [
      'that is ours in the target only',
      `GET http://localhost/health HTTP/1.1\r\nHost: evil.invalid\r\n${closing}`,
    ],
  ])('is refused: one %s', async (_what, bytes) => {
    const replies = await exchange(api.port, bytes);

    expect(replies.map(({ status }) => status)).toEqual([403]);
  });

  test.each<[string, string]>([
    ['in the target', `GET http://localhost/health HTTP/1.1\r\n${own}${closing}`],
    ['in HTTP/1.0', `GET /health HTTP/1.0\r\n${own}\r\n`],
    ['after empty lines', `\r\n\r\n${health}${closing}`],
  ])('that is ours is accepted %s', async (_what, bytes) => {
    const replies = await exchange(api.port, bytes);

    expect(replies.map(({ status, headers }) => [status, headers['connection']])).toEqual([[204, 'close']]);
  });
});

describe('an expectation', () => {
  test.each([
    [
      'for another protocol',
      'Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\n',
    ],
    [
      'for HTTP/2',
      'Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n',
    ],
    ['that nobody knows', `Expect: a-miracle\r\n${close}`],
  ])('%s is ignored', async (_what, expectation) => {
    const replies = await exchange(api.port, `${health}${expectation}\r\n`);

    expect(replies.map(({ status }) => status)).toEqual([204]);
  });
});

describe('requests that do not wait for answers', () => {
  test('are answered in their order', async () => {
    const version = `GET /api/v1beta/version HTTP/1.1\r\n${own}`;
    const replies = await exchange(
      api.port,
      `${version}\r\n${health}\r\n`.repeat(40) + `${version}${close}\r\n`,
    );

    const order = Array.from({ length: 81 }, (_, index) => (index % 2 === 0 ? 200 : 204));
    expect(replies.map(({ status }) => status)).toEqual(order);
  });

  test('get none that belongs to what follows them', async () => {
    const replies = await exchange(api.port, `${health}\r\nnonsense\r\n\r\n${health}\r\n`);

    expect(replies.map(({ status, headers }) => [status, headers['connection']])).toEqual([[204, 'close']]);
  });

  test('are taken no faster than their answers are', async () => {
    const asked: AbortSignal[] = [];
    const app = new Hono().get('/', ({ req, body }) => {
      asked.push(req.raw.signal);
      return body('x'.repeat(20_000_000)); // more than is kept on the way
    });
    await using listener = await listenOn(app, { stalledMs: 100 });
    using caller = await dial(listener.port);

    caller.socket.pause().write(`GET / HTTP/1.1\r\n${own}\r\n`.repeat(50));
    await until(() => asked[0]?.aborted === true);

    expect(asked.length).toBe(1);
  });

  test('are too many at some point', async () => {
    using watcher = await watch(api.port);

    watcher.socket.write(`${health}\r\n`.repeat(200));
    const replies = await watcher.replies();

    expect(replies.map(({ status }) => status)).toEqual([200]);
  });
});

describe('somebody slow', () => {
  test.each<[string, string, string]>([
    ['headers', `${health}X: `, 'x'],
    ['a first line', 'GET /', 'x'],
    ['empty lines', '\r\n', '\r\n'],
    ['a body', `${createGroup}Content-Length: 1000\r\n\r\n{`, ' '],
    ['a chunk', `${createGroup}${chunked}\r\n3e8\r\n{`, ' '],
  ])('is told so when %s are not whole in time', async (_what, beginning, more) => {
    await using limited = await openTestApi(
      {},
      { limits: { ...defaultLimits, headersMs: 50, requestMs: 100 } },
    );
    using caller = await dial(limited.port);

    caller.socket.write(beginning);
    const trickle = setInterval(() => caller.socket.write(more), 5);
    const other = await limited.get('/health');
    const [reply] = await caller.replies();
    clearInterval(trickle);

    expect(other.status).toBe(204);
    expect([reply?.status, reply?.text]).toEqual([408, 'the request was not received in time\n']);
  });

  test('who waits for news is not given up', async () => {
    await using limited = await openTestApi({}, { limits: { ...defaultLimits, stalledMs: 50 } });
    using watcher = await watch(limited.port);

    for (let i = 0; i < 3; i++) await (await dial(limited.port)).replies(); // each is given up in its time
    await limited.core.groups.create('other');
    const [chunk] = (await once(watcher.socket, 'data')) as [Buffer];

    expect(String(chunk)).toContain('event: group.changed');
  });

  test('who reads news later than they are remembered is told that some are missing', async () => {
    using watcher = await watch(api.port);
    const name = 'x'.repeat(1_000);

    watcher.socket.pause();
    for (let i = 0; i < 30_000; i++) {
      api.core.events.emit({ type: 'group.changed', name });
      if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    let text = '';
    watcher.socket.on('data', (chunk: Buffer) => (text = text.slice(-100) + String(chunk))).resume();
    await until(() => text.includes('event: reset'));

    expect((await api.get('/health')).status).toBe(204);
  });
});

describe('many connections', () => {
  const few = { ...defaultLimits, connections: 20 };

  test('that say nothing make room, the oldest first', async () => {
    await using limited = await openTestApi({}, { limits: few });

    using callers = await dialMany(limited.port, 100);
    const other = await limited.get('/health');
    await Promise.all(callers.all.slice(0, 81).map(({ replies }) => replies()));

    expect(other.status).toBe(204);
    expect(callers.all.slice(81).some(({ socket }) => socket.closed)).toBe(false);
  });

  test.each<[string, string]>([
    ['headers', `${health}X: `],
    ['a body', `${createGroup}Content-Length: 1000\r\n\r\n{`],
    ['a chunk', `${createGroup}${chunked}\r\n3e8\r\n{`],
  ])('that began %s and say no more make room', async (_what, beginning) => {
    await using limited = await openTestApi({}, { limits: few });

    using callers = await dialMany(limited.port, 100, beginning);
    const other = await limited.get('/health');
    await Promise.all(callers.all.slice(0, 81).map(({ replies }) => replies()));

    expect(other.status).toBe(204);
  });

  test('do not take the place of one that is answered', async () => {
    await using limited = await openTestApi({}, { limits: few });
    using watcher = await watch(limited.port);

    using _callers = await dialMany(limited.port, 100);
    await limited.core.groups.create('other');
    const [chunk] = (await once(watcher.socket, 'data')) as [Buffer];

    expect(String(chunk)).toContain('event: group.changed');
  });

  test('that are all answered leave no room', async () => {
    await using limited = await openTestApi({}, { limits: { ...few, connections: 2 } });
    const ask = (): Promise<Reply[]> => exchange(limited.port, `${health}${close}\r\n`);
    using first = await watch(limited.port);
    using _second = await watch(limited.port);

    const late = await ask();
    first.socket.destroy();

    expect(late).toEqual([]);
    await until(async () => (await ask())[0]?.status === 204);
  });

  test('by the thousands leave others alone', async () => {
    using callers = await dialMany(api.port, 3_000);

    const other = await api.get('/health');

    expect(other.status).toBe(204);
    expect(callers.all.at(-1)?.socket.closed).toBe(false);
  });

  test('that all watch are told when they are too many', async () => {
    using watchers = new DisposableStack();
    for (let i = 0; i < 256; i++) watchers.use(await watch(api.port));

    const one = await api.get('/api/v1beta/events');

    expect(one.status).toBe(503);
    expect(one.text).toBe('256 callers already watch events\nhint: close one of these clients\n');
  });
});

function listenOn(app: Hono, limits: Partial<ConnectionLimits>): Promise<Listener> {
  return listenOnTcp(app, { host: '127.0.0.1', port: 0 }, { ...defaultLimits, ...limits });
}

interface Callers extends Disposable {
  /** The oldest one first. */
  all: Caller[];
}

async function dialMany(port: number, count: number, beginning = ''): Promise<Callers> {
  const all: Caller[] = [];
  for (let i = 0; i < count; i++) {
    const caller = await dial(port);
    caller.socket.write(beginning);
    all.push(caller);
  }
  return { all, [Symbol.dispose]: () => all.forEach(({ socket }) => socket.destroy()) };
}

/** Returns when the stream of events has begun. */
async function watch(port: number): Promise<Caller> {
  const begun = Promise.withResolvers<void>();
  const caller = await dial(port, () => begun.resolve());
  caller.socket.write(`GET /api/v1beta/events HTTP/1.1\r\n${own}\r\n`);
  await begun.promise;
  return caller;
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve));
}
