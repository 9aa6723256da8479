// @suite system
import { once } from 'node:events';
import { mkdtempDisposable } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { sendOver } from './socket-request.ts';

let resources: AsyncDisposableStack;
beforeEach(() => (resources = new AsyncDisposableStack()));
afterEach(() => resources.disposeAsync());

/** A server of Node.js on a Unix socket. */
async function serve(
  listener: (...exchange: Parameters<RequestListener>) => unknown,
): Promise<{ path: string; server: Server }> {
  const folder = resources.use(await mkdtempDisposable(join(tmpdir(), 'thv-socket-')));
  const path = join(folder.path, 'socket');
  const server = createServer(listener);
  resources.defer(() => server.closeAllConnections());
  resources.defer(() => {
    server.close();
  });
  server.listen(path);
  await once(server, 'listening');
  return { path, server };
}

const get = (path: string, signal?: AbortSignal) =>
  ({ method: 'GET', path, headers: {}, body: undefined, signal }) as const;

/** The text of a body, and its pieces. */
async function piecesOf(body: AsyncIterable<string>): Promise<string[]> {
  return Array.fromAsync(body);
}

describe('a request to the daemon', () => {
  test('sends its body and headers, and reads a body of known length', async () => {
    const { path } = await serve(async (request, response) => {
      const { method, url, headers } = request;
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ method, url, type: headers['content-type'], body: await text(request) }));
    });
    const body = 'é'.repeat(300_000);

    const answer = await sendOver(path)({
      ...get('/a?b=c'),
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body,
    });

    expect([answer.status, answer.contentType]).toEqual([200, 'application/json']);
    expect(JSON.parse((await piecesOf(answer.body)).join(''))).toEqual({
      method: 'POST',
      url: '/a?b=c',
      type: 'text/plain',
      body,
    });
  });

  test('reads a body as it comes, and characters that arrive in two pieces', async () => {
    const bytes = Buffer.from('é😀');
    const { path, server } = await serve((_request, response) => response.write(bytes.subarray(0, 1)));
    const response = once(server, 'request').then(([, one]) => one as Parameters<RequestListener>[1]);

    const { body } = await sendOver(path)(get('/'));
    const pieces = body[Symbol.asyncIterator]();
    const first = await pieces.next();
    (await response).write(bytes.subarray(1, 4));
    const second = await pieces.next();
    (await response).end(bytes.subarray(4));
    const third = await pieces.next();

    expect([first.value, second.value, third.value]).toEqual(['', 'é', '😀']);
    expect(await pieces.next()).toEqual({ done: true, value: undefined });
  });

  test.each([204, 304])('reads an answer without a body: %i', async (status) => {
    const { path } = await serve((_request, response) => response.writeHead(status).end());

    const answer = await sendOver(path)(get('/'));

    expect([answer.status, answer.contentType, await piecesOf(answer.body)]).toEqual([status, undefined, []]);
  });

  test('skips the interim responses', async () => {
    const { path } = await serve((_request, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      response.writeHead(404).end('none');
    });

    const answer = await sendOver(path)(get('/'));

    expect([answer.status, await piecesOf(answer.body)]).toEqual([404, ['none']]);
  });

  test.each([
    ['before its head', () => {}],
    ['in the head', (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-le')],
    ['in a body', (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc')],
    [
      'between chunks',
      (socket) => socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n'),
    ],
  ] as [string, (socket: NodeJS.WritableStream) => void][])(
    'fails if the daemon ends %s',
    async (_title, begin) => {
      const { path } = await serve(({ socket }) => {
        begin(socket);
        socket.end();
      });

      const reading = sendOver(path)(get('/')).then(({ body }) => piecesOf(body));

      await expect(reading).rejects.toThrow('the connection ended before the response');
    },
  );

  test('fails if no daemon listens', async () => {
    const { path, server } = await serve(() => {});
    server.close();
    await once(server, 'close');

    await expect(sendOver(path)(get('/'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('ends when it is aborted, before and after the head of the answer', async () => {
    const { path } = await serve((request, response) => {
      if (request.url === '/with-head') response.write('a');
    });
    const [early, late] = [new AbortController(), new AbortController()];
    const send = sendOver(path);

    const waiting = send(get('/', early.signal));
    const { body } = await send(get('/with-head', late.signal));
    early.abort();
    late.abort();

    await expect(waiting).rejects.toThrow();
    await expect(piecesOf(body)).rejects.toThrow();
    await expect(send(get('/', early.signal))).rejects.toThrow('aborted');
  });

  test('closes its connection when its reader has seen enough', async () => {
    const { path, server } = await serve((_request, response) => response.write('first'));
    const closed = once(server, 'connection').then(([socket]) =>
      once(socket as NodeJS.EventEmitter, 'close'),
    );

    const { body } = await sendOver(path)(get('/'));
    for await (const piece of body) {
      expect(piece).toBe('first');
      break;
    }

    await expect(closed).resolves.toEqual([expect.any(Boolean)]);
  });

  test.each([
    ['a line break in the path', '/a\r\nx: y', {}],
    ['a space in the path', '/a b', {}],
    ['a line break in a header', '/', { name: 'a\nb' }],
  ])('is refused with %s', async (_title, url, headers) => {
    const requests = vi.fn<RequestListener>((_request, response) => response.end());
    const { path } = await serve(requests);

    await expect(sendOver(path)({ ...get(url), headers })).rejects.toThrow('not a line of an HTTP request');
    expect(requests).not.toHaveBeenCalled();
  });

  test('takes the open connection for the first request, and new ones for others', async () => {
    const { path, server } = await serve((_request, response) => response.end());
    let connections = 0;
    server.on('connection', () => (connections += 1));
    const spare = connect({ path });
    await once(spare, 'connect');
    const send = sendOver(path, spare);

    const counts: number[] = [];
    for (const url of ['/1', '/2']) {
      const { body } = await send(get(url));
      await piecesOf(body);
      counts.push(connections);
    }

    expect(counts).toEqual([1, 2]);
  });

  test('takes a new connection if the open one has ended', async () => {
    const { path } = await serve((_request, response) => response.end('here'));
    const spare = connect({ path });
    await once(spare, 'connect');
    const send = sendOver(path, spare);
    spare.destroy();

    const { body } = await send(get('/'));

    expect(await piecesOf(body)).toEqual(['here']);
  });
});
