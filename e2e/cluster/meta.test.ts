import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { openIdProvider } from '@toolhive/access/testing/openid-provider';
import { testPort } from '@toolhive/testing/port';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { startRunner } from '../testing/proxy-runner.ts';
import type { Runner } from '../testing/proxy-runner.ts';
import { root, until } from '../testing/thv.ts';
import { may } from './may.ts';
import { tokenOf } from './operator-account.ts';
import { describeOperator, manifest } from './operator-tests.ts';
import { startOperator } from './running-operator.ts';

const names = new URL('../testing/service-names.ts', import.meta.url).pathname;
const manifestFile = join(root, 'deploy/examples/meta-mcp.yaml');

/** A server whose tools a test can change, and which tells its clients. */
async function openServer(...tools: string[]) {
  const servers = new Set<McpServer>();
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const tokens: (string | undefined)[] = [];
  const add = (server: McpServer, name: string): void => {
    server.registerTool(name, { description: `Runs ${name.replaceAll('_', ' ')}.` }, () => ({
      content: [{ type: 'text', text: `called ${name}` }],
    }));
  };
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const server = new McpServer({ name: 'test', version: '1' });
    for (const name of tools) add(server, name);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void transports.set(id, transport),
    });
    await server.connect(transport);
    servers.add(server);
    return transport;
  };
  const http = createServer((request, response) => {
    const respond = async (): Promise<void> => {
      tokens.push(request.headers.authorization);
      const transport = transports.get(String(request.headers['mcp-session-id'])) ?? (await open());
      await transport.handleRequest(
        request,
        response,
        request.method === 'POST' ? await json(request) : undefined,
      );
    };
    respond().catch(() => response.destroy());
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return {
    port: (http.address() as AddressInfo).port,
    /** The `Authorization` headers of all requests. */
    tokens,
    addTool(name: string) {
      tools.push(name);
      for (const server of servers) add(server, name);
    },
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      http.close();
    },
  };
}

interface Found {
  tools: { server_name: string; tool_name: string; group: string }[];
  unavailable?: { server: string; problem: string }[];
  note: string;
}

async function connect(url: string, token?: string) {
  const client = new Client({ name: 'toolhive-e2e', version: '1.0.0' });
  const requestInit = token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  const call = async (name: string, given: object): Promise<string> => {
    const { content } = (await client.callTool({ name, arguments: given as Record<string, unknown> })) as {
      content: { text: string }[];
    };
    return content[0]?.text ?? '';
  };
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call,
    find: async (query: string, more = {}) =>
      JSON.parse(await call('find_tool', { query, ...more })) as Found,
    [Symbol.asyncDispose]: () => client.close(),
  };
}

test('the guide shows the example', async () => {
  const guide = await readFile(join(root, 'apps/docs/docs/toolhive/guides-mcp/meta-mcp.mdx'), 'utf8');
  const [, shown = ''] = /title="meta-mcp.yaml"\n(.*?)\n *```/s.exec(guide) ?? [];

  expect(`${shown.replaceAll(/^ {3}/gm, '')}\n`).toBe(await readFile(manifestFile, 'utf8'));
});

describeOperator('the meta server in a cluster', (world) => {
  /** Creates an MCPServer or MCPRemoteProxy, and runs its proxy with the run config of the operator. */
  const deploy = async (
    namespace: string,
    name: string,
    spec: object,
    kind: 'MCPServer' | 'MCPRemoteProxy' = 'MCPServer',
  ): Promise<Runner> => {
    const port = await testPort();
    const common = kind === 'MCPServer' ? { image: 'example/server:1', transport: 'streamable-http' } : {};
    await world.apply(namespace, manifest(kind, name, { ...common, port, ...spec }));
    const config = await until(() => world.runConfig(namespace, name).catch(() => undefined));
    const runner = await startRunner(config, { POD_NAMESPACE: namespace });
    await until(async () => (await runner.health()).status === 200);
    await world.waitFor(namespace, `${kind.toLowerCase()}/${name}`);
    return runner;
  };

  /** Applies the example, and runs its pod as a process with the permissions of its service account. */
  const startMeta = async (
    namespace: string,
    { variables = {}, oidc }: { variables?: Record<string, string>; oidc?: object } = {},
  ): Promise<Runner> => {
    const example = (await readFile(manifestFile, 'utf8')).replace(
      'namespace: default',
      `namespace: ${namespace}`,
    );
    await world.apply(namespace, example);
    const { port: _port, env_vars: settings, ...config } = await world.runConfig(namespace, 'meta-mcp');
    const token = await tokenOf(world.cluster, namespace, 'meta-mcp');
    const kubeconfig = parse(await readFile(world.cluster.kubeconfig, 'utf8')) as {
      users: { user: object }[];
    };
    for (const entry of kubeconfig.users) entry.user = { token };
    const path = join(world.cluster.state, `meta-${namespace}.kubeconfig`);
    await writeFile(path, stringify(kubeconfig), { mode: 0o600 });
    const meta = await startRunner(
      {
        ...config,
        image: undefined,
        env_vars: { ...(settings as object), ...variables },
        ...(oidc === undefined ? {} : { oidc_config: oidc }),
      },
      { POD_NAMESPACE: namespace, KUBECONFIG: path, NODE_OPTIONS: `--import=${names}` },
    );
    await until(async () => (await meta.health()).status === 200);
    return meta;
  };

  test('finds and calls the tools of ready servers, and follows changes', async () => {
    const namespace = await world.cluster.namespace();
    await using files = await openServer('read_file');
    await using mail = await openServer('send_mail');
    await using _files = await deploy(namespace, 'files', { targetPort: files.port, groupRef: 'office' });
    await using meta = await startMeta(namespace);
    await using client = await connect(meta.url);

    expect(await client.tools()).toEqual(['find_tool', 'call_tool', 'list_tools']);
    const found = await client.find('read a file');
    expect(found.tools[0]).toMatchObject({ server_name: 'files', tool_name: 'read_file', group: 'office' });
    expect(await client.call('call_tool', { server_name: 'files', tool_name: 'read_file' })).toBe(
      'called read_file',
    );
    expect(await client.call('install_server', { name: 'memory' }).catch(String)).toContain(
      'unknown tool install_server',
    );
    expect((await client.find('translate a poem')).note).not.toContain('search_registry');

    await using _mail = await deploy(namespace, 'mail', { targetPort: mail.port });
    await until(async () => (await client.find('send mail')).tools[0]?.server_name === 'mail');
    mail.addTool('delete_mail');
    await until(async () => (await client.find('delete mail')).tools[0]?.tool_name === 'delete_mail');
    expect(
      (await client.find('delete mail', { group: 'office' })).tools.map(({ server_name: name }) => name),
    ).not.toContain('mail');

    await world.cluster.kubectl(['delete', '-n', namespace, 'mcpserver/mail']);
    await until(async () =>
      (await client.find('send mail')).tools.every((tool) => tool.server_name !== 'mail'),
    );
  });

  test('searches only the groups in its settings', async () => {
    const namespace = await world.cluster.namespace();
    await using server = await openServer('read_file');
    await using _office = await deploy(namespace, 'office', { targetPort: server.port, groupRef: 'office' });
    await using _home = await deploy(namespace, 'home', { targetPort: server.port });
    await using meta = await startMeta(namespace, { variables: { ALLOWED_GROUPS: 'office' } });
    await using client = await connect(meta.url);

    const { tools } = await client.find('read a file');

    expect(tools.map(({ server_name: name }) => name)).toEqual(['office']);
  });

  test('connects to the computed URL, not to the URL in a status', async () => {
    const namespace = await world.cluster.namespace();
    await using server = await openServer('read_file');
    await using trap = await openServer('read_file');
    await using _files = await deploy(namespace, 'files', { targetPort: server.port });
    await world.operator.stop(); // so that nothing corrects the status
    const patch = JSON.stringify({ status: { url: `http://127.0.0.1:${trap.port}` } });
    await world.cluster.kubectl([
      'patch',
      '-n',
      namespace,
      'mcpserver/files',
      '--subresource=status',
      '--type=merge',
      '-p',
      patch,
    ]);
    await using meta = await startMeta(namespace);
    await using client = await connect(meta.url);

    const called = await client.call('call_tool', { tool_name: 'read_file' });
    world.operator = await startOperator(world.cluster);

    expect(called).toBe('called read_file');
    expect(server.tokens.length).toBeGreaterThan(0);
    expect(trap.tokens).toEqual([]);
  });

  test('passes the token of a caller only to servers that accept the same tokens', async () => {
    const namespace = await world.cluster.namespace();
    await using provider = await openIdProvider();
    await using server = await openServer('read_file');
    const oidcFor = (audience: string): object => ({
      type: 'inline',
      inline: { issuer: provider.issuer, audience, insecureAllowHTTP: true, jwksAllowPrivateIP: true },
    });
    await using same = await deploy(
      namespace,
      'same',
      {
        remoteURL: `http://127.0.0.1:${server.port}/mcp`,
        oidcConfig: oidcFor('tools'),
        audit: { enabled: true },
      },
      'MCPRemoteProxy',
    );
    await using other = await deploy(namespace, 'other', {
      targetPort: server.port,
      oidcConfig: oidcFor('elsewhere'),
      audit: { enabled: true },
    });
    const oidc = {
      issuer: provider.issuer,
      audience: 'tools',
      insecureAllowHTTP: true,
      allowPrivateIP: true,
    };
    await using meta = await startMeta(namespace, { oidc });
    const token = await provider.sign({ iss: provider.issuer, aud: 'tools', sub: 'ada' }, '5m');
    await using client = await connect(meta.url, token);

    const found = await client.find('read a file');
    const called = await client.call('call_tool', { server_name: 'same', tool_name: 'read_file' });
    const refused = await client.call('call_tool', { server_name: 'other', tool_name: 'read_file' });

    expect(found.tools.map(({ server_name: name }) => name)).toEqual(['same']);
    expect(found.unavailable).toEqual([
      {
        server: 'other',
        problem: expect.stringContaining(`requires a token of ${provider.issuer} for elsewhere`),
      },
    ]);
    expect(called).toBe('called read_file');
    expect(refused).toContain('server other cannot be used now: the server requires a token');
    expect(same.lines().find(({ type }) => type === 'mcp_tool_call')).toMatchObject({
      subjects: { user_id: 'ada' },
    });
    expect(other.lines().filter(({ msg }) => msg === 'audit_event')).toEqual([]);
    await expect(connect(meta.url)).rejects.toThrow();

    await using open = await startMeta(namespace);
    await using anonymous = await connect(open.url);
    const { tools, unavailable } = await anonymous.find('read a file');
    expect(tools).toEqual([]);
    expect(unavailable).toContainEqual({
      server: 'same',
      problem: 'the server requires a token, but the meta server does not authenticate its callers',
    });
  });

  test('reads only servers, in its own namespace', async () => {
    const namespace = await world.cluster.namespace();
    const other = await world.cluster.namespace();
    await world.apply(
      namespace,
      (await readFile(manifestFile, 'utf8')).replace('namespace: default', `namespace: ${namespace}`),
    );
    const can = (verb: string, object: string, place = namespace): Promise<boolean> =>
      may(world.cluster.client, { namespace, name: 'meta-mcp' }, { in: place, verb, object });

    expect(await can('watch', 'mcpservers')).toBe(true);
    expect(await can('watch', 'mcpservers', other)).toBe(false);
    expect(await can('update', 'mcpservers')).toBe(false);
    expect(await can('get', 'secrets')).toBe(false);
    expect(await can('get', 'configmaps')).toBe(false);
    await world.waitFor(namespace, 'deployment/meta-mcp', 'Available');
  });

  test.each([
    ['ALLOW_INSTALL', 'true', 'ALLOW_INSTALL is not supported with RUNTIME_MODE k8s; remove ALLOW_INSTALL'],
    ['RUNTIME_MODE', 'docker', 'RUNTIME_MODE docker needs a ToolHive daemon; set RUNTIME_MODE to k8s'],
    ['MAX_TOOLS_TO_RETURN', '0', 'invalid setting MAX_TOOLS_TO_RETURN'],
  ])('refuses %s=%s', async (name, value, message) => {
    await using meta = await startRunner({
      name: 'meta-mcp',
      image: undefined,
      built_in: 'meta-mcp',
      transport: 'stdio',
      env_vars: { RUNTIME_MODE: 'k8s', [name]: value },
    });
    await until(() => meta.child.exitCode !== null);

    expect(meta.child.exitCode).toBe(2);
    expect(meta.errors()).toContain(message);
  });
});
