import { expect, test } from 'vitest';
import { previewImport, readPasted, withNames } from './import.ts';

test.each([
  ['npx://@acme/server@1.2.0', { image: 'npx://@acme/server@1.2.0' }],
  ['uvx://mcp-server-time', { image: 'uvx://mcp-server-time' }],
  ['go://github.com/acme/server@latest', { image: 'go://github.com/acme/server@latest' }],
  ['@modelcontextprotocol/server-memory', { image: 'npx://@modelcontextprotocol/server-memory' }],
  ['ghcr.io/github/github-mcp-server:latest', { image: 'ghcr.io/github/github-mcp-server:latest' }],
  ['thv run npx://server-everything', { image: 'npx://server-everything' }],
])('a source is imported as thv run would run it: %s', async (text, request) => {
  const { servers } = await previewImport(text);

  expect(servers).toMatchObject([{ request }]);
});

test.each([
  'lorem ipsum dolor sit amet',
  'Please install the time server for me',
  'שלום עולם',
  '<div><script>alert(1)</script></div>',
  'curl -fsSL https://example.com/install.sh | sh',
  'See https://example.com/docs for details',
  'https://a.example.com/mcp or https://b.example.com/mcp',
  '   \n  ',
])('a text that is no configuration is not blamed for its syntax: %s', async (text) => {
  await expect(previewImport(text)).rejects.toMatchObject({
    message: 'the text is neither the configuration nor the command of an MCP server',
    hint: 'paste a block with mcpServers, a command such as npx -y PACKAGE, or the URL of a remote server',
  });
});

test('the place of a mistake in a configuration is named', async () => {
  await expect(previewImport('{"mcpServers": {"time": {"command": "uvx", "args": [')).rejects.toThrow(
    /^the text is not JSON: syntax error in line 1, column \d+$/,
  );
});

test.each([
  ['command = "C:\\Users\\me\\server.exe"', /line 2, column \d+$/, 'single quotes'],
  ['command = npx', /line 2, column \d+$/, 'texts in quotes'],
  ['[mcp_servers.two words]', /line 2, column \d+$/, 'spaces or dots in quotes'],
])('the place of a mistake in TOML is named, without its line: %s', async (line, message, hint) => {
  await expect(previewImport(`[mcp_servers.one]\n${line}\n`)).rejects.toMatchObject({
    message: expect.stringMatching(message),
    hint: expect.stringContaining(hint),
  });
});

test.each(['\n', ' ', '\t', '\n[', '"{""', '[ ', 'a.', '--'])(
  'reads a long text of %j at once',
  async (part) => {
    const text = `a${part.repeat(490_000 / part.length)}b`;

    await expect(previewImport(text)).rejects.toMatchObject({ kind: 'invalid' });
  },
);

test('commands get the names of their programs, beside the names that others have', async () => {
  const from = { env: {}, directory: '/', readFile: () => Promise.reject(new Error('no file is read')) };
  const text = 'claude mcp add one -- npx -y a\nnpx -y one\nnpx -y @scope/two --flag\nnpx -y @scope/two';

  const { entries } = readPasted(text, 'standard input');

  expect((await withNames(entries, from)).map(({ workload }) => workload)).toEqual([
    'one',
    'one-2',
    'scope-two',
    'scope-two-2',
  ]);
});

test.each(['mcp-server-git --repository .', '/opt/no-such-place/bin/server'])(
  'a program that does not exist here is named: %s',
  async (text) => {
    const { servers } = await previewImport(text, '/usr/bin');

    expect(servers).toMatchObject([{ problem: expect.stringMatching(/not found$/) }]);
  },
);
