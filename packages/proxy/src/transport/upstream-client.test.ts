import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { UpstreamClient } from './upstream-client.ts';

/** A remote server that accepts one token, with the tokens of all its requests. */
async function openServer(accepted: string) {
  const sent: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    const { authorization } = request.headers;
    sent.push(authorization);
    request.resume();
    const isAccepted = authorization === accepted;
    response.writeHead(isAccepted ? 200 : 401, { 'www-authenticate': 'Bearer' });
    response.end(isAccepted ? 'ok' : 'refused');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    sent,
    url: `http://127.0.0.1:${port}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

test.each([
  ['the first token expires on its way', ['one', 'two'], 200],
  ['the second one expires on its way, too', ['one', 'two', 'three'], 200],
  ['the second token is refused although it is still good', ['one', 'other', 'other'], 401],
])('a refused request is sent again if %s', async (_, tokens, status) => {
  const accepted = tokens.at(-1) === 'other' ? 'none' : tokens.at(-1);
  await using server = await openServer(accepted ?? '');
  const waiting = [...tokens];
  let refusals = 0;
  await using client = new UpstreamClient(
    {
      kind: 'remote',
      url: server.url,
      headers: async () => ({ authorization: waiting.shift() ?? '' }),
      refused: async () => ++refusals > 0,
    },
    '/mcp',
  );

  const { signal } = new AbortController();

  const answer = await client.request({ method: 'POST', headers: {}, body: '{}', signal });

  expect(answer.statusCode).toBe(status);
  expect(server.sent).toEqual(status === 200 ? tokens : ['one', 'other']);
  expect(refusals).toBe(1);
});

test.each([
  [{}, 'toolhive'],
  [{ 'User-Agent': 'chosen' }, 'chosen'],
])('requests name their sender, with the headers %j', async (headers, expected) => {
  const agents: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    agents.push(request.headersDistinct['user-agent']?.join(', '));
    request.resume();
    response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  await using client = new UpstreamClient(
    {
      kind: 'remote',
      url: `http://127.0.0.1:${port}/mcp`,
      headers: async () => headers,
      refused: async () => false,
    },
    '/mcp',
  );
  const { signal } = new AbortController();

  await client.request({ method: 'POST', headers: {}, body: '{}', signal });

  expect(agents).toEqual([expected]);
  server.close();
});

test('a message that was accepted is accepted, though the words that say so are cut off', async () => {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(202, { 'content-length': '8' }).write('Acc', () => request.socket.destroySoon());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  await using client = new UpstreamClient({ kind: 'tcp', host: '127.0.0.1', port }, '/messages');
  const { signal } = new AbortController();

  const answer = await client.request({ method: 'POST', headers: {}, body: '{}', signal });

  expect(answer).toMatchObject({ statusCode: 202, body: 'Acc' });
  server.close();
});
