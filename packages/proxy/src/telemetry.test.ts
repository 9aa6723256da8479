import { testPort } from '@toolhive/testing/port';
import type { Instance } from '@toolhive/runtime/runtime';
import { expect, test } from 'vitest';
import type { TelemetryOptions } from './middleware/telemetry.ts';
import { startHttpServer } from './testing/conformance-servers.ts';
import { openOtlpReceiver } from './testing/otlp-receiver.ts';
import type { OtlpReceiver } from './testing/otlp-receiver.ts';
import { openScriptedProxy } from './testing/scripted-server.ts';
import { RawSession, answerOf, openTestProxy, postModern } from './testing/test-proxy.ts';

const traceId = 'a'.repeat(32);
const otherTraceId = 'b'.repeat(32);
const parentId = 'c'.repeat(16);

/** Options that send everything at once. */
function sendingTo(
  { endpoint }: Pick<OtlpReceiver, 'endpoint'>,
  changes: Partial<TelemetryOptions> = {},
): TelemetryOptions {
  return {
    endpoint,
    headers: { 'x-key': 'k' },
    resource: { 'service.name': 'svc', team: 'red' },
    attributes: { 'environment.REGION': 'eu' },
    samplingRate: 1,
    metrics: true,
    onFailure: () => {},
    intervalMs: 50,
    ...changes,
  };
}

test('each request of either generation is a span with the names of the conventions', async () => {
  await using receiver = await openOtlpReceiver();
  await using proxy = await openScriptedProxy({ workload: 'w', telemetry: sendingTo(receiver) });
  const session = await RawSession.open(proxy.url);

  await answerOf(await session.postCall(7, 'recall', { text: 'private' }));
  await answerOf(await postModern(proxy.url, 'tools/call', { name: 'recall' }, { id: 'm1' }));

  await expect.poll(() => receiver.spans.length).toBe(3);
  const [initialize, legacy, modern] = receiver.spans;
  expect(initialize).toMatchObject({ name: 'initialize', kind: 2, isError: false });
  expect(legacy?.name).toBe('tools/call recall');
  expect(legacy?.resource).toMatchObject({ 'service.name': 'svc', team: 'red' });
  expect(legacy?.attributes).toEqual({
    'environment.REGION': 'eu',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'recall',
    'mcp.method.name': 'tools/call',
    'jsonrpc.request.id': '7',
    'mcp.protocol.version': '2025-11-25',
    'mcp.server.name': 'w',
    'mcp.session.id': expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    'network.transport': 'tcp',
  });
  expect(legacy?.attributes['mcp.session.id']).not.toBe(session.id);
  expect(modern?.attributes).toMatchObject({
    'jsonrpc.request.id': 'm1',
    'mcp.protocol.version': '2026-07-28',
  });
  expect(JSON.stringify(receiver.spans)).not.toContain('private');
  expect(receiver.headers[0]).toMatchObject({ 'x-key': 'k' });
});

test('failures have their type: a JSON-RPC code, or tool_error', async () => {
  await using receiver = await openOtlpReceiver();
  const manners = { 'tools/call': () => ({ content: [], isError: true }) };
  const telemetry = sendingTo(receiver);
  await using proxy = await openScriptedProxy({ telemetry, tools: { filter: ['bad'] } }, manners);

  await answerOf(await postModern(proxy.url, 'tools/call', { name: 'bad' }));
  await answerOf(await postModern(proxy.url, 'tools/call', { name: 'hidden' }));

  await expect.poll(() => receiver.spans.length).toBe(2);
  expect(receiver.spans.map(({ isError, attributes }) => [isError, attributes['error.type']])).toEqual([
    [true, 'tool_error'],
    [true, '-32602'],
  ]);
});

test('the parent is in the message, else in the HTTP headers, and the other one is a link', async () => {
  await using receiver = await openOtlpReceiver();
  await using proxy = await openScriptedProxy({ telemetry: sendingTo(receiver) });
  const headers = { traceparent: `00-${otherTraceId}-${parentId}-01` };
  const session = await RawSession.open(proxy.url);
  const _meta = { traceparent: `00-${traceId}-${parentId}-01` };
  const params = { name: 'recall', arguments: {}, _meta };

  await answerOf(await session.post({ id: 1, method: 'tools/call', params }, headers));
  await answerOf(await session.post({ id: 2, method: 'ping' }, headers));
  await answerOf(await session.post({ id: 3, method: 'ping' }, { traceparent: '00-nonsense' }));

  await expect.poll(() => receiver.spans.length).toBe(4);
  const [, both, http, none] = receiver.spans;
  expect(both).toMatchObject({
    traceId,
    parentSpanId: parentId,
    links: [{ traceId: otherTraceId, spanId: parentId }],
  });
  expect(http).toMatchObject({ traceId: otherTraceId, parentSpanId: parentId, links: [] });
  expect(none?.parentSpanId).toBe('');
});

test('the server receives the context of the span, and keeps everything else', async () => {
  await using receiver = await openOtlpReceiver();
  await using proxy = await openScriptedProxy({ telemetry: sendingTo(receiver) });
  const session = await RawSession.open(proxy.url);
  const _meta = { traceparent: `00-${traceId}-${parentId}-01`, other: { kept: [1] } };
  const params = { name: 'recall', arguments: { a: '\u00e9' }, _meta };

  await answerOf(await session.post({ id: 1, method: 'tools/call', params }));
  await answerOf(await session.post({ id: 2, method: 'tools/call', params: { name: 'recall' } }));
  await answerOf(await session.post({ id: 3, method: 'ping' }));

  await expect.poll(() => receiver.spans.length).toBe(4);
  const heard = proxy.servers.flatMap((server) => server.heard);
  const calls = heard.filter(({ method }) => method === 'tools/call').map((call) => call.params);
  const [, first, second] = receiver.spans;
  expect(calls[0]).toEqual({
    ...params,
    _meta: { ..._meta, traceparent: `00-${traceId}-${first?.spanId}-01` },
  });
  expect(calls[1]).toMatchObject({
    name: 'recall',
    _meta: { traceparent: `00-${second?.traceId}-${second?.spanId}-01` },
  });
  expect(heard.find(({ method }) => method === 'ping')?.params).toBeUndefined();
});

test('a server gets nothing of a trace that is not sampled', async () => {
  await using receiver = await openOtlpReceiver();
  await using proxy = await openScriptedProxy({ telemetry: sendingTo(receiver, { samplingRate: 0 }) });

  await answerOf(await postModern(proxy.url, 'tools/call', { name: 'recall' }));

  const heard = proxy.servers.flatMap((server) => server.heard);
  expect(JSON.stringify(heard)).not.toContain('traceparent');
  await proxy.proxy[Symbol.asyncDispose]();
  expect(receiver.spans).toEqual([]);
});

test.each(['legacy', 'modern'] as const)('a %s server that speaks HTTP is traced too', async (generation) => {
  await using opened = new AsyncDisposableStack();
  const receiver = opened.use(await openOtlpReceiver());
  const proxy = opened.use(
    await openTestProxy({ transport: 'streamable-http', telemetry: sendingTo(receiver) }),
  );
  const start = async (): Promise<Instance> => opened.use(startHttpServer(generation, await testPort()));
  await proxy.proxy.connect(await start(), start, AbortSignal.timeout(20_000));

  if (generation === 'modern') {
    await answerOf(await postModern(proxy.url, 'tools/call', { name: 'test_simple_text' }));
  } else {
    const session = await RawSession.open(proxy.url, {
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    });
    await answerOf(await session.postCall(1, 'test_simple_text'));
  }

  await expect.poll(() => receiver.spans.map(({ name }) => name)).toContain('tools/call test_simple_text');
});

test('durations are measured in the buckets of the conventions', async () => {
  await using receiver = await openOtlpReceiver();
  await using proxy = await openScriptedProxy({ telemetry: sendingTo(receiver) });
  const session = await RawSession.open(proxy.url);
  await answerOf(await session.postCall(1, 'recall'));
  await answerOf(await session.post({ id: 2, method: 'made/up' }));
  await session.end();

  const found = (name: string) => receiver.metrics.findLast((metric) => metric.name === name);
  await expect.poll(() => found('mcp.server.session.duration')?.points.length).toBe(1);
  const operations = found('mcp.server.operation.duration');

  expect(operations?.unit).toBe('s');
  expect(operations?.points[0]?.bounds).toHaveLength(14);
  const methods = operations?.points.map(({ attributes }) => attributes['mcp.method.name']);
  expect(methods?.toSorted()).toEqual(['_OTHER', 'initialize', 'tools/call']);
});

test('names that clients make up do not make ever more series', async () => {
  await using receiver = await openOtlpReceiver();
  await using proxy = await openScriptedProxy({
    telemetry: sendingTo(receiver, { samplingRate: undefined }),
  });
  for (let count = 0; count < 250; count += 1)
    await answerOf(await postModern(proxy.url, 'tools/list', {}, { id: count }));
  const manners = proxy.servers[0]?.manners;
  if (manners !== undefined) manners['tools/call'] = () => ({ content: [] });
  for (let count = 0; count < 250; count += 1)
    await answerOf(await postModern(proxy.url, 'tools/call', { name: `tool-${count}` }));

  const points = () =>
    receiver.metrics.findLast(({ name }) => name === 'mcp.server.operation.duration')?.points ?? [];
  await expect
    .poll(() => points().some(({ attributes }) => attributes['gen_ai.tool.name'] === '_OTHER'))
    .toBe(true);

  expect(points().length).toBeLessThan(210);
  expect(receiver.spans).toEqual([]);
});

test('resources are named without credentials and queries', async () => {
  await using receiver = await openOtlpReceiver();
  await using proxy = await openScriptedProxy({ telemetry: sendingTo(receiver) });

  await answerOf(
    await postModern(
      proxy.url,
      'resources/read',
      { uri: 'https://u:pass@host.example/a?token=t#f' },
      {
        headers: { 'mcp-name': 'https://u:pass@host.example/a?token=t#f' },
      },
    ),
  );

  await expect.poll(() => receiver.spans.length).toBe(1);
  expect(receiver.spans[0]?.attributes['mcp.resource.uri']).toBe('https://host.example/a');
  expect(JSON.stringify(receiver.spans)).not.toContain('pass');
});

test('an endpoint that fails is reported once, and affects no call', async () => {
  const failures: string[] = [];
  await using receiver = await openOtlpReceiver();
  receiver.status = 400;
  const telemetry = sendingTo(receiver, { onFailure: (reason) => failures.push(reason) });
  await using proxy = await openScriptedProxy({ telemetry });

  const call = async () =>
    (await answerOf(await postModern(proxy.url, 'tools/call', { name: 'recall' }))).result;
  expect(await call()).toBeDefined();
  await expect.poll(() => receiver.headers.length).toBeGreaterThan(3);
  expect(await call()).toBeDefined();

  expect(failures).toHaveLength(1);
});

test('a proxy whose endpoint does not answer ends soon', async () => {
  const port = await testPort();
  const telemetry = sendingTo({ endpoint: `http://127.0.0.1:${port}` });
  const proxy = await openScriptedProxy({ telemetry });
  await answerOf(await postModern(proxy.url, 'tools/call', { name: 'recall' }));

  await proxy[Symbol.asyncDispose]();

  await expect(fetch(proxy.url)).rejects.toThrow();
});
