import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { KubernetesClient } from './client.ts';

test('a write is checked after its connection exists, and reads are not', async () => {
  const received: string[] = [];
  let mayWrite = true;
  const server = createServer((request, response) => {
    received.push(request.method ?? '');
    request.resume().on('end', () => response.end('{"metadata":{"name":"a"}}'));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const config = {
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    namespace: 'default',
    tls: {},
    token: async () => undefined,
  };
  await using client = new KubernetesClient(config, {
    beforeWrite() {
      if (!mayWrite) throw new Error('this replica may no longer lead');
    },
  });
  const type = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' };
  const object = { ...type, metadata: { name: 'a', namespace: 'default' } };
  const write = () => client.create(type, object, undefined);

  const writing = write();
  // As if the process was paused while the request waited for its connection, which needs a turn of the event loop.
  for (let step = 0; step < 50; step += 1) await Promise.resolve();
  mayWrite = false;

  await expect(writing).rejects.toThrow('this replica may no longer lead');
  await client.get(type, { name: 'a', namespace: 'default' });
  mayWrite = true;
  await write();
  expect(received).toEqual(['GET', 'POST']);
  server.close();
});

test.for(['http', 'https'])('a server that cannot be reached over %s is an error', async (scheme) => {
  const free = createServer();
  await once(free.listen(0, '127.0.0.1'), 'listening');
  const { port } = free.address() as AddressInfo;
  free.close();
  await once(free, 'close');
  const server = `${scheme}://127.0.0.1:${port}`;
  await using client = new KubernetesClient({
    server,
    namespace: 'default',
    tls: {},
    token: async () => undefined,
  });

  const reading = client.get({ apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' }, { name: 'a' });

  await expect(reading).rejects.toThrow(`ECONNREFUSED 127.0.0.1:${port}`);
});
