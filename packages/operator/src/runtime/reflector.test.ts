import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf } from '@toolhive/contract/failure';
import { KubernetesClient } from '@toolhive/kubernetes/client';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { expect, test } from 'vitest';
import { Reflector } from './reflector.ts';

function version(resourceVersion: string, uid = 'a'): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'one', namespace: 'tools', uid, resourceVersion },
  };
}

async function clientOf(server: Server): Promise<KubernetesClient> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return new KubernetesClient({ server: url, namespace: 'tools', tls: {}, token: async () => undefined });
}

test('the answer to a write does not bring back an object that has left the copy since', async () => {
  const watching = Promise.withResolvers<ServerResponse>();
  const server = createServer((request, response) => {
    if (request.url?.includes('watch=true') === true) watching.resolve(response);
    else response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: [version('1')] }));
  });
  await using client = await clientOf(server);
  const over = new AbortController();
  const gone = Promise.withResolvers<void>();
  const copy = new Reflector({
    client,
    type: types.configMap,
    namespaces: ['tools'],
    onChange: (object) => object.metadata.resourceVersion === '3' && gone.resolve(),
    onError: () => {},
  });
  const running = copy.run(over.signal);
  // A label selector no longer matches version 3, so the watch reports a deletion.
  const watch = await watching.promise;
  watch.write(`${JSON.stringify({ type: 'DELETED', object: version('3') })}\n`);
  await gone.promise;

  copy.observe(version('2'));

  expect(copy.get('tools/one')).toBeUndefined();
  copy.observe(version('4'));
  expect(copy.get('tools/one')).toMatchObject({ metadata: { resourceVersion: '4' } });
  over.abort();
  await running;
  server.closeAllConnections();
  server.close();
});

test('a watch that is accepted after a refusal shows that the kind can be read, before anything changes', async () => {
  let watches = 0;
  const server = createServer((request, response) => {
    if (request.url?.includes('watch=true') !== true) {
      response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: [] }));
    } else if (++watches === 1) {
      const status = {
        kind: 'Status',
        code: 429,
        reason: 'TooManyRequests',
        message: 'storage is (re)initializing',
      };
      response.writeHead(429, { 'Content-Type': 'application/json' }).end(JSON.stringify(status));
    } else {
      response.flushHeaders(); // and nothing more
    }
  });
  await using client = await clientOf(server);
  const over = new AbortController();
  const told: string[] = [];
  const copy = new Reflector({
    client,
    type: types.configMap,
    namespaces: ['tools'],
    onChange: () => {},
    onRead: () => told.push('read'),
    onError: (error) => told.push(messageOf(error)),
  });

  const running = copy.run(over.signal);

  await expect.poll(() => told).toEqual(['read', 'storage is (re)initializing', 'read']);
  over.abort();
  await running;
  server.closeAllConnections();
  server.close();
});
