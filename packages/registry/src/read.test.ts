import { AuthoredRegistry, Registry, registryJsonSchema } from '@toolhive/contract/registry';
import { describe, expect, test } from 'vitest';
import defaultRegistry from './default-registry.json' with { type: 'json' };
import { readRegistry } from './read.ts';

const server = {
  description: 'Does something that is useful to people.',
  image: 'ghcr.io/example/server:1.0.0',
  transport: 'stdio',
  status: 'Active',
  tier: 'Community',
  tools: ['do_it'],
};
const remote = { ...server, image: undefined, url: 'https://mcp.example.com/mcp', transport: 'sse' };

const registryOf = (entry: object, remoteEntry: object = remote) => ({
  version: '1.0.0',
  last_updated: '2026-01-15T10:30:00Z',
  servers: { example: { ...server, ...entry } },
  remote_servers: { 'example-remote': JSON.parse(JSON.stringify({ ...remote, ...remoteEntry })) as unknown },
});

describe('the built-in registry', () => {
  test('keeps the rules for authors', () => {
    expect(AuthoredRegistry.safeParse(defaultRegistry).error).toBeUndefined();
  });

  test('is read completely', () => {
    expect(readRegistry(defaultRegistry).skipped).toEqual([]);
  });

  test.each(Object.entries(facts()))('has %s as it is', (name, fact) => {
    const { registry } = readRegistry(defaultRegistry);
    const found = registry.servers[name] ?? registry.remote_servers[name];

    expect(found).toMatchObject(fact);
  });
});

function facts(): Record<string, object> {
  const github = 'https://github.com';
  return {
    playwright: {
      image: 'mcr.microsoft.com/playwright/mcp:v0.0.43',
      transport: 'streamable-http',
      target_port: 8931,
      tier: 'Official',
      args: ['--port', '8931', '--allowed-hosts', '*'],
      package: { source: 'npx://@playwright/mcp@0.0.43' },
    },
    osv: {
      image: 'ghcr.io/stackloklabs/osv-mcp/server:0.0.7',
      transport: 'sse',
      permissions: { network: { outbound: { allow_host: ['api.osv.dev'], allow_port: [443] } } },
    },
    'meta-mcp': { image: 'ghcr.io/stackloklabs/mcp-optimizer:0.0.1', transport: 'streamable-http' },
    k8s: { image: 'ghcr.io/stackloklabs/mkp/server:0.2.4', transport: 'sse' },
    github: {
      image: 'ghcr.io/github/github-mcp-server:v0.19.1',
      transport: 'stdio',
      repository_url: `${github}/github/github-mcp-server`,
      package: { args: ['stdio'] },
    },
    filesystem: { image: 'docker.io/mcp/filesystem:latest', transport: 'stdio', args: ['/projects'] },
    fetch: { image: 'ghcr.io/stackloklabs/gofetch/server:1.0.1', transport: 'streamable-http' },
    context7: {
      image: 'ghcr.io/stacklok/dockyard/npx/context7:1.0.21',
      transport: 'stdio',
      package: { source: 'npx://@upstash/context7-mcp@1.0.21' },
    },
    'notion-remote': { url: 'https://mcp.notion.com/mcp', transport: 'streamable-http' },
  };
}

describe('authors', () => {
  test.each([
    [{ image: `example/server@sha256:${'a'.repeat(64)}` }],
    [{ image: 'npx://@example/server@1.0.0' }],
    [{ package: { source: 'uvx://example-server', args: ['--stdio'] } }],
    [{ provenance: { cert_issuer: 'https://issuer.example', attestation: { predicate: { any: 1 } } } }],
    [{ metadata: { stars: 1, pulls: 0, last_updated: '2026-01-15T10:30:00+02:00' } }],
  ])('may write %j', (entry) => {
    expect(AuthoredRegistry.safeParse(registryOf(entry)).error).toBeUndefined();
  });

  test.each([
    [{ description: 'Too short' }],
    [{ status: 'active' }],
    [{ tier: 'Gold' }],
    [{ tools: [] }],
    [{ tools: ['same', 'same'] }],
    [{ tags: ['Upper'] }],
    [{ transport: 'carrier-pigeon' }],
    [{ target_port: 0 }],
    [{ image: 'Example/Server' }],
    [{ env_vars: [{ name: 'A-B', description: 'Some words', required: false }] }],
    [{ env_vars: [{ name: 'A', description: 'Some words' }] }],
    [{ permissions: { read: ['relative'] } }],
    [{ permissions: { network: { outbound: { allow_host: ['*.example.com'] } } } }],
    [{ typo: true }],
  ])('may not write %j', (entry) => {
    expect(AuthoredRegistry.safeParse(registryOf(entry)).success).toBe(false);
  });

  test.each([
    [{ transport: 'stdio' }],
    [{ url: 'ftp://example.com' }],
    [{ url: 'https://me:secret@example.com' }],
    [{ headers: [{ name: 'X_Y', description: 'Some words', required: true }] }],
    [{ oauth_config: { callback_port: 70_000 } }],
  ])('may not write %j of a remote server', (entry) => {
    expect(AuthoredRegistry.safeParse(registryOf({}, entry)).success).toBe(false);
  });
});

test('the published schema has a name, words and examples that keep its rules', () => {
  const schema = registryJsonSchema() as { $id: string; $defs: Record<string, Described> };
  const { Registry: root } = schema.$defs;

  expect(schema.$id).toBe('urn:toolhive:registry-schema');
  expect(Object.keys(schema.$defs).toSorted()).toMatchInlineSnapshot(`
    [
      "Registry",
      "RegistryAttestation",
      "RegistryGroup",
      "RegistryHeader",
      "RegistryMetadata",
      "RegistryOAuth",
      "RegistryProvenance",
      "RegistryRemoteServer",
      "RegistryServer",
      "RegistryUrlVariable",
      "RegistryVariable",
    ]
  `);
  for (const part of Object.values(schema.$defs)) expect(part.description).toMatch(/\w/);
  expect(root?.examples).toHaveLength(1);
  for (const example of root?.examples ?? []) expect(AuthoredRegistry.safeParse(example).success).toBe(true);
});

interface Described {
  description?: string;
  examples?: unknown[];
}

describe('readers', () => {
  test.each([
    [{ description: '' }],
    [{ description: undefined, tools: undefined, tier: undefined, status: undefined, transport: undefined }],
    [{ tools: null, env_vars: null, metadata: null }],
    [{ tier: 'Gold', tags: [], tools: ['a b'], typo: { any: 'thing' } }],
    [{ metadata: { stars: 1 } }],
    [{ custom_metadata: { kept: null } }],
  ])('take %j', (entry) => {
    const { registry, skipped } = readRegistry(registryOf(entry));

    expect(skipped).toEqual([]);
    expect(Registry.parse(registry)).toEqual(registry);
    expect(registry.servers['example']).toMatchObject({ name: 'example', image: server.image });
    expect(registry.servers['example']).not.toHaveProperty('typo');
  });

  test.each(['active', 'Active', 'deprecated', 'Deprecated'])(
    'write the status %s with a capital',
    (status) => {
      const { registry } = readRegistry(registryOf({ status }));

      expect(registry.servers['example']?.status).toBe(`${status[0]?.toUpperCase()}${status.slice(1)}`);
    },
  );

  test.each([
    [{ image: undefined }, 'image: '],
    [{ image: 'not an image' }, 'is not an image reference'],
    [{ image: 'sh://-c' }, 'unknown scheme'],
    [{ image: 'go://./local' }, 'is a path of this machine'],
    [{ image: 'npx:///home/ada/server' }, 'is a path of this machine'],
    [{ image: 'uvx://../server.py' }, 'is a path of this machine'],
    [{ image: 'npx:///' }, 'is a path of this machine'],
    [{ image: 'uvx://git+https://example.com/owner/repo' }, 'is a Git repository'],
    [{ image: 'npx://owner/repo' }, 'is a Git repository'],
    [{ package: { source: 'npx://github:owner/repo#main' } }, 'is a Git repository'],
    [{ package: { source: 'go:///etc' } }, 'is a path of this machine'],
    [{ package: { source: 'npx://--evil' } }, 'is not a package name'],
    [{ args: ['a\0b'] }, 'contains a NUL character'],
    [{ transport: 'pigeon' }, 'transport: '],
    [{ target_port: 65_536 }, 'target_port: '],
    [{ env_vars: [{ name: 'A=B' }] }, 'env_vars.0.name: '],
    [{ permissions: { privileged: 'yes' } }, 'permissions.privileged: '],
    [{ description: 7 }, 'description: '],
  ])('leave out %j and say why', (entry, why) => {
    const document = registryOf(entry);
    const { registry, skipped } = readRegistry({
      ...document,
      servers: { ...document.servers, good: server },
    });

    expect(Object.keys(registry.servers)).toEqual(['good']);
    expect(skipped).toEqual([{ name: 'example', why: expect.stringContaining(why) as string }]);
  });

  test('take no value of a secret header, which could refer to a secret of the user', () => {
    const header = { name: 'X-Key', description: 'A key of the service.', required: true };
    const headers = [
      { ...header, secret: true, default: 'github-token,target=X-Key' },
      { ...header, name: 'X-Unit', default: 'metric' },
    ];

    const { registry } = readRegistry(registryOf({}, { headers }));

    expect(registry.remote_servers['example-remote']?.headers).toEqual([
      { ...header, secret: true },
      { ...header, name: 'X-Unit', secret: false, default: 'metric' },
    ]);
  });

  test('leave out names that no workload can have', () => {
    const { registry, skipped } = readRegistry({
      servers: {
        '../../etc': server,
        ['__proto__']: server,
        constructor: server,
        'A.b_c': server,
        '-x': server,
      },
    });

    expect(Object.keys(registry.servers)).toEqual(['constructor', 'A.b_c']);
    expect(skipped.map(({ name }) => name)).toEqual(['../../etc', '-x']);
  });

  test('take groups, each entry on its own', () => {
    const { registry, skipped } = readRegistry({
      groups: [
        { name: 'work', description: 'For work', servers: { good: server, bad: {} } },
        { name: 'Not Allowed', description: '' },
      ],
    });

    expect(registry.groups).toMatchObject([{ name: 'work', servers: { good: { name: 'good' } } }]);
    expect(skipped.map(({ name }) => name)).toEqual(['work/bad', 'a group']);
  });

  test.each([[{}], [[]], ['text'], [null], [{ servers: 'none' }], [{ version: '1.0.0' }]])(
    'refuse what holds no registry: %j',
    (document) => {
      expect(() => readRegistry(document)).toThrow('the document contains no registry');
    },
  );
});
