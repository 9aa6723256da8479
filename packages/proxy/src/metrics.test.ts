import { testPort } from '@toolhive/testing/port';
import type { Instance } from '@toolhive/runtime/runtime';
import { expect, test } from 'vitest';
import { startHttpServer } from './testing/conformance-servers.ts';
import type { Said } from './testing/scripted-server.ts';
import { openScriptedProxy } from './testing/scripted-server.ts';
import { RawSession, answerOf, openTestProxy, postModern } from './testing/test-proxy.ts';

/** The figures at `/metrics`, by name and labels. */
async function figuresOf(url: string): Promise<Record<string, number>> {
  const response = await fetch(`${url}/metrics`);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => {
      const blank = line.lastIndexOf(' ');
      return [line.slice(0, blank), Number(line.slice(blank + 1))];
    }),
  );
}

/** The sum of all series of a name whose labels include these. */
function sum(figures: Record<string, number>, name: string, labels: string[] = []): number {
  return Object.entries(figures)
    .filter(([series]) => series.startsWith(`${name}{`) && labels.every((label) => series.includes(label)))
    .reduce((total, [, value]) => total + value, 0);
}

test('metrics do not exist by default', async () => {
  await using test = await openScriptedProxy();

  const response = await fetch(`${test.url}/metrics`);

  expect(response.status).toBe(404);
});

test('metrics name the version of their format', async () => {
  await using test = await openScriptedProxy({ metrics: true });

  const response = await fetch(`${test.url}/metrics`);

  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(await response.text()).toContain('# TYPE');
});

test('requests are counted by what they ask for and how that ended, calls by their tool', async () => {
  const called = (_server: unknown, { params }: Said): object => ({
    content: [],
    isError: params?.name === 'bad',
  });
  await using test = await openScriptedProxy(
    { metrics: true, workload: 'counted' },
    { 'tools/call': called },
  );
  const session = await RawSession.open(test.url);
  await answerOf(await session.postCall(1, 'good'));
  await answerOf(await session.postCall(1, 'bad'));
  await answerOf(await postModern(test.url, 'tools/call', { name: 'good' }));
  await answerOf(await postModern(test.url, 'tools/list'));
  await fetch(`${test.url}/mcp`, { method: 'POST', body: 'no json' });

  const figures = await figuresOf(test.url);

  const requests = (...labels: string[]): number => sum(figures, 'toolhive_mcp_requests_total', labels);
  const calls = (...labels: string[]): number => sum(figures, 'toolhive_mcp_tool_calls_total', labels);
  expect(requests('mcp_method="tools/call"', 'server="counted"', 'transport="stdio"')).toBe(3);
  expect(requests('mcp_method="tools/list"', 'status="success"')).toBe(1);
  expect(requests('mcp_method="initialize"', 'status_code="200"')).toBe(1);
  expect(requests('status="error"', 'status_code="415"', 'mcp_method="unknown"')).toBe(1);
  expect(calls('tool="good"', 'status="success"')).toBe(2);
  expect(calls('tool="bad"', 'status="error"')).toBe(1);
  expect(sum(figures, 'toolhive_mcp_request_duration_seconds_count', ['mcp_method="tools/call"'])).toBe(3);
});

test('the number of open streams exists before the first one', async () => {
  await using test = await openScriptedProxy({ metrics: true, workload: 'fresh' });

  const figures = await figuresOf(test.url);

  expect(figures).toMatchObject({
    'toolhive_mcp_active_connections{server="fresh",transport="stdio",connection_type="sse"}': 0,
  });
});

test('streams are counted while they are open', async () => {
  await using test = await openScriptedProxy({ metrics: true });
  const leaving = new AbortController();
  const openStreams = async (): Promise<number> =>
    sum(await figuresOf(test.url), 'toolhive_mcp_active_connections');

  await fetch(`${test.url}/sse`, { signal: leaving.signal });
  const before = await openStreams();
  leaving.abort();

  expect(before).toBe(1);
  await expect.poll(openStreams).toBe(0);
});

test('names that clients make up do not make ever more series', async () => {
  await using test = await openScriptedProxy({ metrics: true }, { 'tools/call': () => ({ content: [] }) });
  const before = Object.keys(await figuresOf(test.url)).length;
  for (let n = 0; n < 300; n++) {
    await answerOf(await postModern(test.url, 'tools/call', { name: `made-up-${n}` }));
    await answerOf(await postModern(test.url, `made/up/${n}`));
  }

  const figures = await figuresOf(test.url);

  expect(sum(figures, 'toolhive_mcp_tool_calls_total')).toBe(300);
  expect(sum(figures, 'toolhive_mcp_tool_calls_total', ['tool="other"'])).toBe(100);
  expect(Object.keys(figures).length - before).toBeLessThan(260);
});

test('a name that is too long for a label is counted as another one', async () => {
  await using test = await openScriptedProxy({ metrics: true }, { 'tools/call': () => ({ content: [] }) });
  const session = await RawSession.open(test.url);
  await answerOf(await session.postCall(1, 'x'.repeat(100_000)));

  const figures = await figuresOf(test.url);

  expect(sum(figures, 'toolhive_mcp_tool_calls_total', ['tool="other"'])).toBe(1);
});

test('a server that speaks HTTP itself is counted in the same way', async () => {
  await using opened = new AsyncDisposableStack();
  const test = opened.use(await openTestProxy({ transport: 'streamable-http', metrics: true }));
  const start = async (): Promise<Instance> => opened.use(startHttpServer('legacy', await testPort()));
  await test.proxy.connect(await start(), start, AbortSignal.timeout(20_000));
  const session = await RawSession.open(test.url, {
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  });
  await answerOf(await session.postCall(1, 'test_simple_text'));

  const figures = await figuresOf(test.url);

  const labels = ['tool="test_simple_text"', 'status="success"', 'transport="streamable-http"'];
  expect(sum(figures, 'toolhive_mcp_tool_calls_total', labels)).toBe(1);
});
