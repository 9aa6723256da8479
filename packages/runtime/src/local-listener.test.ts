import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, type Socket, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { testPort } from '@toolhive/testing/port';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LocalListener } from './local-listener.ts';
import { ask } from './testing/embedded.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-listener-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** A server at a Unix socket that answers with what it got, when it has got everything. */
async function serve(name: string, onConnection?: (socket: Socket) => void) {
  const path = join(folder, name);
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    onConnection?.(socket);
    text(socket).then(
      (heard) => socket.end(`heard ${heard}`),
      () => {},
    );
  }).listen(path);
  await once(server, 'listening');
  return { path, [Symbol.asyncDispose]: async () => void server.close() };
}

test('a connection leads to the server and back, on each loopback address, also after one side has ended', async () => {
  await using server = await serve('both');
  const port = await testPort();
  await using _listener = await LocalListener.open(port, server.path);

  const answers = await Promise.all(['127.0.0.1', '::1'].map((host) => ask({ host, port }, 'question')));

  expect(answers).toEqual(['heard question', 'heard question']);
});

test.each(['127.0.0.1', '::1'])(
  'a port in use at %s is refused, and stays with its program',
  async (host) => {
    await using server = await serve(`used-${host.length}`);
    const other = createServer((socket) => socket.end('other')).listen(0, host);
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;

    await expect(LocalListener.open(port, server.path)).rejects.toMatchObject({
      kind: 'conflict',
      message: `local port ${port} cannot be published: another program uses it`,
    });
    expect(await ask({ port, host }, '')).toBe('other');
    const again = createServer().listen(port, host === '::1' ? '127.0.0.1' : '::1'); // nothing is left there
    await once(again, 'listening');
    again.close();
    other.close();
  },
);

test('a server that is gone ends the connection and nothing else, and the end of the listener ends all', async () => {
  const connected = Promise.withResolvers<Socket>();
  await using server = await serve('gone', connected.resolve);
  const port = await testPort();
  const listener = await LocalListener.open(port, server.path);
  const open = ask({ port }, 'question');
  const inner = await connected.promise;
  inner.destroy();
  await expect(open).resolves.toBe('');

  await listener[Symbol.asyncDispose]();

  expect(await ask({ port }, '').catch(() => 'refused')).toMatch(/^(?:refused|)$/);
});
