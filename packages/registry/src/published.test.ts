import { Registry } from '@toolhive/contract/registry';
import { describe, expect, test } from 'vitest';
import { builtInRegistry } from './built-in.ts';
import { publishedServers } from './published.ts';
import { readRegistry } from './read.ts';

const builtIn = Registry.parse(builtInRegistry);

const aRegistry = (servers: object, remoteServers: object = {}) =>
  readRegistry({
    version: '1.0.0',
    last_updated: '2026-01-02T03:04:05Z',
    servers,
    remote_servers: remoteServers,
  }).registry;

const reread = (registry: Registry) => readRegistry({ servers: publishedServers(registry) });

/** Entries without the name and the version, which an MCP registry adds, and without empty lists. */
const bare = (entries: Record<string, object>) =>
  JSON.parse(
    JSON.stringify(entries, (key, value: unknown) =>
      key === 'registry_name' || (key === 'version' && typeof value === 'string')
        ? undefined
        : isEmpty(value)
          ? undefined
          : value,
    ),
  ) as Record<string, object>;

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.keys(value).every((key) => key === 'registry_name' || key === 'version');

describe('a published registry', () => {
  test('contains every server of the built-in registry, which readers get back unchanged', () => {
    const { registry, skipped } = reread(builtIn);

    expect(skipped).toEqual([]);
    expect(Object.keys(registry.servers).toSorted()).toEqual(Object.keys(builtIn.servers).toSorted());
    expect(bare(registry.servers)).toEqual(bare(builtIn.servers));
    expect(bare(registry.remote_servers)).toEqual(bare(builtIn.remote_servers));
  });

  test('is the same after it has been read and published again', () => {
    const once = publishedServers(builtIn).map(({ server }) => server.name);

    expect(publishedServers(reread(builtIn).registry).map(({ server }) => server.name)).toEqual(once);
  });

  test('keeps the name of a server of an MCP registry, once', () => {
    const entry = { image: 'npx://a@1.0.0', custom_metadata: { registry_name: 'io.github.me/a' } };

    const names = publishedServers(aRegistry({ one: entry, two: entry })).map(({ server }) => server.name);

    expect(names).toEqual(['dev.toolhive/two', 'io.github.me/a']);
  });

  test('gives no entry the name of another', () => {
    const servers = {
      one: { image: 'npx://a@1.0.0', custom_metadata: { registry_name: 'dev.toolhive/two' } },
      two: { image: 'npx://b@1.0.0' },
    };

    const names = publishedServers(aRegistry(servers)).map(({ server }) => server.name);

    expect(names).toEqual(['dev.toolhive/one', 'dev.toolhive/two']);
  });

  test('refuses a name in custom metadata that is not one', () => {
    const entry = { image: 'npx://a@1.0.0', custom_metadata: { registry_name: '../a' } };

    expect(publishedServers(aRegistry({ one: entry }))[0]?.server.name).toBe('dev.toolhive/one');
  });

  test('joins the local and the remote entry of a server, and shortens descriptions', () => {
    const description = 'é'.repeat(200);
    const registry = aRegistry(
      { weather: { image: 'ghcr.io/example/weather:2.1.0', description, transport: 'streamable-http' } },
      {
        weather: {
          url: 'https://mcp.example.com/mcp',
          transport: 'streamable-http',
          headers: [{ name: 'X-Key', secret: true, required: true }],
        },
      },
    );

    const [only, ...others] = publishedServers(registry);

    expect(others).toEqual([]);
    expect(only?.server).toMatchObject({
      name: 'dev.toolhive/weather',
      version: '2.1.0',
      description: `${'é'.repeat(99)}…`,
      packages: [{ registryType: 'oci', identifier: 'ghcr.io/example/weather:2.1.0' }],
      remotes: [{ url: 'https://mcp.example.com/mcp', headers: [{ name: 'X-Key', isSecret: true }] }],
    });
    const { servers, remote_servers } = reread(registry).registry;
    expect(servers['weather']).toMatchObject({ description });
    expect(servers['weather']).not.toHaveProperty('target_port');
    expect(Object.keys(remote_servers)).toHaveLength(1);
  });
});
