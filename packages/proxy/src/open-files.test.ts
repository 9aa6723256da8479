import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { ConnectionCount, OpenFiles } from '@toolhive/runtime/open-files';
import { describe, expect, test } from 'vitest';
import { openScriptedProxy } from './testing/scripted-server.ts';
import { RawSession, openTestProxy, postModern } from './testing/test-proxy.ts';

// How many files clients and servers of one workload can make the daemon open, if it can open 256.

const few = 256;
const quick = { timeout: 20_000 };
const never = new AbortController().signal;

describe('with few files, a workload', () => {
  test('has fewer processes for single clients', async () => {
    const files = new OpenFiles(few);
    await using proxy = await openScriptedProxy({ files });

    for (let opened = 0; opened < 6; opened += 1) await (await RawSession.open(proxy.url)).call('instance');

    expect(proxy.servers.length).toBeGreaterThan(6);
    expect(proxy.running.length).toBeLessThanOrEqual(1 + files.budgets.processes);
  });

  test('has fewer connections of clients', async () => {
    const files = new OpenFiles(few);
    await using proxy = await openScriptedProxy({ files });
    const port = Number(new URL(proxy.url).port);
    const sockets = Array.from({ length: 100 }, () => connect(port, '127.0.0.1'));
    let closed = 0;
    for (const socket of sockets) socket.on('error', () => {}).on('close', () => closed++);

    await expect.poll(() => closed, quick).toBe(sockets.length - files.budgets.clients);

    for (const socket of sockets) socket.destroy();
  });

  test('shares the connections of the daemon with others, who then replace their own', async () => {
    const files = new OpenFiles(few);
    await using proxies = new AsyncDisposableStack();
    const opened = Array.from({ length: 16 }, () => openScriptedProxy({ files }));
    const urls = (await Promise.all(opened)).map((proxy) => proxies.use(proxy).url);
    const sockets = urls.flatMap((url) =>
      Array.from({ length: 30 }, () => connect(Number(new URL(url).port), '127.0.0.1')),
    );
    let open = sockets.length;
    for (const socket of sockets) socket.on('error', () => {}).on('close', () => open--);

    await expect.poll(() => open, quick).toBeLessThanOrEqual(files.budgets.allConnections);

    for (const socket of sockets) socket.destroy();
  });

  test('has fewer connections to its server over HTTP, and further requests are refused with the reason', async () => {
    const files = new OpenFiles(few);
    await using server = await openHangingServer();
    // Requests to the API for a workload arrive over other connections.
    const connections = { connections: 1_000, together: new ConnectionCount(1_000) };
    await using proxy = await openTestProxy({ transport: 'streamable-http', files, connections });
    await proxy.proxy.connect({ address: server.address }, () => Promise.reject(new Error()), never);
    const over = new AbortController();
    const calls = Array.from({ length: 60 }, () =>
      postModern(proxy.url, 'tools/call', { name: 'hang' }, { signal: over.signal }),
    );

    const settled = Promise.allSettled(calls);
    const refusal = await Promise.any(calls);

    expect(await refusal.text()).toContain('too many connections to the server');
    expect(server.most()).toBeLessThanOrEqual(files.budgets.upstream);
    over.abort();
    await settled;
    await expect.poll(async () => (await postModern(proxy.url, 'tools/list')).status, quick).toBe(200);
  });
});

test('servers that end slowly are not replaced by any number of others', async () => {
  await using proxy = await openScriptedProxy({ limits: { maxOwn: 2 } });
  let most = 0;

  for (let opened = 0; opened < 20; opened += 1) {
    const server = await proxy.serverOf(await RawSession.open(proxy.url));
    server.stop = async () => {
      await delay(100);
      server.exit();
    };
    most = Math.max(most, proxy.running.length);
  }

  expect(most).toBeLessThanOrEqual(1 + 2 * 2);
});

/** A modern server over HTTP whose tools never answer. */
async function openHangingServer() {
  let open = 0;
  let most = 0;
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const { id, method } = JSON.parse((await textOf(request)) || '{}') as { id?: number; method?: string };
      if (method === 'tools/call') return;
      const result =
        method === 'tools/list' ? { tools: [] } : { supportedVersions: ['2026-07-28'], capabilities: {} };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    };
    answer().catch(() => response.destroy());
  });
  server.on('connection', (socket) => {
    most = Math.max(most, ++open);
    socket.on('close', () => open--);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo; // listens on a port
  return {
    most: () => most,
    address: { kind: 'tcp', host: '127.0.0.1', port } as const,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
