import { describe, expect, test } from 'vitest';
import { previewImport } from './import.ts';
import { previewOf } from './testing/read-document.ts';

const one = { command: 'npx', args: ['-y', 'one'] };
const two = { command: 'npx', args: ['-y', 'two'] };
const remote = { type: 'http', url: 'https://mcp.example.com/mcp' };

describe('the servers of a configuration', () => {
  test.each<[string, object, string[]]>([
    ['two sections', { mcpServers: { a: one }, inputs: [], servers: { b: remote } }, ['a', 'b']],
    ['projects', { mcpServers: { a: one }, projects: { '/x': { mcpServers: { b: two } } } }, ['a', 'b']],
    ['a development container', { customizations: { vscode: { mcp: { servers: { a: one } } } } }, ['a']],
    [
      'another editor in a development container',
      { customizations: { cursor: { mcpServers: { a: one } } } },
      ['a'],
    ],
    [
      'a workspace file',
      { folders: [], settings: { 'mcp.servers': { a: one }, mcp: { servers: { b: two } } } },
      ['a', 'b'],
    ],
    [
      'profiles',
      {
        profiles: [
          { name: 'x', mcpServers: { a: one } },
          { name: 'y', mcpServers: { b: two } },
        ],
      },
      ['a', 'b'],
    ],
    ['a plugin', { name: 'plugin', version: '1', mcp: { mcpServers: { a: one } } }, ['a']],
    [
      'an old Continue file',
      { experimental: { modelContextProtocolServers: [{ transport: { type: 'stdio', ...one } }] } },
      ['server'],
    ],
    ['an entry alone', one, ['server']],
    [
      'a list alone',
      [
        { name: 'a', ...one },
        { id: 'b', ...remote },
      ],
      ['a', 'b'],
    ],
    ['a map alone', { a: one, b: remote }, ['a', 'b']],
    [
      'two sections of Visual Studio Code and Zed',
      { 'mcp.servers': { a: one }, context_servers: { b: { source: 'custom', ...two } } },
      ['a', 'b'],
    ],
    [
      'the settings of a development container',
      { customizations: { vscode: { settings: { mcp: { servers: { a: one } } } } } },
      ['a'],
    ],
    ['a section in another spelling', { 'mcp-servers': { a: one }, mcpservers: { b: two } }, ['a', 'b']],
    [
      'lists for each transport',
      {
        mcp: {
          stdio_servers: [{ name: 'a', ...one }],
          sse_servers: ['https://a.example.com/sse'],
          shttp_servers: [{ url: 'https://b.example.com/mcp' }],
        },
      },
      ['a', 'server', 'server-2'],
    ],
    [
      'a list with URLs',
      { mcps: ['https://a.example.com/mcp', 'a-name', { name: 'b', ...two }] },
      ['server', 'b'],
    ],
    ['a list of maps', { mcpServers: [{ a: one }, { b: remote }, 'named-elsewhere'] }, ['a', 'b']],
  ])('are found in %s', async (_title, document, names) => {
    const servers = await previewOf(document);

    expect(servers.map(({ name }) => name)).toEqual(names);
    expect(servers.flatMap(({ problem }) => problem ?? [])).toEqual([]);
  });

  test.each([
    ['in a fence', '```json\n{ "mcpServers": { "a": { "command": "npx", "args": ["-y", "one"] } } }\n```'],
    [
      'in a page',
      'Add this:\n\n~~~~yaml\nmcpServers:\n  a:\n    command: npx\n    args: ["-y", one]\n~~~~\nDone.',
    ],
    [
      'beside a command',
      '1. Run\n   ```sh\n   npm i\n   ```\n2. Add\n   ```jsonc\n   { // mine\n   "servers": {"a": {"command": "npx -y one"}} }\n   ```',
    ],
    ['in a fence without an end', '```\n"a": { "command": "npx", "args": ["-y", "one"] }'],
    [
      'in a quotation',
      '> ```json\n{ "mcpServers": { "a": { "command": "npx", "args": ["-y", "one"] } } }\n> ```',
    ],
    [
      'before the text of an agent',
      '---\nname: agent\nmcp-servers:\n  a:\n    command: npx\n    args: ["-y", one]\n---\n\nYou: help.\n',
    ],
    [
      'before a text with another fence',
      '---\r\nmcpServers:\r\n  - a: { command: npx, args: ["-y", one] }\r\n---\r\n```sh\r\nnpm i\r\n```\r\n',
    ],
    [
      'in a fence in a list with another indentation',
      '* Add\n\n    ```json\n    {"mcpServers": {"a": {"command": "npx", "args": ["-y", "one"]}}}\n    ```\n* Restart',
    ],
    [
      'with the quotes of a word processor',
      '{ “mcpServers”: { “a”: { “command”: “npx”, “args”: [“-y”, “one”] } } }',
    ],
  ])('are found %s', async (_title, text) => {
    const { servers } = await previewImport(text);

    expect(servers).toMatchObject([{ name: 'a', request: { image: 'npx://one', cmd_arguments: [] } }]);
  });

  test.each<[string, object]>([
    [
      'an object',
      { source: 'custom', command: { path: 'npx', args: ['-y', 'one'], env: { A: '1' } }, settings: {} },
    ],
    [
      'an inner transport',
      { transport: { type: 'stdio', command: 'npx', args: ['-y', 'one'], env: { A: '1' } } },
    ],
    ['one text', { command: 'npx -y one', args: [], env: { A: '1' } }],
    ['one text with quotes', { command: 'npx "-y" \'one\'', env: [{ name: 'A', value: '1' }] }],
    ['one text with variables', { command: 'A=1 npx -y one', args: [] }],
    ['one text and arguments', { command: 'npx -y', args: ['one'], env: { A: '1' } }],
    ['an object with a command', { command: { command: 'npx', args: ['-y', 'one'], env: { A: '1' } } }],
    ['one text for Windows', { command: 'cmd /c npx -y one', args: [], env: ['A=1'] }],
    ['a text for a shell', { command: 'bash', args: ['-lc', 'npx -y one'], environment: { A: 1 } }],
    ['a list', { type: 'local', command: ['npx', '-y', 'one'], environment: { A: '1' } }],
    [
      'the path of a program',
      { command: String.raw`C:\Program Files\nodejs\npx.cmd`, args: ['-y', 'one'], env: { A: '1' } },
    ],
  ])('have a command in %s', async (_title, entry) => {
    const servers = await previewOf({ mcpServers: { a: entry } });

    expect(servers).toMatchObject([
      { request: { image: 'npx://one', cmd_arguments: [], env_vars: { A: '1' } }, notes: [] },
    ]);
  });

  test.each<[string, object]>([
    ['a port that is open', { url: 'http://localhost:<port>/sse' }],
    ['a port beyond the limit', { url: 'http://localhost:99999/sse' }],
    ['no URL', { url: 'not a url' }],
    ['another protocol', { url: 'ftp://example.com' }],
    ['a wrong type', { command: 'npx', args: { x: 1 } }],
    ['neither a command nor a URL', { comand: 'npx' }],
    ['a program that cannot run', { command: 'unknown-program' }],
    ['a web socket', { type: 'websocket', url: 'https://example.com' }],
  ])('work although one of them has %s', async (_title, bad) => {
    const servers = await previewOf({ mcpServers: { good: one, bad, other: remote } });

    expect(servers.map(({ name, problem }) => [name, problem !== undefined])).toEqual([
      ['good', false],
      ['bad', true],
      ['other', false],
    ]);
  });

  test.each([
    ['excluded', ['b', 1]],
    ['disabledMcpServers', ['b', 1]],
    ['allowed', ['a', 1]],
  ])('are marked if the client turns them off: %s', async (key, names) => {
    const servers = await previewOf({ mcpServers: { a: one, b: two }, mcp: { [key]: names } });

    expect(servers.map(({ notes }) => notes)).toEqual([[], ['the server is disabled in the configuration']]);
  });

  test.each([
    ['excludeMCPServers', ['b']],
    ['allowMCPServers', ['a']],
    ['disabledMcpServers', ['b']],
    ['disabledMcpjsonServers', ['b']],
  ])('are marked if a list beside their section turns them off: %s', async (key, names) => {
    const servers = { mcpServers: { a: one, b: two }, [key]: names };
    const found = await previewOf(servers);
    const inProject = await previewOf({ projects: { '/x': servers, '/y': { mcpServers: { b: remote } } } });

    const off = ['the server is disabled in the configuration'];
    expect(found.map(({ notes }) => notes)).toEqual([[], off]);
    expect(inProject.map(({ request, notes }) => [request?.image ?? request?.url, notes])).toEqual([
      ['npx://one', []],
      ['npx://two', off],
      [remote.url, ['"b" in projects./y.mcpServers becomes the workload b-2']],
    ]);
  });

  test('have a problem that names the open part of the URL, and nothing else of it', async () => {
    const url = 'http://user:not-a-real-password@localhost:<port>/sse';

    const [server] = await previewOf({ mcpServers: { bad: { url } } });

    expect(server).toMatchObject({
      problem: 'the URL is not a valid http or https URL',
      hint: 'replace <port> in the configuration',
    });
  });
});

describe('the names of workloads', () => {
  test.each<[string, string, string[]]>([
    ['names that meet', '{"mcpServers": {"my server": A, "my-server": B}}', ['my-server-2', 'my-server']],
    ['names in other letters', '{"mcpServers": {"Time": A, "time": B}}', ['Time', 'time-2']],
    ['equal names', '{"mcpServers": {"a": A, "a": B}}', ['a', 'a-2']],
    [
      'equal names in a list',
      '{"mcpServers": [{"name": "a", "url": "https://x.example.com"}, {"name": "a", "url": "https://y.example.com"}]}',
      ['a', 'a-2'],
    ],
    ['equal names in two sections', '{"mcpServers": {"a": A}, "servers": {"a": B}}', ['a', 'a-2']],
    ['empty names', '{"mcpServers": {"": A, " ": B}}', ['server', 'server-2']],
    ['names in another script', '{"mcpServers": {"サーバー": A, "时间": B}}', ['server', 'server-2']],
    [
      'names with other characters',
      '{"mcpServers": {"@org/a..b": A, "my server!": B}}',
      ['org-a.b', 'my-server'],
    ],
    ['a number that is taken', '{"mcpServers": {"a b": A, "a-b": B, "a-b-2": B}}', ['a-b-3', 'a-b', 'a-b-2']],
  ])('are unique for %s', async (_title, text, names) => {
    const document = text.replaceAll('A', JSON.stringify(one)).replaceAll('B', JSON.stringify(two));

    const { servers } = await previewImport(document);

    expect(servers.map(({ request }) => request?.name)).toEqual(names);
  });

  test('that differ from the configuration are said', async () => {
    const servers = await previewOf({ mcpServers: { 'my server': one, 'my-server': two } });

    expect(servers[0]?.notes).toEqual(['"my server" in mcpServers becomes the workload my-server-2']);
    expect(servers[1]?.notes).toEqual([]);
  });

  test('of a server that is in two sections do not double the server', async () => {
    const servers = await previewOf({
      mcpServers: { a: one },
      projects: { '/x': { mcpServers: { a: one } } },
    });

    expect(servers.map(({ name }) => name)).toEqual(['a']);
  });
});

describe('a hostile document', () => {
  test.each([
    ['deep lists', '['.repeat(100_000)],
    ['deep objects', `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`],
    ['a deep section', `{"mcpServers": ${'{"a":'.repeat(500)}1${'}'.repeat(501)}`],
    ['deep YAML', `a: ${'['.repeat(5_000)}`],
    ['many fences', '```\n'.repeat(50_000)],
    [
      'many placeholders',
      JSON.stringify({ mcpServers: { a: { command: 'npx', args: ['${'.repeat(100_000)] } } }),
    ],
  ])('is refused or read, and never fails otherwise: %s', async (_title, text) => {
    const result = await previewImport(text).catch((thrown: unknown) => thrown);

    expect(result).toSatisfy(
      (value: { kind?: string; servers?: unknown }) =>
        value.kind === 'invalid' || value.servers !== undefined,
    );
  });

  test('has no effect with the names of the prototype', async () => {
    const { servers } = await previewImport(
      '{"mcpServers": {"__proto__": {"command": "npx", "args": ["-y", "x", "${__proto__}", "${constructor}"]}}}',
    );

    expect(servers).toMatchObject([
      { request: { name: 'proto__', cmd_arguments: ['${__proto__}', '${constructor}'] } },
    ]);
  });
});

describe('a document without servers', () => {
  const page = 'https://example.com/docs';

  test.each<[string, object]>([
    [
      'the manifest of a plugin',
      { name: 'docs', version: '1.0.0', author: { name: 'A', url: page }, homepage: page },
    ],
    ['a package', { name: 'docs', repository: { type: 'git', url: page }, bugs: { url: page } }],
    [
      'the settings of a client',
      { permissions: { allow: [] }, statusLine: { type: 'command', command: 'npx -y status' } },
    ],
  ])('has no server at the addresses and commands in it: %s', async (_title, document) => {
    await expect(previewImport(JSON.stringify(document))).rejects.toMatchObject({
      kind: 'invalid',
      message: 'the text has no MCP servers',
    });
  });

  test.each(['{"mcpServers": {}}', '{"servers": { // "a": {}\n } }', 'mcp_servers:\n'])(
    'says that its section is empty: %s',
    async (text) => {
      await expect(previewImport(text)).rejects.toMatchObject({
        kind: 'invalid',
        hint: 'its section for servers is empty',
      });
    },
  );
});

test('an entry that only turns a server off is not a mistake of its author', async () => {
  const { servers } = await previewImport('[mcp_servers.notes]\nenabled = false\n');

  expect(servers).toMatchObject([
    { name: 'notes', problem: 'the entry notes only turns off a server from another configuration' },
  ]);
});

test('a section can contain that of Visual Studio Code, with its questions', async () => {
  const inputs = [{ type: 'promptString', id: 'key', description: 'The key', password: true }];
  const servers = { a: { ...one, env: { API_KEY: '${input:key}' } } };
  const document = { 'github.copilot.chat.mcpServers': { servers, inputs } };

  const { servers: found } = await previewImport(JSON.stringify(document));

  expect(found).toMatchObject([{ name: 'a', needs: [{ name: 'API_KEY', secret: true }] }]);
});

test('a section in itself is one section', async () => {
  const servers = await previewOf({ mcpServers: { mcpServers: { a: one } } });

  expect(servers.map(({ name, request }) => [name, request?.image])).toEqual([['a', 'npx://one']]);
});

describe('a section in a text of a document', () => {
  const section = JSON.stringify({ mcpServers: { a: { ...one, env: { TOKEN: '${{ secrets.TOKEN }}' } } } });

  test.each<[string, object]>([
    [
      'a workflow with settings',
      { jobs: { a: { steps: [{ uses: 'x', with: { settings: section, prompt: 'Use {it}' } }] } } },
    ],
    ['a workflow with arguments', { jobs: { a: { with: { claude_args: `--mcp-config '${section}'` } } } }],
    ['a section as a text', { model: 'x', 'mcp-servers': section }],
    ['a ConfigMap', { apiVersion: 'v1', kind: 'ConfigMap', data: { 'mcp.json': section } }],
  ])('is found in %s', async (_title, document) => {
    const servers = await previewOf(document);

    expect(servers).toMatchObject([
      { name: 'a', request: { image: 'npx://one' }, needs: [{ name: 'TOKEN', secret: true }] },
    ]);
  });

  test('is only an example if the document has servers', async () => {
    const servers = await previewOf({ mcpServers: { b: two }, instructions: `Add ${section}` });

    expect(servers.map(({ name }) => name)).toEqual(['b']);
  });

  test('is left out if it is nested too deeply', async () => {
    const nested = `{"mcpServers": ${'[{"a":'.repeat(20_000)}1${'}]'.repeat(20_000)}}`;

    await expect(previewOf({ text: `settings: ${nested}` })).rejects.toThrow('has no MCP servers');
  });

  test('is left out unless it is JSON', async () => {
    await expect(previewOf({ text: 'write {"mcpServers": {"a": …' })).rejects.toThrow('has no MCP servers');
  });
});

test('entries behind the end of the section for servers are named, and not run', async () => {
  const text = `{"mcpServers": {"a": ${JSON.stringify(one)}}, "b": ${JSON.stringify(two)}}, "c": ${JSON.stringify(remote)}}`;
  const besides = { b: two, c: remote, lsp: { command: 'x' }, hook: { ...one, type: 'command', args: 'x' } };

  const { servers: broken } = await previewImport(text);
  const valid = await previewOf({ mcpServers: { a: one, d: one }, ...besides });

  const note = (names: string): string => expect.stringContaining(`ends before ${names}, which ToolHive did`);
  expect(broken.map(({ name, notes }) => [name, notes])).toEqual([['a', [note('b')]]]);
  expect(valid.map(({ name, notes }) => [name, notes])).toEqual([
    ['a', []],
    ['d', [note('b, c')]],
  ]);
});

test('a map of servers without a section may have remarks', async () => {
  const document = { $schema: 'x', _comment: 'mine', a: one, b: 'https://mcp.example.com/mcp' };

  const { servers } = await previewImport(JSON.stringify(document));

  expect(servers).toMatchObject([{ name: 'a' }, { name: 'b' }]);
});

describe('another document that describes a server is refused with a hint', () => {
  test.each<[string, object, string]>([
    [
      'an entry of a registry',
      { name: 'io.example/a', packages: [{ registryType: 'npm', identifier: '@scope/server' }] },
      'thv run npx://@scope/server',
    ],
    [
      'an earlier form of it',
      { name: 'io.example/a', packages: [{ registry_name: 'pypi', name: 'server' }] },
      'thv run uvx://server',
    ],
    [
      'one with settings that the user gives',
      {
        packages: [
          { registryType: 'nuget', identifier: 'Acme.Server' },
          {
            registry_type: 'npm',
            identifier: 'server',
            environment_variables: [{ name: 'API_KEY', is_required: true }, { name: 'MODE' }],
          },
        ],
      },
      'thv run npx://server -e API_KEY=VALUE',
    ],
    [
      'one of an image with its version beside it',
      { packages: [{ registryType: 'oci', name: 'ghcr.io/acme/server', version: '2.0.0' }] },
      'thv run ghcr.io/acme/server:2.0.0',
    ],
    [
      'one of a bundle',
      { packages: [{ registryType: 'mcpb', identifier: 'https://acme.example/s.mcpb' }] },
      'thv run mcpb://https://acme.example/s.mcpb',
    ],
    [
      'one of a bundle for each system',
      {
        packages: ['linux', 'darwin'].map((system) => ({
          registryType: 'mcpb',
          identifier: `https://acme.example/${system}.mcpb`,
        })),
      },
      'the bundle in it for this system',
    ],
    [
      'one with a package that cannot be installed, and a remote server',
      {
        packages: [{ registryType: 'nuget', identifier: 'Acme.Server' }],
        remotes: [{ url: 'https://mcp.example.com' }],
      },
      'thv run URL',
    ],
    [
      'one with an invalid name',
      { packages: [{ registryType: 'npm', identifier: 'x; rm -rf /' }] },
      'Run the package in it',
    ],
    ['one of a remote server', { remotes: [{ url: 'https://mcp.example.com' }] }, 'thv run URL'],
    ['the manifest of a bundle', { manifest_version: '0.3', server: { type: 'node' } }, 'thv run FILE.mcpb'],
    [
      'a Smithery file',
      {
        startCommand: { type: 'stdio', commandFunction: '(config) => ({})' },
        exampleConfig: { mcpServers: { one } },
      },
      'a Smithery file',
    ],
    [
      'the manifest of a plugin',
      { name: 'acme', version: '1.0.0', author: { name: 'Ada' }, skills: './skills' },
      'thv import .mcp.json',
    ],
    [
      'a marketplace of plugins',
      { name: 'acme', plugins: [{ name: 'one', source: './one' }] },
      'a plugin marketplace',
    ],
    ['a plugin without an author', { name: 'fakechat', version: '1.0.0', keywords: ['chat'] }, '.mcp.json'],
    [
      'a file for Glama',
      { $schema: 'https://glama.ai/mcp/schemas/server.json', maintainers: ['ada'] },
      'Glama',
    ],
    [
      "an entry for ToolHive's registry",
      { name: 'time', tier: 'Community', transport: 'stdio', image: 'mcp/time', tools: ['now'] },
      'thv run IMAGE',
    ],
    [
      "ToolHive's registry",
      { version: '1.0.0', servers: { time: { image: 'mcp/time', transport: 'stdio' } } },
      'thv config set-registry FILE',
    ],
    ['a browser extension', { name: 'x', manifest_version: 3, author: 'Ada' }, 'ToolHive looks for'],
    [
      'a description of an API',
      { openapi: '3.0.0', info: { title: 'x' }, servers: [{ url: 'http://localhost:3000' }], paths: {} },
      'this describes an API',
    ],
    [
      'a file of Goose without servers',
      { extensions: { developer: { type: 'builtin', enabled: true }, todo: { type: 'platform' } } },
      'parts of Goose',
    ],
    ['a file of Docker Compose', { services: { mcp: { image: 'mcp/time' } } }, 'thv run IMAGE'],
  ])('%s', async (_title, document, hint) => {
    await expect(previewImport(JSON.stringify(document))).rejects.toMatchObject({
      kind: 'invalid',
      hint: expect.stringContaining(hint),
    });
  });
});

test('a service of Docker Compose is not a section for servers, and neither is a JSON schema', async () => {
  const compose = { services: { 'mcp-servers': { build: { context: '.' }, environment: ['A=1', 'B=2'] } } };
  const schema = { properties: { mcpServers: { type: 'object', title: 'All MCP Servers' } } };
  const servers = { mcpServers: { one } };

  const { servers: found } = await previewImport(JSON.stringify({ schema, servers }));

  await expect(previewImport(JSON.stringify(compose))).rejects.toMatchObject({
    hint: expect.stringContaining('Docker Compose'),
  });
  expect(found.map(({ name }) => name)).toEqual(['one']);
});

describe('a configuration that is almost JSON', () => {
  test.each([
    ['JSON5', "{ // mine\n mcpServers: { a: { command: 'npx', args: ['-y', 'one'], }, }, }"],
    ['Python', "{'mcpServers': {'a': {'command': 'npx', 'args': ['-y', 'one'], 'env': None, 'on': True}}}"],
    ['typographic quotes', '{ ‘mcpServers’: { “a”: { “command”: “npx”, “args”: [“-y”, “one”] } } }'],
    [
      'a comment of a shell',
      '{\n  # mine\n  "mcpServers": { "a": { "command": "npx", "args": ["-y", "one"] } } }',
    ],
    ['a part left out', '{ "mcpServers": { ..., "a": { "command": "npx", "args": ["-y", "one"] }, ... } }'],
    ['a missing comma', '{ "mcpServers": { "a": { "command": "npx"\n "args": ["-y" "one"] } } }'],
    ['a bracket too many', '"mcpServers": { "a": { "command": "npx", "args": ["-y", "one"] } }\n}'],
    ['a bracket too few', '{ "mcpServers": { "a": { "command": "npx", "args": ["-y", "one"] } }'],
    [
      'text before it',
      'Add to mcp.json:\n\n{ "mcpServers": { "a": { "command": "npx", "args": ["-y", "one"] } } }',
    ],
    ['the end of a fence', '{ "mcpServers": { "a": { "command": "npx", "args": ["-y", "one"] } } }\n```'],
    [
      'the escapes of a program',
      String.raw`{\"mcpServers\":{\"a\":{\"command\":\"npx\",\"args\":[\"-y\",\"one\"]}}}`,
    ],
    ['a string', JSON.stringify(JSON.stringify({ mcpServers: { a: one } }))],
    ['HTML', JSON.stringify({ mcpServers: { a: one } }).replaceAll('"', '&quot;')],
    ['a command as a text', '{ "mcpServers": { "a": "npx -y one" } }'],
    ['a command as a list', '{ "mcpServers": { "a": ["npx", "-y", "one"] } }'],
    ['keys in capitals', '{ "mcpServers": { "a": { "Command": "npx", "Args": ["-y", "one"] } } }'],
  ])('is read: %s', async (_title, text) => {
    const { servers } = await previewImport(text);

    expect(servers).toMatchObject([{ name: 'a', request: { image: 'npx://one', cmd_arguments: [] } }]);
  });

  test('can be several objects', async () => {
    const documents = [{ mcpServers: { a: one } }, { mcpServers: { b: two } }];

    const { servers } = await previewImport(documents.map((each) => JSON.stringify(each)).join('\n'));

    expect(servers.map(({ name, request }) => [name, request?.image])).toEqual([
      ['a', 'npx://one'],
      ['b', 'npx://two'],
    ]);
  });

  test.each([
    ['brackets that do not match', '{ "mcpServers": { "a": { "command": "npx", "args": ["-y", "one" } } }'],
    ['most of the end missing', '{ "mcpServers": { "a": { "command": "npx", "args": ["-y", "one"'],
    [
      'a string without an end',
      '{ "mcpServers": { "a": { "command": "npx", "args": ["-y", "not-a-real-token] } } }',
    ],
  ])('is refused without its values: %s', async (_title, text) => {
    const read = previewImport(text);

    await expect(read).rejects.toThrow(/is not JSON: syntax error in line 1/);
    await expect(read).rejects.not.toThrow('not-a-real-token');
  });

  test('leaves nothing of it in the warnings of the process', async () => {
    const warnings: string[] = [];
    const keep = ({ message }: Error): void => void warnings.push(message);
    process.on('warning', keep);
    await previewImport('%not-a-real-token x\n---\nmcpServers: {}').catch(() => {});
    await new Promise(setImmediate); // warnings come later
    process.off('warning', keep);

    expect(warnings).toEqual([]);
  });

  test.each([
    ['spaces', ' '.repeat(300_000)],
    ['escapes', String.raw`{\"`.repeat(100_000)],
    ['brackets at the end', `{"a": '${'} '.repeat(100_000)}`],
    ['objects', '{} '.repeat(100_000)],
    ['dots', `{ ${'... '.repeat(100_000)}`],
    ['words', `{ ${'word '.repeat(60_000)}`],
    ['quotes', `{ ${"'".repeat(100_000)}`],
    ['comments', `{ ${'/*'.repeat(100_000)}`],
  ])('is read in time with many %s', async (_title, text) => {
    await previewImport(text).catch(() => {});

    expect(text.length).toBeGreaterThanOrEqual(200_000 / 2);
  });
});
