import { setTimeout as delay } from 'node:timers/promises';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { expect, test } from 'vitest';
import type { Core } from '../core.ts';
import { openAuthorizationServer } from '../remote/testing/authorization-server.ts';
import { openRemoteServer } from '../remote/testing/remote-server.ts';
import { makeHome, openTestCore } from '../testing/test-core.ts';
import { createWorkload } from './create.ts';
import { getWorkload } from './describe.ts';

async function openDaemon(openBrowser?: (url: string) => Promise<unknown>) {
  await using opened = new AsyncDisposableStack();
  const home = opened.use(await makeHome());
  const core = opened.use(await openTestCore(home, openBrowser === undefined ? {} : { openBrowser }));
  const everything = opened.move();
  return { core, home, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

const run = (core: Core, body: Partial<CreateWorkload>): Promise<{ name: string; port: number }> =>
  createWorkload(core, body, { report: () => {}, signal: AbortSignal.timeout(20_000) });

async function untilStatus(core: Core, name: string, status: string): Promise<void> {
  for (const deadline = performance.now() + 20_000; ; await delay(10)) {
    const { condition } = core.workloads.require(name);
    if (condition.status === status) return;
    if (performance.now() > deadline) throw new Error(`it is ${condition.status}: ${condition.context}`);
  }
}

/** Lists the tools as a client of each generation, with a token and cookies that are none of the server's business. */
async function listTools(port: number, generation: 'legacy' | 'modern'): Promise<string> {
  const described = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: 'Bearer of-the-client',
      cookie: 'session=of-the-client',
      ...(generation === 'modern' ? modern : {}),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      params: generation === 'modern' ? { _meta: described } : {},
    }),
  });
  return response.text();
}

test.each(['legacy', 'modern'] as const)(
  'a remote server of the %s generation serves clients of both',
  async (generation) => {
    await using remote = await openRemoteServer(generation);
    await using daemon = await openDaemon();

    const { name, port } = await run(daemon.core, { name: 'far', url: remote.url });
    await untilStatus(daemon.core, name, 'running');

    expect(await listTools(port, 'legacy')).toContain('test_simple_text');
    expect(await listTools(port, 'modern')).toContain('test_simple_text');
    expect(getWorkload(daemon.core, name)).toMatchObject({
      remote: true,
      protocol: generation,
      package: remote.url,
    });
    expect(remote.seen.filter((headers) => JSON.stringify(headers).includes('of-the-client'))).toEqual([]);
  },
);

test('headers go with every request, secret ones without being told', async () => {
  await using remote = await openRemoteServer('legacy');
  await using daemon = await openDaemon();
  await daemon.core.secrets.setup({ provider_type: 'encrypted', password: 'correct horse' });
  await daemon.core.secrets.create('key', 'canary-value');
  const header = { description: '', required: true };
  const headers = [
    { ...header, name: 'X-Team', secret: false, default: 'blue' },
    { ...header, name: 'X-Key', secret: true, default: 'key,target=X-Key' },
  ];

  const { name, port } = await run(daemon.core, { name: 'far', url: remote.url, headers });
  await untilStatus(daemon.core, name, 'running');
  await listTools(port, 'legacy');

  expect(remote.seen.every((seen) => seen['x-team'] === 'blue' && seen['x-key'] === 'canary-value')).toBe(
    true,
  );
  expect(JSON.stringify(getWorkload(daemon.core, name))).not.toContain('canary-value');
});

test('a server that wants a token gets one; while it wants another, the status says where to sign in', async () => {
  await using authority = await openAuthorizationServer();
  await using remote = await openRemoteServer('legacy', authority);
  const visits: string[] = [];
  const isThere = Promise.withResolvers<void>();
  await using daemon = await openDaemon(async (url) => {
    visits.push(url);
    if (visits.length > 1) await isThere.promise;
    const agreed = await fetch(url, { redirect: 'manual' });
    await fetch(agreed.headers.get('location') ?? '');
  });

  const { name, port } = await run(daemon.core, { name: 'far', url: remote.url });
  await untilStatus(daemon.core, name, 'running');
  const first = await listTools(port, 'legacy');
  authority.revokeAccess();
  const second = await listTools(port, 'legacy');
  const contextOf = (): string | undefined => daemon.core.workloads.require(name).condition.context;
  await expect.poll(contextOf).toContain('open http');
  const context = contextOf();
  const { status } = daemon.core.workloads.require(name).condition;
  isThere.resolve();
  await untilStatus(daemon.core, name, 'running');
  const third = await listTools(port, 'legacy');

  expect(first).toContain('test_simple_text');
  expect(second).toContain('error');
  expect(status).toBe('unhealthy');
  expect(context).toContain(visits[1]);
  expect(third).toContain('test_simple_text');
});

test('a server that nobody signs in to says so, and is not asked for again and again', async () => {
  await using authority = await openAuthorizationServer();
  await using remote = await openRemoteServer('legacy', authority);
  await using daemon = await openDaemon(async (url) => {
    const callback = new URL(url).searchParams;
    const back = `${callback.get('redirect_uri')}?error=access_denied&state=${callback.get('state')}`;
    await fetch(`${back}&iss=${encodeURIComponent(authority.issuer)}`);
  });

  const { name } = await run(daemon.core, { name: 'far', url: remote.url });
  await untilStatus(daemon.core, name, 'error');

  expect(daemon.core.workloads.require(name).condition.context).toContain('nobody has signed in');
});

test.each([
  ['a scheme that is no web', { url: 'ftp://example.invalid/mcp' }],
  ['a password in the URL', { url: 'https://ada:secret@example.invalid/mcp' }],
  ['a transport for processes', { url: 'https://example.invalid/mcp', transport: 'stdio' }],
  ['an image as well', { url: 'https://example.invalid/mcp', image: 'npx://x' }],
])('a remote server with %s is refused', async (_title, body) => {
  await using daemon = await openDaemon();

  await expect(run(daemon.core, body)).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.not.stringContaining('secret'),
  });
});

test('a remote server that is not there says so, and is tried again', async () => {
  await using daemon = await openDaemon();

  const { name } = await run(daemon.core, { url: 'http://127.0.0.1:1/mcp' });
  await untilStatus(daemon.core, name, 'error');

  expect(daemon.core.workloads.require(name).condition.context).toContain('cannot be reached');
});
