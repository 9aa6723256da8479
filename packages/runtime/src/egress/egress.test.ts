import { connect } from 'node:tls';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { addressInReverse, parseQuery, responseCode, responseTo } from './dns.ts';
import { Names } from './names.ts';
import { peeks } from './peek.ts';

/** A query as a resolver library writes it. */
function query(name: string, type = 1): Buffer {
  const labels = name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)]);
  return Buffer.from([0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, type, 0, 1]);
}

describe('name queries', () => {
  test('are read, and answered with their question as it was', () => {
    const read = parseQuery(query('WWW.Example.com'));
    if (read === undefined) throw new Error('not read');

    const response = responseTo(read, responseCode.ok, Buffer.from([198, 18, 1, 0]));

    expect(read).toMatchObject({ name: 'www.example.com', type: 1 });
    expect(response.subarray(0, 2)).toEqual(Buffer.from([0x12, 0x34]));
    expect(response.includes('WWW')).toBe(true);
    expect(response.subarray(-4)).toEqual(Buffer.from([198, 18, 1, 0]));
    expect(response.readUInt16BE(6)).toBe(1);
  });

  const whole = query('a.example');
  test.each([
    ['nothing', Buffer.alloc(0)],
    ['a response', Buffer.concat([whole.subarray(0, 2), Buffer.from([0x80]), whole.subarray(3)])],
    ['two questions', Buffer.concat([whole.subarray(0, 5), Buffer.from([2]), whole.subarray(6)])],
    ['a compressed name', Buffer.concat([whole.subarray(0, 12), Buffer.from([0xc0, 12, 0, 1, 0, 1])])],
    ['a name that is too long', query(Array(9).fill('a'.repeat(40)).join('.'))],
    ['the root', query('').fill(0, 12)],
    ...Array.from(whole, (_byte, length): [string, Buffer] => [
      `${length} bytes of one`,
      whole.subarray(0, length),
    ]),
  ])('that are none are ignored: %s', (_what, packet) => {
    expect(parseQuery(packet)).toBeUndefined();
  });

  test('reverse queries name their address', () => {
    expect(addressInReverse('0.1.18.198.in-addr.arpa')).toBe('198.18.1.0');
    expect(addressInReverse('example.com')).toBeUndefined();
  });
});

describe('names', () => {
  test('keep their addresses, which are used in turn', () => {
    const names = new Names(() => false);

    expect([names.addressOf('a'), names.addressOf('b'), names.addressOf('a')]).toEqual([
      '198.18.1.0',
      '198.18.1.1',
      '198.18.1.0',
    ]);
    expect(names.nameOf('198.18.1.1')).toBe('b');
  });

  test('that are too many replace the least recently used one without a connection', () => {
    const names = new Names((name) => name === 'n0');
    for (let index = 0; index < 4096; index++) names.addressOf(`n${index}`);

    const added = names.addressOf('more');

    expect(names.nameOf('198.18.1.0')).toBe('n0');
    expect(names.nameOf('198.18.1.1')).toBeUndefined();
    expect(names.nameOf(added ?? '')).toBe('more');
  });

  test('that are all in use leave no address', () => {
    const names = new Names(() => true);
    for (let index = 0; index < 4096; index++) names.addressOf(`n${index}`);

    expect(names.addressOf('more')).toBeUndefined();
  });
});

/** The name in bytes that arrive in pieces of a size. */
function nameIn(port: number, bytes: Buffer, size = bytes.length): string | null | undefined {
  const peek = peeks[port]?.();
  for (let at = 0; at < bytes.length; at += size) {
    const name = peek?.add(bytes.subarray(at, at + size));
    if (name !== undefined) return name;
  }
  return undefined;
}
const hostIn = (bytes: Buffer) => nameIn(80, bytes);
const serverNameIn = (bytes: Buffer) => nameIn(443, bytes);

describe('the first bytes of a connection', () => {
  test.each<[string, string | null | undefined]>([
    ['GET / HTTP/1.1\r\nHost: a.example\r\n\r\n', 'a.example'],
    ['GET / HTTP/1.1\r\nHOST: A.Example:8080 \r\nX: y\r\n\r\n', 'a.example'],
    ['GET / HTTP/1.1\r\nHost : a.example\r\n\r\n', null],
    ['GET / HTTP/1.1\r\nHost: a.example\r\n b.example\r\n\r\n', null],
    ['GET / HTTP/1.1\r\nX: y\r\n Host: b.example\r\nHost: a.example\r\n\r\n', null],
    ['GET / HTTP/1.1\r\nHost: a.example\rHost: b.example\r\n\r\n', null],
    ['GET / HTTP/1.1\r\nHost: a.example\r\nHost\0: b.example\r\n\r\n', null],
    ['GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\n\r\n', 'a.example'],
    ['OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n', 'a.example'],
    ['GET / HTTP/1.1\nHost: a.example\n\n', 'a.example'],
    ['GET / HTTP/1.1\r\nHost: a.example\r\n', undefined],
    ['GET / HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n', null],
    ['GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n', null],
    ['GET http://a.example@b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n', null],
    ['CONNECT b.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n', null],
    ['GET / HTTP/1.1\r\n\r\n', null],
    ['GET / HTTP/2.0\r\nHost: a.example\r\n\r\n', null],
    ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', null],
    ['\r\n\r\nGET / HTTP/1.1\r\nHost: a.example\r\n\r\n', null],
  ])('%j names the host %j', (text, host) => {
    expect(hostIn(Buffer.from(text))).toBe(host);
    expect(nameIn(80, Buffer.from(text), 1)).toBe(host);
  });

  test('name the server in TLS, however few of them have come', async () => {
    const hello = await clientHello('a.example');

    expect(serverNameIn(hello)).toBe('a.example');
    for (const size of [1, 2, 3, 7, 64]) expect(nameIn(443, hello, size)).toBe('a.example');
    for (let length = 1; length < hello.length; length += 7) {
      expect(serverNameIn(hello.subarray(0, length))).toBeUndefined();
    }
  });

  test('name the server in TLS in two records', async () => {
    const hello = await clientHello('a.example');
    const body = hello.subarray(5);
    const record = (part: Buffer) =>
      Buffer.concat([Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part]);

    expect(serverNameIn(Buffer.concat([record(body.subarray(0, 40)), record(body.subarray(40))]))).toBe(
      'a.example',
    );
  });

  test('name no server without the extension, or without TLS', async () => {
    expect(serverNameIn(await clientHello(''))).toBeNull();
    expect(serverNameIn(Buffer.from('GET / HTTP/1.1\r\n\r\n'))).toBeNull();
    expect(serverNameIn(Buffer.from([22, 3, 1, 0, 4, 1, 0, 0, 0]))).toBeNull();
  });

  test('any change of a ClientHello is read without an error', async () => {
    const hello = await clientHello('a.example');

    for (let at = 0; at < hello.length; at++) {
      for (const value of [0, 1, 255]) {
        const changed = Buffer.from(hello);
        changed[at] = value;
        expect(['string', 'object', 'undefined']).toContain(typeof serverNameIn(changed));
      }
    }
  });
});

/** What a TLS client of Node.js sends first. */
async function clientHello(servername: string): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const client = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false }).on(
    'error',
    () => {},
  );
  const [socket] = (await accepted) as [Socket];
  const [hello] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return hello;
}
