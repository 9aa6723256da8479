import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { refusalOf, specialAddresses } from '@toolhive/runtime/addresses';
import { fetchJson, guardedFetch } from './guarded-fetch.ts';
import type { GuardedRequest } from './guarded-fetch.ts';
import type { Lookup } from './way-out.ts';
import { messageOf } from '@toolhive/contract/failure';
import { selfSigned } from '@toolhive/runtime/testing/self-signed';

const { key, certificate: ca } = selfSigned('public.example');

/** A server on loopback that a test talks to, over TLS or not. */
async function serve(handle: RequestListener, { tls = false } = {}) {
  const server = tls ? createTlsServer({ key, cert: ca }, handle) : createServer(handle);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

const privately = (request: GuardedRequest = {}): GuardedRequest => ({ allowPrivate: true, ...request });

const answering =
  (...addresses: string[]): Lookup =>
  (_host, _options, done) =>
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );

test.each([
  [{}, 'toolhive'],
  [{ 'User-Agent': 'another' }, 'another'],
])('a request names its sender, with the headers %j', async (headers, expected) => {
  await using server = await serve((request, response) =>
    response.end(request.headersDistinct['user-agent']?.join(', ')),
  );

  const { text } = await guardedFetch(server.url, privately({ headers }));

  expect(text).toBe(expected);
});

describe('an address', () => {
  const inside = specialAddresses.map(
    ([subnet, kind, what]) => [subnet.split('/')[0] ?? '', kind, what] as const,
  );

  test.each([
    ...inside,
    ['10.255.255.255', 'private', 'a private address'],
    ['100.127.0.1', 'private', 'an address inside a carrier network'],
    ['172.31.255.255', 'private', 'a private address'],
    ['169.254.169.254', 'local', 'a link-local address'],
    ['255.255.255.255', 'never', 'a reserved address'],
    ['fd12:3456::1', 'private', 'a unique local address'],
    ['fe80::1%eth0', 'local', 'a link-local address'],
    ['2001:0:4136:e378::1', 'private', 'a protocol address'],
    ['2001:2::1', 'private', 'a protocol address'],
    ['::ffff:127.0.0.1', 'private', 'a loopback address'],
    ['::ffff:a00:1', 'private', 'a private address'],
    ['64:ff9b::c0a8:1', 'private', 'a private address'],
    ['64:ff9b::169.254.169.254', 'local', 'a link-local address'],
    ['64:ff9b:1::a9fe:a9fe', 'local', 'a local translation address'],
    ['::ffff:169.254.169.254', 'local', 'a link-local address'],
    ['::ffff:a9fe:a9fe', 'local', 'a link-local address'],
    ['2002:a9fe:a9fe::1', 'local', 'a link-local address'],
    ['2001:470:1::200:5efe:a9fe:a9fe', 'local', 'a link-local address'],
    ['fd00::5efe:6464:64c8', 'local', 'a cloud metadata address'],
    ['2001:0:4136:e378:8000:63bf:5601:5601', 'local', 'a link-local address'],
    ['fd00:ec2:0::254', 'local', 'a cloud metadata address'],
    ['fd00:ec2::23', 'local', 'a cloud metadata address'],
    ['64:ff9b::168.63.129.16', 'local', 'a cloud metadata address'],
    ['2002:7f00:1::1', 'private', 'a loopback address'],
    ['2002:e000:1::', 'never', 'a multicast address'],
  ] as const)('%s is %s: it is %s', (address, kind, what) => {
    expect(refusalOf(address, false)).toBe(what);
    expect(refusalOf(address, true)).toBe(kind === 'private' ? undefined : what);
  });

  test.each([
    ['127.0.0.1', 'a loopback address'],
    ['::1', 'a loopback address'],
    ['::ffff:127.0.0.1', 'a loopback address'],
    ['169.254.169.254', 'a link-local address'],
    ['fe80::1', 'a link-local address'],
    ['fd00:ec2:0::254', 'a cloud metadata address'],
    ['100.100.100.200', 'a cloud metadata address'],
    ['100.100.100.201', undefined],
    ['10.96.0.1', undefined],
    ['192.168.1.1', undefined],
    ['fd12:3456::1', undefined],
    ['1.1.1.1', undefined],
    ['224.0.0.1', 'a multicast address'],
  ])('%s is no address of another machine if it is %s', (address, what) => {
    expect(refusalOf(address, 'others')).toBe(what);
  });

  test.each(['::7f00:1', '4000::1', '100::1', '5f00::1'])('%s is in no use', (address) => {
    expect(refusalOf(address, true)).toBe('a reserved address');
  });

  test.each([
    '1.1.1.1',
    '9.255.255.255',
    '100.63.255.255',
    '100.128.0.1',
    '172.32.0.1',
    '198.17.255.255',
    '223.255.255.255',
    '2606:4700::1111',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
    '2002:808:808::1',
  ])('%s is public', (address) => {
    expect(refusalOf(address, false)).toBeUndefined();
  });
});

describe('where it may go', () => {
  test.each([
    ['https://127.0.0.1/', '127.0.0.1 is a loopback address'],
    ['https://2130706433/', '127.0.0.1 is a loopback address'],
    ['https://0x7f.1/', '127.0.0.1 is a loopback address'],
    ['https://[::1]/', '::1 is a loopback address'],
    ['https://[::ffff:10.0.0.1]/', '::ffff:a00:1 is a private address'],
    ['https://0.0.0.0/', '0.0.0.0 is an unspecified address'],
    ['http://example.com/', 'http://example.com/ is not https'],
    ['ftp://example.com/', 'is neither https nor http'],
    ['file:///etc/passwd', 'is neither https nor http'],
    ['https://me:secret@example.com/', 'the URL of example.com contains a user name or a password'],
    ['nonsense', '"nonsense" is not a URL'],
  ])('refuses %s', async (address, message) => {
    const fetched = guardedFetch(address);

    await expect(fetched).rejects.toThrow(message);
    await expect(fetched).rejects.toHaveProperty('name', 'ThvError');
    await expect(fetched).rejects.not.toThrow('secret');
  });

  test('refuses a name that leads inside, whichever of its addresses does', async () => {
    await using server = await serve((_request, response) => response.end('inside'), { tls: true });
    const address = `https://public.example:${server.port}/`;

    const inside = guardedFetch(address, { ca, lookup: answering('127.0.0.1') });
    const mixed = guardedFetch(address, { ca, lookup: answering('93.184.215.14', '127.0.0.1') });
    const none = guardedFetch(address, { ca, lookup: answering() });

    await expect(inside).rejects.toThrow('public.example is a loopback address');
    await expect(mixed).rejects.toThrow('public.example is a loopback address');
    await expect(none).rejects.toThrow('public.example does not resolve to an address');
  });

  test.each([
    'http://169.254.169.254/latest/meta-data',
    'http://2852039166/',
    'http://0xA9FEA9FE/',
    'http://0251.0376.0251.0376/',
    'http://169.254.43518/',
    'http://[::ffff:169.254.169.254]/',
    'http://[::ffff:a9fe:a9fe]/',
    'http://[64:ff9b::a9fe:a9fe]/',
    'http://[64:ff9b:1::a9fe:a9fe]/',
    'http://[2002:a9fe:a9fe::]/',
    'http://[fe80::a9fe:a9fe]/',
    'http://[fd00:ec2::254]/',
    'http://[fd20:ce::254]/',
    'http://100.100.100.200/',
    'http://192.0.0.192/opc/v2/',
    'http://168.63.129.16/',
    'http://metadata.example/',
  ])('never contacts %s, whatever is allowed, and not through a redirect either', async (address) => {
    const lookup: Lookup = (host, options, done) =>
      answering(host === 'metadata.example' ? '169.254.169.254' : '127.0.0.1')(host, options, done);
    await using server = await serve((_request, response) =>
      response.writeHead(302, { location: address }).end(),
    );
    const refusal = / is (?:a link-local address|a cloud metadata address|a local translation)/;

    const failed = (url: string, more: GuardedRequest = {}): Promise<string> =>
      guardedFetch(url, privately({ lookup, timeoutMs: 2_000, ...more })).then(() => '', messageOf);
    const [direct, redirected, proxied] = await Promise.all([
      failed(address),
      failed(server.url),
      failed(address, { env: { ALL_PROXY: 'http://127.0.0.1:9' } }),
    ]);

    expect(direct).toMatch(refusal);
    expect(redirected).toMatch(refusal);
    expect(proxied).toMatch(refusal);
  });

  test('does not come back to this machine from another one', async () => {
    const lookup: Lookup = (host, options, done) =>
      answering(host === 'inside.example' ? '10.0.0.1' : '127.0.0.1')(host, options, done);
    await using here = await serve((_request, response) => response.end('inside'), { tls: true });
    await using redirecting = await serve(
      (_request, response) => response.writeHead(302, { location: here.url }).end(),
      { tls: true },
    );

    const fetched = guardedFetch(`https://public.example:${redirecting.port}/`, privately({ ca, lookup }));

    await expect(fetched).rejects.toThrow('127.0.0.1 is a loopback address');
  });

  test('asks for a name again with every connection, and checks every answer', async () => {
    await using server = await serve(
      (_request, response) => response.writeHead(302, { location: '/again' }).end(),
      { tls: true },
    );
    const answers = ['127.0.0.1', '224.0.0.1'];
    const lookup: Lookup = (host, options, done) => answering(answers.shift() ?? '')(host, options, done);

    const fetched = guardedFetch(`https://public.example:${server.port}/`, privately({ ca, lookup }));

    await expect(fetched).rejects.toThrow('public.example is a multicast address');
  });

  test('goes where it is allowed, over TLS with the name that was asked for', async () => {
    await using server = await serve((_request, response) => response.end('hello'), { tls: true });

    const { text, status } = await guardedFetch(
      `https://public.example:${server.port}/`,
      privately({ ca, lookup: answering('127.0.0.1') }),
    );

    expect([status, text]).toEqual([200, 'hello']);
  });

  test('trusts no certificate without a trusted authority', async () => {
    await using server = await serve((_request, response) => response.end('hello'), { tls: true });

    await expect(guardedFetch(server.url, privately())).rejects.toThrow('DEPTH_ZERO_SELF_SIGNED_CERT');
  });
});

describe('redirects', () => {
  test('are followed, five at most', async () => {
    await using server = await serve((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end('there');
      else response.writeHead(307, { location: `/${left - 1}` }).end('x'.repeat(100_000));
    });

    const five = await guardedFetch(`${server.url}/5`, privately());
    const six = guardedFetch(`${server.url}/6`, privately());

    expect(five).toMatchObject({ text: 'there', url: `${server.url}/0` });
    await expect(six).rejects.toThrow('redirects more than 5 times');
  });

  test.each([
    ['http://127.0.0.1:1/', 'redirects to plain http'],
    ['https://a:b@127.0.0.1:1/', 'contains a user name or a password'],
    ['https://224.0.0.1/', '224.0.0.1 is a multicast address'],
    ['file:///etc/passwd', 'is neither https nor http'],
    ['https://', 'is not a URL'],
  ])('to %s are not', async (location, message) => {
    await using server = await serve((_request, response) => response.writeHead(302, { location }).end(), {
      tls: true,
    });

    await expect(guardedFetch(server.url, privately({ ca }))).rejects.toThrow(message);
  });

  test('of what was posted are not', async () => {
    await using server = await serve((_request, response) =>
      response.writeHead(308, { location: '/' }).end(),
    );

    const posted = guardedFetch(server.url, privately({ method: 'POST', body: 'code=1' }));

    await expect(posted).rejects.toThrow('redirects a request with a body');
  });

  test('to another host lose every header that may be a secret', async () => {
    let seen: unknown;
    await using other = await serve((request, response) => {
      seen = request.headers;
      response.end();
    });
    await using server = await serve((_request, response) =>
      response.writeHead(302, { location: `${other.url}/` }).end(),
    );

    await guardedFetch(server.url, privately({ headers: { authorization: 'Bearer x', accept: 'a/b' } }));

    expect(seen).toMatchObject({ accept: 'a/b' });
    expect(seen).not.toHaveProperty('authorization');
  });
});

describe('what comes back', () => {
  test('has a limit', async () => {
    await using server = await serve((_request, response) => response.end('x'.repeat(2000)));

    await expect(guardedFetch(server.url, privately({ maxBytes: 1999 }))).rejects.toThrow(
      'is larger than 1999 bytes',
    );
    expect(await guardedFetch(server.url, privately({ maxBytes: 2000 }))).toMatchObject({ status: 200 });
  });

  test('has the same limit when it is unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    await using server = await serve((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    );

    const fetched = guardedFetch(server.url, privately({ maxBytes: 100_000 }));

    expect(bomb.length).toBeLessThan(100_000);
    await expect(fetched).rejects.toThrow('is larger than 100000 bytes');
  });

  test.each([
    ['gzip', gzipSync('hello'), 'hello'],
    ['identity', Buffer.from('hello'), 'hello'],
  ])('is understood as %s', async (encoding, body, text) => {
    await using server = await serve((_request, response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end(body),
    );

    expect((await guardedFetch(server.url, privately())).text).toBe(text);
  });

  test.each([
    ['gzip', Buffer.from('no gzip'), 'cannot be read: Z_DATA_ERROR'],
    ['gzip, gzip', Buffer.from(''), 'uses an unsupported compression'],
    ['identity', Buffer.from([0xff, 0xfe]), 'is not UTF-8'],
  ])('is refused as %s when it is not', async (encoding, body, message) => {
    await using server = await serve((_request, response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end(body),
    );

    await expect(guardedFetch(server.url, privately())).rejects.toThrow(message);
  });

  test('has to come in time, however busily it drips', async () => {
    const drips = new Set<NodeJS.Timeout>();
    await using server = await serve((_request, response) => {
      drips.add(setInterval(() => response.write('.'), 5));
    });

    await expect(guardedFetch(server.url, privately({ timeoutMs: 150 }))).rejects.toThrow(
      'took longer than 0.15 seconds',
    );

    for (const drip of drips) clearInterval(drip);
  });

  test('is given up with the one who wanted it', async () => {
    const controller = new AbortController();
    await using server = await serve(() => controller.abort());

    const fetched = guardedFetch(server.url, privately({ signal: controller.signal }));

    await expect(fetched).rejects.toHaveProperty('kind', 'cancelled');
  });

  test('cannot have endless headers', async () => {
    await using server = await serve((_request, response) =>
      response.writeHead(200, { 'x-long': 'x'.repeat(20_000) }).end(),
    );

    await expect(guardedFetch(server.url, privately())).rejects.toThrow('UND_ERR_HEADERS_OVERFLOW');
  });

  test('reports an unreachable host by a code', async () => {
    await expect(guardedFetch('http://127.0.0.1:1/', privately())).rejects.toThrow(
      'http://127.0.0.1:1/ cannot be read: ECONNREFUSED',
    );
  });
});

describe('JSON', () => {
  test('comes as a value', async () => {
    await using server = await serve((_request, response) => response.end('{"a":["]"]}'));

    expect((await fetchJson(server.url, privately())).body).toEqual({ a: [']'] });
  });

  test.each([
    [200, `${'['.repeat(65)}${']'.repeat(65)}`, 'nests deeper than 64 levels'],
    [200, '<html>internal secret</html>', 'is not JSON'],
    [500, 'internal secret', 'returned status 500'],
    [404, 'internal secret', 'not found'],
    [204, '', 'returned status 204'],
  ])('that is none fails without telling what came instead: %i %j', async (status, body, message) => {
    await using server = await serve((_request, response) => response.writeHead(status).end(body));

    const fetched = fetchJson(`${server.url}/path?token=hidden`, privately());

    await expect(fetched).rejects.toThrow(message);
    await expect(fetched).rejects.not.toThrow(/internal secret|hidden/);
  });

  test('may be deep in its words', async () => {
    await using server = await serve((_request, response) => response.end(`["${'[\\"'.repeat(100)}"]`));

    expect((await fetchJson(server.url, privately())).body).toEqual(['["'.repeat(100)]);
  });
});
