// @suite e2e (in depth)
import { afterAll, describe, expect, test } from 'vitest';
import { hasGo, startCollector } from './testing/collector.ts';
import { askableClients } from './testing/mcp.ts';
import { testPort } from '@toolhive/testing/port';
import { makeUser, testServer, until } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

const homes = openUsedHomes();
afterAll(() => homes[Symbol.asyncDispose]());

// Real servers in the sandbox, official clients, and the receiver of the official collector, built from Go modules.

/** Built for the first time on a busy machine, the receiver takes minutes. */
const buildMs = 15 * 60_000;

describe('telemetry', () => {
  test.runIf(hasGo)('of calls reaches a collector, as traces and metrics', { timeout: buildMs }, async () => {
    await using collector = await startCollector();
    await using user = await makeUser({ env: { REGION: 'eu-1' } });
    const flags = [
      '--otel-endpoint',
      collector.endpoint,
      '--otel-insecure',
      '--otel-sampling-rate=1',
      '--otel-service-name=svc',
      '--otel-custom-attributes=team=red',
      '--otel-env-vars=REGION',
      '--format=json',
    ];
    const started = await user.mustThv('run', testServer, '--name', 'traced', ...flags, '--', 'echo');
    const { url } = JSON.parse(started) as { url: string };
    for (const connect of Object.values(askableClients)) {
      await using client = await connect(url);
      await client.call('echo', { text: 'private words' });
    }

    await user.mustThv('stop', 'traced'); // sends what is left

    const calls = await until(() => {
      const parts = collector.received.flatMap(({ resourceSpans = [] }) => resourceSpans);
      const found = parts.flatMap(({ scopeSpans, resource }) =>
        scopeSpans.flatMap(({ spans }) =>
          spans.filter(({ name }) => name === 'tools/call echo').map((span) => ({ span, resource })),
        ),
      );
      return found.length === 2 ? found : undefined;
    });
    const texts = (list: { key: string; value: { stringValue?: string } }[]): Record<string, unknown> =>
      Object.fromEntries(list.map(({ key, value }) => [key, value.stringValue]));
    const [legacy, modern] = calls.map(({ span }) => texts(span.attributes));
    expect(texts(calls[0]?.resource.attributes ?? [])).toMatchObject({ 'service.name': 'svc', team: 'red' });
    expect(legacy).toMatchObject({
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'echo',
      'mcp.protocol.version': '2025-11-25',
      'environment.REGION': 'eu-1',
    });
    expect(modern).toMatchObject({ 'mcp.protocol.version': '2026-07-28' });
    const metrics = (): string[] =>
      collector.received.flatMap(({ resourceMetrics = [] }) =>
        resourceMetrics.flatMap(({ scopeMetrics }) =>
          scopeMetrics.flatMap((scope) => scope.metrics.map(({ name }) => name)),
        ),
      );
    await until(() => metrics().includes('mcp.server.session.duration'));
    expect(metrics()).toContain('mcp.server.operation.duration');
    expect(JSON.stringify(collector.received)).not.toContain('private words');
  });

  test('to a missing collector affects no call, and is reported once', async () => {
    await using user = await homes.take();
    const flags = [
      '--otel-endpoint',
      `127.0.0.1:${await testPort()}`,
      '--otel-insecure',
      '--otel-sampling-rate=1',
    ];
    const started = await user.mustThv(
      'run',
      testServer,
      '--name',
      'w',
      ...flags,
      '--format',
      'json',
      '--',
      'echo',
    );
    const { url } = JSON.parse(started) as { url: string };

    await using client = await askableClients.legacy(url);
    expect(await client.call('echo', { text: 'hi' })).toMatchObject({ failed: false });

    await user.mustThv('stop', 'w');
    const log = await until(async () => {
      const text = await user.mustThv('logs', 'w', '--proxy');
      return text.includes('telemetry cannot be sent') ? text : undefined;
    });
    expect(log.split('telemetry cannot be sent')).toHaveLength(2);
  });

  test.each([
    ['https://collector:4318', 'begins with a scheme'],
    ['collector:4318/path', 'invalid telemetry endpoint'],
    ['user@collector:4318', 'invalid telemetry endpoint'],
  ])('is refused for the endpoint %s', async (endpoint, why) => {
    await using user = await homes.take();

    const { code, stderr } = await user.thv('run', testServer, '--otel-endpoint', endpoint, '--', 'echo');

    expect([code, stderr]).toEqual([2, expect.stringContaining(why)]);
  });

  test('does not include environment variables that hold secrets', async () => {
    await using user = await homes.take();
    const flags = ['--otel-endpoint', '127.0.0.1:4318', '--otel-env-vars', 'AWS_SECRET_ACCESS_KEY'];

    const { code, stderr } = await user.thv('run', testServer, ...flags, '--', 'echo');

    expect(code).toBe(2);
    expect(stderr).toContain('AWS_SECRET_ACCESS_KEY is not sent with traces');
  });
});
