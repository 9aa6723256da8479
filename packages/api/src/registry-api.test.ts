import { Registry } from '@toolhive/contract/registry';
import { readRegistry } from '@toolhive/registry/read';
import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { createRegistryApi } from './registry-api.ts';

const names = Array.from({ length: 45 }, (_, index) => `server-${String(index).padStart(2, '0')}`);
const registry = Registry.parse({
  version: '1.0.0',
  last_updated: '2026-01-02T03:04:05Z',
  servers: Object.fromEntries(names.map((name) => [name, { name, image: `ghcr.io/example/${name}:1.0.0` }])),
});
const log = pino({ level: 'silent' });
const api = createRegistryApi({ read: async () => registry, version: '1.2.3', log });

interface Page {
  servers: { server: { name: string; version: string } }[];
  metadata: { nextCursor?: string; count: number };
}

const page = async (query: string): Promise<Page> =>
  (await (await api.request(`/v0.1/servers${query}`)).json()) as Page;

const namesOf = ({ servers }: Page): string[] => servers.map(({ server }) => server.name);

describe('the list of servers', () => {
  test('comes in pages of 30', async () => {
    const first = await page('');
    const second = await page(`?cursor=${first.metadata.nextCursor}`);

    expect([first.metadata.count, second.metadata.count]).toEqual([30, 15]);
    expect(second.metadata).not.toHaveProperty('nextCursor');
    expect([...namesOf(first), ...namesOf(second)]).toEqual(names.map((name) => `dev.toolhive/${name}`));
  });

  test.each([
    ['?limit=2', 2],
    ['?limit=100000', 45],
    ['?search=SERVER-1', 10],
    ['?search=nothing', 0],
    ['?version=latest&limit=100', 45],
    ['?version=1.0.0&limit=100', 45],
    ['?version=2.0.0', 0],
    ['?updated_since=2026-01-02T03:04:05Z&limit=100', 45],
    ['?updated_since=2026-01-02T05:04:06%2B02:00', 0],
    ['?limit=100&unknown=1', 45],
  ])('with %s has %i servers', async (query, count) => {
    expect((await page(query)).metadata.count).toBe(count);
  });

  test.each(['?limit=0', '?limit=x', '?cursor=%00', '?cursor=YQ', '?updated_since=today'])(
    'refuses %s',
    async (query) => {
      const response = await api.request(`/v0.1/servers${query}`);

      expect(response.status).toBe(400);
      expect(await response.json()).toHaveProperty('error', expect.stringMatching(/^invalid \w+: /));
    },
  );

  test('is not sent again if it has not changed', async () => {
    const etag = (await api.request('/v0.1/servers')).headers.get('etag') ?? '';

    const response = await api.request('/v0.1/servers', {
      headers: { 'if-none-match': `W/"other", ${etag}` },
    });

    expect(response.status).toBe(304);
    expect(await response.text()).toBe('');
  });

  test('is that of /v0, too', async () => {
    expect(await (await api.request('/v0/servers')).json()).toEqual(await page(''));
  });

  test('is read by the other side of the product', async () => {
    const { registry: read, skipped } = readRegistry(await page('?limit=100'));

    expect(skipped).toEqual([]);
    expect(Object.keys(read.servers)).toEqual(names);
  });
});

describe('a server', () => {
  const path = `/v0.1/servers/${encodeURIComponent('dev.toolhive/server-07')}/versions`;

  test('has one version', async () => {
    const latest = await (await api.request(`${path}/latest`)).json();

    expect(latest).toMatchObject({ server: { name: 'dev.toolhive/server-07', version: '1.0.0' } });
    expect(await (await api.request(`${path}/1.0.0`)).json()).toEqual(latest);
    expect(await (await api.request(path)).json()).toEqual({ servers: [latest], metadata: { count: 1 } });
  });

  test.each([
    [`${path}/2.0.0`, 'Server version not found'],
    ['/v0.1/servers/dev.toolhive%2Fother/versions', 'Server not found'],
    ['/v0.1/servers/dev.toolhive%2Fother/versions/latest', 'Server not found'],
    ['/v0.1/servers/dev.toolhive%2Fserver-07', '/v0.1/servers/dev.toolhive%2Fserver-07 not found'],
  ])('%s does not exist', async (missing, error) => {
    const response = await api.request(missing);

    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error });
  });
});

test('answers about itself', async () => {
  expect(await (await api.request('/v0.1/ping')).json()).toEqual({ pong: true });
  expect(await (await api.request('/v0.1/health')).json()).toEqual({ status: 'ok' });
  expect(await (await api.request('/v0.1/version')).json()).toEqual({ version: '1.2.3' });
});

test.each([
  ['POST', '/v0.1/publish'],
  ['PUT', '/v0.1/servers/a%2Fb/versions/1'],
  ['DELETE', '/v0.1/servers/a%2Fb/versions/1'],
])('changes nothing: %s %s', async (method, path) => {
  expect((await api.request(path, { method })).status).toBe(501);
});

test('is unavailable before the source has been read', async () => {
  const unread = createRegistryApi({ read: async () => undefined, version: '1', log });

  expect((await unread.request('/v0.1/servers')).status).toBe(503);
});
