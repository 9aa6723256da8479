import { expect, test } from 'vitest';
import { previewImport } from './import.ts';

/** The import of this text: the problem and the hint of a page, or the source that runs. */
async function shown(text: string): Promise<object> {
  const [server] = (await previewImport(text)).servers;
  const { problem, hint, request } = server ?? {};
  return request === undefined ? { problem, hint } : { url: request.url, image: request.image };
}

const advice =
  'find the server in the registry, or use the command or configuration in its README, such as npx -y PACKAGE';

test.each([
  'https://github.com/modelcontextprotocol/servers',
  'https://github.com/modelcontextprotocol/servers/',
  'https://www.github.com/modelcontextprotocol/servers/tree/main/src/time',
  'https://github.com/modelcontextprotocol/servers?tab=readme-ov-file#usage',
  'https://github.com/acme/server.git',
  'http://github.com/acme/server/blob/main/README.md',
  'https://github.com/acme/server/releases/latest',
  'github.com/acme/server',
])('the page of a repository is not a remote server: %s', async (text) => {
  expect(await shown(text)).toMatchObject({
    problem: 'this is the page of a repository on github.com, not the address of an MCP server',
    hint: advice,
  });
});

test.each([
  ['https://gitlab.com/group/subgroup/server', 'gitlab.com'],
  ['https://gitlab.com/group/server/-/tree/main', 'gitlab.com'],
  ['https://bitbucket.org/acme/server', 'bitbucket.org'],
  ['https://codeberg.org/acme/server', 'codeberg.org'],
])('so are the pages of other places for source code: %s', async (text, host) => {
  expect(await shown(text)).toMatchObject({
    problem: `this is the page of a repository on ${host}, not the address of an MCP server`,
  });
});

test.each([
  'https://raw.githubusercontent.com/acme/server/main/README.md',
  'https://gist.github.com/acme/1f2e',
])('neither is a file of one: %s', async (text) => {
  expect(await shown(text)).toMatchObject({ hint: advice });
});

test('the owner of several repositories is a page, too', async () => {
  expect(await shown('https://github.com/acme')).toMatchObject({
    problem: 'this is a page of github.com, not the address of an MCP server',
  });
});

test.each([
  'https://api.githubcopilot.com/mcp/',
  'https://gitlab.com/api/v4/mcp',
  'https://gitlab.example.com/api/v4/mcp',
  'https://acme.github.io/mcp',
  'https://gitmcp.io/acme/server',
  'https://github.com.example.com/acme/server',
])('other addresses stay remote servers: %s', async (url) => {
  expect(await shown(url)).toEqual({ url });
});

test('an entry with the page of a repository as its URL has the same problem', async () => {
  const document = { mcpServers: { time: { url: 'https://github.com/modelcontextprotocol/servers' } } };
  const { servers } = await previewImport(JSON.stringify(document));

  expect(servers).toMatchObject([{ name: 'time', hint: advice }]);
});

test.each([
  'https://smithery.ai/server/@org/one',
  'https://glama.ai/mcp/servers/@org/one',
  'https://mcp.so/server/one/org',
  'https://www.pulsemcp.com/servers/one',
  'https://hub.docker.com/mcp/server/one/overview',
  'https://registry.modelcontextprotocol.io/v0/servers/io.github.org%2Fone',
])('the page of a directory is not a remote server: %s', async (text) => {
  const { servers } = await previewImport(text);

  expect(servers).toMatchObject([{ problem: expect.stringMatching(/^this is a page about a server on /) }]);
});

test.each(['https://server.smithery.ai/@org/one/mcp', 'https://glama.ai/endpoints/one/mcp'])(
  'a server of the company of a directory is a remote server: %s',
  async (url) => {
    const { servers } = await previewImport(url);

    expect(servers).toMatchObject([{ request: { url } }]);
  },
);
