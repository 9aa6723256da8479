import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { openTestProxy } from '../testing/test-proxy.ts';

test.each([
  [undefined, 'http://localhost:3000', 200],
  [true, 'http://localhost:3000', 403],
  [true, 'own', 200],
])('with ownOriginOnly %j, a page of %s is answered with %i', async (ownOriginOnly, from, status) => {
  await using proxy = await openTestProxy(ownOriginOnly === undefined ? {} : { ownOriginOnly });
  await proxy.connect();
  const origin = from === 'own' ? proxy.url : from;

  const answer = await fetch(`${proxy.url}/health`, { headers: { origin } });

  expect(answer.status).toBe(status);
});

test.each([
  ['the address that was dialled', '127.0.0.2', '127.0.0.2', 200],
  ['another address', '127.0.0.2', '127.0.0.3', 403],
  ['a name that leads there', '127.0.0.2', 'evil.example', 403],
])('a proxy on every address answers a request for %s', async (_title, dialled, named, status) => {
  await using proxy = await openTestProxy({ host: '0.0.0.0' });
  await proxy.connect();
  const { port } = new URL(proxy.url);

  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const headers = { host: `${named}:${port}` };
  request({ host: dialled, port, path: '/health', headers, agent: false }, (response) => {
    response.resume();
    resolve(response.statusCode);
  })
    .on('error', reject)
    .end();

  expect(await promise).toBe(status);
});

/** What a browser asks before it sends a message of a page. */
const preflight = (origin: string): RequestInit => ({
  method: 'OPTIONS',
  headers: {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type,mcp-protocol-version,mcp-session-id,mcp-param-region',
  },
});

describe('with an allowed origin', () => {
  const allowedOrigins = ['https://app.example'];

  test('a page of it may send messages and read the answers', async () => {
    await using proxy = await openTestProxy({ allowedOrigins });
    await proxy.connect();
    const headers = {
      origin: 'https://app.example',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const initialize = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'a', version: '1' },
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize });

    const asked = await fetch(`${proxy.url}/mcp`, preflight('https://app.example'));
    const answered = await fetch(`${proxy.url}/mcp`, { method: 'POST', headers, body });

    expect(asked.status).toBe(204);
    expect(Object.fromEntries(asked.headers)).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-methods': 'GET, POST, DELETE',
      'access-control-allow-headers': 'content-type,mcp-protocol-version,mcp-session-id,mcp-param-region',
      vary: 'Origin',
    });
    expect(asked.headers.has('access-control-allow-credentials')).toBe(false);
    expect(answered.status).toBe(200);
    expect(answered.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(answered.headers.get('access-control-expose-headers')).toContain('Mcp-Session-Id');
    expect(answered.headers.get('mcp-session-id')).not.toBe('');
  });

  test.each([
    'https://other.example',
    'http://app.example',
    'https://app.example:8443',
    'https://app.example.evil',
    'null',
  ])('a page of %s gets nothing', async (origin) => {
    await using proxy = await openTestProxy({ allowedOrigins });
    await proxy.connect();

    const asked = await fetch(`${proxy.url}/mcp`, preflight(origin));
    const read = await fetch(`${proxy.url}/health`, { headers: { origin } });

    expect([asked.status, read.status]).toEqual([403, 403]);
    for (const { headers } of [asked, read]) expect(headers.has('access-control-allow-origin')).toBe(false);
  });

  test('a page of it cannot name another host', async () => {
    await using proxy = await openTestProxy({ allowedOrigins });
    const { port } = new URL(proxy.url);

    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    const headers = { host: 'rebound.example', origin: 'https://app.example' };
    request({ host: '127.0.0.1', port, path: '/health', headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();

    expect(await promise).toBe(403);
  });
});

test('without one, a page of another port of this machine may not read an answer', async () => {
  await using proxy = await openTestProxy();
  await proxy.connect();

  const asked = await fetch(`${proxy.url}/mcp`, preflight('http://localhost:3000'));

  expect(asked.ok).toBe(false);
  expect(asked.headers.has('access-control-allow-origin')).toBe(false);
});

const fetched = (site: string, mode: string, destination: string): Record<string, string> => ({
  'sec-fetch-site': site,
  'sec-fetch-mode': mode,
  'sec-fetch-dest': destination,
});

test.each([
  ['a picture in a page of another site', fetched('cross-site', 'no-cors', 'image'), 403],
  ['a frame in a page of another site', fetched('cross-site', 'navigate', 'iframe'), 403],
  ['a script of another port, without its origin', fetched('same-site', 'no-cors', 'script'), 403],
  ['a link that the user follows', fetched('cross-site', 'navigate', 'document'), 200],
  ['an address that the user enters', fetched('none', 'navigate', 'document'), 200],
  ['a page of this origin', fetched('same-origin', 'cors', 'empty'), 200],
  ['a program', {}, 200],
])('%s gets the status %3$i', async (_title, headers, status) => {
  await using proxy = await openTestProxy();
  await proxy.connect();

  // Not `fetch`, which sets some of these headers itself.
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  request(`${proxy.url}/health`, { headers, agent: false }, (response) => {
    response.resume();
    resolve(response.statusCode);
  })
    .on('error', reject)
    .end();

  expect(await promise).toBe(status);
});
