import { stringify } from 'yaml';
import { describe, expect, test } from 'vitest';
import { previewImport } from './import.ts';

/** The servers with their sources, and the values that they need. */
async function read(document: string | object) {
  const { servers } = await previewImport(typeof document === 'string' ? document : stringify(document));
  return servers.map(({ name, request, needs, problem }) => {
    const { image, url, transport, cmd_arguments: args = [], env_vars: env = {} } = request ?? {};
    return {
      name,
      ...(request === undefined ? { problem } : { from: image ?? url }),
      ...(args && args.length > 0 ? { args } : {}),
      ...(env && Object.keys(env).length > 0 ? { env } : {}),
      ...(transport === undefined ? {} : { transport }),
      ...(needs.length > 0 ? { needs: needs.map((need) => need.name) } : {}),
    };
  });
}

describe('servers of another manager', () => {
  test('are the targets of agentgateway, at any place', async () => {
    const targets = [
      { name: 'local', stdio: { cmd: 'npx', args: ['-y', 'server', '--flag'], env: { A: 'b' } } },
      { name: 'whole', mcp: { host: 'https://mcp.example.com/mcp' } },
      { name: 'parts', mcp: { host: 'mcp.example.com', port: 443 } },
      { name: 'old', sse: { host: 'localhost', port: 8000, path: '/events' } },
      { name: 'other', openapi: { host: 'api.example.com' } },
    ];
    const binds = [{ port: 3000, listeners: [{ routes: [{ backends: [{ mcp: { targets } }] }] }] }];

    expect(await read({ binds })).toEqual([
      { name: 'local', from: 'npx://server', args: ['--flag'], env: { A: 'b' } },
      { name: 'whole', from: 'https://mcp.example.com/mcp' },
      { name: 'parts', from: 'https://mcp.example.com:443/mcp' },
      { name: 'old', from: 'http://localhost:8000/events', transport: 'sse' },
      { name: 'other', problem: expect.stringContaining('neither') },
    ]);
    expect(await read({ mcp: { targets: targets.slice(0, 1) } })).toMatchObject([{ from: 'npx://server' }]);
  });

  test.each([
    [{ runtime: 'npx', npxConfig: { package: '@scope/server', args: ['x'] } }, 'npx://@scope/server', ['x']],
    [{ runtime: 'uvx', uvxConfig: { package: 'server' } }, 'uvx://server', undefined],
    [
      { runtime: 'uvx', uvxConfig: { package: 'server', command: 'run-it', args: ['x'] } },
      'uvx://server#program=run-it',
      ['x'],
    ],
    [
      {
        runtime: 'containerized',
        containerizedConfig: { image: 'example/server:1', port: 8080, args: ['x'] },
      },
      'example/server:1',
      ['x'],
    ],
  ])('can be an entry of a catalog of Obot: %j', async (config, from, args) => {
    const env = [
      { key: 'KEY', required: true, sensitive: true },
      { key: 'OPTIONAL', required: false },
      { key: 'SET', value: 'x' },
    ];

    expect(await read({ name: 'One', ...config, env })).toMatchObject([
      { name: 'One', from, ...(args === undefined ? {} : { args }), env: { SET: 'x' }, needs: ['KEY'] },
    ]);
  });

  test('can be a remote server of Obot', async () => {
    const headers = [{ key: 'X-Key', required: true }];
    const remoteConfig = { fixedURL: 'https://mcp.example.com/mcp', headers };

    expect(await read({ name: 'One', runtime: 'remote', remoteConfig })).toEqual([
      { name: 'One', from: 'https://mcp.example.com/mcp', needs: ['X-Key'] },
    ]);
  });

  test('are the gateways in an export of ContextForge, without their encrypted credentials', async () => {
    const gateways = [
      {
        name: 'a',
        url: 'https://a.example.com/mcp',
        transport: 'STREAMABLEHTTP',
        auth_type: 'bearer',
        auth_value: 'x',
      },
      { name: 'b', url: 'https://b.example.com/sse', transport: 'SSE', enabled: false },
    ];
    const servers = [{ name: 'virtual', tool_ids: ['1'] }];

    expect(await read({ version: '2025-03-26', entities: { gateways, servers } })).toEqual([
      { name: 'a', from: 'https://a.example.com/mcp', needs: ['Authorization'] },
      { name: 'b', from: 'https://b.example.com/sse', transport: 'sse' },
    ]);
  });

  test('are the tools of an n8n workflow', async () => {
    const type = '@n8n/n8n-nodes-langchain.mcpClientTool';
    const endpointUrl = 'https://a.example.com/mcp';
    const nodes = [
      {
        name: 'New',
        type,
        parameters: { endpointUrl, serverTransport: 'httpStreamable', authentication: 'bearerAuth' },
      },
      { name: 'Old', type, parameters: { sseEndpoint: 'https://b.example.com/sse' } },
      { name: 'Without', type, parameters: {} },
      { name: 'Other', type: 'n8n-nodes-base.set', parameters: { endpointUrl } },
    ];

    expect(await read({ name: 'My workflow', nodes, connections: {} })).toEqual([
      { name: 'New', from: 'https://a.example.com/mcp', needs: ['Authorization'] },
      { name: 'Old', from: 'https://b.example.com/sse', transport: 'sse' },
    ]);
  });
});

describe('a server in program code', () => {
  test.each([
    `const client = await createMCPClient({
  transport: new StdioClientTransport({
    command: 'npx',
    args: ['-y', 'server'],
    env: { KEY: process.env.KEY!, OTHER: process.env["OTHER"] ?? '', SET: 'x' },
  }),
});`,
    `mcpServers: {
  one: { command: "npx", args: ["-y", "server"], env: { KEY: process.env.KEY!, OTHER: process.env.OTHER, SET: 'x' } },
}`,
    `server = MCPServerStdio(
    name="one",
    params={
        "command": "npx",  # the server
        "args": ["-y", "server"],
        "env": {"KEY": os.environ["KEY"], "OTHER": os.getenv("OTHER", ""), "SET": "x"},
    },
)`,
  ])('is read, with its variables as questions: %#', async (text) => {
    expect(await read(text)).toMatchObject([
      { from: 'npx://server', env: { SET: 'x' }, needs: ['KEY', 'OTHER'] },
    ]);
  });
});

test("a server's own card is a remote server", async () => {
  const card = { $schema: 'https://example.com/card.json', serverInfo: { name: 'Public Guide' } };
  const url = 'https://guide.example.com/mcp';

  const guides = await read({ ...card, transport: { type: 'streamable-http', endpoint: url } });
  const relative = read({ ...card, transport: { type: 'streamable-http', endpoint: '/mcp' } });

  expect(guides).toEqual([expect.objectContaining({ name: 'Public Guide', from: url })]);
  await expect(relative).rejects.toMatchObject({
    hint: 'this is the card of a server. Run the server at its URL: thv run https://HOST/mcp',
  });
});
