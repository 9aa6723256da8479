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
  ])('says which tools clients can use now: %j', async (limit) => {
    const { request, notes } = await read({ command: 'npx', args: ['server'], ...limit });

    expect(request).not.toHaveProperty('tools');
    expect(notes).toEqual([expect.stringContaining('clients can use all tools, also drop')]);
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

  test.each([
    [{ url, authorization_token: 'YOUR_TOKEN' }, 'Authorization'],
    [{ url, api_key_env: 'KEY' }, 'Authorization'],
    [{ url, api_key_env: 'KEY', api_key_header: 'X-Key', api_key_format: '{token}' }, 'X-Key'],
  ])('can be a token that the user knows: %j', async (server, header) => {
    const [read] = await previewOf({ mcp_servers: [{ name: 'server', ...server }] });

    expect(read?.needs).toMatchObject([{ kind: 'header', name: header }]);
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

  test('is not the key of something else', async () => {
    const [read] = await previewOf({ mcpServers: { one: { url, key: 'abc', auth: { clientId: 'c' } } } });

    expect(read?.request).toEqual({ url, oauth_config: { client_id: 'c' }, name: 'one' });
  });
});

test('other tools of a request to a model are no servers', async () => {
  const tool = { type: 'function', name: 'x', url: 'https://example.com' };

  await expect(previewOf({ tools: [tool] })).rejects.toThrow('has no MCP servers');
});

test.each([
  [{ image: 'mcp/fetch' }, 'thv run IMAGE'],
  [{ remote: { url: 'https://mcp.example.com/mcp' } }, 'thv run URL'],
])('a catalog of Docker with %j gets a hint', async (entry, hint) => {
  await expect(previewOf({ registry: { one: entry } })).rejects.toMatchObject({
    hint: expect.stringContaining(hint),
  });
});

test.each(['baseUrl', 'endpoint', 'server_url', 'sse_url'])('a URL can have the name %s', async (key) => {
  const [read] = await previewOf({ mcpServers: { server: { [key]: 'https://mcp.example.com/sse' } } });

  expect(read?.request).toMatchObject({ url: 'https://mcp.example.com/sse', transport: 'sse' });
});
