import { homedir } from 'node:os';
import { describe, expect, test } from 'vitest';
import { readClientDocument } from './client-document.ts';
import { readClientEntry } from './client-entry.ts';
import { previewOf } from './testing/read-document.ts';

const readFile = async (): Promise<string> => '';

const entry = { command: 'npx', args: ['-y', 'server'] };

describe('a client configuration', () => {
  test.each([
    [
      'JSON with comments and trailing commas',
      '{ /* mine */ "mcpServers": { "one": {"command":"npx","args":["-y","server"],}, } }',
    ],
    ['Visual Studio Code', JSON.stringify({ inputs: [], servers: { one: entry } })],
    ['settings.json of an editor', JSON.stringify({ 'editor.tabSize': 2, mcp: { servers: { one: entry } } })],
    ['Amp', JSON.stringify({ 'amp.mcpServers': { one: entry } })],
    ['a list', JSON.stringify({ mcpServers: [{ name: 'one', ...entry }] })],
    ['a part of a file', `"one": ${JSON.stringify(entry)},`],
    ['YAML', 'mcpServers:\n  - name: one\n    command: npx\n    args: ["-y", server]\n'],
    [
      'YAML of Goose',
      'extensions:\n  one:\n    cmd: npx\n    args: ["-y", server]\n  developer:\n    type: builtin\n',
    ],
    ['TOML', '[mcp_servers.one]\ncommand = "npx"\nargs = ["-y", "server"]\n'],
  ])('is read: %s', async (_name, text) => {
    const { entries } = readClientDocument(text, 'it');
    const servers = await Promise.all(
      entries.map((each) => readClientEntry(each, { env: {}, directory: '/', readFile })),
    );

    expect(entries.map(({ name }) => name)).toEqual(['one']);
    expect(servers).toMatchObject([
      { request: { name: 'one', image: 'npx://server', cmd_arguments: [] }, notes: [], needs: [] },
    ]);
  });

  test.each([
    [
      '{"mcpServers": {"one": {"command": "secret value" "args"}}}',
      'it is not JSON: syntax error in line 1, column 51',
    ],
    ['{"theme": "dark"}', 'it has no MCP servers'],
    ['just words', 'it is not JSON, YAML, or TOML'],
  ])('that is wrong is named, and not quoted: %s', (text, message) => {
    expect(() => readClientDocument(text, 'it')).toThrow(message);
  });

  test('with a text over several lines is explained', () => {
    const text = '{"mcpServers": {"one": {"command": "npx", "args": ["-y", "one\n  two"]}}}';

    expect(() => readClientDocument(text, 'it')).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('continues on the next line') }),
    );
  });

  test('may contain a key as it is copied', () => {
    const key = '-----BEGIN KEY-----\r\nabc=\n-----END KEY-----\n';

    const { entries } = readClientDocument(
      `{"mcpServers": {"one": {"command": "npx", "env": {"KEY": "${key}"}}}}`,
      'it',
    );

    expect(entries).toMatchObject([{ entry: { env: { KEY: key.replace('\r', '') } } }]);
  });

  test.each([
    String.raw`{"mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git", "c:\temp\project"]}}}`,
    String.raw`{"mcpServers": {"one": {"command": "C:\Program Files\nodejs\npx.cmd"}}}`,
  ])('with a path of Windows is explained: %s', (text) => {
    expect(() => readClientDocument(text, 'it')).toThrow(
      expect.objectContaining({ hint: String.raw`in JSON, write each backslash of a path twice: C:\\Users` }),
    );
  });
});

describe('an entry', () => {
  const read = (raw: object, env = {}) =>
    readClientEntry(
      { name: 'name', workload: 'name', notes: [], entry: { ...raw } },
      { env, directory: '/work', readFile },
    );

  test('leaves open what only the user knows', async () => {
    const env = {
      A: '${input:a}',
      B: '${env:SET}',
      C: '${UNSET}',
      D: '<your token>',
      E: 'YOUR_API_KEY',
      F: '${X:-y}',
    };

    const { request, needs } = await read({ ...entry, env }, { SET: 'value' });

    expect(request.env_vars).toEqual({ B: 'value', F: 'y' });
    expect(needs.map(({ name }) => name)).toEqual(['A', 'C', 'D', 'E']);
  });

  test('of docker gives the container only the variables that -e names', async () => {
    const args = ['run', '-i', '-e', 'TOKEN', '-e', 'OPEN', 'example/server'];

    const { request, needs } = await read(
      { command: 'docker', args, env: { TOKEN: 't', OTHER: 'o', OPEN: '${input:x}' } },
      { OPEN: 'no' },
    );

    expect(request.env_vars).toEqual({ TOKEN: 't' });
    expect(needs.map(({ name }) => name)).toEqual(['OPEN']);
  });

  test.each([
    [{ url: 'https://example.com/mcp' }, { url: 'https://example.com/mcp' }],
    [
      { type: 'sse', url: 'https://example.com/x' },
      { url: 'https://example.com/x', transport: 'sse' },
    ],
    [{ url: ['https://example.com/mcp'] }, { url: 'https://example.com/mcp' }],
    [{ serverUrl: 'https://example.com/sse' }, { url: 'https://example.com/sse', transport: 'sse' }],
    [{ type: 'streamable_http', uri: 'https://example.com/sse' }, { url: 'https://example.com/sse' }],
  ])('of a remote server: %s', async (raw, expected) => {
    expect((await read(raw)).request).toEqual({ name: 'name', ...expected });
  });

  test('may have the whole command in one text', async () => {
    expect((await read({ command: 'npx -y server --flag' })).request).toMatchObject({
      cmd_arguments: ['--flag'],
    });
  });

  test('with a wrong type is named without its value', async () => {
    await expect(read({ command: 'npx', args: { x: 'secret' } })).rejects.toThrow(
      /^invalid entry name: args has the wrong type$/,
    );
  });

  test('may have all arguments in one text', async () => {
    const { request } = await read({ command: 'npx', args: "-y server --name 'a b'" });

    expect(request).toMatchObject({ image: 'npx://server', cmd_arguments: ['--name', 'a b'] });
  });

  test.each([
    [{ includeTools: ['one', 'two'] }],
    [{ enabled_tools: ['one', 'two'] }],
    [{ tools: ['one', 'two'] }],
    [{ tools: { include: ['one', 'two'] } }],
    [{ available_tools: ['one', 'two'] }],
    [{ allowedTools: ['one', 'two'] }],
    [{ options: { toolFilter: { mode: 'allow', list: ['one', 'two'] } } }],
  ])('keeps the limit to some tools: %j', async (limit) => {
    expect((await read({ command: 'npx', args: ['server'], ...limit })).request.tools).toEqual([
      'one',
      'two',
    ]);
  });

  test.each([
    [{ tools: ['*'] }],
    [{ available_tools: [] }],
    [{ tools: 'all' }],
    [{ includeTools: null }],
    [{ tools: { include: null } }],
  ])('has all tools: %j', async (limit) => {
    expect((await read({ command: 'npx', args: ['server'], ...limit })).request).not.toHaveProperty('tools');
  });

  test.each([
    [{ excludeTools: ['drop'] }],
    [{ disabled_tools: ['drop'] }],
    [{ tools: { exclude: ['drop'] } }],
    [{ disallowed_tools: ['drop'] }],
    [{ options: { toolFilter: { mode: 'block', list: ['drop'] } } }],
    [{ tools: { drop: { enabled: false, description: 'x' }, keep: { enabled: true } } }],
    [{ toolPermissions: { drop: false, keep: true } }],
    [{ anythingllm: { autoStart: true, suppressedTools: ['drop'] } }],
  ])('says which tools clients can use now: %j', async (limit) => {
    const { request, notes } = await read({ command: 'npx', args: ['server'], ...limit });

    expect(request).not.toHaveProperty('tools');
    expect(notes).toEqual([expect.stringContaining('clients can use all tools, also drop')]);
  });

  test('has all tools instead of those that a pattern chooses, and says so', async () => {
    const { request, notes } = await read({ command: 'npx', args: ['server'], includeTools: ['read_*'] });

    expect(request).not.toHaveProperty('tools');
    expect(notes).toEqual([expect.stringContaining('clients can use all tools, not only read_*')]);
  });

  test.each<[object, string]>([
    [{ headersHelper: '/opt/headers.sh', timeout: 5 }, 'headersHelper'],
    [
      {
        oauth: { clientId: 'a', client_metadata: { token_endpoint_auth_method: 'x' } },
        authProviderType: 'google',
      },
      'authProviderType',
    ],
    [{ customUserVars: { KEY: { title: 'Key' } }, icon: 'x', autoApprove: ['a'] }, 'customUserVars'],
    [{ auth: { type: 'aws-sigv4', service: 'bedrock' } }, 'auth'],
    [{ requestOptions: {}, verifySsl: true, 'not a name\n': 'secret' }, 'verifySsl'],
  ])('names the fields that ToolHive does not import: %j', async (fields, name) => {
    const { notes } = await read({ url: 'https://mcp.example.com/mcp', ...fields });

    expect(notes).toEqual([`not imported: ${name}. Check whether the server needs it`]);
  });

  test('names a limited number of such fields', async () => {
    const fields = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`token${index}`, 'a']));

    const { notes } = await read({ url: 'https://mcp.example.com/mcp', ...fields });

    expect(notes).toEqual([expect.stringMatching(/^not imported: (?:token\d, ){7}token7, and others\./)]);
  });

  test.each([
    [{ type: 'openapi', openapi: { url: 'https://example.com/openapi.json' } }],
    [{ type: 'openapi', url: 'https://example.com' }],
    [{ url: 'https://example.com', spec_path: '/app/openapi.json' }],
  ])('that describes an API is refused: %j', async (raw) => {
    await expect(read(raw)).rejects.toThrow('the entry name describes an API (openapi), not an MCP server');
  });

  test.each([
    [{ uses: 'example/memory', with: { KEY: 'a' } }, 'a block of Continue'],
    [{ source: 'extension', settings: { key: 'a' } }, 'an extension of Zed'],
    [{ enabled: true, settings: {} }, 'an extension of Zed'],
  ])('that another program starts names the program: %j', async (raw, owner) => {
    await expect(read(raw)).rejects.toThrow(`belongs to ${owner}`);
  });

  test.each([
    [{ command: 'npx', args: ['server'], env_keys: ['TOKEN'] }, ['TOKEN']],
    [{ command: 'npx', args: ['server'], env: { TOKEN: 'COPILOT_MCP_TOKEN' } }, ['TOKEN']],
    [
      { url: 'https://example.com/mcp', requestOptions: { headers: { 'X-Key': '${{ secrets.KEY }}' } } },
      ['X-Key'],
    ],
  ])('asks for the values that its client keeps elsewhere: %j', async (raw, names) => {
    const { needs } = await read(raw);

    expect(needs.map(({ name }) => name)).toEqual(names);
  });
});

describe('the sign-in of a remote server', () => {
  const url = 'https://mcp.example.com/mcp';

  test.each<[object, object]>([
    [
      { url, oauth: { clientId: 'a.b', callbackPort: 3118 } },
      { client_id: 'a.b', callback_port: 3118 },
    ],
    [
      { url, oauth: { clientId: 'a', scope: 'read write' } },
      { client_id: 'a', scopes: ['read', 'write'] },
    ],
    [
      { url, auth: { CLIENT_ID: 'a', scopes: ['read'] } },
      { client_id: 'a', scopes: ['read'] },
    ],
    [{ url, oauthClientId: 'a' }, { client_id: 'a' }],
    [
      {
        url,
        oauth: {
          client_id: 'a',
          authorization_url: 'https://auth.example.com/authorize',
          token_url: 'https://auth.example.com/token',
        },
      },
      {
        client_id: 'a',
        authorize_url: 'https://auth.example.com/authorize',
        token_url: 'https://auth.example.com/token',
      },
    ],
    [
      {
        url,
        auth_type: 'oauth2',
        client_id: 'a',
        scopes: ['read'],
        authorization_url: 'https://auth.example.com/authorize',
        token_url: 'https://auth.example.com/token',
      },
      {
        client_id: 'a',
        authorize_url: 'https://auth.example.com/authorize',
        token_url: 'https://auth.example.com/token',
        scopes: ['read'],
      },
    ],
    [
      { url, scopes: ['read'], oauth_resource: 'https://mcp.example.com' },
      { scopes: ['read'], resource: 'https://mcp.example.com' },
    ],
    [
      {
        command: 'npx',
        args: [
          'mcp-remote',
          url,
          '--static-oauth-client-info',
          '{"client_id":"a"}',
          '--static-oauth-client-metadata',
          '{"scope":"read"}',
        ],
      },
      { client_id: 'a', scopes: ['read'] },
    ],
  ])('uses the registered client: %j', async (server, expected) => {
    const [read] = await previewOf({ mcpServers: { server } });

    expect(read?.request?.oauth_config).toEqual(expected);
  });

  test('needs a client ID that the configuration leaves open, and a client secret', async () => {
    const oauth = { clientId: '${CLIENT}', clientSecret: 'not-a-real-secret' };

    const [read] = await previewOf({ mcpServers: { server: { url, oauth } } });

    expect(read?.request?.oauth_config).toBeUndefined();
    expect(read?.notes).toMatchObject([
      expect.stringContaining('--remote-auth-client-id'),
      expect.stringContaining('--remote-auth-client-secret'),
    ]);
    expect(JSON.stringify(read)).not.toContain('not-a-real-secret');
  });

  test('needs a client ID in the place of an example', async () => {
    const [read] = await previewOf({
      mcpServers: { server: { url, oauth: { clientId: 'YOUR_CLIENT_ID' } } },
    });

    expect(read?.request).not.toHaveProperty('oauth_config');
    expect(read?.notes).toMatchObject([expect.stringContaining('--remote-auth-client-id')]);
  });

  test.each(['${TOKEN:-}', 'Bearer ${TOKEN:-}', ''])('has no header without a value: %j', async (text) => {
    const headers = { Authorization: text, 'X-Trace': 'on' };

    const [read] = await previewOf({ mcpServers: { server: { url, headers } } });

    expect(read?.needs).toEqual([]);
    expect(read?.request?.headers).toMatchObject([{ name: 'X-Trace' }]);
  });

  test.each([
    [
      {
        authorization_url: 'https://auth.example.com/authorize',
        token_url: 'https://auth.example.com/token',
      },
    ],
    [{ clientId: 'a', authorizationUrl: 'https://auth.example.com/authorize' }],
    [
      {
        clientId: 'a',
        authorizationUrl: 'https://auth.example.com/authorize',
        tokenUrl: 'https://attacker.example/token',
      },
    ],
    [{ clientId: 'a', authorizationUrl: 'http://auth.example.com/a', tokenUrl: 'http://auth.example.com/t' }],
    [{ clientId: 'a', authorizationUrl: 'file:///etc/passwd', tokenUrl: 'https://auth.example.com/token' }],
  ])('says that its URLs are left out if something is missing or foreign: %j', async (oauth) => {
    const [read] = await previewOf({ mcpServers: { server: { url, oauth } } });

    expect(read?.request?.oauth_config?.authorize_url).toBeUndefined();
    expect(read?.notes).toEqual([expect.stringContaining('the OAuth URLs are not imported')]);
  });

  test.each([
    [{ url, authorization_token: 'YOUR_TOKEN' }, 'Authorization'],
    [{ url, api_key_env: 'KEY' }, 'Authorization'],
    [{ url, auth_type: 'bearer_token', auth_value: 'os.environ/KEY' }, 'Authorization'],
    [{ url, apiKey: '${{ secrets.KEY }}' }, 'Authorization'],
    [{ url, headers: { 'X-Key': '{{MY_KEY}}' } }, 'X-Key'],
    [{ url, headers: { 'X-Key': '$COPILOT_MCP_KEY' } }, 'X-Key'],
    [{ url, headers: { 'X-Key': 'op://vault/item/field' } }, 'X-Key'],
    [{ url, api_key_env: 'KEY', api_key_header: 'X-Key', api_key_format: '{token}' }, 'X-Key'],
    [
      {
        url,
        auth: { type: 'static', api_key_env: 'KEY', api_key_header: 'X-Key', api_key_format: '{token}' },
      },
      'X-Key',
    ],
    [{ url, headers: { 'X-Key': '$(pass show key)' } }, 'X-Key'],
    [{ url, headers: { Authorization: 'Bearer $(gh auth token)' } }, 'Authorization'],
  ])('can be a token that the user knows: %j', async (server, header) => {
    const [read] = await previewOf({ mcp_servers: [{ name: 'server', ...server }] });

    expect(read?.needs).toMatchObject([{ kind: 'header', name: header }]);
    expect(read?.notes).toEqual([]);
  });
});

describe('a token in a field of its own', () => {
  const url = 'https://mcp.example.com/mcp';

  test.each<[string, object]>([
    ['MetaMCP', { mcpServers: { one: { type: 'STREAMABLE_HTTP', url, bearerToken: 'abc' } } }],
    ['other programs', { mcpServers: { one: { url, bearer_token: 'abc' } } }],
    ['an object', { mcpServers: { one: { url, auth: { type: 'bearer', token: 'abc' } } } }],
    ['a text with its scheme', { mcpServers: { one: { url, authorization: 'Bearer abc' } } }],
    [
      'Open WebUI',
      [{ type: 'mcp', url, auth_type: 'bearer', key: 'abc', info: { id: 'x', name: 'one' } }] as object,
    ],
    [
      'a request to a model',
      { tools: [{ type: 'mcp', server_label: 'one', server_url: url, authorization: 'abc' }] },
    ],
  ])('is a header, as in %s', async (_what, document) => {
    const [read, ...others] = await previewOf(document);

    expect(others).toEqual([]);
    expect(read).toMatchObject({
      name: 'one',
      request: { url, headers: [{ name: 'Authorization', default: 'Bearer abc' }] },
    });
  });

  test.each<[object, string, string]>([
    [{ auth_type: 'api_key', auth_value: 'abc' }, 'X-API-Key', 'abc'],
    [{ auth_type: 'basic', auth_value: 'ada:abc' }, 'Authorization', 'Basic YWRhOmFiYw=='],
    [{ auth_type: 'basic', auth_value: 'YWRhOmFiYw==' }, 'Authorization', 'Basic YWRhOmFiYw=='],
    [{ auth_type: 'authorization', auth_value: 'Custom abc' }, 'Authorization', 'Custom abc'],
    [{ apiKey: 'abc' }, 'Authorization', 'Bearer abc'],
    [
      { apiKey: { source: 'admin', authorization_type: 'bearer', key: 'abc' } },
      'Authorization',
      'Bearer abc',
    ],
    [{ apiKey: { authorization_type: 'custom', custom_header: 'X-Own', key: 'abc' } }, 'X-Own', 'abc'],
    [{ auth: { api_key: 'abc' } }, 'Authorization', 'Bearer abc'],
    [{ api_key: 'abc' }, 'Authorization', 'Bearer abc'],
    [{ auth: 'eyJhbGciOiJub25lIn0.e30.' }, 'Authorization', 'Bearer eyJhbGciOiJub25lIn0.e30.'],
    [{ static_headers: { 'X-Own': 'abc' } }, 'X-Own', 'abc'],
  ])('has the header of its kind: %j', async (fields, name, value) => {
    const [read] = await previewOf({ mcpServers: { one: { url, ...fields } } });

    expect(read?.request?.headers).toMatchObject([{ name, default: value }]);
    expect(read?.notes).toEqual([]);
  });

  test.each(['oauth', 'none', 'bearer', 'api_key'])('is not the name of a method: %s', async (auth) => {
    const [read] = await previewOf({ mcpServers: { one: { url, auth } } });

    expect(read?.request).toEqual({ url, name: 'one' });
  });

  test('is not the key of something else', async () => {
    const [read] = await previewOf({ mcpServers: { one: { url, key: 'abc', auth: { clientId: 'c' } } } });

    expect(read?.request).toEqual({ url, oauth_config: { client_id: 'c' }, name: 'one' });
  });
});

test('other tools of a request to a model are no servers', async () => {
  const tool = { type: 'function', name: 'x', url: 'https://example.com' };

  await expect(previewOf({ tools: [tool] })).rejects.toThrow('has no MCP servers');
});

test.each<[object, string]>([
  [{ registry: { fetch: { ref: '' } } }, 'docker mcp profile export'],
  [{ schema_version: 'v0.1.0', image: 'example/fetch:1', name: 'fetch' }, 'thv run --from-config FILE'],
  [{ name: 'plugin', mcpServers: './.mcp.json' }, 'thv import FILE'],
  [{ apiVersion: 'toolhive.stacklok.dev/v1beta1', kind: 'MCPServer', spec: { image: 'x' } }, 'kubectl'],
  [{ source: { path: 'server.py', entrypoint: 'mcp' }, environment: { type: 'uv' } }, 'fastmcp run'],
])('another document gets a hint: %j', async (document, hint) => {
  await expect(previewOf(document)).rejects.toMatchObject({ hint: expect.stringContaining(hint) });
});

test.each<[object]>([
  [{ disabled: true }],
  [{ disable: true }],
  [{ enabled: false }],
  [{ enabled: 'false' }],
  [{ isActive: false }],
  [{ is_active: false }],
  [{ status: 'INACTIVE' }],
  [{ options: { disabled: true } }],
  [{ config: { enable: false } }],
])('a server that its configuration turns off is marked: %j', async (state) => {
  const servers = await previewOf({ mcpServers: { on: entry, off: { ...entry, ...state } } });

  expect(servers.map(({ notes }) => notes)).toEqual([[], ['the server is disabled in the configuration']]);
});

test.each(['baseUrl', 'endpoint', 'server_url', 'sse_url'])('a URL can have the name %s', async (key) => {
  const [read] = await previewOf({ mcpServers: { server: { [key]: 'https://mcp.example.com/sse' } } });

  expect(read?.request).toMatchObject({ url: 'https://mcp.example.com/sse', transport: 'sse' });
});

test.each([
  [['uv', '--directory', String.raw`C:\Users\me\Scripts`, 'run', 'one'], 'is a Windows path'],
  [['ssh', 'me@host', 'npx', '-y', 'one'], '"ssh" starts a server on another machine'],
  [['kubectl', 'exec', '-i', 'pod', '--', 'one'], '"kubectl" starts a server on another machine'],
  [['docker-compose', 'run', 'one'], 'cannot be run in isolation'],
])('a command for another machine says so: %j', async ([command, ...args], problem) => {
  const servers = await previewOf({ mcpServers: { one: { command, args } } });

  expect(servers).toMatchObject([{ problem: expect.stringContaining(problem) }]);
});

test.each(['/Users/me/.nvm/versions/node/v22.1.0/bin:/usr/bin', '/opt/bin:${PATH}', '${env:PATH}'])(
  'the PATH of an entry names directories that its server does not have: %s',
  async (path) => {
    const [read] = await previewOf({
      mcpServers: { one: { command: 'npx', args: ['-y', 'one'], env: { PATH: path, KEY: 'a' } } },
    });

    expect(read?.request?.env_vars).toEqual({ KEY: 'a' });
    expect(read?.needs).toEqual([]);
  },
);

test('a container gets the PATH that its command sets', async () => {
  const args = ['run', '-i', '-e', 'PATH=/app/bin:/usr/bin', 'example/one'];

  const [read] = await previewOf({ mcpServers: { one: { command: 'docker', args } } });

  expect(read?.request?.env_vars).toEqual({ PATH: '/app/bin:/usr/bin' });
});

test.each([
  [JSON.stringify([{ name: 'one', url: 'https://example.com/mcp' }])],
  [JSON.stringify({ one: { url: 'https://example.com/mcp' } })],
])('a section in a text is read: %s', async (mcpServers) => {
  const servers = await previewOf({ settings: { mcpServers } });

  expect(servers).toMatchObject([{ name: 'one', request: { url: 'https://example.com/mcp' } }]);
});

test.each<[string, unknown]>([
  ['a list of texts', ['Authorization: Bearer t']],
  ['a list of assignments', ['Authorization=Bearer t']],
  ['a list without colons', ['Authorization Bearer t']],
  ['a text', 'Authorization: Bearer t\n'],
  ['JSON', '{"Authorization": "Bearer t"}'],
  ['names with colons', { 'Authorization:': ' Bearer t\n' }],
])('the headers of an entry can be %s', async (_what, headers) => {
  const [server] = await previewOf({ mcpServers: { a: { url: ' https://mcp.example.com/mcp\n', headers } } });

  expect(server).toMatchObject({
    request: {
      url: 'https://mcp.example.com/mcp',
      headers: [{ name: 'Authorization', default: 'Bearer t' }],
    },
    needs: [],
  });
});

test('a URL for WebSocket is refused by its name', async () => {
  expect(await previewOf({ mcpServers: { a: { url: 'wss://mcp.example.com/ws' } } })).toMatchObject([
    { problem: expect.stringContaining('WebSocket') },
  ]);
});

test('the project directory can be in braces', async () => {
  const raw = { command: 'npx', args: ['-y', 'server', '--config', '{workspaceFolder}/config.json'] };
  const from = { env: {}, directory: '/project', readFile };

  const { request } = await readClientEntry({ name: 'a', workload: 'a', notes: [], entry: raw }, from);

  expect(request.cmd_arguments).toEqual(['--config', '/project/config.json']);
});

test('blanks around configuration keys do not matter', async () => {
  const servers = await previewOf({
    'mcpServers ': { a: { 'httpUrl ': 'https://mcp.example.com/mcp', ' headers': { 'X-A ': 'b' } } },
  });

  expect(servers).toMatchObject([
    { name: 'a', request: { url: 'https://mcp.example.com/mcp', headers: [{ name: 'X-A', default: 'b' }] } },
  ]);
});

test('the schema entry of a document is not a server', async () => {
  const entry = {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-10-17/server.schema.json',
    name: 'io.github.user/weather',
    packages: [{ registryType: 'npm', identifier: '@user/weather', version: '1.0.2' }],
  };

  await expect(previewOf(entry)).rejects.toMatchObject({
    hint: 'this is a registry entry. Run its package: thv run npx://@user/weather',
  });
});

test('a variable can be JSON that its author did not quote', async () => {
  const env = { HEADERS: { 'X-A': 'b' }, LIST: ['a', 1] };

  expect(await previewOf({ mcpServers: { a: { ...entry, env } } })).toMatchObject([
    { request: { env_vars: { HEADERS: '{"X-A":"b"}', LIST: '["a",1]' } } },
  ]);
});

test.each([
  ['<https://mcp.example.com/mcp>', 'https://mcp.example.com/mcp'],
  ['[https://mcp.example.com/mcp](https://mcp.example.com/mcp)', 'https://mcp.example.com/mcp'],
  ['https://https://mcp.example.com/mcp', 'https://mcp.example.com/mcp'],
  ['mcp.example.com/mcp', 'https://mcp.example.com/mcp'],
  ['mcp.example.com:8443', 'https://mcp.example.com:8443'],
  ['localhost:8000/mcp', 'http://localhost:8000/mcp'],
])('a URL is read from %s', async (written, url) => {
  expect(await previewOf({ mcpServers: { a: { url: written } } })).toMatchObject([{ request: { url } }]);
});

test('a template in an argument is asked for', async () => {
  const raw = { command: 'npx', args: ['-y', 'server', '{{ workspace }}/data', 'Hello {{name}}!'] };

  expect(await previewOf({ mcpServers: { a: raw } })).toMatchObject([
    { needs: [{ kind: 'placeholder', name: 'workspace', token: '{{ workspace }}' }] },
  ]);
});

test('the home directory can be in template braces', async () => {
  const raw = { command: 'npx', args: ['-y', 'server', '{{HOME}}/data'] };

  expect(await previewOf({ mcpServers: { a: raw } })).toMatchObject([
    { request: { cmd_arguments: [`${homedir()}/data`] }, needs: [] },
  ]);
});

describe('a command in one text with a path that contains spaces', () => {
  test.each([
    [
      'C:\\Program Files\\nodejs\\npx.cmd -y server --flag',
      { image: 'npx://server', cmd_arguments: ['--flag'] },
    ],
    ['"C:\\Program Files\\nodejs\\npx.cmd" -y server', { image: 'npx://server', cmd_arguments: [] }],
  ])('is divided behind the program: %s', async (command, request) => {
    const [server] = await previewOf({ mcpServers: { one: { command } } });

    expect(server?.request).toMatchObject(request);
  });

  test.each([
    'C:\\Program Files\\PowerShell\\7\\bin\\Proxy.exe',
    '/Applications/My App.app/Contents/MacOS/server',
    '/srv/my tools/server --flag',
  ])('is named as a whole in the problem: %s', async (command) => {
    const [server] = await previewOf({ mcpServers: { one: { command } } });

    expect(server?.problem).toContain(command);
  });

  test('does not continue with an argument', async () => {
    const [server] = await previewOf({
      mcpServers: { one: { command: '/srv/tools/server --config /etc/x' } },
    });

    expect(server?.problem).toBe('/srv/tools/server not found');
  });
});

test.each<[string, object]>([
  ['a variable of mcporter', { headers: { Authorization: 'Bearer $env:LINEAR_KEY' } }],
  ['its field for the variable', { bearerTokenEnv: 'LINEAR_KEY' }],
])('a header is asked for: %s', async (_title, fields) => {
  const [server] = await previewOf({
    mcpServers: { one: { url: 'https://mcp.example.com/mcp', ...fields } },
  });

  expect(server?.request).not.toHaveProperty('headers');
  expect(server?.notes).toEqual([]);
  expect(server?.needs).toMatchObject([
    { name: 'Authorization', secret: true, description: 'Bearer, a space, and LINEAR_KEY' },
  ]);
});

test.each([
  ['DATABASE_URL', true],
  ['POSTGRES_URL', true],
  ['MONGODB_CONNECTION_STRING', true],
  ['BASE_URL', false],
  ['SITE_URL', false],
])('the URL of a database contains a password: %s', async (name, secret) => {
  const [server] = await previewOf({
    mcpServers: { one: { ...entry, args: ['-y', 'server', `\${${name}}`] } },
  });

  expect(server?.needs).toMatchObject([{ kind: 'placeholder', name, secret }]);
});
