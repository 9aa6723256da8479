import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { addressToWorkload } from './relay.ts';

test('a relayed request contains nothing that concerns the API only', async () => {
  await using server = createServer((request, response) => {
    addressToWorkload(request, '127.0.0.1:9999');
    const { url, headers, rawHeaders } = request;
    response.end(JSON.stringify({ url, headers, rawHeaders }));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  const response = await fetch(`http://127.0.0.1:${port}/api/v1beta/workloads/echo/mcp?x=1`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'mcp-session-id': 'abc',
      'Mcp-Param-City': 'Paris',
      authorization: 'Bearer for-the-api',
      'x-workload-authorization': 'Bearer for-the-workload',
      cookie: 'session=for-the-api',
      origin: 'http://127.0.0.1:8080',
      referer: 'http://127.0.0.1:8080/ui/',
      'sec-fetch-site': 'same-origin',
      'x-forwarded-for': '203.0.113.7',
    },
    body: '{}',
  });

  const { url, headers, rawHeaders } = (await response.json()) as {
    url: string;
    headers: Record<string, string>;
    rawHeaders: string[];
  };
  expect(url).toBe('/mcp');
  expect(headers).toMatchObject({
    host: '127.0.0.1:9999',
    authorization: 'Bearer for-the-workload',
    'mcp-session-id': 'abc',
    'mcp-param-city': 'Paris',
    'content-type': 'application/json',
  });
  const raw = rawHeaders.join('\n').toLowerCase();
  for (const gone of ['for-the-api', 'cookie', 'origin', 'referer', 'sec-fetch', 'forwarded', 'x-workload']) {
    expect(`${raw}\n${JSON.stringify(headers)}`).not.toContain(gone);
  }
});
