import { describe, expect, test } from 'vitest';
import { readRegistry } from './read.ts';

const aPackage = (changes: object = {}) => ({
  registryType: 'npm',
  identifier: '@example/weather',
  version: '1.2.0',
  transport: { type: 'stdio' },
  ...changes,
});

const read = (changes: object) =>
  readRegistry({ name: 'io.github.example/weather', version: '1.2.0', ...changes });

const serverOf = (packages: unknown) => read({ packages }).registry.servers['io-github-example-weather'];

const remoteOf = (remotes: unknown) => Object.values(read({ remotes }).registry.remote_servers)[0];

const npx = 'npx://@example/weather@1.2.0';
const remote = { type: 'sse', url: 'https://mcp.example.com/sse' };
const hash = 'ab'.repeat(32);

describe('a package of a server', () => {
  test.each<[string, unknown]>([
    ['is used beside one that is incomplete', [{ registryType: 'npm' }, aPackage()]],
    ['is used beside null', [null, aPackage()]],
    ['may stand alone', aPackage()],
    ['may name its transport as text', [aPackage({ transport: 'stdio' })]],
    ['may have blanks around its name', [aPackage({ identifier: ' @example/weather ' })]],
    ['may be at the address of the pages of npm', [aPackage({ registryBaseUrl: 'https://www.npmjs.com' })]],
    ['may be an argument of its runtime', [aPackage({ runtimeArguments: ['-y', '@example/weather@1.2.0'] })]],
    [
      'over stdio comes before one whose port is unknown',
      [aPackage({ transport: { type: 'http' } }), aPackage()],
    ],
  ])('%s', (_what, packages) => {
    expect(serverOf(packages)).toMatchObject({ image: npx, transport: 'stdio' });
  });

  test.each<[unknown, string[]]>([
    [
      ['--yes', 'x'],
      ['--yes', 'x'],
    ],
    [[{ name: '--port', value: 80 }], ['--port=80']],
    [[{ value: 'serve' }], ['serve']],
  ])('may have the arguments %j', (packageArguments, args) => {
    expect(serverOf([aPackage({ packageArguments })])?.args).toEqual(args);
  });

  test.each<[string, object, string[]]>([
    ['that is set', { value: 'true' }, ['--debug']],
    ['that is set by default, as JSON', { default: true, format: 'Boolean' }, ['--debug']],
    ['that is off by default', { default: 'false' }, []],
    ['that its author turns off', { value: 'false' }, ['--debug=false']],
    ['with a value of another kind', { value: 'auto' }, ['--debug=auto']],
    ['of another format', { value: 'true', format: 'string' }, ['--debug=true']],
  ])('may have a flag %s', (_what, changes, args) => {
    const flag = { type: 'named', name: '--debug', format: 'boolean', ...changes };

    expect(serverOf([aPackage({ packageArguments: [flag] })])?.args).toEqual(args);
  });

  test('is used if its runtime has flags that are off', () => {
    const runtimeArguments = [
      { type: 'named', name: '--rm', format: 'boolean', isRequired: true },
      { type: 'named', name: '--privileged', format: 'boolean', default: 'false' },
    ];

    expect(serverOf([aPackage({ runtimeArguments })])?.image).toBe(npx);
  });

  test.each<[string, object, object]>([
    [
      'an option and its value as two arguments of docker',
      {
        registryType: 'oci',
        identifier: 'docker.io/e/w:1',
        runtimeArguments: ['run', '-i', '--rm', '-e', 'KEY', '-e', 'MODE=fast', 'e/w:2', 'serve'],
        environmentVariables: [{ name: 'KEY', isRequired: true, isSecret: true }],
      },
      {
        image: 'docker.io/e/w:1',
        args: ['serve'],
        env_vars: [
          { name: 'KEY', required: true, secret: true },
          { name: 'MODE', default: 'fast' },
        ],
      },
    ],
    [
      'an option with a name, and its value behind it',
      {
        registryType: 'oci',
        identifier: 'e/w:1',
        runtimeArguments: [
          { type: 'named', name: '-e', description: 'Set a variable' },
          { type: 'positional', value: 'TOKEN', isSecret: true, isRequired: true },
        ],
      },
      { args: [], env_vars: [{ name: 'TOKEN', required: true, secret: true }] },
    ],
    [
      'a published port, which only the proxy reaches',
      {
        registryType: 'oci',
        identifier: 'e/w:1',
        runtimeArguments: [{ type: 'named', name: '-p', value: '8080:8080', isRequired: true }],
        transport: { type: 'http', url: 'http://localhost:8080/mcp' },
      },
      { image: 'e/w:1', target_port: 8080, args: [] },
    ],
    [
      'its own name in another version',
      { runtimeArguments: ['--yes', '@example/weather@latest', 'mcp'] },
      { image: npx, args: ['mcp'] },
    ],
    [
      'a program with another name',
      {
        registryType: 'pypi',
        identifier: 'weather',
        runtimeArguments: [{ type: 'named', name: '--from', value: 'weather' }, 'weather-mcp', '--fast'],
      },
      { image: 'uvx://weather@1.2.0#program=weather-mcp', args: ['--fast'] },
    ],
  ])('is used if its runtime has %s', (_what, changes, expected) => {
    expect(serverOf([aPackage(changes)])).toMatchObject(expected);
  });

  test.each([
    [{ name: '-v', value: '{data}:/data:ro', isRequired: true }, '/data:ro (required): The data.'],
    [{ name: '--mount', value: 'type=bind,src={data},dst=/data,ro' }, '/data:ro: The data.'],
    [{ name: '-v', value: 'data:/data' }, '/data: The data.'],
    [{ name: '--volume', value: '~/.ssh' }, 'a directory: The data.'],
  ])('gets no mount from %j, which is named instead', (argument, mount) => {
    const runtimeArguments = [{ type: 'named', description: 'The data.', ...argument }];
    const image = { registryType: 'oci', identifier: 'e/w:1', version: undefined, runtimeArguments };
    const entry = serverOf([aPackage(image)]);

    expect(entry).toMatchObject({ image: 'e/w:1', args: [], env_vars: [] });
    expect(entry?.custom_metadata?.['mounts']).toEqual([mount]);
    expect(entry).not.toHaveProperty('permissions');
    // A package without mounts needs less.
    expect(serverOf([aPackage(image), aPackage()])?.image).toBe(npx);
  });

  test.each([
    ['https://weather.example.com/mcp', undefined],
    ['https://weather.example.com:8080/mcp', 8080],
    ['http://[::1]/mcp', 80],
  ])('with the address %s has the port %s', (url, port) => {
    expect(serverOf([aPackage({ transport: { type: 'http', url } })])?.target_port).toBe(port);
  });

  test('is used without a variable that has no name', () => {
    expect(serverOf([aPackage({ environmentVariables: [{ name: '' }, { name: 'KEY' }] })])).toMatchObject({
      env_vars: [{ name: 'KEY' }],
    });
  });

  test('is refused if it needs a variable that ToolHive cannot set', () => {
    const environmentVariables = [{ name: 'x-key', isRequired: true }];

    expect(read({ packages: [aPackage({ environmentVariables })] }).skipped).toEqual([
      {
        name: 'io.github.example/weather',
        why: 'its environment variable "x-key" has a name that ToolHive cannot set',
      },
    ]);
  });

  test.each([
    [{ value: '{level}', default: 'WARN' }, ['--log=WARN'], undefined],
    [{ value: '{level}' }, [], ['--log: ']],
    [{ value: '/users/{id}' }, ['--log=/users/{id}'], undefined],
  ])('may have the undeclared name %j', (input, args, asked) => {
    const entry = serverOf([aPackage({ packageArguments: [{ type: 'named', name: '--log', ...input }] })]);

    expect(entry?.args).toEqual(args);
    expect(entry?.custom_metadata?.['arguments']).toEqual(asked);
  });

  test('is refused if its runtime has a flag that matters', () => {
    const flag = { type: 'named', name: '--privileged', format: 'boolean', value: 'true' };

    expect(read({ packages: [aPackage({ runtimeArguments: [flag] })] }).skipped).toEqual([
      {
        name: 'io.github.example/weather',
        why: 'its runtime argument --privileged cannot be honoured: run npx://@example/weather@1.2.0 with your own options instead',
      },
    ]);
  });

  test.each<[unknown, object]>([
    [{ KEY: 'value' }, { name: 'KEY', default: 'value' }],
    [{ KEY: { isSecret: true } }, { name: 'KEY', secret: true }],
    [['KEY'], { name: 'KEY', required: false }],
    [[{ name: 'KEY', isRequired: 'true', placeholder: 8080 }], { name: 'KEY', required: true }],
  ])('may have the variables %j', (environmentVariables, variable) => {
    expect(serverOf([aPackage({ environmentVariables })])?.env_vars).toMatchObject([variable]);
  });

  test.each([
    [{ identifier: 'oci://ghcr.io/e/w:1' }, 'ghcr.io/e/w:1'],
    [{ identifier: 'docker://ghcr.io/e/w:1' }, 'ghcr.io/e/w:1'],
    [{ identifier: 'https://ghcr.io/e/w:1' }, 'ghcr.io/e/w:1'],
    [{ identifier: 'e/w', version: '1', registryBaseUrl: 'https://hub.docker.com' }, 'docker.io/e/w:1'],
  ])('may be the image %j', (changes, image) => {
    expect(serverOf([aPackage({ registryType: 'oci', ...changes })])?.image).toBe(image);
  });

  test('has the port in the variables of its transport', () => {
    const variables = { port: { default: '8080' } };
    const transport = { type: 'streamable-http', url: 'http://localhost:{port}/mcp', variables };

    expect(serverOf([aPackage({ transport })])).toMatchObject({ target_port: 8080 });
  });

  test.each([
    ['mcpb', `sha256:${hash}`],
    ['dxt', hash],
    ['mcpb', hash.toUpperCase()],
  ])('may be a bundle of the type %s with the hash %s', (registryType, fileSha256) => {
    const identifier = 'https://example.com/notes.mcpb';

    expect(serverOf([aPackage({ registryType, identifier, fileSha256 })])?.image).toBe(
      `mcpb://${identifier}@sha256-${hash}`,
    );
  });

  test('that is the only one, and cannot be read, is named', () => {
    expect(read({ packages: [{ registryType: 'npm' }] }).skipped).toEqual([
      { name: 'io.github.example/weather', why: expect.stringContaining('one of its packages is invalid: ') },
    ]);
  });
});

describe('a remote of a server', () => {
  const url = 'https://mcp.example.com/mcp';

  test.each<[string, unknown, string]>([
    ['may be in an object with its type', { 'streamable-http': { url } }, 'streamable-http'],
    ['may have its type under another name', [{ transportType: 'streamableHttp', url }], 'streamable-http'],
    ['may have another spelling of its type', [{ type: 'Streamable_HTTP', url }], 'streamable-http'],
    ['may have its type in capitals', [{ ...remote, type: 'SSE' }], 'sse'],
    ['may have no type', [{ url }], 'streamable-http'],
    ['may show its type in its path', [{ url: remote.url }], 'sse'],
    [
      'is used beside one of another type',
      [{ type: 'websocket', url: 'wss://mcp.example.com' }, remote],
      'sse',
    ],
    ['is used beside null', [null, remote], 'sse'],
  ])('%s', (_what, remotes, transport) => {
    expect(remoteOf(remotes)).toMatchObject({ transport });
  });

  test('may have an object of headers', () => {
    expect(remoteOf([{ ...remote, headers: { 'X-Region': 'eu' } }])).toMatchObject({
      headers: [{ name: 'X-Region', default: 'eu' }],
    });
  });

  test.each<[string, { value: string; isRequired?: boolean; variables?: object }, object]>([
    ['{api_key}', { value: 'Bearer {api_key}', isRequired: true }, { required: true }],
    ['${API_KEY}', { value: 'Bearer ${API_KEY}' }, { required: false }],
    [
      'another name than the declared one',
      { value: '{scheme} {api_key}', variables: { scheme: { default: 'Bearer' } } },
      {},
    ],
  ])('asks for a header whose value has %s without a declaration', (_what, header, more) => {
    const [read] = remoteOf([{ ...remote, headers: [{ name: 'Authorization', ...header }] }])?.headers ?? [];

    expect(read).toMatchObject({ name: 'Authorization', secret: true, ...more });
    expect(read?.description).toBe(`Written as ${header.value}.`);
    expect(read).not.toHaveProperty('default');
  });

  test('with an unknown type is named', () => {
    expect(read({ remotes: [{ type: 'websocket', url: 'wss://mcp.example.com' }] }).skipped).toEqual([
      { name: 'io.github.example/weather', why: 'ToolHive has no transport websocket' },
    ]);
  });
});

test('a server with members of another kind in its description is used', () => {
  const { skipped } = read({
    title: 5,
    version: 1,
    repository: 'https://git.example/w',
    packages: [aPackage()],
  });

  expect(skipped).toEqual([]);
});
