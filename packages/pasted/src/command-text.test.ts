import { describe, expect, test } from 'vitest';
import { previewImport } from './import.ts';

const preview = async (text: string) => (await previewImport(text)).servers;

describe('a pasted text', () => {
  test.each([
    [
      'npx -y @scope/server --flag',
      'scope-server',
      { image: 'npx://@scope/server', cmd_arguments: ['--flag'] },
    ],
    ['  $ uvx mcp-server-time==1.0  ', 'mcp-server-time', { image: 'uvx://mcp-server-time@1.0' }],
    ['PS C:\\Users\\me> npx server', 'server', { image: 'npx://server' }],
    ['```bash\nnpx server\n```', 'server', { image: 'npx://server' }],
    ['# install it\nnpx server', 'server', { image: 'npx://server' }],
    [
      'docker run -i --rm \\\n  -e A=1 \\\n  mcp/time',
      'mcp-time',
      { image: 'mcp/time', env_vars: { A: '1' } },
    ],
    ['claude mcp add notes -- npx -y server', 'notes', { image: 'npx://server' }],
    [
      `code --add-mcp '{"name":"notes","command":"npx","args":["server"]}'`,
      'notes',
      { image: 'npx://server' },
    ],
    ['https://mcp.example.com/mcp', 'example.com', { url: 'https://mcp.example.com/mcp' }],
    ['https://www.npmjs.com/package/@scope/server', 'scope-server', { image: 'npx://@scope/server' }],
    ['https://www.npmjs.com/package/server/v/1.2.3', 'server', { image: 'npx://server@1.2.3' }],
    ['https://pypi.org/project/server/1.0/', 'server', { image: 'uvx://server@1.0' }],
    ['https://hub.docker.com/r/mcp/time', 'mcp-time', { image: 'mcp/time' }],
    ['npx mcp-remote https://mcp.example.com/mcp', 'example.com', { url: 'https://mcp.example.com/mcp' }],
    ['C:\\Users\\me> npx server', 'server', { image: 'npx://server' }],
    ['ada@host:~/work$ npx server', 'server', { image: 'npx://server' }],
    ['(.venv) ❯ npx server', 'server', { image: 'npx://server' }],
    ['$ npx server\nServer running on stdio', 'server', { image: 'npx://server' }],
    ['`npx server`', 'server', { image: 'npx://server' }],
    ['<https://mcp.example.com/mcp>', 'example.com', { url: 'https://mcp.example.com/mcp' }],
    ['npx server --a 1 # starts it', 'server', { image: 'npx://server', cmd_arguments: ['--a', '1'] }],
    ['npx server;', 'server', { image: 'npx://server' }],
    ['npx\u00A0server\u200B —api-url “a b” –v', 'server', { cmd_arguments: ['--api-url', 'a b', '-v'] }],
    [
      'docker run -i \\\n  # the token\n  -e A=1 \\\n  mcp/time',
      'mcp-time',
      { image: 'mcp/time', env_vars: { A: '1' } },
    ],
    ['uvx --from git+https://github.com/a/tools@v1 tool', 'a-tools', { cmd_arguments: [] }],
    ['npx add-mcp https://mcp.example.com/mcp', 'example.com', { url: 'https://mcp.example.com/mcp' }],
    [
      'npx -y add-mcp "npx -y server --a" --env K=v -g',
      'server',
      { cmd_arguments: ['--a'], env_vars: { K: 'v' } },
    ],
    [
      'npx install-mcp@latest @scope/server --client cursor',
      'scope-server',
      { image: 'npx://@scope/server' },
    ],
    ['goose session --with-extension "K=v npx -y server"', 'server', { env_vars: { K: 'v' } }],
    [
      'goose session --with-streamable-http-extension https://mcp.example.com/mcp',
      'example.com',
      { url: 'https://mcp.example.com/mcp' },
    ],
    [
      'claude mcp add-json notes "{""command"":""npx"",""args"":[""server""],""env"":{""A"":""""}}"',
      'notes',
      { image: 'npx://server', env_vars: { A: '' } },
    ],
    [
      'npx -y @anthropic-ai/claude-code@latest mcp add notes -- npx -y server',
      'notes',
      { image: 'npx://server' },
    ],
    ['C:\\nvm4w\\nodejs\\npx.ps1 -y server', 'server', { image: 'npx://server' }],
    ['mcp.example.com/mcp', 'example.com', { url: 'https://mcp.example.com/mcp' }],
    ['localhost:3000/mcp', 'localhost', { url: 'http://localhost:3000/mcp' }],
    ['Server URL: https://mcp.example.com/sse.', 'example.com', { url: 'https://mcp.example.com/sse' }],
    ['https://mcp.example.com/mcp (streamable HTTP)', 'example.com', { url: 'https://mcp.example.com/mcp' }],
    ['API_KEY=x npx server', 'server', { image: 'npx://server', env_vars: { API_KEY: 'x' } }],
  ])('can be a command: %s', async (text, name, request) => {
    expect(await preview(text)).toMatchObject([{ name, request: { ...request, name } }]);
  });

  test('can be several commands, whose names differ', async () => {
    const servers = await preview('npx server\nuvx server\n\nhttps://example.com/mcp\n');

    expect(servers.map(({ name, request }) => [name, request?.image ?? request?.url])).toEqual([
      ['server', 'npx://server'],
      ['server-2', 'uvx://server'],
      ['example.com', 'https://example.com/mcp'],
    ]);
  });

  test.each([
    'export KEY=v\nnpx server',
    'export KEY="v" && npx server',
    '$env:KEY = "v"\nnpx server',
    '$env:KEY="v"; npx server',
    'set KEY=v\nnpx server',
    'set KEY=v && npx server',
    'setx KEY v\nnpx server',
    'KEY=v\nnpx server',
    '# first\n$ export KEY=v\n$ npx server',
  ])('can set variables first: %j', async (text) => {
    const servers = await preview(text);

    expect(servers).toMatchObject([{ request: { image: 'npx://server', env_vars: { KEY: 'v' } } }]);
  });

  test.each([
    'export KEY="<your key>"\nnpx server',
    'export KEY=$(gh auth token)\nnpx server',
    'export KEY=$OTHER_KEY\nnpx server',
    'claude mcp add one -e KEY=YOUR_API_KEY -- npx server',
    'claude mcp add one -e KEY=${KEY} -- npx server',
  ])('asks for a variable that only the user knows: %j', async (text) => {
    const [server] = await preview(text);

    expect(server).toMatchObject({ request: { env_vars: {} }, needs: [{ kind: 'variable', name: 'KEY' }] });
  });

  test.each([
    'claude mcp add one --transport http https://mcp.example.com/mcp --header "X-Key: ${KEY}"',
    'claude mcp add one -t http https://mcp.example.com/mcp -H "X-Key: YOUR_API_KEY"',
    'amp mcp add one https://mcp.example.com/mcp --header "X-Key=YOUR_API_KEY"',
  ])('asks for a header that only the user knows: %s', async (text) => {
    const [server] = await preview(text);

    expect(server?.needs).toMatchObject([{ kind: 'header', name: 'X-Key', secret: true }]);
  });

  test('can have one command that is wrong', async () => {
    const servers = await preview('npx @smithery/cli install x --client y\nclaude mcp add one\nnpx server');

    expect(servers).toMatchObject([
      { problem: expect.stringContaining('@smithery/cli install') },
      { problem: expect.stringContaining('needs a name') },
      { request: { image: 'npx://server' } },
    ]);
  });

  test.each([
    ['java -jar server.jar', /"java" cannot be run/],
    ['docker mcp gateway run', /"docker mcp" does not start a server/],
    ['npm install -g server', /"npm install" does not start a package/],
  ])('says which program starts no server: %s', async (text, problem) => {
    expect(await preview(text)).toMatchObject([{ problem: expect.stringMatching(problem) }]);
  });

  test('can be the commands of several clients for the same servers', async () => {
    const servers = await preview(
      '# Claude Code\nclaude mcp add one -- npx -y server\n# Codex\ncodex mcp add one -- npx -y server\ngoose mcp add one -- npx -y other\n',
    );

    expect(servers.map(({ request }) => [request?.name, request?.image])).toEqual([
      ['one', 'npx://server'],
      ['one-2', 'npx://other'],
    ]);
  });

  test.each([
    'git clone https://github.com/a/b.git\ncd b\nnpm install\nclaude mcp add server -- npx -y server',
    'npm install -g server\nclaude mcp add server -- npx -y server\nclaude mcp list\n\n# Start\nclaude',
    '$ pip install server\nSuccessfully installed\n$ npx -y server',
  ])('can have commands that prepare the machine: %j', async (text) => {
    const servers = await preview(text);

    expect(servers).toMatchObject([
      { name: 'server', request: { image: 'npx://server' }, notes: [expect.stringContaining('left out')] },
    ]);
  });

  test('has placeholders and variables that the user fills', async () => {
    const [docker] = await preview('docker run -i -e GITHUB_TOKEN -e MODE=fast ghcr.io/a/b');
    const [npx] = await preview('npx server --token ${API_TOKEN}');

    expect(docker?.needs).toMatchObject([{ kind: 'variable', name: 'GITHUB_TOKEN', secret: true }]);
    expect(docker?.request?.env_vars).toEqual({ MODE: 'fast' });
    expect(npx?.needs).toMatchObject([{ kind: 'placeholder', name: 'API_TOKEN' }]);
  });

  test.each([
    ['python server.py', /directory/],
    ['dotenv -e /etc/shadow -- npx server', /environment files are not supported here|directory/],
    ['node --env-file=/etc/passwd /server.js', /environment files are not supported here/],
    ['op run -- npx server', /op run passes secrets/],
  ])('that needs this machine has a problem: %s', async (text, problem) => {
    expect(await preview(text)).toMatchObject([{ problem: expect.stringMatching(problem) }]);
  });

  test.each([
    ['spaces', ' '.repeat(400_000)],
    ['continued lines', 'npx server \\\n'.repeat(30_000)],
    ['spaces after a prompt', `$${' '.repeat(400_000)}x`],
    ['fences', '```\n'.repeat(100_000)],
    ['assignments', `${'A=1 '.repeat(100_000)}npx server`],
    ['programs around a program', 'nohup '.repeat(80_000)],
    ['escaped quotes', `"${String.raw`\"`.repeat(200_000)}"`],
    ['arguments of a server', `claude mcp add x npx y ${'a '.repeat(200_000)}`],
    ['scopes', `claude mcp add x npx y ${'--scope user '.repeat(40_000)}`],
  ])('of many %s is read in time', async (_title, text) => {
    const outcome: unknown = await previewImport(text).catch((thrown: unknown) => thrown);

    expect(text.length).toBeGreaterThan(100_000);
    expect(outcome).not.toBeInstanceOf(RangeError); // as from a call with too many arguments
  });

  test.each(['hello world', 'npx server\nhello world', 'npx server | cat', 'npx a\n'.repeat(51)])(
    'that is something else is not read as a command: %j',
    async (text) => {
      await expect(previewImport(text)).rejects.toMatchObject({ kind: 'invalid' });
    },
  );
});
