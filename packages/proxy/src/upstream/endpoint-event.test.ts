import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { openTestProxy } from '../testing/test-proxy.ts';

/** A server in a sandbox that names its endpoint in its own way, in some chunks. */
async function firstEventThrough(chunks: readonly string[]): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const chunk of chunks) response.write(chunk);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  await using _closed = {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  const { port } = server.address() as AddressInfo;
  await using proxy = await openTestProxy({ transport: 'sse' });
  const address = { kind: 'tcp', host: '127.0.0.1', port, targetPort: 8000 } as const;
  await proxy.proxy.connect(
    { address },
    () => Promise.reject(new Error('no other')),
    AbortSignal.timeout(20_000),
  );
  const over = new AbortController();
  const response = await fetch(`${proxy.url}/sse`, { signal: over.signal });
  let read = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    read += chunk;
    if (read.includes('second')) break;
  }
  over.abort();
  return read;
}

const second = 'data: {"second":"ü"}\n\n';

test.each<[string, string, string]>([
  ['every address', 'http://0.0.0.0:8000/messages?session_id=1', '/messages?session_id=1'],
  ['the machine', 'http://localhost:8000/messages/', '/messages/'],
  ['the address of its container', 'http://172.17.0.2:8000/messages', '/messages'],
  ['the name of its container', 'http://3f2a9c:8000/messages', '/messages'],
  ['a path', '/messages?session_id=1', '/messages?session_id=1'],
  ['another server', 'https://other.example/messages', 'https://other.example/messages'],
])('a client of HTTP+SSE gets a path for a server that names %s', async (_what, named, expected) => {
  const start = `event: endpoint\ndata: ${named}\n\n`;

  expect(await firstEventThrough([start + second])).toBe(`event: endpoint\ndata: ${expected}\n\n${second}`);
});

test('the first event may come in parts, with CRLF, and after a comment', async () => {
  const chunks = [
    ': hello\r\n\r\nevent: end',
    'point\r\ndata: http://0.0.0.0:80',
    '00/messages\r\n',
    '\r\n',
    second,
  ];

  expect(await firstEventThrough(chunks)).toBe(
    `: hello\r\n\r\nevent: endpoint\r\ndata: /messages\r\n\r\n${second}`,
  );
});

test('a first event that is not about the endpoint is passed on as it is', async () => {
  const start = `data: ${'x'.repeat(20_000)}\n\n`;

  expect(await firstEventThrough([start, second])).toBe(start + second);
});
