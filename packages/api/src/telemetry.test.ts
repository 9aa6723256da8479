import { openOtlpReceiver } from '@toolhive/proxy/testing/otlp-receiver';
import { openAccess } from '@toolhive/access/access';
import { apiTelemetryOptions } from '@toolhive/core/api-telemetry';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { openApiTelemetry } from './telemetry.ts';
import { openTestApi } from './testing/test-api.ts';

const log = pino({ level: 'silent' });
const token = 'a-token-of-the-api';

test('each request of the API is a span and is measured, with its route instead of names', async () => {
  await using receiver = await openOtlpReceiver();
  const settings = {
    otel: { endpoint: new URL(receiver.endpoint).host, insecure: true, 'sampling-rate': 1 },
  };
  const options = apiTelemetryOptions(settings, { version: '1', env: {}, log });
  if (options === undefined) throw new Error('there is an endpoint');
  await using telemetry = await openApiTelemetry({ ...options, intervalMs: 50 });
  await using api = await openTestApi({}, { access: openAccess({ token }), telemetry });
  const headers = { authorization: `Bearer ${token}` };
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

  await api.get('/api/v1beta/workloads/private-name', { ...headers, traceparent });
  await api.get('/api/v1beta/version', headers);
  await api.get('/api/v1beta/workloads', {});

  await expect.poll(() => receiver.spans.length).toBe(3);
  expect(receiver.spans.map(({ name }) => name)).toEqual(['GET /workloads/{name}', 'GET /version', 'GET']);
  expect(receiver.spans[0]).toMatchObject({
    kind: 2,
    traceId: 'a'.repeat(32),
    parentSpanId: 'b'.repeat(16),
    resource: { 'service.name': 'toolhive-api' },
    attributes: { 'http.route': '/workloads/{name}', 'http.response.status_code': '404' },
  });
  expect(receiver.spans[2]?.attributes).toMatchObject({ 'http.response.status_code': '401' });
  expect(JSON.stringify(receiver.spans)).not.toContain('private-name');
  expect(JSON.stringify(receiver.spans)).not.toContain(token);
  await expect.poll(() => receiver.metrics.map(({ name }) => name)).toContain('http.server.request.duration');
});

test('nothing is sent without an endpoint', () => {
  expect(apiTelemetryOptions({}, { version: '1', env: {}, log })).toBeUndefined();
});
