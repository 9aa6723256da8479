import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubernetesClient } from '@toolhive/kubernetes/client';
import { expect, test } from 'vitest';
import { untilReady } from './ready.ts';

/** An API server whose watches end at once. The server is ready from the list with this number on. */
async function openHastyApiServer(readyAt: number) {
  const lists: number[] = [];
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url?.includes('watch=true')) return response.end();
    lists.push(performance.now());
    const conditions = [{ type: 'Ready', status: lists.length >= readyAt ? 'True' : 'False' }];
    const item = { metadata: { name: 'one', namespace: 'tools' }, spec: {}, status: { conditions } };
    return response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: [item] }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    lists,
    url: `http://127.0.0.1:${port}`,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

test('watches that end at once are repeated with growing pauses', async () => {
  using api = await openHastyApiServer(4);
  const config = { server: api.url, namespace: 'tools', tls: {}, token: async () => undefined };
  await using client = new KubernetesClient(config);

  await untilReady(client, {
    name: 'one',
    namespace: 'tools',
    report() {},
    signal: new AbortController().signal,
  });

  const pauses = api.lists.slice(1).map((at, index) => at - (api.lists[index] ?? 0));
  expect(pauses).toHaveLength(3);
  // A busy machine makes a pause longer, and never shorter.
  for (const [index, pause] of pauses.entries()) expect(pause).toBeGreaterThan(200 * 2 ** index);
});
