import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { describe, expect, test } from 'vitest';
import type { Core, CoreOptions } from '../open-core.ts';
import type { Lookup } from '@toolhive/outgoing/way-out';
import { saveCopy } from '@toolhive/registry/copy';
import { readRegistry } from '@toolhive/registry/read';
import { openAuthorizationServer } from '@toolhive/remote/testing/authorization-server';
import { openRemoteServer } from '@toolhive/remote/testing/remote-server';
import { makeHome, openTestCore } from '../testing/test-core.ts';
import { createWorkload, editWorkload } from './creation/create.ts';
import { getWorkload } from './describe.ts';
import { startSignIn } from './sign-in.ts';

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
    expect(await getWorkload(daemon.core, name)).toMatchObject({
      remote: true,
      protocol: generation,
      package: remote.url,
    });
    expect(remote.seen.filter((headers) => JSON.stringify(headers).includes('of-the-client'))).toEqual([]);
  },
);

test('a stored token is sent to the server that the request names, and never told', async () => {
  await using remote = await openRemoteServer('modern');
  await using daemon = await openDaemon();
  await daemon.core.secrets.setup({ provider_type: 'encrypted', password: 'correct horse' });
  await daemon.core.secrets.create('notes', 'the-token');
  const bearer_token = { name: 'notes', target: 'bearer_token' };

  const { name } = await run(daemon.core, { name: 'far', url: remote.url, oauth_config: { bearer_token } });
  await untilStatus(daemon.core, name, 'running');

  expect(remote.seen.map(({ authorization }) => authorization)).toContain('Bearer the-token');
  const described = await getWorkload(daemon.core, name);
  expect(described).toMatchObject({ oauth_config: { bearer_token } });
  expect(described.warnings).toContainEqual(expect.stringMatching(/sends the secret notes to 127\.0\.0\.1:/));
  expect(JSON.stringify([described, daemon.core.workloads.require(name).runConfig])).not.toContain(
    'the-token',
  );
});

describe('an edit of the headers', () => {
  const header = { description: '', required: true };
  const team = { ...header, name: 'X-Team', secret: false, default: 'red' };
  const key = { ...header, name: 'X-Key', secret: true, default: 'key,target=X-Key' };
  const forward = {
    add_plaintext_headers: { 'X-Team': 'red' },
    add_headers_from_secret: { 'X-Key': 'key' },
  };
  const blue = { ...team, default: 'blue' };

  test.each<[string, Partial<CreateWorkload>, object[]]>([
    ['of a client for later versions keeps them', { header_forward: forward }, [team, key]],
    [
      'of such a client changes one',
      { header_forward: { ...forward, add_plaintext_headers: { 'X-Team': 'blue' } } },
      [blue, key],
    ],
    [
      'changes them in the first place of the description',
      { headers: [blue], header_forward: forward },
      [blue],
    ],
    ['removes them in the first place', { headers: [], header_forward: forward }, []],
    [
      'changes them in the second place',
      { headers: [team, key], header_forward: { add_plaintext_headers: { 'X-Team': 'blue' } } },
      [blue],
    ],
    ['changes none', { headers: [team, key], header_forward: forward }, [team, key]],
  ])('%s', async (_title, change, expected) => {
    await using remote = await openRemoteServer('legacy');
    await using daemon = await openDaemon();
    await run(daemon.core, { name: 'far', url: remote.url, headers: [team, key] });
    const { header_forward: described } = await getWorkload(daemon.core, 'far');

    const call = { report: () => {}, signal: AbortSignal.timeout(20_000) };
    await editWorkload(daemon.core, 'far', { url: remote.url, ...change }, call);

    expect(described).toEqual(forward);
    expect((await getWorkload(daemon.core, 'far')).headers).toEqual(expected);
  });

  test('is not necessary to copy a workload', async () => {
    await using remote = await openRemoteServer('legacy');
    await using daemon = await openDaemon();

    const copied = { headers: [team, key], header_forward: forward };
    await run(daemon.core, { name: 'far', url: remote.url, ...copied });

    expect((await getWorkload(daemon.core, 'far')).headers).toEqual([team, key]);
  });

  test('that differs in both places is refused', async () => {
    await using remote = await openRemoteServer('legacy');
    await using daemon = await openDaemon();
    await run(daemon.core, { name: 'far', url: remote.url, headers: [team] });
    const change = { headers: [blue], header_forward: { add_plaintext_headers: { 'X-Team': 'green' } } };

    const call = { report: () => {}, signal: AbortSignal.timeout(20_000) };
    const edited = editWorkload(daemon.core, 'far', { url: remote.url, ...change }, call);

    await expect(edited).rejects.toThrow('the header X-Team occurs twice');
  });
});

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
  expect(JSON.stringify(await getWorkload(daemon.core, name))).not.toContain('canary-value');
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
  await expect.poll(contextOf).toContain('sign in at http');
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

test('a server without a sign-in says so, and is not asked for again and again', async () => {
  await using authority = await openAuthorizationServer();
  await using remote = await openRemoteServer('legacy', authority);
  await using daemon = await openDaemon(async (url) => {
    const callback = new URL(url).searchParams;
    const back = `${callback.get('redirect_uri')}?error=access_denied&state=${callback.get('state')}`;
    await fetch(`${back}&iss=${encodeURIComponent(authority.issuer)}`);
  });

  const { name } = await run(daemon.core, { name: 'far', url: remote.url });
  await untilStatus(daemon.core, name, 'error');

  expect(daemon.core.workloads.require(name).condition.context).toContain('sign-in missing');
});

test('a user can begin to sign in after it failed, and whenever the server wants another token', async () => {
  await using authority = await openAuthorizationServer();
  await using remote = await openRemoteServer('legacy', authority);
  const agree = async (url: string): Promise<void> => {
    const agreed = await fetch(url, { redirect: 'manual' });
    await fetch(agreed.headers.get('location') ?? '');
  };
  let isRefusing = true;
  await using daemon = await openDaemon(async (url) => {
    if (!isRefusing) return; // the user does not look at the browser of the daemon
    const asked = new URL(url).searchParams;
    const back = `${asked.get('redirect_uri')}?error=access_denied&state=${asked.get('state')}`;
    await fetch(`${back}&iss=${encodeURIComponent(authority.issuer)}`);
  });
  const { core } = daemon;
  const { signal } = new AbortController();
  const { name, port } = await run(core, { name: 'far', url: remote.url });
  await untilStatus(core, name, 'error');
  const failed = await getWorkload(core, name);

  isRefusing = false;
  const first = await startSignIn(core, name, signal);
  const waiting = await getWorkload(core, name);
  const joined = await startSignIn(core, name, signal);
  await agree(first ?? '');
  await untilStatus(core, name, 'running');
  const signedIn = await getWorkload(core, name);
  await expect(startSignIn(core, name, signal)).rejects.toMatchObject({ kind: 'conflict' });
  authority.revokeAccess();
  await listTools(port, 'legacy');
  await untilStatus(core, name, 'unhealthy');
  const again = await startSignIn(core, name, signal);
  await agree(again ?? '');
  await untilStatus(core, name, 'running');

  expect(failed.sign_in).toEqual({ why: expect.any(String) as string });
  expect(waiting.sign_in).toMatchObject({ url: first });
  expect(joined).toBe(first);
  expect(signedIn.sign_in).toBeUndefined();
  expect(await listTools(port, 'legacy')).toContain('test_simple_text');
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

test('a missing remote server says so, and is tried again', async () => {
  await using daemon = await openDaemon();

  const { name } = await run(daemon.core, { url: 'http://127.0.0.1:1/mcp' });
  await untilStatus(daemon.core, name, 'error');

  expect(daemon.core.workloads.require(name).condition.context).toContain('cannot be reached');
});

describe('a registry entry whose name leads to this machine after the workload was created', () => {
  /** A name server that is asked in turn: first it answers as an honest one, and then as the attacker wants. */
  function rebinding(): Lookup {
    const answers = ['93.184.216.34'];
    return (_host, _options, done) => done(null, [{ address: answers.shift() ?? '127.0.0.1', family: 4 }]);
  }

  /** A daemon of a user whose registry on the web has one entry. Its copy is fresh, so no request is sent. */
  async function openWithEntry(remote: { url: string }) {
    await using opened = new AsyncDisposableStack();
    const home = opened.use(await makeHome());
    const place = 'https://registry.example/registry.json';
    const entryUrl = remote.url.replace('127.0.0.1', 'mcp.example');
    const cacheDir = join(home.path, '.cache/toolhive/registry');
    const entry = {
      description: 'A server that is not what it seems',
      url: entryUrl,
      transport: 'streamable-http',
    };
    const read = readRegistry({
      version: '1.0.0',
      last_updated: new Date().toISOString(),
      servers: {},
      remote_servers: { listed: entry },
    });
    await saveCopy(cacheDir, place, { ...read, fetchedAt: new Date().toISOString() });
    await mkdir(join(home.path, '.config/toolhive'), { recursive: true });
    await writeFile(join(home.path, '.config/toolhive/config.yaml'), `registry_url: ${place}\n`);
    const open = (changes: Partial<CoreOptions> = {}): Promise<Core> =>
      openTestCore(home, { lookup: rebinding(), ...changes });
    const everything = opened.move();
    return { open, [Symbol.asyncDispose]: () => everything.disposeAsync() };
  }

  const refusal =
    'the server of a registry entry must have a public address: mcp.example is a loopback address';

  test('is not connected to, also after a restart of the daemon', async () => {
    await using remote = await openRemoteServer('legacy');
    await using user = await openWithEntry(remote);
    const contexts: (string | undefined)[] = [];
    {
      await using core = await user.open();
      await run(core, { image: 'listed' });
      await untilStatus(core, 'listed', 'error');
      contexts.push(core.workloads.require('listed').condition.context);
    }
    const always: Lookup = (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]);
    await using core = await user.open({ lookup: always });
    await untilStatus(core, 'listed', 'error');
    contexts.push(core.workloads.require('listed').condition.context);

    expect(contexts).toEqual([expect.stringContaining(refusal), expect.stringContaining(refusal)]);
    expect(remote.seen).toEqual([]);
  });

  test('is not connected to after its own description was sent back as an edit', async () => {
    await using remote = await openRemoteServer('legacy');
    await using user = await openWithEntry(remote);
    await using core = await user.open();
    await run(core, { image: 'listed' });
    await untilStatus(core, 'listed', 'error');

    const call = { report: () => {}, signal: AbortSignal.timeout(20_000) };
    await editWorkload(core, 'listed', await getWorkload(core, 'listed'), call);
    await untilStatus(core, 'listed', 'error');

    expect(core.workloads.require('listed').condition.context).toContain(refusal);
    expect(remote.seen).toEqual([]);
  });
});
