import { unauthorized } from '@toolhive/contract/failure';
import { testPort } from '@toolhive/testing/port';
import type { Instance } from '@toolhive/runtime/runtime';
import { expect, test } from 'vitest';
import { Audit } from './middleware/audit.ts';
import type { AuditEntry, AuditOptions } from './middleware/audit.ts';
import type { EndedCall } from './middleware/traffic.ts';
import type { ProxyOptions } from './proxy.ts';
import { startHttpServer } from './testing/conformance-servers.ts';
import { openScriptedProxy } from './testing/scripted-server.ts';
import { RawSession, answerOf, openTestProxy, postModern } from './testing/test-proxy.ts';

const calls = {
  component: 'audited',
  isRecorded: () => true,
  requestData: false,
  responseData: false,
  maxBytes: 1024,
};

/** Options for a proxy that records into a list. */
function auditing(changes: Partial<AuditOptions> = {}): { entries: AuditEntry[]; audit: AuditOptions } {
  const entries: AuditEntry[] = [];
  const record = (entry: AuditEntry): void => void entries.push(entry);
  return { entries, audit: { record, calls, localUser: 'ada', trustsProxyHeaders: false, ...changes } };
}

/** The entries once there are as many as this. They follow the responses. */
async function recorded(entries: readonly AuditEntry[], count: number): Promise<readonly AuditEntry[]> {
  await expect.poll(() => entries.length).toBeGreaterThanOrEqual(count);
  return entries;
}

const summary = ({ type, outcome, target }: AuditEntry): string =>
  [type, outcome, target?.['name']].filter(Boolean).join(' ');

test('each request of a legacy client is one entry, with who, what, and how it ended', async () => {
  const { entries, audit } = auditing();
  await using test = await openScriptedProxy({ audit, workload: 'w' });
  const session = await RawSession.open(test.url);

  await session.post({ method: 'notifications/initialized' });
  await answerOf(await session.postCall(1, 'recall'));

  const all = await recorded(entries, 3);
  expect(all.map(summary)).toEqual([
    expect.stringMatching(/^mcp_initialize success/),
    'mcp_notification success',
    'mcp_tool_call success recall',
  ]);
  expect(all[2]).toEqual({
    type: 'mcp_tool_call',
    outcome: 'success',
    component: 'audited',
    workload: 'w',
    source: { type: 'network', value: '127.0.0.1', extra: { user_agent: expect.any(String) as string } },
    subjects: expect.objectContaining({ user: 'Local User: ada', user_id: 'ada' }) as object,
    target: { endpoint: '/mcp', method: 'tools/call', name: 'recall', type: 'tool' },
    metadata: {
      extra: {
        duration_ms: expect.any(Number) as number,
        response_size_bytes: expect.any(Number) as number,
        transport: 'http',
      },
    },
  });
});

test('each request of a modern client is one entry', async () => {
  const { entries, audit } = auditing();
  await using test = await openScriptedProxy({ audit });
  const options = { clientInfo: { name: 'agent', version: '2' } };

  await answerOf(await postModern(test.url, 'tools/call', { name: 'recall' }, options));

  const [entry] = await recorded(entries, 1);
  expect(summary(entry as AuditEntry)).toBe('mcp_tool_call success recall');
  expect(entry?.subjects).toMatchObject({ client_name: 'agent', client_version: '2' });
  expect(entries).toHaveLength(1);
});

test.each(['legacy', 'modern'] as const)(
  'a %s server that speaks HTTP is audited too',
  async (generation) => {
    const { entries, audit } = auditing();
    await using opened = new AsyncDisposableStack();
    const test = opened.use(await openTestProxy({ audit, transport: 'streamable-http' }));
    const start = async (): Promise<Instance> => opened.use(startHttpServer(generation, await testPort()));
    await test.proxy.connect(await start(), start, AbortSignal.timeout(20_000));

    if (generation === 'modern') await answerOf(await postModern(test.url, 'tools/list'));
    else {
      const client = { capabilities: {}, clientInfo: { name: 'test', version: '1' } };
      const session = await RawSession.open(test.url, client);
      await answerOf(await session.post({ id: 7, method: 'tools/list' }));
    }

    await expect.poll(() => entries.map(summary)).toContain('mcp_tools_list success');
  },
);

test('a call that the tool filter refuses is an entry with the outcome denied', async () => {
  const { entries, audit } = auditing();
  await using test = await openScriptedProxy({ audit, tools: { filter: ['recall'] } });

  await answerOf(await postModern(test.url, 'tools/call', { name: 'hold' }));

  const [entry] = await recorded(entries, 1);
  expect(summary(entry as AuditEntry)).toBe('mcp_tool_call denied hold');
  expect(entry?.metadata?.extra['reason']).toBe('tool hold not found');
  expect(entries).toHaveLength(1);
});

test('without an audit configuration, only denials are recorded', async () => {
  const { entries, audit } = auditing({ calls: undefined });
  await using test = await openScriptedProxy({ audit, tools: { filter: ['recall'] } });

  await answerOf(await postModern(test.url, 'tools/call', { name: 'recall' }));
  await answerOf(await postModern(test.url, 'tools/call', { name: 'hold' }));
  await fetch(`${test.url}/mcp`, { headers: { origin: 'https://evil.example' } });

  expect((await recorded(entries, 2)).map(summary)).toEqual([
    'mcp_tool_call denied hold',
    expect.stringMatching(/denied/),
  ]);
});

test.each([undefined, calls])('a caller without a token is recorded', async (given) => {
  const { entries, audit } = auditing({ calls: given });
  const check: NonNullable<ProxyOptions['access']>['check'] = async () => {
    throw unauthorized('a token is required');
  };
  await using test = await openScriptedProxy({ audit, access: { check } });

  const response = await postModern(test.url, 'tools/call', { name: 'recall' });

  expect(response.status).toBe(401);
  const [entry] = await recorded(entries, 1);
  expect(entry).toMatchObject({ type: 'http_request', outcome: 'denied' });
  expect(entries).toHaveLength(1);
});

test('a principal is recorded with what its token says', async () => {
  const { entries, audit } = auditing();
  const claims = { sub: 'u-1', email: 'ada@example.com' };
  const check = async () => ({ id: '["https://id.example","u-1"]', claims });
  await using test = await openScriptedProxy({ audit, access: { check } });

  await answerOf(await postModern(test.url, 'tools/list', {}, { headers: { authorization: 'Bearer x' } }));

  const [entry] = await recorded(entries, 1);
  expect(entry?.subjects).toEqual({ user: 'ada@example.com', user_id: 'u-1' });
  expect(JSON.stringify(entries)).not.toContain('Bearer');
});

test('a client cannot choose its address, unless a reverse proxy in front is trusted', async () => {
  const plain = auditing();
  const trusting = auditing({ trustsProxyHeaders: true });
  const headers = { 'x-forwarded-for': '10.0.0.1, 192.0.2.7', 'x-request-id': 'r-1' };
  for (const { audit } of [plain, trusting]) {
    await using test = await openScriptedProxy({ audit });
    await answerOf(await postModern(test.url, 'tools/list', {}, { headers }));
  }

  const [first] = await recorded(plain.entries, 1);
  const [second] = await recorded(trusting.entries, 1);
  expect(first?.source).toMatchObject({ value: '127.0.0.1', extra: { request_id: 'r-1' } });
  expect(second?.source.value).toBe('192.0.2.7');
});

test('a call whose client disconnects is recorded', async () => {
  const { entries, audit } = auditing();
  await using test = await openScriptedProxy({ audit });
  const leaving = new AbortController();
  const call = postModern(test.url, 'tools/call', { name: 'hold' }, { signal: leaving.signal });
  const heard = () => test.servers.flatMap((server) => server.heard.map(({ params }) => params?.name));
  await expect.poll(heard).toContain('hold');

  leaving.abort();

  await expect(call).rejects.toThrow();
  const [entry] = await recorded(entries, 1);
  expect(summary(entry as AuditEntry)).toBe('mcp_tool_call failure hold');
});

test('what is no message is recorded as an HTTP request', async () => {
  const { entries, audit } = auditing();
  await using test = await openScriptedProxy({ audit });

  await fetch(`${test.url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"jsonrpc":"2.0"',
  });

  const [entry] = await recorded(entries, 1);
  expect(entry).toMatchObject({ type: 'http_request', outcome: 'failure', target: { endpoint: '/mcp' } });
});

test('a stream is recorded when it begins', async () => {
  const { entries, audit } = auditing();
  await using test = await openScriptedProxy({ audit });
  const leaving = new AbortController();

  const stream = await fetch(`${test.url}/sse`, { signal: leaving.signal });

  expect(stream.status).toBe(200);
  const [entry] = await recorded(entries, 1);
  expect(entry).toMatchObject({
    type: 'sse_connection',
    outcome: 'success',
    target: { type: 'sse_endpoint' },
  });
  leaving.abort();
});

test('bodies are recorded only if that is configured, and only up to the limit', async () => {
  const { entries, audit } = auditing({
    calls: { ...calls, requestData: true, responseData: true, maxBytes: 400 },
  });
  await using test = await openScriptedProxy({ audit });

  await answerOf(await postModern(test.url, 'tools/call', { name: 'recall' }));
  await answerOf(await postModern(test.url, 'tools/call', { name: 'recall', filler: 'x'.repeat(100_000) }));

  const [small, large] = await recorded(entries, 2);
  expect(small?.bodies).toEqual({
    request: expect.stringContaining('"recall"') as string,
    response: expect.stringContaining('"result"') as string,
  });
  expect(large?.bodies?.request).toBeGreaterThan(100_000);
});

test('types that the configuration leaves out are not recorded, except for denials', async () => {
  const { entries, audit } = auditing({ calls: { ...calls, isRecorded: (type) => type === 'mcp_ping' } });
  await using test = await openScriptedProxy({ audit, tools: { filter: ['recall'] } });
  await answerOf(await postModern(test.url, 'tools/call', { name: 'recall' }));

  await answerOf(await postModern(test.url, 'tools/call', { name: 'hold' }));

  expect((await recorded(entries, 1)).map(summary)).toEqual(['mcp_tool_call denied hold']);
});

test('calls are recorded once each by the audit and by the history that follow them together', async () => {
  const { entries, audit } = auditing();
  const told: string[] = [];
  const record = ({ outcome, name = '' }: EndedCall): void => void told.push(`${outcome} ${name}`);
  const traffic = { recordsBodies: false, record };
  await using test = await openScriptedProxy({ audit, traffic, tools: { filter: ['recall'] } });

  await answerOf(await postModern(test.url, 'tools/call', { name: 'recall' }));
  await answerOf(await postModern(test.url, 'tools/call', { name: 'hold' }));
  const unread = await fetch(new URL('/mcp', test.url), { method: 'POST', body: 'unread' });

  expect(unread.status).toBe(415);
  expect((await recorded(entries, 3)).map(summary)).toEqual([
    'mcp_tool_call success recall',
    'mcp_tool_call denied hold',
    'http_request failure',
  ]);
  expect(told).toEqual(['ok recall', 'denied hold', 'error ']);
});

test('a proxy without an audit configuration passes messages on unread', () => {
  const { audit } = auditing({ calls: undefined });

  const middleware = new Audit({ ...audit, workload: '', isAuthenticating: false });

  expect(middleware.message).toBeUndefined();
});
