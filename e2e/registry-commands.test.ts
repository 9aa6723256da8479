import { afterAll, beforeAll, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { useRegistry } from './testing/registry.ts';
import { makeUser } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

// A registry of our own, as a person would point to it, with one hostile entry.
const hostile =
  'Weather\u001b]0;owned\u0007 for\u202e everybody,\nwherever they are, at any time of the day.';
const registry = {
  version: '1.0.0',
  last_updated: '2026-01-01T00:00:00Z',
  servers: {
    weather: {
      description: hostile,
      image: 'ghcr.io/example/weather:1.2.0',
      package: { source: 'npx://@example/weather@1.2.0' },
      transport: 'streamable-http',
      target_port: 9000,
      tier: 'Official',
      status: 'Active',
      tools: ['forecast', 'rain'],
      tags: ['sky', 'forecast'],
      env_vars: [
        { name: 'WEATHER_KEY', description: 'A key for the service.', required: true, secret: true },
        { name: 'UNITS', description: '', required: true, default: 'metric' },
      ],
      permissions: { network: { outbound: { allow_host: ['api.weather.example'], allow_port: [443] } } },
      provenance: { signer_identity: '/.github/workflows/release.yml' },
      custom_metadata: {
        arguments: ['--station (required): The station.\u001b', 7],
        mounts: ['/maps:ro: The maps.'],
      },
      repository_url: 'https://code.example/weather',
      metadata: { stars: 7, pulls: 19, last_updated: '2026-01-01T00:00:00Z' },
    },
    abacus: {
      description: 'Counts.',
      image: 'ghcr.io/example/abacus:1',
      transport: 'stdio',
      status: 'Deprecated',
    },
    'not usable': { image: 'ghcr.io/example/other:1' },
  },
  remote_servers: {
    notes: {
      description: 'Notes of others.',
      url: 'https://mcp.notes.example/mcp',
      transport: 'streamable-http',
      headers: [{ name: 'X-Team', description: 'Whose notes.', required: true }],
      oauth_config: { issuer: 'https://id.notes.example', scopes: ['read', 'write'] },
    },
  },
};

let user: User;
beforeAll(async () => {
  user = await makeUser();
  await useRegistry(user, registry);
});
afterAll(() => user?.[Symbol.asyncDispose]());

test('lists the servers of the registry by name, and what is wrong with it', async () => {
  proves('cli.registry');
  const { code, stdout, stderr } = await user.thv('registry', 'ls');

  expect(code).toBe(0);
  expect(stdout).toMatchInlineSnapshot(`
    "NAME      TYPE        DESCRIPTION                                          TIER        STARS   PULLS
    abacus    container   (deprecated) Counts.                                 Community   0       0
    notes     remote      Notes of others.                                     Community   0       0
    weather   container   Weather�]0;owned� for� everybody, wherever they...   Official    7       19
    "
  `);
  expect(stderr).toContain('note: 1 of its entries cannot be used');
});

test('lists whole entries as JSON, without a character that a terminal would obey', async () => {
  const text = await user.mustThv('registry', 'list', '--format', 'json');

  const entries = JSON.parse(text) as { name: string; description: string }[];
  expect(entries.map(({ name }) => name)).toEqual(['abacus', 'notes', 'weather']);
  expect(entries[2]?.description).toBe(hostile);
  for (const character of ['\u0007', '\u001b', '\u202e']) expect(text).not.toContain(character);
});

test('tells all about a local server', async () => {
  expect(await user.mustThv('registry', 'info', 'weather')).toMatchInlineSnapshot(`
    "Name: weather
    Type: container
    Description: Weather�]0;owned� for� everybody, wherever they are, at any time of the day.
    Tier: Official
    Status: Active
    Transport: streamable-http
    Image: ghcr.io/example/weather:1.2.0
    Package: npx://@example/weather@1.2.0
    Target port: 9000
    Arguments to add after --:
      - --station (required): The station.�
    Mounts to grant:
      - --volume DIRECTORY:/maps:ro: The maps.
    Provenance: yes
    Permissions:
      - reaches api.weather.example on port 443
    Repository: https://code.example/weather
    Popularity: 7 stars, 19 pulls
    Last updated: 2026-01-01T00:00:00Z
    Tools:
      - forecast
      - rain
    Environment variables:
      - WEATHER_KEY (required, secret): A key for the service.
      - UNITS (required, default metric)
    Tags: sky, forecast
    Run it with:
      - thv run --secret NAME,target=WEATHER_KEY --env UNITS=VALUE weather
    "
  `);
});

test('tells all about a remote server', async () => {
  expect(await user.mustThv('registry', 'info', 'notes')).toMatchInlineSnapshot(`
    "Name: notes
    Type: remote
    Description: Notes of others.
    Tier: Community
    Status: Active
    Transport: streamable-http
    URL: https://mcp.notes.example/mcp
    Headers:
      - X-Team (required): Whose notes.
    Signing in (OAuth):
      - at https://id.notes.example
      - for read, write
    Popularity: 0 stars, 0 pulls
    Run it with:
      - thv run notes
    "
  `);
});

test('tells all about a server as JSON', async () => {
  const entry = JSON.parse(await user.mustThv('registry', 'info', 'abacus', '--format', 'json')) as object;

  expect(entry).toMatchObject({ name: 'abacus', image: 'ghcr.io/example/abacus:1', status: 'Deprecated' });
});

test('says which server may have been meant', async () => {
  const { code, stderr } = await user.thv('registry', 'info', 'wether');

  expect([code, stderr]).toEqual([
    4,
    'Error: the registry has no server wether\nHint: did you mean weather?\n',
  ]);
});

test.each([
  ['its name', 'WEATH'],
  ['its description', 'any time'],
  ['a tag', 'sky'],
])('finds a server by %s', async (_what, query) => {
  const text = await user.mustThv('search', query);

  expect(text).toMatch(/^1 server matches ".+":\nNAME +TYPE +DESCRIPTION +TRANSPORT +STARS +PULLS\nweather /);
});

test('says that nothing was found, and as JSON that it is an empty list', async () => {
  expect(await user.mustThv('search', 'zebra')).toBe('No server matches "zebra".\n');
  expect(await user.mustThv('search', 'zebra', '--format', 'json')).toBe('[]\n');
});
