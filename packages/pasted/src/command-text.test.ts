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
    ['npx mcp-remote https://mcp.example.com/mcp', 'example.com', { url: 'https://mcp.example.com/mcp' }],
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
  ])('of many %s is read in time', async (_title, text) => {
    await previewImport(text).catch(() => {});

    expect(text.length).toBeGreaterThan(100_000);
  });

  test.each(['hello world', 'npx server\nhello world', 'npx server | cat', 'npx a\n'.repeat(51)])(
    'that is something else is not read as a command: %j',
    async (text) => {
      await expect(previewImport(text)).rejects.toMatchObject({ kind: 'invalid' });
    },
  );
});
