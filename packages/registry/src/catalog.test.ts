import { AuthoredRegistry, RegistryServer } from '@toolhive/contract/registry';
import { parseSource } from '@toolhive/runtime/source';
import { describe, expect, test } from 'vitest';
import { builtInRegistry, homeFilesOf } from './built-in.ts';
import catalog from './catalog.json' with { type: 'json' };
import defaultRegistry from './default-registry.json' with { type: 'json' };
import { readRegistry } from './read.ts';

const entries = Object.entries(catalog.servers).map(
  ([name, entry]) => [name, RegistryServer.parse(entry)] as const,
);

test('the catalog adds at least 30 servers and replaces none of the specification', () => {
  const names = entries.map(([name]) => name);

  expect(names.length).toBeGreaterThanOrEqual(30);
  expect(names).toEqual(names.toSorted());
  expect(names.filter((name) => Object.hasOwn(defaultRegistry.servers, name))).toEqual([]);
});

test('the whole built-in registry keeps the rules for authors and is read completely', () => {
  expect(AuthoredRegistry.safeParse(builtInRegistry).error).toBeUndefined();
  expect(readRegistry(builtInRegistry).skipped).toEqual([]);
});

test('knows the variables that move files of a package into the home directory', () => {
  const known = homeFilesOf(parseSource('npx://@modelcontextprotocol/server-memory'));

  expect(known).toEqual(['MEMORY_FILE_PATH=/home/server/memory.jsonl']);
  expect(homeFilesOf(parseSource('uvx://mcp-server-time'))).toEqual([]);
  expect(homeFilesOf(parseSource('example/memory:1'))).toEqual([]);
});

describe.each(entries)('%s', (_name, { image, env_vars: variables = [], permissions, ...entry }) => {
  test('is a package with an exact version', () => {
    expect(image).toMatch(/^(npx|uvx):\/\/(@[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+[\w.+-]*$/);
  });

  test('asks nothing of this machine, and names the hosts that it needs', () => {
    const { network, ...others } = permissions ?? {};

    expect(others).toEqual({});
    expect(network?.mode ?? '').toBe('');
    expect(network?.outbound).toBeDefined();
  });

  test('keeps credentials secret', () => {
    const credentials = variables.filter(({ name }) => /TOKEN|KEY$|SECRET|PASSWORD|PWD/.test(name));

    expect(credentials.filter(({ secret }) => !secret)).toEqual([]);
    expect(variables.filter(({ secret, default: preset }) => secret && preset !== undefined)).toEqual([]);
  });

  test('can be found by its tags, and links to its source', () => {
    expect(entry.tags?.length).toBeGreaterThan(0);
    expect(entry.repository_url).toMatch(/^https:\/\//);
  });
});
