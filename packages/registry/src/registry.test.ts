import { describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { deriveName } from './derive-name.ts';
import { openBuiltIn } from './built-in.ts';
import type { Registry } from '@toolhive/contract/registry';
import { readRegistry } from './read.ts';
import { resolveSource } from './registry.ts';

const { registry } = openBuiltIn().state;

test('has the nine specified servers, each with a description', () => {
  proves('run.catalogue');
  const names = [...Object.keys(registry.servers), ...Object.keys(registry.remote_servers)];

  const catalogued = [
    'context7',
    'fetch',
    'filesystem',
    'github',
    'k8s',
    'meta-mcp',
    'notion-remote',
    'osv',
    'playwright',
  ];
  expect(catalogued.filter((name) => !names.includes(name))).toEqual([]);
  for (const { description } of [
    ...Object.values(registry.servers),
    ...Object.values(registry.remote_servers),
  ]) {
    expect(description.length).toBeGreaterThan(10);
  }
});

describe('a source', () => {
  test('is the image of an entry in a container engine, and its package elsewhere', () => {
    const contained = resolveSource(registry, 'filesystem', { runs: 'images' });
    const sandboxed = resolveSource(registry, 'filesystem', { runs: 'packages' });

    expect(contained.source).toEqual({ kind: 'image', image: 'docker.io/mcp/filesystem:latest' });
    expect(sandboxed.source).toMatchObject({
      kind: 'package',
      scheme: 'npx',
      name: '@modelcontextprotocol/server-filesystem',
    });
  });

  test('that is the image of an entry is its package without a container engine, and says so', () => {
    const image = 'docker.io/mcp/filesystem:latest';

    const sandboxed = resolveSource(registry, image, { runs: 'packages' });

    expect(sandboxed).toMatchObject({
      source: { kind: 'package', name: '@modelcontextprotocol/server-filesystem' },
      entry: { name: 'filesystem' },
      insteadOf: image,
    });
    expect(resolveSource(registry, image, { runs: 'images' }).source).toEqual({ kind: 'image', image });
  });

  test('that brings arguments of its own keeps them', () => {
    expect(resolveSource(registry, 'github', { runs: 'packages' }).sourceArgs).toEqual(['stdio']);
  });

  test.each([
    ['meta-mcp', 'is only available as a container image'],
    ['filesistem', 'the registry has no server filesistem'],
    ['ghcr.io/example/server:1', 'is a container image, and no container engine was found'],
    ['constructor', 'the registry has no server constructor'],
  ])('that cannot run here says why: %s', (word, message) => {
    expect(() => resolveSource(registry, word, { runs: 'packages' })).toThrow(message);
  });

  test('that is a name in the MCP registry is the entry with exactly that name, and never an image', () => {
    const name = 'io.github.example/weather';
    const { registry: itself } = readRegistry({
      servers: [{ name, packages: [{ registryType: 'npm', identifier: 'weather', version: '1.0.0' }] }],
    });
    const refused = (from: Registry, word = name): unknown => {
      try {
        return resolveSource(from, word, { runs: 'images' });
      } catch (error) {
        return error;
      }
    };

    expect(refused(registry)).toMatchObject({
      kind: 'not-found',
      hint: expect.stringContaining('thv config set-registry'),
    });
    expect(refused(registry, 'io.github.example/github')).toMatchObject({
      hint: expect.stringContaining('if you mean the entry github of this registry, run thv run github'),
    });
    expect(refused(itself, 'io.github.Example/weather')).toMatchObject({ kind: 'not-found' });
    expect(resolveSource(itself, name, { runs: 'images' })).toMatchObject({
      source: { kind: 'package', name: 'weather' },
      entry: { name: 'io-github-example-weather' },
    });
  });

  test('that is the name of two entries is neither of them', () => {
    const { servers } = registry;
    const entry = { ...servers['fetch'], custom_metadata: { registry_name: 'io.github.example/a' } };
    const twice = { ...registry, servers: { one: entry, two: entry } } as Registry;

    expect(() => resolveSource(twice, 'io.github.example/a', { runs: 'images' })).toThrow('has no server');
  });
});

test.each([
  [{ kind: 'image' as const, image: 'docker.io/library/nginx:latest' }, 'library-nginx'],
  [{ kind: 'image' as const, image: 'localhost:5000/image:latest' }, 'localhost-image'],
  [{ kind: 'image' as const, image: 'image' }, 'image'],
  [{ kind: 'package' as const, scheme: 'npx' as const, name: '@scope/server' }, 'scope-server'],
  [{ kind: 'package' as const, scheme: 'go' as const, name: 'github.com/a/b/cmd/server' }, 'cmd-server'],
  [{ kind: 'package' as const, scheme: 'go' as const, name: './' }, 'workload'],
  [{ kind: 'package' as const, scheme: 'npx' as const, name: '/home/ada/my server' }, 'my-server'],
  [{ kind: 'package' as const, scheme: 'uvx' as const, name: '/srv/weather.py' }, 'weather'],
  [{ kind: 'package' as const, scheme: 'uvx' as const, name: '/srv/a_b-1.0-py3-none-any.whl' }, 'a-b'],
  [{ kind: 'package' as const, scheme: 'npx' as const, name: '/srv/server-1.2.0.tgz' }, 'server'],
])('derives a name from %j', (source, name) => {
  expect(deriveName(source, undefined)).toBe(name);
});
