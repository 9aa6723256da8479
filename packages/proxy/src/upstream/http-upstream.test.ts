import { createServer, request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { unauthorized } from '@toolhive/contract/failure';
import { proves } from '@toolhive/testing/promises';
import { expect, test } from 'vitest';
import type { CallContext } from '../middleware/middleware.ts';
import { openTestProxy } from '../testing/test-proxy.ts';

// What an HTTP server learns of the credentials of callers.

/** A server that answers every request, and remembers its headers. `page` answers requests without a body. */
async function openServer(page?: (response: ServerResponse) => void) {
  const seen: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += String(chunk)));
    request.on('end', () => {
      seen.push(request.headers);
      if (page !== undefined && request.method === 'GET') return page(response);
      const { id } = JSON.parse(body || '{}') as { id?: number };
      const result = {
        protocolVersion: '2025-11-25',
        capabilities: {},
        serverInfo: { name: 'x', version: '1' },
      };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    seen,
    address: { kind: 'tcp', host: '127.0.0.1', port: (server.address() as AddressInfo).port } as const,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
};

function post(url: string, path: string): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: 'Bearer the-token-of-ada',
      'x-backend-token': 'forged',
      cookie: 'session=ada',
    },
    body: JSON.stringify(initialize),
  });
}

const access = { check: async () => ({ id: 'ada' }) };
const refuseOthers = (): Promise<never> => Promise.reject(new Error('there is only one'));

test('a server gets no credentials of authenticated callers', async () => {
  await using server = await openServer();
  await using proxy = await openTestProxy({ transport: 'streamable-http', access });
  await proxy.proxy.connect({ address: server.address }, refuseOthers, AbortSignal.timeout(20_000));

  const answer = await post(proxy.url, '/mcp');

  expect(answer.status).toBe(200);
  expect(server.seen.at(-1)).not.toHaveProperty('authorization');
  expect(JSON.stringify(server.seen)).not.toContain('ada');
});

test('a server gets the token that was exchanged for that of the caller', async () => {
  await using server = await openServer();
  const exchange = async (token: string) => ({ 'x-backend-token': `Bearer for ${token}` });
  await using proxy = await openTestProxy({ transport: 'streamable-http', access: { ...access, exchange } });
  await proxy.proxy.connect({ address: server.address }, refuseOthers, AbortSignal.timeout(20_000));

  await post(proxy.url, '/mcp');

  expect(server.seen.at(-1)).toMatchObject({ 'x-backend-token': 'Bearer for the-token-of-ada' });
  expect(server.seen.at(-1)).not.toHaveProperty('authorization');
});

test('a caller whose token cannot be exchanged is refused, and the server learns nothing of it', async () => {
  await using server = await openServer();
  const exchange = (): Promise<never> => Promise.reject(unauthorized('not for you'));
  await using proxy = await openTestProxy({ transport: 'streamable-http', access: { ...access, exchange } });
  await proxy.proxy.connect({ address: server.address }, refuseOthers, AbortSignal.timeout(20_000));
  const before = server.seen.length;

  const answer = await post(proxy.url, '/mcp');

  expect([answer.status, await answer.text()]).toEqual([401, 'not for you\n']);
  expect(server.seen.length).toBe(before);
});

test.each([
  ['passes', true, 200],
  ['refuses', false, 404],
])(
  '%s requests for other paths if middleware only looks at messages: %s',
  async (_what, isObserver, status) => {
    await using server = await openServer();
    const looking = { isObserver, message: ({ message }: CallContext) => message };
    await using proxy = await openTestProxy({ transport: 'streamable-http', middleware: [looking] });
    await proxy.proxy.connect({ address: server.address }, refuseOthers, AbortSignal.timeout(20_000));

    const answer = await post(proxy.url, '/hook');

    expect(answer.status).toBe(status);
  },
);

test.each([
  ['text/html', 200, 'sandbox'],
  ['image/svg+xml', 200, 'sandbox'],
  ['application/json, text/html', 200, 'sandbox'],
  [undefined, 200, 'sandbox'],
  ['text/html', 404, 'sandbox'],
  ['application/json; charset=utf-8', 200, null],
])(
  'a response of the type %s with the status %i runs no scripts in a browser',
  async (type, status, policy) => {
    proves('security.browser.pages');
    let answers: object = {};
    await using pages = await openServer((response) => {
      response.writeHead(status, { ...answers, 'clear-site-data': '"cookies"' }).end('<script>1</script>');
    });
    await using proxy = await openTestProxy({ transport: 'streamable-http' });
    await proxy.proxy.connect({ address: pages.address }, refuseOthers, AbortSignal.timeout(20_000));
    answers = type === undefined ? {} : { 'content-type': type };

    const { headers } = await fetch(`${proxy.url}/page`);

    expect(headers.get('content-security-policy')).toBe(policy);
    expect(headers.get('clear-site-data')).toBeNull();
  },
);

/** Sends a path as it is written. */
function statusOf(url: string, path: string, method: string, body = ''): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = body === '' ? {} : { 'content-length': Buffer.byteLength(body) };
    const request = httpRequest(url, { method, path, headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('error', reject);
    request.end(body);
  });
}

test.each([
  ['GET', '/.well-known/mcp/server-card.json', 200],
  ['GET', '/.well-known/oauth-protected-resource/mcp', 200],
  ['HEAD', '/.well-known/mcp.json', 200],
  ['POST', '/.well-known/mcp.json', 404],
  ['GET', '/.well-known/../mcp', 404],
  ['GET', '/.well-known/x/../../hook', 404],
  ['GET', '/.well-known/%2e%2e/hook', 404],
  ['GET', '/.well-known/x%2f..%2f..%2fhook', 404],
  ['GET', '/.well-known//hook', 404],
  ['GET', '/.well-known/', 404],
  ['GET', '/.well-known', 404],
  ['GET', '/.well-known/x;/../../hook', 404],
  ['GET', '/.well-known/..\\hook', 404],
  ['GET', '//.well-known/x', 404],
])('%s %s of a server with rules for its messages: %i', async (method, path, status) => {
  await using server = await openServer();
  const rule = { message: ({ message }: CallContext) => message };
  await using proxy = await openTestProxy({ transport: 'streamable-http', middleware: [rule] });
  await proxy.proxy.connect({ address: server.address }, refuseOthers, AbortSignal.timeout(20_000));
  const before = server.seen.length;

  expect(await statusOf(proxy.url, path, method)).toBe(status);

  expect(server.seen.length - before).toBe(status === 200 ? 1 : 0);
});

test('a message in a request for metadata does not get around the rules', async () => {
  await using server = await openServer();
  const rule = { message: ({ message }: CallContext) => message };
  await using proxy = await openTestProxy({ transport: 'streamable-http', middleware: [rule] });
  await proxy.proxy.connect({ address: server.address }, refuseOthers, AbortSignal.timeout(20_000));
  const before = server.seen.length;

  const status = await statusOf(proxy.url, '/.well-known/mcp.json', 'GET', JSON.stringify(initialize));

  expect([status, server.seen.length - before]).toEqual([404, 0]);
});
