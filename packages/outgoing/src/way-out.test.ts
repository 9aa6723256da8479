import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { messageOf } from '@toolhive/contract/failure';
import { selfSigned } from '@toolhive/runtime/testing/self-signed';
import { describe, expect, test } from 'vitest';
import { guardedFetch } from './guarded-fetch.ts';
import type { GuardedRequest } from './guarded-fetch.ts';
import type { Lookup } from './way-out.ts';

const { certificate: cert, key } = selfSigned('server.example');

describe('with a corporate proxy', () => {
  test.each(['http', 'https'])(
    'a request over %s goes through it, to a name that only it knows',
    async (scheme) => {
      await using proxy = await openProxy();
      const url = `${scheme}://server.example/there?x=1`;

      const { text } = await guardedFetch(url, { ...throughProxy(proxy), lookup: unknown });

      expect(text).toBe('hello from /there?x=1');
      const https = { method: 'CONNECT', url: 'server.example:443' };
      expect(proxy.requests).toEqual([scheme === 'https' ? https : { method: 'GET', url }]);
    },
  );

  test('an exception in NO_PROXY does not go through it', async () => {
    await using proxy = await openProxy();
    const request = { ...throughProxy(proxy, { NO_PROXY: 'server.example' }), lookup: unknown };

    const fetched = guardedFetch('https://server.example/', request);

    await expect(fetched).rejects.toThrow('cannot be read: ENOTFOUND');
    expect(proxy.requests).toEqual([]);
  });

  test('a redirect to an exception leaves it', async () => {
    await using proxy = await openProxy({ redirect: 'https://inside.example/' });
    const request = { ...throughProxy(proxy, { NO_PROXY: 'inside.example' }), lookup: unknown };

    const fetched = guardedFetch('https://server.example/', request);

    await expect(fetched).rejects.toThrow('https://inside.example/ cannot be read: ENOTFOUND');
  });

  test('a name and a password in the variable are for the proxy only, and in no error', async () => {
    await using proxy = await openProxy({ password: 'user:se cret' });
    const good = { ALL_PROXY: proxy.url.replace('//', '//user:se%20cret@') };
    const bad = { ALL_PROXY: proxy.url.replace('//', '//user:wrong-word@') };

    const { text } = await guardedFetch('https://server.example/', { ca: cert, lookup: unknown, env: good });
    const refused = guardedFetch('https://server.example/', { ca: cert, lookup: unknown, env: bad });

    expect(text).toBe('hello from /');
    const message = await refused.then(() => '', messageOf);
    expect(message).toMatch(
      /^the corporate proxy http:\/\/127.0.0.1:\d+ gives no connection .*: status 407$/,
    );
    expect(message).not.toContain('wrong-word');
    expect(proxy.seenByServer.join()).not.toContain('proxy-authorization');
  });

  test.each([
    ['http://127.0.0.1:1', 'ECONNREFUSED'],
    ['socks5://127.0.0.1:1', 'ECONNREFUSED'],
  ])('that does not run, an error names the proxy %s', async (url, code) => {
    const fetched = guardedFetch('https://server.example/', { lookup: unknown, env: { HTTPS_PROXY: url } });

    await expect(fetched).rejects.toThrow(
      `the corporate proxy ${url} gives no connection to server.example: ${code}`,
    );
  });

  test('a variable that names no proxy is an error that says so', async () => {
    const fetched = guardedFetch('https://server.example/', { env: { HTTPS_PROXY: 'http://:3128' } });

    await expect(fetched).rejects.toThrow('the variable HTTPS_PROXY is not the URL of a proxy');
  });

  test.each([
    ['10.0.0.1', 'a private address'],
    ['169.254.169.254', 'a link-local address'],
    ['[fd00:ec2::254]', 'a cloud metadata address'],
    ['intranet', 'a private name'],
    ['printer.local', 'a private name'],
    ['metadata.google.internal', 'the name of a cloud metadata service'],
    ['known.example', 'a private address'],
  ])('what others name may not lead to %s', async (host, what) => {
    await using proxy = await openProxy();
    const lookup: Lookup = (name, options, done) =>
      name === 'known.example'
        ? done(null, [{ address: '10.0.0.1', family: 4 }])
        : unknown(name, options, done);

    const fetched = guardedFetch(`https://${host}/`, { ...throughProxy(proxy), lookup });

    await expect(fetched).rejects.toThrow(`is ${what}`);
    expect(proxy.requests).toEqual([]);
  });

  test.each(['intranet', 'printer.local', '10.0.0.1'])('what the user names may lead to %s', async (host) => {
    await using proxy = await openProxy();
    const request = { ...throughProxy(proxy), lookup: unknown, allowPrivate: true };

    const { text } = await guardedFetch(`http://${host}/`, request);

    expect(text).toBe('hello from /');
  });

  test('what the user names may not lead to cloud metadata either', async () => {
    await using proxy = await openProxy();
    const request = { ...throughProxy(proxy), lookup: unknown, allowPrivate: true };

    const fetched = guardedFetch('http://metadata.google.internal/', request);

    await expect(fetched).rejects.toThrow('is the name of a cloud metadata service');
  });
});

const unknown: Lookup = (host, _options, done) =>
  done(Object.assign(new Error(`${host} is not known`), { code: 'ENOTFOUND' }), []);

function throughProxy({ url }: { url: string }, more: NodeJS.ProcessEnv = {}): GuardedRequest {
  return { ca: cert, allowHttp: true, env: { HTTP_PROXY: url, https_proxy: url, ...more } };
}

/** A proxy for which every name leads to one server. */
async function openProxy({ redirect, password }: { redirect?: string; password?: string } = {}) {
  const requests: { method: string | undefined; url: string | undefined }[] = [];
  const seenByServer: string[] = [];
  const server = createTlsServer({ cert, key }, ({ url, rawHeaders }, response) => {
    seenByServer.push(rawHeaders.join(' ').toLowerCase());
    if (redirect === undefined) response.end(`hello from ${url}`);
    else response.writeHead(302, { location: redirect }).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const wanted = password === undefined ? undefined : `Basic ${Buffer.from(password).toString('base64')}`;
  const proxy = createServer(({ method, url = '' }, response) => {
    requests.push({ method, url });
    const { pathname, search } = new URL(url);
    response.end(`hello from ${pathname}${search}`);
  });
  proxy.on('connect', ({ method, url, headers }, socket) => {
    requests.push({ method, url });
    socket.on('error', () => {});
    if (wanted !== undefined && headers['proxy-authorization'] !== wanted) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const outer = connect((server.address() as AddressInfo).port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      outer.pipe(socket).pipe(outer);
    });
    outer.on('error', () => socket.destroy());
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    requests,
    seenByServer,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      proxy.close();
      proxy.closeAllConnections();
    },
  };
}
