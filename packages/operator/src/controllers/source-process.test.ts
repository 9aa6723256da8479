import { once } from 'node:events';
import { mkdtempDisposable, readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test, vi } from 'vitest';
import { SourceReader } from './source-process.ts';

const program = new URL('../../../../apps/operator/src/source-reader-main.ts', import.meta.url);
const reader = new SourceReader(program);
const never = new AbortController().signal;

/** A server with one answer. Its address is that of the URL. */
async function openSource(body: string | Buffer, headers: Record<string, string> = {}) {
  let asked = Promise.withResolvers<void>();
  const server = createServer((_request, response) => {
    asked.resolve();
    if (body !== '') response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    request: {
      source: { api: { endpoint: `http://127.0.0.1:${port}/registry.json` } },
      filter: undefined,
      reach: true,
    } as const,
    asked: () => asked.promise,
    [Symbol.dispose]() {
      asked = Promise.withResolvers();
      server.closeAllConnections();
      server.close();
    },
  };
}

const entry = (description: string) => ({ image: 'example/server:1', transport: 'stdio', description });

test('a registry is read, filtered, and counted', async () => {
  const servers = { one: entry('a'), two: entry('b') };
  using source = await openSource(JSON.stringify({ version: '1.0.0', servers }));

  const content = await reader.read(
    'source',
    { ...source.request, filter: { names: { exclude: ['two'] } } },
    never,
  );

  expect(content.servers).toBe(1);
  expect(Object.keys((JSON.parse(content.registry) as { servers: object }).servers)).toEqual(['one']);
});

test('a document that fills the memory ends the process and not the operator', async () => {
  // Each pair of brackets is an array. A few packed bytes become 15 MB of text and hundreds of megabytes of arrays.
  const packed = gzipSync(`{"servers":{"a":[${'[],'.repeat(5_000_000)}1]}}`);
  using source = await openSource(packed, { 'content-encoding': 'gzip' });

  const reading = reader.read('source', source.request, never);

  await expect(reading).rejects.toMatchObject({
    type: 'SourceAvailable',
    reason: 'FetchFailed',
    message: 'cannot read the source: the source needs more memory than 96 MiB',
  });
  using good = await openSource(JSON.stringify({ servers: {} }));
  expect((await reader.read('source', good.request, never)).servers).toBe(0);
});

test('the event loop does other work while a process parses a large document', async () => {
  const description = 'a'.repeat(200);
  const servers = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, at) => [`s${at}`, entry(description)]),
  );
  using source = await openSource(JSON.stringify({ servers }));
  let turns = 0;
  const counting = setInterval(() => (turns += 1), 1);

  const filter = { names: { include: ['s1'] } };
  const content = await reader.read('source', { ...source.request, filter }, never);
  clearInterval(counting);

  expect(content.servers).toBe(1);
  expect(turns).toBeGreaterThan(20);
});

test('a registry that is larger than a ConfigMap is refused with a remedy', async () => {
  const servers = Object.fromEntries(
    Array.from({ length: 2_000 }, (_, at) => [`s${at}`, entry('a'.repeat(1_000))]),
  );
  using source = await openSource(JSON.stringify({ servers }));

  await expect(reader.read('source', source.request, never)).rejects.toMatchObject({
    type: 'SyncSuccessful',
    reason: 'StorageFailed',
    message: expect.stringMatching(/more than the 1048576 bytes of a ConfigMap. Select fewer servers/),
  });
});

test('a source that does not answer delays others only until it is known to be slow', async () => {
  using silent = await openSource('');
  using good = await openSource(JSON.stringify({ servers: {} }));
  const impatient = new SourceReader(program, { quickMs: 5_000 });
  const stop = new AbortController();
  const reading = impatient.read('silent', silent.request, stop.signal);
  const outcome = reading.then(
    () => 'read',
    ({ message }: Error) => message,
  );
  await silent.asked();

  const { servers } = await impatient.read('good', good.request, never);
  stop.abort(new Error('still reading'));

  expect(servers).toBe(0);
  expect(await outcome).toBe('still reading');
});

test('a namespace with many sources delays the source of another one by one reading', async () => {
  using source = await openSource(JSON.stringify({ servers: {} }));
  const order: string[] = [];
  const read = async (key: string): Promise<void> => {
    await reader.read(key, source.request, never);
    order.push(key);
  };

  await Promise.all(['many/a', 'many/b', 'many/c', 'other/a'].map(read));

  expect(order).toEqual(['many/a', 'many/b', 'other/a', 'many/c']);
});

test('an aborted reading ends the process and leaves no files', async () => {
  using source = await openSource('');
  // Other operators on this machine have folders in the usual place.
  await using own = await mkdtempDisposable(join(tmpdir(), 'thv-test-'));
  vi.stubEnv('TMPDIR', own.path);
  onTestFinished(() => void vi.unstubAllEnvs());
  const stop = new AbortController();

  const reading = reader.read('source', source.request, stop.signal);
  await source.asked();
  stop.abort(new Error('the operator stops'));

  await expect(reading).rejects.toThrow('the operator stops');
  expect(await readdir(own.path)).toEqual([]);
});
