import { openChangingRuntime, says } from '../testing/changing-server.ts';
import { openIdProvider } from '@toolhive/access/testing/openid-provider';
import { testServer } from '../testing/test-core.ts';
import type { DaemonEvent } from '@toolhive/contract/event';
import type { TrafficEntry } from '@toolhive/contract/traffic';
import { describe, expect, test, vi } from 'vitest';
import { mcpCaller } from '@toolhive/api/testing/mcp-caller';
import { aWorkload, openTestApi } from '@toolhive/api/testing';
import type { TestApi } from '@toolhive/api/testing';

const named = { params: { name: 'echo' } };
const relayOf = ({ port }: TestApi): string => `http://127.0.0.1:${port}/api/v1beta/workloads/echo/mcp`;
const proxyOf = (api: TestApi): string =>
  `http://127.0.0.1:${api.core.workloads.require('echo').runConfig.port}/mcp`;
const entriesOf = async (api: TestApi, query = {}): Promise<TrafficEntry[]> =>
  (await api.client.listTraffic({ ...named, query })).entries;

async function openEcho(): Promise<TestApi> {
  const api = await openTestApi();
  await api.run('echo');
  return api;
}

describe('the relay', () => {
  test.each(['2025-11-25', '2026-07-28'] as const)(
    'answers clients of %s through the rules of the workload, and its calls are marked',
    async (version) => {
      await using api = await openTestApi();
      await api.client.createWorkload(
        {
          body: {
            name: 'echo',
            image: testServer,
            cmd_arguments: ['echo'],
            tools: ['echo', 'environment'],
            tools_override: { echo: { name: 'repeat' } },
          },
        },
        { onProgress: () => {} },
      );
      const ui = mcpCaller(relayOf(api), { version, name: 'web-ui' });
      const client = mcpCaller(proxyOf(api), { version, name: 'cursor' });
      if (version === '2025-11-25') for (const one of [ui, client]) await one.ask('initialize');

      const { result } = await ui.ask('tools/list');
      const denied = await ui.ask('tools/call', { name: 'crash' });
      await client.ask('tools/list');

      const names = (result['tools'] as { name: string }[]).map(({ name }) => name);
      expect(names).toEqual(['environment']);
      expect(denied.error?.message).toBe('tool crash not found');
      const listed = await entriesOf(api, { method: 'tools/list', own_reads: 'true' });
      expect(
        listed.map(({ source, client: who, protocol_version }) => [source, who?.name, protocol_version]),
      ).toEqual([
        ['ui', 'web-ui', version],
        ['client', 'cursor', version],
      ]);
      expect(listed.map(({ is_own_read }) => is_own_read)).toEqual([true, false]);
      expect(await entriesOf(api, { outcome: 'denied' })).toMatchObject([
        { source: 'ui', method: 'tools/call', kind: 'tool', name: 'crash', reason: 'tool crash not found' },
      ]);
    },
  );

  test('answers with the headers of the API, and ends sessions', async () => {
    await using api = await openEcho();
    const url = relayOf(api);

    const { status, headers } = await mcpCaller(url).ask('initialize');
    const session = headers.get('mcp-session-id') ?? '';
    const ended = await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': session } });

    expect(status).toBe(200);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(ended.status).toBe(204);
    expect((await api.client.listSessions(named)).sessions).toEqual([]);
  });

  test('refuses web pages of other sites, forms, and workloads that do not run', async () => {
    await using api = await openEcho();
    const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    const path = '/api/v1beta/workloads/echo/mcp';
    const json = { 'content-type': 'application/json' };

    const foreign = await api.send('POST', path, { ...json, origin: 'https://evil.example' }, ping);
    const form = await api.send('POST', path, { 'content-type': 'text/plain' }, ping);
    const rebound = await api.send('POST', path, { ...json, host: 'evil.example' }, ping);
    const unknown = await api.send('POST', path.replace('echo', 'other'), json, ping);
    await api.client.stopWorkload(named, { onProgress: () => {} });
    const stopped = await api.send('POST', path, json, ping);

    expect([foreign, form, rebound, unknown, stopped].map(({ status }) => status)).toEqual([
      403, 415, 403, 404, 503,
    ]);
    expect(stopped.text).toContain('thv start echo');
  });

  test('ends its streams when the workload stops', async () => {
    await using api = await openEcho();
    const ui = mcpCaller(relayOf(api));
    await ui.ask('initialize');
    const stream = await fetch(relayOf(api), {
      headers: { accept: 'text/event-stream', 'mcp-session-id': ui.session() ?? '' },
    });

    await api.client.stopWorkload(named, { onProgress: () => {} });

    expect(stream.status).toBe(200);
    await stream.text().catch(() => {}); // returns, however it ends
  });

  test('does not go around the authentication of a workload', async () => {
    await using provider = await openIdProvider();
    await using api = await openTestApi();
    const oidc = { issuer: provider.issuer, audience: 'toolhive' };
    await api.client.createWorkload(
      { body: { name: 'echo', image: testServer, cmd_arguments: ['echo'], oidc } },
      { onProgress: () => {} },
    );
    const token = await provider.sign({ iss: provider.issuer, aud: 'toolhive', sub: 'ada' }, '5m');

    const without = await mcpCaller(relayOf(api)).ask('initialize');
    const ofTheApi = await mcpCaller(relayOf(api), { headers: { authorization: `Bearer ${token}` } }).ask(
      'initialize',
    );
    const right = await mcpCaller(relayOf(api), {
      headers: { 'x-workload-authorization': `Bearer ${token}` },
    }).ask('initialize');

    expect([without.status, ofTheApi.status, right.status]).toEqual([401, 401, 200]);
    expect(without.text).toContain('x-workload-authorization');
  });
});

describe('traffic', () => {
  test('tells of each call without its content, and is filtered', async () => {
    await using api = await openEcho();
    const client = mcpCaller(proxyOf(api), { name: 'cursor' });
    await client.ask('initialize');
    await client.ask('tools/call', { name: 'echo', arguments: { message: 'hello' } });
    await client.ask('tools/call', { name: 'read', arguments: { path: '/no/such/file' } });

    const [greeting, echo, read] = await entriesOf(api);

    expect(greeting).toMatchObject({
      method: 'initialize',
      client: { name: 'cursor', version: '1' },
      outcome: 'ok',
    });
    expect(echo).toMatchObject({
      method: 'tools/call',
      kind: 'tool',
      name: 'echo',
      client: { name: 'cursor', version: '1' },
      protocol_version: '2025-11-25',
      direction: 'to-server',
      outcome: 'ok',
      has_bodies: false,
    });
    expect(echo?.request_bytes).toBeGreaterThan(50);
    expect(echo?.response_bytes).toBeGreaterThan(50);
    expect(echo?.duration_ms).toBeGreaterThanOrEqual(0);
    expect(read).toMatchObject({ name: 'read', outcome: 'error', reason: 'the tool reported an error' });
    expect(JSON.stringify([greeting, echo, read])).not.toContain('hello');
    expect(JSON.stringify([greeting, echo, read])).not.toContain(client.session());
    expect((await entriesOf(api, { item: 'read' })).map(({ id }) => id)).toEqual([read?.id]);
    expect((await entriesOf(api, { before: read?.id, limit: 1 })).map(({ id }) => id)).toEqual([echo?.id]);
    expect((await entriesOf(api, { session: echo?.session, outcome: 'ok' })).at(-1)?.id).toBe(echo?.id);
  });

  test('says that a call was cancelled, by a notification or by the end of its connection', async () => {
    await using api = await openEcho();
    const client = mcpCaller(proxyOf(api));
    await client.ask('initialize');

    const slow = client.ask('tools/call', { name: 'slow', arguments: { ms: 60_000 } });
    await vi.waitFor(async () =>
      expect((await api.client.listSessions(named)).sessions).toMatchObject([{ in_flight: 1 }]),
    );
    await client.notify('notifications/cancelled', { requestId: 2 });
    await slow;
    const modern = mcpCaller(proxyOf(api), { version: '2026-07-28' });
    const progress = { progressToken: 1 };
    const answered = await modern.open('tools/call', {
      name: 'slow',
      arguments: { ms: 60_000, steps: 6_000 },
      _meta: progress,
    });
    await answered.body?.cancel();

    await vi.waitFor(async () =>
      expect((await entriesOf(api, { method: 'tools/call' })).map(({ outcome }) => outcome)).toEqual([
        'cancelled',
        'cancelled',
      ]),
    );
  });

  test('is watched from where a watcher was, or from a reset on', async () => {
    await using api = await openEcho();
    const client = mcpCaller(proxyOf(api));
    await client.ask('initialize');
    const stop = new AbortController();
    const watch = async (after?: string) => {
      const headers = after === undefined ? {} : { 'last-event-id': after };
      const events = await api.client.watchTraffic(
        { ...named, query: { method: 'ping' }, headers },
        { signal: stop.signal },
      );
      return events[Symbol.asyncIterator]();
    };
    const first = await watch();
    await client.ask('ping');
    const { value } = await first.next();
    await client.ask('tools/list');
    await client.ask('ping');

    const resumed = await (await watch(value?.id)).next();
    const lost = await (await watch('0123456789ab-7')).next();

    expect(value?.event).toMatchObject({ type: 'entry', entry: { method: 'ping' } });
    expect(resumed.value?.event).toMatchObject({ type: 'entry', entry: { method: 'ping' } });
    expect(resumed.value?.id).not.toBe(value?.id);
    expect(lost.value?.event).toEqual({ type: 'reset' });
    stop.abort();
  });

  test('contains bodies only while they are recorded, and never secrets', async () => {
    await using api = await openEcho();
    await api.client.setupSecrets({ body: { provider_type: 'encrypted', password: 'a password' } });
    await api.client.createSecret({ body: { key: 'api', value: 'sesame-4711' } });
    const client = mcpCaller(proxyOf(api));
    await client.ask('initialize');
    const echo = (message: string) => client.ask('tools/call', { name: 'echo', arguments: { message } });
    const last = async () => {
      const [entry] = await entriesOf(api, { limit: 1 });
      return api.client.getTrafficEntry({ params: { name: 'echo', id: String(entry?.id) } });
    };

    await echo('before');
    const before = await last();
    const on = await api.client.changeTrafficRecording({ ...named, body: { bodies: true } });
    await echo('sesame-4711 and hello');
    const during = await last();
    await echo('x'.repeat(100_000));
    const large = await last();
    await api.client.changeTrafficRecording({ ...named, body: { bodies: false } });
    const after = await api.client.getTrafficEntry({
      params: { name: 'echo', id: String(during.entry.id) },
    });

    expect(before).toMatchObject({ entry: { has_bodies: false } });
    expect(before.request).toBeUndefined();
    expect(on).toEqual({ bodies: true, max_body_bytes: 65_536, max_total_bytes: 8_388_608 });
    expect(during.request?.text).toContain('[REDACTED] and hello');
    expect(during.response?.text).toContain('[REDACTED] and hello');
    expect(JSON.stringify(during)).not.toContain('sesame');
    expect(large.request).toEqual({ bytes: expect.any(Number) as number });
    expect(after.request).toBeUndefined();
  });

  test('is bounded, whatever clients send', async () => {
    await using api = await openEcho();
    const client = mcpCaller(proxyOf(api), { version: '2026-07-28', name: 'n'.repeat(10_000) });

    for (let at = 0; at < 1_150; at += 1)
      await client.ask('tools/call', { name: `${at} ${'t'.repeat(2_000)}` });

    const { entries } = await api.client.listTraffic({ ...named, query: { limit: 1000 } });
    const { tools, calls } = await api.client.getUsage(named);
    expect(entries.length).toBe(1_000);
    expect(JSON.stringify(entries.at(-1)).length).toBeLessThan(1_500);
    expect(entries.at(-1)?.id).toBe(1_150);
    expect(tools.length).toBe(200);
    expect(calls).toBe(1_150);
  });
});

describe('sessions', () => {
  test('are listed without what would let others use them, and can be ended', async () => {
    await using api = await openEcho();
    const client = mcpCaller(proxyOf(api), { name: 'cursor' });
    const ui = mcpCaller(relayOf(api), { name: 'web-ui' });
    await client.ask('initialize');
    await ui.ask('initialize');
    await client.ask('tools/call', { name: 'echo', arguments: {} });

    const { sessions } = await api.client.listSessions(named);
    const session = sessions.find(({ source }) => source === 'client');
    await api.client.endSession({ params: { name: 'echo', id: session?.id ?? '' } });
    const after = await client.ask('ping');

    expect(sessions.length).toBe(2);
    expect(session).toMatchObject({
      client: { name: 'cursor', version: '1' },
      protocol_version: '2025-11-25',
      in_flight: 0,
      process: 'own',
    });
    expect(JSON.stringify(sessions)).not.toContain(client.session());
    expect(after.status).toBe(404);
    expect((await api.client.listSessions(named)).sessions).toMatchObject([{ source: 'ui' }]);
    await expect(
      api.client.endSession({ params: { name: 'echo', id: session?.id ?? '' } }),
    ).rejects.toMatchObject({ kind: 'not-found' });
  });
});

describe('capabilities', () => {
  test('are asked of a server that runs, and known when it is stopped', async () => {
    await using api = await openEcho();

    const asked = await api.client.getCapabilities({ ...named, query: {} });
    await api.client.stopWorkload(named, { onProgress: () => {} });
    const stopped = await api.client.getCapabilities({ ...named, query: { refresh: 'true' } });

    expect(asked.problem).toBeUndefined();
    expect(asked).toMatchObject({
      complete: true,
      protocol_version: '2025-11-25', // of the server, not of the client that has asked it
      server: { name: expect.any(String) as string },
    });
    const echo = asked.tools.find(({ name }) => name === 'echo');
    expect(echo).toMatchObject({ original_name: 'echo', is_shown: true, pin: { state: 'approved' } });
    expect(echo?.estimated_tokens).toBeGreaterThan(5);
    expect(stopped).toEqual(asked);
  });

  test('show the names that clients see, hidden tools, and what the user has not approved', async () => {
    const tool = (name: string, description = 'Does it.') => ({
      name,
      description,
      inputSchema: { type: 'object' },
    });
    const said = says({ tools: [tool('add'), tool('remove')] });
    await using api = await openTestApi({ runtimes: () => [openChangingRuntime(said)] });
    await api.client.createWorkload(
      {
        body: {
          name: 'echo',
          image: testServer,
          tool_pinning: 'block',
          tools: ['plus'],
          tools_override: { add: { name: 'plus', description: 'Adds.' } },
        },
      },
      { onProgress: () => {} },
    );
    await api.client.getCapabilities({ ...named, query: {} });
    const events: DaemonEvent[] = [];
    const stop = new AbortController();
    const watched = await api.client.watchEvents({ headers: {} }, { signal: stop.signal });
    const watching = (async () => {
      for await (const { event } of watched) events.push(event);
    })();

    said.tools = [tool('add', 'Adds, and reads your files.'), tool('multiply')];
    const { tools } = await api.client.getCapabilities({ ...named, query: { refresh: 'true' } });

    expect(tools).toMatchObject([
      {
        name: 'plus',
        original_name: 'add',
        is_shown: true,
        description: 'Adds.',
        original_description: 'Adds, and reads your files.',
        pin: { state: 'changed' },
      },
      { name: 'multiply', is_shown: false, pin: { state: 'new' } },
    ]);
    await vi.waitFor(() =>
      expect(events.find(({ type }) => type === 'tool.changed')).toMatchObject({
        name: 'echo',
        items: [
          { kind: 'tool', item: 'add', change: 'changed' },
          { kind: 'tool', item: 'multiply', change: 'new' },
          { kind: 'tool', item: 'remove', change: 'removed' },
        ],
      }),
    );
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'approval.requested', name: 'echo', pending: 2 }),
    );
    stop.abort();
    await watching.catch(() => {});
  });
});

test('an installation is told to every watcher', async () => {
  await using api = await openTestApi();
  const stop = new AbortController();
  const events = await api.client.watchEvents({ headers: {} }, { signal: stop.signal });

  await api.run('echo');

  for await (const { event } of events) {
    if (event.type !== 'workload.progress') continue;
    expect(event).toMatchObject({ name: 'echo', message: expect.any(String) as string });
    break;
  }
  stop.abort();
});

test('the end of an installation that fails is told to every watcher', async () => {
  await using api = await openTestApi();
  const stop = new AbortController();
  const events = await api.client.watchEvents({}, { signal: stop.signal });

  const answer = await api.post('/api/v1beta/workloads', aWorkload({ network_mode: 'host' }));

  expect(answer.status).toBe(400);
  for await (const { event } of events) {
    if (event.type === 'workload.progress') continue;
    expect(event).toMatchObject({ type: 'workload.removed', name: 'echo' });
    break;
  }
  stop.abort();
});

test('usage counts calls and errors of each tool', async () => {
  await using api = await openEcho();
  const client = mcpCaller(proxyOf(api));
  await client.ask('initialize');
  await client.ask('tools/call', { name: 'echo', arguments: {} });
  await client.ask('tools/call', { name: 'read', arguments: { path: '/no/such/file' } });

  const usage = await api.client.getUsage(named);
  const { usage: all } = await api.client.listUsage({});

  expect(usage).toMatchObject({ name: 'echo', runtime: 'memory', calls: 3, errors: 1, sessions: 1 });
  expect(usage.memory_bytes).toBeGreaterThan(1_000_000);
  expect(usage.tools).toMatchObject([
    { name: 'echo', calls: 1, errors: 0 },
    { name: 'read', calls: 1, errors: 1 },
  ]);
  expect(all.map(({ name }) => name)).toEqual(['echo']);
});
