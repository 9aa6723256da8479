import { once } from 'node:events';
import { type Socket, connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { passOnThrough } from './corporate-way.ts';

const request = (text: string): string => `${text}\r\nHost: far.example\r\n`;
const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

test.each([
  ['GET /a HTTP/1.1', 'GET http://far.example/a HTTP/1.1'],
  ['GET http://far.example/a?b=c HTTP/1.1', 'GET http://far.example/a?b=c HTTP/1.1'],
  ['DELETE /a HTTP/1.1', 'DELETE http://far.example/a HTTP/1.1'],
])('a proxy receives the complete URL of %j', async (line, expected) => {
  const { said, asked } = await exchange(`${request(line)}\r\n`, answer);

  expect(asked.split('\r\n')[0]).toBe(expected);
  expect(said).toContain('200 OK');
});

test('the headers for a proxy do not come from the server', async () => {
  const own =
    'Proxy-Authorization: Basic c2VydmVy\r\nConnection: x-hop, keep-alive\r\nX-Hop: 1\r\nX-Kept: 2\r\n';

  const { asked } = await exchange(`${request('GET / HTTP/1.1')}${own}\r\n`, answer, 'user:word@');

  expect(asked).toContain('X-Kept: 2');
  expect(asked).toContain(`proxy-authorization: Basic ${btoa('user:word')}`);
  expect(asked).not.toMatch(/c2VydmVy|X-Hop/);
});

test.each(['GET', 'DELETE'])(
  'a proxy does not take the body of a %s request for a request',
  async (method) => {
    const smuggled = 'GET http://inside.example/ HTTP/1.1\r\nHost: inside.example\r\n\r\n';
    const framing = `Connection: keep-alive, Content-Length\r\nContent-Length: ${smuggled.length}\r\n`;

    const { asked } = await exchange(`${request(`${method} / HTTP/1.1`)}${framing}\r\n${smuggled}`, answer);

    expect(asked).toMatch(new RegExp(`^content-length: ${smuggled.length}\r$`, 'im'));
  },
);

test.each([
  ['another host', 'GET / HTTP/1.1\r\nHost: other.example\r\n\r\n', '403'],
  ['two hosts', 'GET / HTTP/1.1\r\nHost: far.example\r\nHost: other.example\r\n\r\n', '40'],
  ['another host in its URL', `${request('GET http://other.example/ HTTP/1.1')}\r\n`, '403'],
  ['a user in its URL', `${request('GET http://user@far.example/ HTTP/1.1')}\r\n`, '403'],
  ['a path that is not ASCII', `${request('GET /\u00e4 HTTP/1.1')}\r\n`, ''],
  ['a tunnel', `${request('CONNECT far.example:22 HTTP/1.1')}\r\n`, ''],
  ['no HTTP', 'hello\r\n\r\n', ''],
])('a request with %s does not reach the proxy', async (_what, bytes, status) => {
  const { said, asked } = await exchange(bytes, answer);

  expect(asked).toBe('');
  expect(said.slice(9)).toMatch(new RegExp(`^${status}`));
});

test.each([
  ['a status below 100', 'HTTP/1.1 42 Odd\r\nContent-Length: 0\r\n\r\n'],
  ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhello'],
  ['no HTTP', 'hello\r\n\r\n'],
  ['nothing', ''],
])('%s from a proxy becomes an error of this request', async (_what, bytes) => {
  const { said } = await exchange(`${request('GET / HTTP/1.1')}\r\n`, bytes);

  expect(said).toContain('502');
});

/** Sends bytes on a connection to `far.example:80` behind a proxy that answers with bytes. */
async function exchange(bytes: string, answered: string, credentials = '') {
  let asked = '';
  const proxy = createServer((client) => {
    client
      .on('error', () => {})
      .on('data', (chunk: Buffer) => {
        asked += chunk.toString('latin1');
        if (asked.includes('\r\n\r\n')) client.end(answered);
      });
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const gateway = createServer({ pauseOnConnect: true, allowHalfOpen: true });
  await once(gateway.listen(0, '127.0.0.1'), 'listening');
  const client = connect((gateway.address() as AddressInfo).port, '127.0.0.1');
  const [inner] = (await once(gateway, 'connection')) as [Socket];
  inner.on('error', () => {});
  let said = '';
  client
    .on('error', () => {})
    .on('data', (chunk: Buffer) => {
      said += chunk.toString();
      client.end();
    });
  client.write(bytes);

  await passOnThrough(inner, {
    destination: { name: 'far.example' },
    port: 80,
    proxy: `http://${credentials}127.0.0.1:${(proxy.address() as AddressInfo).port}`,
  });

  await once(client, 'close');
  gateway.close();
  proxy.close();
  return { said, asked };
}
