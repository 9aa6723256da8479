import { once } from 'node:events';
import { type Server, type Socket, connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { messageOf } from '@toolhive/contract/failure';
import { expect, test } from 'vitest';
import { openTunnel } from './corporate-tunnel.ts';
import { selfSigned } from './testing/self-signed.ts';

test.each(['', 'user:pass%20word@'])(
  'a SOCKS proxy (%j) opens a connection to a name',
  async (credentials) => {
    await using host = await openEcho();
    await using proxy = await openSocks(host.port, credentials === '' ? undefined : ['user', 'pass word']);

    const socket = await tunnel(`socks5://${credentials}127.0.0.1:${proxy.port}`);
    socket.write('hello');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();

    expect(answer.toString()).toBe('hello');
    expect(proxy.asked).toEqual(['far.example:443']);
  },
);

test('a proxy over TLS opens a connection if its certificate is trusted', async () => {
  const { key, certificate } = selfSigned('127.0.0.1');
  await using host = await openEcho();
  await using proxy = await listening(
    createTlsServer({ key, cert: certificate }, (client) => answerConnect(client, host.port)),
  );
  const url = `https://127.0.0.1:${proxy.port}`;

  const socket = await tunnel(url, [certificate]);
  socket.write('hello');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  const distrusted = tunnel(url);

  expect(answer.toString()).toBe('hello');
  await expect(distrusted).rejects.toThrow(/gives no connection to far.example: [A-Z_]+/);
});

test('bytes that arrive together with the answer of the proxy are not lost', async () => {
  await using proxy = await listening(
    createServer((client) => client.once('data', () => client.write('HTTP/1.1 200 OK\r\n\r\nearly'))),
  );

  const socket = await tunnel(`http://127.0.0.1:${proxy.port}`);
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();

  expect(first.toString()).toBe('early');
});

test.each([
  ['HTTP/1.1 407 Proxy Authentication Required\r\n\r\n', 'status 407'],
  ['HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno', 'status 403'],
  ['SSH-2.0-server\r\n', 'HPE_INVALID_CONSTANT'],
  ['', 'ECONNRESET'],
])('an answer such as %j is an error that names the proxy without its password', async (answer, reason) => {
  await using proxy = await listening(
    createServer((client) => client.once('data', () => client.end(answer))),
  );

  const failed = tunnel(`http://user:word@127.0.0.1:${proxy.port}`).then(() => '', messageOf);

  expect(await failed).toBe(
    `the corporate proxy http://127.0.0.1:${proxy.port} gives no connection to far.example: ${reason}`,
  );
});

const tunnel = (proxy: string, ca?: readonly string[]): Promise<Socket> =>
  openTunnel({ proxy, host: 'far.example', port: 443, signal: AbortSignal.timeout(20_000), ca });

function answerConnect(client: Socket, port: number): void {
  client
    .on('error', () => {})
    .once('data', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      pass(client, port);
    });
}

function pass(client: Socket, port: number): void {
  const outer = connect(port, '127.0.0.1');
  outer.on('error', () => client.destroy());
  client.pipe(outer).pipe(client);
}

const openEcho = () => listening(createServer((client) => client.on('error', () => {}).pipe(client)));

/** A SOCKS proxy for which every name leads to one port (RFC 1928, RFC 1929). */
async function openSocks(target: number, credentials?: readonly [string, string]) {
  const asked: string[] = [];
  const next = async (client: Socket): Promise<Buffer> => ((await once(client, 'data')) as [Buffer])[0];
  const answer = async (client: Socket): Promise<void> => {
    await next(client);
    client.write(Buffer.from([5, credentials === undefined ? 0 : 2]));
    if (credentials !== undefined) {
      const [, length = 0] = await next(client).then((said) => {
        const words = [said.subarray(2, 2 + (said[1] ?? 0)), said.subarray(3 + (said[1] ?? 0))].map(String);
        return [0, words.join() === credentials.join() ? 0 : 1];
      });
      client.write(Buffer.from([1, length]));
    }
    const request = await next(client);
    const length = request[4] ?? 0;
    asked.push(`${request.subarray(5, 5 + length).toString()}:${request.readUInt16BE(5 + length)}`);
    client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
    pass(client, target);
  };
  const server = await listening(
    createServer((client) => {
      client.on('error', () => {});
      answer(client).catch(() => client.destroy());
    }),
  );
  return Object.assign(server, { asked });
}

async function listening(server: Server) {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
    },
  };
}
