import { describe, expect, test } from 'vitest';
import { readClientEntry } from './client-entry.ts';
import { readCommandLine } from './launchers.ts';
import type { PastedFrom } from './pasted.ts';

const from: PastedFrom = { env: {}, directory: '/', readFile: async () => '' };
const entry = (fields: Record<string, unknown>) =>
  readClientEntry({ name: 'far', workload: 'far', notes: [], entry: fields }, from);

describe('a command of mcp-remote', () => {
  test.each([
    'npx mcp-remote https://mcp.example.com/mcp',
    'npx -y mcp-remote@latest https://mcp.example.com/mcp 3334',
    'npx mcp-remote@0.1.29 https://mcp.example.com/mcp --debug --allow-http',
    'bunx mcp-remote https://mcp.example.com/mcp --host 127.0.0.1',
    'cmd /c npx -y mcp-remote https://mcp.example.com/mcp --transport http-only',
    'npx -y -p mcp-remote@latest mcp-remote https://mcp.example.com/mcp',
    'npx --package=mcp-remote mcp-remote-client https://mcp.example.com/mcp',
  ])('becomes its remote server: %s', async (line) => {
    const { request, notes } = await readCommandLine(line.split(' '), from);

    expect(request).toMatchObject({ url: 'https://mcp.example.com/mcp' });
    expect(request).not.toHaveProperty('image');
    expect(notes).toEqual(['ToolHive connects to the server itself, so mcp-remote is not needed']);
  });

  test.each([
    ['npx mcp-remote https://mcp.example.com/sse', 'sse'],
    ['npx mcp-remote https://mcp.example.com/events --transport sse-only', 'sse'],
    ['npx mcp-remote https://mcp.example.com/mcp --transport sse-first', undefined],
  ])('keeps the transport: %s', async (line, transport) => {
    const { request } = await readCommandLine(line.split(' '), from);

    expect(request.transport).toBe(transport);
  });

  test.each([
    'npx mcp-remote https://mcp.example.com/mcp --static-oauth-client-info {"client_id":"x","client_secret":"y"}',
    'npx mcp-remote https://mcp.example.com/mcp and more',
    'npx mcp-remote',
  ])('stays a package if only the package understands it: %s', async (line) => {
    const { request } = await readCommandLine(line.split(' '), from);

    expect(request.image).toBe('npx://mcp-remote');
  });

  test.each([
    ['--header', 'Authorization: Bearer t'],
    ['--header', '"Authorization: Bearer t"'],
    ['--header', "'Authorization:Bearer t'"],
    ['--header=Authorization:Bearer t'],
  ])('has the header in %j', async (...flag) => {
    const words = ['npx', 'mcp-remote', 'https://mcp.example.com/mcp', ...flag];

    const { request } = await readCommandLine(words, from);

    expect(request.headers).toMatchObject([{ name: 'Authorization', default: 'Bearer t' }]);
  });

  test('with a client in a file says that it is not imported', async () => {
    const line =
      'npx mcp-remote https://mcp.example.com/mcp --static-oauth-client-info @/home/me/client.json';

    const { request, notes } = await readCommandLine(line.split(' '), from);

    expect(request).toMatchObject({ url: 'https://mcp.example.com/mcp' });
    expect(notes).toEqual([expect.stringContaining('--remote-auth-client-id')]);
  });

  test('with the value of its own variable has this value in a header', async () => {
    const { request, needs } = await entry({
      command: 'npx',
      args: ['-y', 'mcp-remote', 'https://mcp.example.com/mcp', '--header', 'Authorization:Bearer ${TOKEN}'],
      env: { TOKEN: 'not-a-real-token' },
    });

    expect(request.headers).toMatchObject([{ name: 'Authorization', default: 'Bearer not-a-real-token' }]);
    expect(needs).toEqual([]);
  });

  test('with a variable that has no value asks for it', async () => {
    const args = ['mcp-remote', 'https://mcp.example.com/mcp', '--header', 'Authorization: Bearer ${TOKEN}'];

    const { request, needs } = await entry({ command: 'npx', args });

    expect(request.headers).toBeUndefined();
    expect(needs).toMatchObject([{ kind: 'header', name: 'Authorization' }]);
  });
});

test('tools that mcp-remote hides are named', async () => {
  const line = 'npx -y mcp-remote https://mcp.example.com/mcp --ignore-tool delete_* --ignore-tool drop';
  const expected =
    "clients can use all tools, also delete_*, drop. To change that, choose the server's tools";

  const run = await readCommandLine(line.split(' '), from);
  const [command = '', ...args] = line.split(' ');
  const imported = await entry({ command, args });

  for (const { request, notes } of [run, imported]) {
    expect(request.url).toBe('https://mcp.example.com/mcp');
    expect(notes).toEqual([expect.stringContaining('mcp-remote is not needed'), expected]);
  }
});

test.each([
  [['-y @scope/server /folder'], ['/folder']],
  [["-y @scope/server '/my folder' --flag"], ['/my folder', '--flag']],
])('all arguments in one text are separate arguments: %j', async (args, expected) => {
  const { request } = await entry({ command: 'npx', args });

  expect(request).toMatchObject({ image: 'npx://@scope/server', cmd_arguments: expected });
});

test.each([['docker mcp gateway run'], ['docker compose up'], ['podman exec -i server']])(
  '%s is refused for what it is',
  async (line) => {
    const read = readCommandLine(line.split(' '), from);

    await expect(read).rejects.toThrow(/^"(?:docker|podman) \w+" does not start a server/);
  },
);

describe('a command of another bridge', () => {
  const url = 'https://mcp.example.com/x';

  test.each([
    [`uvx mcp-proxy ${url}`, { url, transport: undefined }],
    [`mcp-proxy ${url}/sse`, { url: `${url}/sse`, transport: 'sse' }],
    [`uvx mcp-proxy --transport sse ${url}`, { url, transport: 'sse' }],
    [`pipx run mcp-proxy --transport streamablehttp ${url}`, { url, transport: undefined }],
    [`mcp-proxy ${url} --transport=streamablehttp`, { url, transport: undefined }],
    [`mcp-proxy --transport=sse ${url}`, { url, transport: 'sse' }],
    [`/opt/homebrew/bin/mcp-proxy ${url}`, { url, transport: undefined }],
    [`mcp-proxy --debug --port=8080 ${url} --log-level DEBUG`, { url, transport: undefined }],
    [`npx -y supergateway --streamableHttp ${url}`, { url, transport: undefined }],
    [`npx -y supergateway@3 --sse ${url} --logLevel none`, { url, transport: 'sse' }],
  ])('becomes its remote server: %s', async (line, expected) => {
    const { request, notes } = await readCommandLine(line.split(' '), from);

    expect({ url: request.url, transport: request.transport }).toEqual(expected);
    expect(notes).toEqual([expect.stringContaining('ToolHive connects to the server itself')]);
  });

  test.each([
    ['mcp-proxy --port 8080 uvx server --x', 'uvx://server', ['--x']],
    ['uvx mcp-proxy --port=8080 --pass-environment -- uvx server', 'uvx://server', []],
    ['npx mcp-proxy --port 8080 --server stream -- npx -y server', 'npx://server', []],
  ])('becomes the server that it starts: %s', async (line, image, cmd_arguments) => {
    const { request, notes } = await readCommandLine(line.split(' '), from);

    expect(request).toMatchObject({ image, cmd_arguments });
    expect(notes).toEqual(['ToolHive serves HTTP itself, so mcp-proxy is not needed']);
  });

  test('that serves another API becomes the server that it starts, which is said', async () => {
    const { request, notes } = await readCommandLine(
      'uvx mcpo --port 8000 --api-key x -- uvx server --x'.split(' '),
      from,
    );

    expect(request).toMatchObject({ image: 'uvx://server', cmd_arguments: ['--x'] });
    expect(notes).toEqual(['ToolHive serves MCP. The API of mcpo is not started']);
  });

  test('becomes the server in the text of a flag', async () => {
    const words = ['npx', '-y', 'supergateway', '--stdio', "npx -y server --name 'a b'", '--port', '8000'];

    const { request } = await readCommandLine(words, from);

    expect(request).toMatchObject({ image: 'npx://server', cmd_arguments: ['--name', 'a b'] });
  });

  test.each([
    [['uvx', 'mcp-proxy', '--headers', 'Authorization', 'Bearer x', url]],
    [['mcp-proxy', url, '-H', 'Authorization', 'Bearer x']],
    [['API_ACCESS_TOKEN=x', 'mcp-proxy', url]],
    [['npx', 'supergateway', '--sse', url, '--oauth2Bearer', 'x']],
    [['npx', 'supergateway', '--sse', url, '--header', 'Authorization: Bearer x']],
  ])('keeps its headers: %j', async (words) => {
    const { request } = await readCommandLine(words, from);

    expect(request.headers).toMatchObject([{ name: 'Authorization', default: 'Bearer x' }]);
  });

  test('with a token in its own variable has this value in a header', async () => {
    const { request } = await entry({
      command: 'mcp-proxy',
      args: [url],
      env: { API_ACCESS_TOKEN: 'tok-en' },
    });

    expect(request.headers).toMatchObject([{ name: 'Authorization', default: 'Bearer tok-en' }]);
  });

  test.each([
    'uvx mcp-proxy --no-verify-ssl https://mcp.example.com/x',
    'npx supergateway --docker',
    'uvx mcp-proxy https://a.example.com https://b.example.com',
  ])('stays a package if only the package understands it: %s', async (line) => {
    const { request } = await readCommandLine(line.split(' '), from);

    expect(request.image).toMatch(/^(?:uvx:\/\/mcp-proxy|npx:\/\/supergateway)$/);
  });
});

describe('the MCP Inspector', () => {
  const inspector = 'npx @modelcontextprotocol/inspector@latest';

  test.each([
    [
      `${inspector} -e A=1 npx -y one --flag`,
      { image: 'npx://one', cmd_arguments: ['--flag'], env_vars: { A: '1' } },
    ],
    [`${inspector} -- npx -y one --method a`, { image: 'npx://one', cmd_arguments: ['--method', 'a'] }],
    [
      `${inspector} --cli npx -y one a --method tools/call --tool-name b --tool-arg c=d`,
      { image: 'npx://one', cmd_arguments: ['a'] },
    ],
    ['mcp-inspector uvx one', { image: 'uvx://one' }],
    [`${inspector} --cli https://example.com/mcp --method tools/list`, { url: 'https://example.com/mcp' }],
    [
      `${inspector} --transport sse --server-url https://example.com/x`,
      { url: 'https://example.com/x', transport: 'sse' },
    ],
    [
      `${inspector} --cli https://example.com/mcp --header X-Key:a`,
      { url: 'https://example.com/mcp', headers: [{ name: 'X-Key', default: 'a' }] },
    ],
  ])('is not started, but its server: %s', async (line, request) => {
    const read = await readCommandLine(line.split(' '), from);

    expect(read.request).toMatchObject(request);
    expect(read.notes).toContain('the MCP Inspector is not started. Use thv inspector for that');
  });

  test('names the file with its servers', async () => {
    const line = `${inspector} --config mcp.json --server one`;

    await expect(readCommandLine(line.split(' '), from)).rejects.toMatchObject({
      hint: 'import the file: thv import mcp.json',
    });
  });
});

test.each([
  'fastmcp run URL',
  'uvx fastmcp@2 run URL --transport stdio',
  '/x/bin/fastmcp run --no-banner URL',
])('FastMCP as a proxy is not needed: %s', async (line) => {
  const { request } = await readCommandLine(line.replace('URL', 'https://example.com/mcp').split(' '), from);

  expect(request.url).toBe('https://example.com/mcp');
});

test.each([
  ['mcpm run github', 'mcpm/servers.json'],
  ['mcpm profile run work', 'mcpm/servers.json'],
  ['uvx mcpo --config servers.json', 'thv import FILE'],
  ['npx -y @1mcp/agent@latest --config=servers.json', 'thv import FILE'],
  ['uvx mcp-proxy --port 8080 --named-server-config servers.json', 'thv import FILE'],
  ['docker mcp gateway run --profile dev', 'docker mcp profile export'],
])('a command for several servers names the file to import: %s', async (line, hint) => {
  await expect(readCommandLine(line.split(' '), from)).rejects.toMatchObject({
    hint: expect.stringContaining(hint),
  });
});

test.each<[string, object]>([
  ['mcp-proxy --port 8096 -e KEY v --env B c=d -- uvx server', { env_vars: { KEY: 'v', B: 'c=d' } }],
  ['mcp-proxy --pass-environment --env KEY v uvx server', { env_vars: { KEY: 'v' } }],
  ['bun x supergateway@3.4.3 --stdio uvx\u00A0server --stateful --cors --logLevel debug', {}],
  ['npx -y supergateway --outputTransport=streamableHttp --cors --stdio=uvx\u00A0server', {}],
])('the server of a bridge with further flags is started: %s', async (line, request) => {
  const words = line.split(' ').map((word) => word.replace('\u00A0', ' '));

  const read = await readCommandLine(words, from);

  expect(read.request).toMatchObject({ image: 'uvx://server', ...request });
});

test('mcp-proxy from its repository is not needed', async () => {
  const line = 'uvx --from git+https://github.com/sparfenyuk/mcp-proxy mcp-proxy https://mcp.example.com/mcp';

  expect((await readCommandLine(line.split(' '), from)).request).toEqual({
    url: 'https://mcp.example.com/mcp',
  });
});

test('a package with the program of a bridge is not taken for the bridge', async () => {
  const line = 'uvx --from another mcp-proxy https://mcp.example.com/mcp';

  expect((await readCommandLine(line.split(' '), from)).request.image).toBe(
    'uvx://another#program=mcp-proxy',
  );
});

test('several servers of mcp-proxy are added one by one', async () => {
  const words = [
    'mcp-proxy',
    '--port',
    '8080',
    '--named-server',
    'one',
    'uvx a',
    '--named-server',
    'two',
    'uvx b',
  ];

  await expect(readCommandLine(words, from)).rejects.toMatchObject({
    message: 'mcp-proxy starts several servers',
  });
});
