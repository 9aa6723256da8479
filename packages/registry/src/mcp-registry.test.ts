import { describe, expect, test } from 'vitest';
import { keysFor } from './keys.ts';
import { readRegistry } from './read.ts';

const official = 'io.modelcontextprotocol.registry/official';

/** A server as the MCP registry describes it. */
const aServer = (changes: object = {}) => ({
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name: 'io.github.example/weather',
  description: 'Tells the weather.',
  version: '1.2.0',
  packages: [aPackage()],
  ...changes,
});

const aPackage = (changes: object = {}) => ({
  registryType: 'npm',
  identifier: '@example/weather-mcp',
  version: '1.2.0',
  transport: { type: 'stdio' },
  ...changes,
});

const hash = 'ab'.repeat(32);

const aBundle = (changes: object = {}) => ({
  registryType: 'mcpb',
  identifier: 'https://example.com/notes.mcpb',
  fileSha256: hash,
  transport: { type: 'stdio' },
  ...changes,
});

const listed = (server: object, meta: object = {}) => ({
  server,
  _meta: { [official]: { status: 'active', isLatest: true, updatedAt: '2026-01-02T03:04:05Z', ...meta } },
});

const read = (packages: object[], changes: object = {}) =>
  readRegistry(aServer({ packages, ...changes })).registry.servers['io-github-example-weather'];

test('a publisher cannot let install scripts run', () => {
  const meta = {
    'io.modelcontextprotocol.registry/publisher-provided': {
      'dev.toolhive': { package: { source: 'npx://@example/weather-mcp@1.2.0', allow_scripts: ['sqlite3'] } },
    },
  };

  const { servers } = readRegistry(listed(aServer({ _meta: meta }))).registry;

  expect(Object.values(servers)).toHaveLength(1);
  expect(JSON.stringify(servers)).not.toContain('sqlite3');
});

describe('a server of the MCP registry', () => {
  test('becomes an entry that is run as a package', () => {
    const { registry, skipped } = readRegistry(
      aServer({
        title: 'Weather',
        websiteUrl: 'https://weather.example',
        repository: { url: 'https://git.example/w', source: 'git' },
      }),
    );

    expect(skipped).toEqual([]);
    expect(registry.servers).toMatchInlineSnapshot(`
      {
        "io-github-example-weather": {
          "args": [],
          "custom_metadata": {
            "homepage": "https://weather.example",
            "registry_name": "io.github.example/weather",
            "title": "Weather",
            "version": "1.2.0",
          },
          "description": "Tells the weather.",
          "env_vars": [],
          "image": "npx://@example/weather-mcp@1.2.0",
          "name": "io-github-example-weather",
          "repository_url": "https://git.example/w",
          "status": "Active",
          "tier": "Community",
          "tools": [],
          "transport": "stdio",
        },
      }
    `);
  });

  test.each([
    [aPackage(), 'npx://@example/weather-mcp@1.2.0'],
    [aPackage({ registryType: 'pypi', identifier: 'weather' }), 'uvx://weather@1.2.0'],
    [aPackage({ registryType: 'pypi', identifier: 'weather', version: undefined }), 'uvx://weather'],
    [
      aPackage({ registryType: 'pypi', identifier: 'example-agent[mcp]', version: '1.0.0' }),
      'uvx://example-agent[mcp]@1.0.0',
    ],
    [
      aPackage({ registryType: 'pypi', identifier: 'weather[mcp,cli]', version: undefined }),
      'uvx://weather[mcp,cli]',
    ],
    [aPackage({ registryType: 'pypi', identifier: 'my.weather[http2]' }), 'uvx://my.weather[http2]@1.2.0'],
    [aPackage({ registryType: 'oci', identifier: 'ghcr.io/e/w:1.0' }), 'ghcr.io/e/w:1.0'],
    [aPackage({ registryType: 'oci', identifier: 'ghcr.io/e/w', version: '1.0' }), 'ghcr.io/e/w:1.0'],
    [
      aPackage({ registryType: 'oci', identifier: 'ghcr.io/e/w', version: `sha256:${'a'.repeat(64)}` }),
      `ghcr.io/e/w@sha256:${'a'.repeat(64)}`,
    ],
    [
      aPackage({ registryType: 'oci', identifier: `ghcr.io/e/w@sha256:${'a'.repeat(64)}` }),
      `ghcr.io/e/w@sha256:${'a'.repeat(64)}`,
    ],
    [
      aPackage({ registryType: 'oci', identifier: 'e/w', registryBaseUrl: 'https://ghcr.io', version: '1' }),
      'ghcr.io/e/w:1',
    ],
    [{ registry_name: 'docker', name: 'e/w', version: 'latest' }, 'e/w:latest'],
  ])('with the package %j is %s', (each, image) => {
    expect(read([each])?.image).toBe(image);
  });

  test('with an image as well as a package is run as either', () => {
    const oci = aPackage({ registryType: 'oci', identifier: 'ghcr.io/example/weather:1.2.0' });
    const npm = aPackage({ packageArguments: [{ type: 'positional', value: 'serve' }] });

    expect(read([npm, oci])).toMatchObject({
      image: 'ghcr.io/example/weather:1.2.0',
      package: { source: 'npx://@example/weather-mcp@1.2.0', args: ['serve'] },
    });
  });

  test.each([
    [[{ type: 'positional', value: 'serve' }], ['serve']],
    [[{ type: 'named', name: '--port', value: '80' }], ['--port=80']],
    [[{ type: 'named', name: '-p', value: '80' }], ['-p', '80']],
    [[{ type: 'named', name: '--quiet', value: '' }], ['--quiet']],
    [[{ type: 'named', name: '--port', default: 80 }], ['--port=80']],
    [
      [{ type: 'named', name: '--at', value: '{host}:{x}', variables: { host: { default: 'h' } } }],
      ['--at=h:{x}'],
    ],
  ])('with the arguments %j is started with %j', (packageArguments, args) => {
    expect(read([aPackage({ packageArguments })])?.args).toEqual(args);
  });

  test('says which arguments only the user knows', () => {
    const packageArguments = [
      { type: 'positional', valueHint: 'folder', description: 'What to share.', isRequired: true },
      { type: 'named', name: '--token', value: '{token}', variables: { token: { isSecret: true } } },
    ];

    const entry = read([aPackage({ packageArguments })]);

    expect(entry?.args).toEqual([]);
    expect(entry?.custom_metadata?.['arguments']).toEqual([
      'folder (required): What to share.',
      '--token: Written as {token}.',
    ]);
  });

  test('has its environment variables, also those that its runtime would set', () => {
    const environmentVariables = [
      { name: 'KEY', description: 'The key.', isRequired: true, isSecret: true, placeholder: 'abc' },
      { name: 'MODE', choices: ['fast', 'slow'], default: 'fast' },
      { name: 'FIXED', value: 'always' },
    ];
    const runtimeArguments = [
      {
        type: 'named',
        name: '-e',
        value: 'TOKEN={token}',
        variables: { token: { isSecret: true, isRequired: true } },
      },
      { type: 'positional', value: '-y' },
    ];

    expect(read([aPackage({ environmentVariables, runtimeArguments })])?.env_vars).toEqual([
      { name: 'KEY', description: 'The key. For instance abc.', required: true, secret: true },
      { name: 'MODE', description: 'One of fast, slow.', required: false, secret: false, default: 'fast' },
      { name: 'FIXED', description: '', required: false, secret: false, default: 'always' },
      { name: 'TOKEN', description: 'Written as {token}.', required: true, secret: true },
    ]);
  });

  test.each([
    ['@a/b@1.0.0', '1.0.0', 'npx://@a/b@1.0.0'],
    ['@a/b', '1.0.0', 'npx://@a/b@1.0.0'],
    ['b@2.0.0-rc.1', '2.0.0-rc.1', 'npx://b@2.0.0-rc.1'],
  ])('%s of the version %s is %s', (identifier, version, image) => {
    expect(read([aPackage({ identifier, version })])).toMatchObject({ image });
  });

  test.each([
    ['http://localhost:8080/mcp', 8080],
    ['http://localhost/mcp', 80],
    ['http://localhost:{port}/mcp', 3001],
    ['http://localhost:{PORT}/mcp', 3002],
    ['http://localhost:{unknown}/mcp', undefined],
  ])('that listens at %s has the port %s', (url, port) => {
    const entry = read([
      aPackage({
        transport: { type: 'streamable-http', url },
        packageArguments: [{ type: 'named', name: '--port', default: '3001' }],
        environmentVariables: [{ name: 'PORT', default: '3002' }],
      }),
    ]);

    expect(entry).toMatchObject({ transport: 'streamable-http' });
    expect(entry?.target_port).toBe(port);
  });

  test.each([
    [[aBundle({ fileSha256: undefined })], 'has no fileSha256, so anyone could replace it'],
    [[aBundle({ fileSha256: 'abc' })], 'is not a SHA-256'],
    [[aBundle({ identifier: 'http://example.com/a.mcpb' })], 'is not at an https URL'],
    [[aBundle({ identifier: '/home/ada/a.mcpb' })], 'is not at an https URL'],
    [[aBundle({ identifier: 'file:///home/ada/a.mcpb' })], 'is not at an https URL'],
    [[aBundle({ identifier: 'https://ada:pw@example.com/a.mcpb' })], 'is not a bundle'],
    [[aPackage({ registryType: 'nuget' })], 'packages of the type nuget cannot be run'],
    [
      [aPackage({ registryBaseUrl: 'https://npm.evil.example' })],
      'ToolHive uses only https://registry.npmjs.org',
    ],
    [
      [aPackage({ runtimeArguments: [{ type: 'named', name: '--network', value: 'host' }] })],
      'its runtime argument --network cannot be honoured',
    ],
    [[], 'the server has neither packages nor remotes'],
    [[aPackage({ identifier: '../../evil' })], 'is a path of this machine'],
    [[aPackage({ transport: { type: 'pigeon' } })], 'transport: '],
  ])('with the packages %j is left out', (packages, why) => {
    const { registry, skipped } = readRegistry(aServer({ packages }));

    expect(registry.servers).toEqual({});
    expect(skipped).toEqual([
      { name: expect.any(String) as string, why: expect.stringContaining(why) as string },
    ]);
  });

  test('that is a bundle has an address and a hash', () => {
    const entry = read([aBundle({ fileSha256: hash.toUpperCase() })]);

    expect(entry).toMatchObject({
      image: `mcpb://https://example.com/notes.mcpb@sha256-${hash}`,
      transport: 'stdio',
    });
  });

  test('that has several bundles runs the one for this machine', () => {
    const names = [
      'notes-win32-x64',
      'notes-macos-arm64',
      `notes-linux-${process.arch}`,
      'notes-linux-riscv',
    ];
    const bundles = names.map((name) => aBundle({ identifier: `https://example.com/${name}.mcpb` }));

    expect(read(bundles)?.image).toContain(`/notes-linux-${process.arch}.mcpb@`);
    expect(read([...bundles, aPackage()])?.image).toMatch(/^npx:/);
  });

  test('that runs elsewhere becomes a remote server with its headers', () => {
    const remotes = [
      { type: 'sse', url: 'https://mcp.example/sse' },
      {
        type: 'streamable-http',
        url: 'https://{region}.example/mcp',
        variables: { region: { default: 'eu' } },
        headers: [
          {
            name: 'Authorization',
            value: 'Bearer {key}',
            isRequired: true,
            variables: { key: { isSecret: true } },
          },
          { name: 'X-Mode', choices: ['a', 'b'], default: 'a' },
        ],
      },
    ];

    const { registry } = readRegistry(aServer({ packages: [aPackage({ registryType: 'nuget' })], remotes }));

    expect(registry.remote_servers['io-github-example-weather']).toMatchObject({
      url: 'https://eu.example/mcp',
      transport: 'streamable-http',
      headers: [
        { name: 'Authorization', description: 'Written as Bearer {key}.', required: true, secret: true },
        { name: 'X-Mode', choices: ['a', 'b'], default: 'a' },
      ],
    });
  });

  test('that runs here and elsewhere is listed twice', () => {
    const { registry } = readRegistry(
      aServer({ remotes: [{ type: 'sse', url: 'https://mcp.example/sse' }] }),
    );

    expect(Object.keys(registry.servers)).toEqual(['io-github-example-weather']);
    expect(Object.keys(registry.remote_servers)).toEqual(['io-github-example-weather-remote']);
  });

  test('whose address has an unknown variable is left out', () => {
    const remotes = [{ type: 'sse', url: 'https://{tenant}.example/' }];

    expect(readRegistry(aServer({ packages: [], remotes })).skipped).toEqual([
      { name: 'io.github.example/weather', why: 'its URL depends on user input' },
    ]);
  });

  test('is understood in the words of earlier schemas, with what its publisher adds for this product', () => {
    const { registry } = readRegistry([
      {
        server: {
          name: 'io.github.example/weather',
          description: 'Tells the weather.',
          status: 'deprecated',
          version_detail: { version: '1.0.0' },
          packages: [
            {
              registry_name: 'npm',
              name: 'weather',
              version: '1.0.0',
              package_arguments: [{ type: 'positional', value_hint: 'x', value: 'serve' }],
              environment_variables: [{ name: 'KEY', is_required: true, is_secret: true }],
            },
          ],
          remotes: [{ transport_type: 'streamable', url: 'https://mcp.example/mcp' }],
        },
        'x-publisher': { 'x-dev.toolhive': { tier: 'Official', tools: ['forecast'], transport: 'stdio' } },
      },
    ]);

    expect(registry.servers['io-github-example-weather']).toMatchObject({
      image: 'npx://weather@1.0.0',
      args: ['serve'],
      env_vars: [{ name: 'KEY', required: true, secret: true }],
      status: 'Deprecated',
      tier: 'Official',
      tools: ['forecast'],
    });
    expect(registry.remote_servers['io-github-example-weather-remote']?.transport).toBe('streamable-http');
  });
});

describe('a list of the MCP registry', () => {
  test('gives the latest version of each server, and none that was withdrawn', () => {
    const { registry, skipped } = readRegistry({
      servers: [
        listed(aServer({ version: '2.0.0', packages: [aPackage({ version: '2.0.0' })] })),
        listed(aServer(), { isLatest: false, updatedAt: '2026-09-09T00:00:00Z' }),
        listed(aServer({ name: 'com.example/gone' }), { status: 'deleted' }),
        listed(aServer({ name: 'com.example/old' }), {
          status: 'deprecated',
          updatedAt: '2026-02-02T00:00:00Z',
        }),
        { server: { description: 'nameless' } },
      ],
      metadata: { count: 5 },
    });

    expect(registry.last_updated).toBe('2026-02-02T00:00:00Z');
    expect(registry.servers['io-github-example-weather']?.image).toBe('npx://@example/weather-mcp@2.0.0');
    expect(registry.servers['com-example-old']?.status).toBe('Deprecated');
    expect(skipped.map(({ name }) => name)).toEqual(['a server', 'com.example/gone']);
  });

  test('without a word on which is the latest gives the highest version', () => {
    const versions = ['1.9.0', '1.10.0', '1.2.0'].map((version) =>
      aServer({ version, packages: [aPackage({ version })] }),
    );

    expect(readRegistry(versions).registry.servers['io-github-example-weather']?.image).toContain('@1.10.0');
  });

  test('may be empty', () => {
    expect(readRegistry({ servers: [], metadata: { count: 0 } }).registry.servers).toEqual({});
  });
});

describe('a key', () => {
  test('is the name in letters that keys may have', () => {
    expect(keysFor(['io.github.User/My_Server'])).toEqual(
      new Map([['io.github.User/My_Server', 'io-github-user-my-server']]),
    );
  });

  test('takes the place of none other', () => {
    const keys = keysFor(['com.a/b-c', 'com.a-b/c', 'com.d/e']);

    expect(keys.get('com.a/b-c')).toMatch(/^com-a-b-c-[0-9a-f]{8}$/);
    expect(keys.get('com.a-b/c')).toMatch(/^com-a-b-c-[0-9a-f]{8}$/);
    expect(new Set(keys.values()).size).toBe(3);
    expect(keys.get('com.d/e')).toBe('com-d-e');
  });

  test('cannot be imitated', () => {
    const [hashed = ''] = keysFor(['com.a/b-c', 'com.a-b/c']).values();

    const keys = keysFor(['com.a/b-c', 'com.a-b/c', hashed]);

    expect(keys.get('com.a/b-c')).toBe(hashed);
    expect(keys.has(hashed)).toBe(false);
  });

  test.each(['a/b', '☃/☃', 'x'.repeat(200), 'a'])('of %s keeps the rule for keys', (name) => {
    expect(keysFor([name]).get(name)).toMatch(/^[a-z0-9][a-z0-9-]+[a-z0-9]$/);
  });
});

describe('a remote server whose URL has variables', () => {
  const listing = (remotes: object[]) => ({
    servers: [
      { server: { name: 'io.example/tenant', description: 'x', version: '1.0.0', remotes } },
      { server: { name: 'io.example/good', description: 'x', version: '1.0.0', remotes: [good] } },
    ],
  });
  const good = { type: 'sse', url: 'https://mcp.example.com/sse' };

  test.each([
    ['https://{tenant}.example.com/mcp', ['tenant']],
    ['https://mcp.example.com/{org}/{tenant}/mcp', ['org', 'tenant']],
    ['https://mcp.example.com:{port-number}/mcp', ['port-number']],
  ])('is an entry with these variables: %s', (url, names) => {
    const variables = Object.fromEntries(
      names.map((name) => [name, { description: 'your value', isRequired: true }]),
    );

    const { registry } = readRegistry(listing([{ type: 'streamable-http', url, variables }]));

    expect(registry.remote_servers['io-example-tenant']).toMatchObject({
      url,
      url_variables: names.map((name) => ({ name, description: 'your value' })),
    });
  });

  test('prefers a URL without variables, and a variable with a value is none', () => {
    const open = {
      type: 'streamable-http',
      url: 'https://{tenant}.example.com/mcp',
      variables: { tenant: {} },
    };
    const known = { ...open, variables: { tenant: { default: 'acme' } } };

    const { registry } = readRegistry(listing([open, good]));
    const { registry: filled } = readRegistry(listing([known]));

    expect(registry.remote_servers['io-example-tenant']?.url).toBe(good.url);
    expect(filled.remote_servers['io-example-tenant']?.url).toBe('https://acme.example.com/mcp');
  });

  test.each([
    ['an unknown variable', { type: 'sse', url: 'https://{tenant}.example.com/mcp' }],
    [
      'a port that does not exist',
      { type: 'sse', url: 'https://{t}.example.com:99999', variables: { t: {} } },
    ],
    ['another protocol', { type: 'sse', url: '{t}://example.com', variables: { t: {} } }],
    ['a password', { type: 'sse', url: 'https://{t}:x@example.com', variables: { t: {} } }],
  ])('is omitted with a reason for %s, and the others stay', (_title, remote) => {
    const { registry, skipped } = readRegistry(listing([remote]));

    expect(Object.keys(registry.remote_servers)).toEqual(['io-example-good']);
    expect(skipped).toHaveLength(1);
  });
});
