import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@toolhive/contract/client';
import { operations } from '@toolhive/contract/operations';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiClient } from '@toolhive/api/testing/api-client';
import { connectTo } from './testing/mcp.ts';
import { makeUser, processesWith, serve, testServer, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

// Every operation, through the typed client, against a daemon in a process of its own with sandboxed servers. The
// tests go on where the one before has stopped, as a person at work does.

const secret = 'canary-0815';
const password = 'correct horse battery staple';
const named = (name: string) => ({ params: { name } });
const follow = { onProgress: () => {} };

let user: User;
let daemon: Awaited<ReturnType<typeof serve>>;
let client: Client;
const called = new Set<string>();
const ownFile = (): string => join(user.home, '.cursor/mcp.json');

beforeAll(async () => {
  user = await makeUser();
  await mkdir(join(user.home, '.cursor'));
  await writeFile(ownFile(), '{\n  "mcpServers": {} // nothing yet\n}\n');
  daemon = await serve(user);
  client = apiClient(daemon, (operation) => called.add(operation));
});
afterAll(async () => {
  await daemon?.[Symbol.asyncDispose]();
  await user?.[Symbol.asyncDispose]();
});

test('a secret reaches a sandboxed server, and nothing else', async () => {
  await client.setupSecrets({ body: { provider_type: 'encrypted', password } });
  await client.createSecret({ body: { key: 'token', value: 'first' } });
  await client.updateSecret({ params: { key: 'token' }, body: { value: secret } });
  await client.createSecret({ body: { key: 'other', value: 'x' } });
  await client.deleteSecret({ params: { key: 'other' } });
  const progress: string[] = [];

  const { port } = await client.createWorkload(
    {
      body: {
        name: 'echo',
        image: testServer,
        cmd_arguments: ['echo'],
        secrets: [{ name: 'token', target: 'TOKEN' }],
      },
    },
    { onProgress: (message) => progress.push(message) },
  );

  await using mcp = await connectTo(`http://127.0.0.1:${port}/mcp`);
  const { text } = await mcp.call('environment');
  expect(JSON.parse(text)).toMatchObject({ TOKEN: secret });
  const told = JSON.stringify([
    await client.listSecrets({}),
    await client.getSecretsProvider({}),
    await client.getWorkload(named('echo')),
    await client.exportWorkload(named('echo')),
    await client.getWorkloadLogs({ ...named('echo'), query: {} }),
    await client.getProxyLogs({ ...named('echo'), query: {} }),
    await client.pruneLogs({}),
    await client.exportManifest(named('echo')),
    await client.exportBundle(named('echo')),
    progress,
    daemon.output(),
    (await processesWith(user.home)).map(({ command }) => command),
  ]);
  expect(told).toContain('token');
  expect(told).not.toContain(secret);
  expect(told).not.toContain(password);
});

test('a client application sees what its groups have', async () => {
  await client.createGroup({ body: { name: 'team' } });
  await client.createClient({ body: { name: 'cursor', groups: ['default', 'team'] } });
  await client.registerClients({ body: { names: ['goose'], groups: ['team'] } });
  const { port } = await client.createWorkload(
    { body: { name: 'second', image: testServer, cmd_arguments: ['echo'], group: 'team' } },
    follow,
  );

  await until(async () => (await readFile(ownFile(), 'utf8')).includes(`http://localhost:${port}/mcp`));
  expect(await client.listClients({})).toMatchObject([
    { name: 'cursor', groups: ['default', 'team'] },
    { name: 'goose', groups: ['team'] },
  ]);
  expect(await client.getGroup(named('team'))).toMatchObject({ registered_clients: ['cursor', 'goose'] });
  expect(await client.previewClient({ params: { name: 'cursor' }, query: {} })).toMatchObject({
    exists: expect.any(Boolean) as boolean,
  });
  expect((await client.listUnmanagedServers({})).problems).toEqual([]);
  expect((await client.discoverClients({})).clients).toContainEqual({
    client_type: 'cursor',
    product: 'Cursor editor',
    installed: true,
    registered: true,
  });

  expect(await client.diagnoseClient({ params: { name: 'cursor' } })).toMatchObject({
    subject: 'cursor',
    healthy: true,
  });

  await client.deleteClientFromGroup({ params: { name: 'cursor', group: 'team' } });
  await client.unregisterClients({ body: { names: ['goose'] } });
  expect(await readFile(ownFile(), 'utf8')).toMatch(/"echo"(?!.*"second")/s);
  await client.deleteClient({ params: { name: 'cursor' } });
  expect(await readFile(ownFile(), 'utf8')).toBe('{\n  "mcpServers": {} // nothing yet\n}\n');
  expect(await client.listClients({})).toEqual([]);
});

test('the servers of a project file become workloads, and are removed', async () => {
  const project = {
    path: join(user.home, 'toolhive.yaml'),
    text: 'version: 1\nservers:\n  shared:\n    source: npx://toolhive-test-servers\n    args: [echo]\n',
  };

  const { servers, digest } = await client.planProject({ body: project });
  const stale = client.applyProject({ body: { ...project, plan: 'another' } }, follow);
  await expect(stale).rejects.toMatchObject({ kind: 'conflict' });
  const applied = await client.applyProject({ body: { ...project, plan: digest } }, follow);
  const { projects } = await client.listProjects({});
  const { document } = await client.exportProject({ body: { names: ['shared'] } });
  const removed = await client.removeProject({ body: { path: project.path } }, follow);

  expect(servers).toMatchObject([{ name: 'shared', action: 'create' }]);
  expect(applied.servers).toMatchObject([{ name: 'shared', workload: 'shared' }]);
  expect(applied.lock).toContain('sha512-');
  expect(projects).toMatchObject([{ path: project.path, servers: [{ workload: 'shared' }] }]);
  expect(document).toContain('source: npx://toolhive-test-servers@1.0.0');
  expect(removed).toEqual({ servers: [{ name: 'shared', workload: 'shared' }], kept_secrets: [] });
});

test('the servers of a client application become workloads, and go back', async () => {
  const text = '{"mcpServers": {"own": {"command": "npx", "args": ["-y", "toolhive-test-servers", "echo"]}}}';
  const before = await readFile(ownFile(), 'utf8');
  await writeFile(ownFile(), text);

  const { servers } = await client.planAdoption({ body: { clients: ['cursor'] } });
  const adopted = await client.adoptServers({ body: { clients: ['cursor'] } }, follow);
  const { adoptions } = await client.listAdoptions({});
  const undone = await client.undoAdoption({ body: {} }, follow);

  expect(servers).toMatchObject([{ workload: 'own', exists: false }]);
  expect(adopted.servers).toMatchObject([{ workload: 'own' }]);
  expect(adoptions).toMatchObject([{ workload: 'own', client_type: 'cursor', path: ownFile() }]);
  expect(undone).toEqual({ files: [{ path: ownFile(), restored: 'file' }], stopped: ['own'] });
  expect(await readFile(ownFile(), 'utf8')).toBe(text);
  await writeFile(ownFile(), before);
  await client.deleteWorkload(named('own'), follow);
});

test('a workload is changed, stopped, started and moved while a client watches', async () => {
  const stop = new AbortController();
  const events = await client.watchEvents({ headers: {} }, { signal: stop.signal });
  const seen: string[] = [];
  const watching = (async () => {
    for await (const { event } of events) {
      if ('name' in event && event.name === 'second' && 'status' in event) seen.push(event.status);
      if (event.type === 'group.removed') return;
    }
  })();

  const before = await client.exportWorkload(named('second'));
  await client.editWorkload(
    { ...named('second'), body: { ...before, env_vars: { COLOUR: 'blue' } } },
    follow,
  );
  await using mcp = await connectTo(`http://127.0.0.1:${before.port}/mcp`);
  expect(JSON.parse((await mcp.call('environment')).text)).toMatchObject({ COLOUR: 'blue' });
  await client.stopWorkload(named('second'), follow);
  expect(await client.getWorkloadStatus(named('second'))).toEqual({ status: 'stopped' });
  await expect(client.signInWorkload(named('second'))).rejects.toMatchObject({ kind: 'conflict' });
  expect(await client.diagnoseWorkload(named('second'))).toMatchObject({ healthy: false });
  expect(await client.diagnoseMachine({})).toMatchObject({ healthy: true });
  await client.startWorkload(named('second'), follow);
  await client.deleteGroup({ ...named('team'), query: {} });
  await watching;
  stop.abort();
  await client.restartWorkload(named('second'), follow);

  expect(seen).toEqual(['starting', 'running', 'stopping', 'stopped', 'starting', 'running', 'running']);
  expect((await client.listWorkloads({ query: { group: 'default' } })).workloads).toHaveLength(2);
  expect(await client.listGroups({})).toEqual({ groups: [{ name: 'default', registered_clients: [] }] });
});

test('settings are changed, told and taken back', async () => {
  const named = { params: { name: 'otel-sampling-rate' as const } };

  await client.changeSetting({ ...named, body: { value: '0.5' } });
  const during = await client.getSetting(named);
  await client.unsetSetting(named);
  const { settings } = await client.listSettings({});

  expect(during).toMatchObject({ value: 0.5 });
  expect(settings.map(({ value }) => value)).toEqual(settings.map(() => null));
});

test('the registry is read and pointed to a file', async () => {
  const file = join(user.home, 'registry.json');
  await writeFile(
    file,
    JSON.stringify({ version: '1.0.0', last_updated: '2026-01-01T00:00:00Z', servers: {} }),
  );

  const { registries } = await client.listRegistries({});
  const { server } = await client.getRegistryServer({ params: { name: 'default', serverName: 'fetch' } });
  await client.updateRegistry({ ...named('default'), body: { local_path: file } });

  expect(registries).toMatchObject([{ name: 'default', type: 'default' }]);
  expect(server).toMatchObject({ name: 'fetch' });
  expect(await client.getRegistry(named('default'))).toMatchObject({ type: 'file', source: file });
  expect(await client.listRegistryServers({ ...named('default'), query: {} })).toMatchObject({ servers: [] });
  await expect(client.addRegistry({})).rejects.toMatchObject({ kind: 'not-implemented' });
  await expect(client.deleteRegistry(named('default'))).rejects.toMatchObject({ kind: 'invalid' });
});

test('a newer version of a server is looked up, and another version is run', async () => {
  const body = { name: 'versioned', image: testServer, cmd_arguments: ['echo'] };
  await client.createWorkload({ body }, follow);

  const check = await client.checkWorkload({
    body: { image: 'npx://toolhive-test-servers', name: 'not-yet' },
    query: {},
  });
  expect(check).toMatchObject({ name: 'not-yet', remote: false, risks: [], permissions: { mounts: [] } });
  const imported = await client.previewImport({
    body: { document: '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}' },
  });
  expect(imported.servers).toMatchObject([{ name: 'time', request: { image: 'uvx://mcp-server-time' } }]);
  await expect(client.inspectBundle({ body: { source: 'mcpb:///missing.mcpb' } })).rejects.toMatchObject({
    kind: 'not-found',
  });
  const update = await client.getWorkloadUpdate({ ...named('versioned'), query: { changes: 'true' } });
  const version = update.newest ?? '';
  const upgraded = await client.upgradeWorkload({ ...named('versioned'), body: { version } }, follow);
  await client.deleteWorkload(named('versioned'), follow);

  expect(update).toMatchObject({ name: 'versioned', outdated: false, current: version });
  expect(upgraded.name).toBe('versioned');
});

test('what a server says about its tools is recorded, and changes wait for approval', async () => {
  const body = { name: 'pinned', image: testServer, cmd_arguments: ['echo'], tool_pinning: 'block' as const };
  const { port } = await client.createWorkload({ body }, follow);
  await using mcp = await connectTo(`http://127.0.0.1:${port}/mcp`);
  await mcp.call('echo', {});

  const pins = await client.getToolPins(named('pinned'));
  const approved = await client.approveToolPins({ ...named('pinned'), body: {} });
  const dismissed = await client.dismissToolPins({ ...named('pinned'), body: {} });
  const changed = await client.changeToolPinning({ ...named('pinned'), body: { mode: 'warn' } });
  await client.deleteWorkload(named('pinned'), follow);

  expect(pins).toMatchObject({ mode: 'block', pending: 0, complete: true });
  expect([approved, dismissed]).toEqual([1, 2].map(() => ({ decided: 0, pending: 0 })));
  expect(changed).toEqual({ mode: 'warn', restarted: false });
});

test('who did what is recorded, and the records can be verified', async () => {
  const stop = new AbortController();
  const query = { type: 'api_call' };
  const events = await client.watchAudit({ query, headers: {} }, { signal: stop.signal });

  await client.createGroup({ body: { name: 'audited-soon' } });
  await client.editGroup({ ...named('audited-soon'), body: { name: 'audited', description: 'For tests' } });
  let seen: string | undefined;
  for await (const { event } of events) {
    seen = event.record.target?.['method'];
    break;
  }
  stop.abort();
  await client.deleteGroup({ ...named('audited'), query: {} });
  const { records } = await client.listAudit({ query: { ...query, limit: 1 } });

  expect(seen).toBe('createGroup');
  expect(records).toMatchObject([{ record: { target: { method: 'deleteGroup', name: 'audited' } } }]);
  expect(await client.verifyAudit({})).toMatchObject({ intact: true });
});

test('what a server tries to reach is recorded, and its rules are changed while it runs', async () => {
  const permission_profile = { network: { outbound: { allow_host: ['a.example'] } } };
  const body = { name: 'ruled', image: testServer, cmd_arguments: ['echo'], permission_profile };
  const { port } = await client.createWorkload({ body }, follow);
  await using mcp = await connectTo(`http://127.0.0.1:${port}/mcp`);
  const stop = new AbortController();
  const query = { verdict: 'denied' as const };
  const events = await client.watchNetworkDecisions({ ...named('ruled'), query }, { signal: stop.signal });

  const dialled = await mcp.call('dial', { host: 'evil.example', port: 443, ms: 5000 });
  let seen: string | undefined;
  for await (const { event } of events) {
    seen = event.decision.host;
    break;
  }
  stop.abort();
  const { decisions } = await client.listNetworkDecisions({ ...named('ruled'), query: {} });
  const changed = await client.changePermissions({ ...named('ruled'), body: { allow: ['b.example'] } });
  const { network } = await client.getPermissions(named('ruled'));
  const started = await client.startLearning({ ...named('ruled'), query: { seconds: 3600 } });
  const proposal = await client.getLearning(named('ruled'));
  const learned = await client.stopLearning({ ...named('ruled'), body: {} });
  const unruled = await client
    .checkAuthorization({ ...named('ruled'), body: { principal: 'ada', tool: 'echo' } })
    .catch((error: unknown) => error);
  await client.deleteWorkload(named('ruled'), follow);

  expect(unruled).toMatchObject({ kind: 'conflict' });
  expect([dialled.failed, seen]).toEqual([true, 'evil.example']);
  expect(decisions).toMatchObject([
    { host: 'evil.example', verdict: 'denied', fix: 'thv permission allow ruled evil.example' },
  ]);
  expect(changed.restarted).toBe(false);
  expect(network).toMatchObject({ kind: 'rules', hosts: ['a.example', 'b.example'], enforced: true });
  expect(started.restarted).toBe(false);
  expect(proposal).toMatchObject({ hosts: { removed: ['a.example', 'b.example'] }, complete: true });
  expect(learned.permissions.network).toEqual(network);
});

test('a workload is used through the API, and its calls and sessions are seen', async () => {
  const body = { name: 'used', image: testServer, cmd_arguments: ['echo'], tool_pinning: 'warn' as const };
  const { port } = await client.createWorkload({ body }, follow);
  await using mcp = await connectTo(`http://127.0.0.1:${port}/mcp`);
  const stop = new AbortController();
  const watched = { ...named('used'), query: { item: 'echo' }, headers: {} };
  const events = await client.watchTraffic(watched, { signal: stop.signal });

  const recording = await client.changeTrafficRecording({ ...named('used'), body: { bodies: true } });
  await mcp.call('echo', { message: 'hello' });
  let seen: string | undefined;
  for await (const { event } of events) {
    if (event.type === 'entry') seen = event.entry.name;
    if (event.type === 'entry') break;
  }
  stop.abort();
  const { entries } = await client.listTraffic({ ...named('used'), query: { item: 'echo' } });
  const id = String(entries[0]?.id);
  const details = await client.getTrafficEntry({ params: { name: 'used', id } });
  const { sessions } = await client.listSessions(named('used'));
  const capabilities = await client.getCapabilities({ ...named('used'), query: {} });
  const usage = await client.getUsage(named('used'));
  const { usage: all } = await client.listUsage({});
  const history = await client.getHistory({ query: { by: 'tool', workload: 'used' } });
  const toolList = await client.listTools({ query: {} });
  for (const session of sessions) await client.endSession({ params: { name: 'used', id: session.id } });
  const relay = `${daemon.base}/api/v1beta/workloads/used/mcp`;
  const asked = await relayed(relay, { jsonrpc: '2.0', id: 1, method: 'initialize', params: greeting });
  const session = { 'mcp-session-id': asked.headers.get('mcp-session-id') ?? '' };
  const stream = await fetch(relay, { headers: { ...session, accept: 'text/event-stream' } });
  await stream.body?.cancel();
  const ended = await fetch(relay, { method: 'DELETE', headers: session });
  for (const operation of ['relayMessage', 'relayStream', 'endRelaySession']) called.add(operation);
  await client.deleteWorkload(named('used'), follow);

  expect(recording.bodies).toBe(true);
  expect(seen).toBe('echo');
  expect(history.series).toMatchObject([{ workload: 'used', name: 'echo', calls: 1, errors: 0 }]);
  expect(details.request?.text).toContain('hello');
  expect(sessions).toMatchObject([{ source: 'client', process: 'own' }]);
  expect(capabilities).toMatchObject({ complete: true });
  expect(capabilities.tools.map(({ name }) => name)).toContain('echo');
  expect(usage.tools).toMatchObject([{ name: 'echo', calls: 1, errors: 0 }]);
  expect(toolList.tools.map(({ name }) => name)).toContain('echo');
  expect(toolList.listing_tokens).toBeGreaterThan(10);
  expect(usage.memory_bytes).toBeGreaterThan(1_000_000);
  expect(all.map(({ name }) => name)).toContain('used');
  expect([asked.status, stream.status, ended.status]).toEqual([200, 200, 204]);
});

const greeting = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'web-ui', version: '1' },
};

function relayed(url: string, message: object): Promise<Response> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(message) });
}

test('a program runs once in place of a server, and reads its input', async () => {
  const events = await client.execWorkload({ ...named('echo'), body: { args: ['echo'] } });
  const types: string[] = [];
  for await (const { event } of events) {
    types.push(event.type);
    if (event.type === 'started') await client.sendExecInput({ ...named('echo'), body: { end: true } });
  }

  expect(types).toEqual(['progress', 'started', 'ended']);
});

test('everything is ended at once, and removed', async () => {
  await client.stopWorkloads({ body: { names: ['echo', 'second'] } }, follow);
  await client.startWorkloads({ body: { group: 'default' } }, follow);
  await client.restartWorkloads({ body: { group: 'default' } }, follow);
  await client.deleteWorkload(named('echo'), follow);
  await client.deleteWorkloads({ body: { group: 'default' } }, follow);

  expect(await client.listWorkloads({ query: { all: 'true' } })).toEqual({ workloads: [] });
});

test('the daemon tells about itself, and ends over its own socket only', async () => {
  const own = apiClient({ socketPath: join(user.home, '.local/state/toolhive/hive.sock') }, (id) =>
    called.add(id),
  );

  await client.getHealth({});
  const { dockerfile } = await client.writeRecipe({ body: { source: 'npx://example@1.0.0' } });
  await expect(client.buildImage({ body: { source: 'no-package' } })).rejects.toMatchObject({
    kind: 'invalid',
  });
  const { version } = await client.getVersion({});
  const { chosen } = await client.getRuntime({});
  await expect(client.stopDaemon({})).rejects.toMatchObject({ kind: 'not-found' });
  await expect(client.openUi({})).rejects.toMatchObject({ kind: 'not-found' });
  expect(await own.openUi({})).toEqual({ url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/ui\/$/) });
  await expect(client.createUiSession({ body: { code: 'wrong' } })).rejects.toMatchObject({
    kind: 'unauthorized',
  });
  const app = await client.createUiApp({ body: {} });
  await expect(own.createUiApp({ body: {} })).rejects.toMatchObject({ kind: 'unavailable' });
  const { pid } = await own.getDaemon({});
  await expect(client.readSecret({ params: { key: 'token' } })).rejects.toMatchObject({ kind: 'not-found' });
  const { value } = await own.readSecret({ params: { key: 'token' } });
  await client.forgetSecretsKey({});
  await own.stopDaemon({});
  await until(() => daemon.child.exitCode !== null);

  expect(app.url).toMatch(/^http:\/\/localhost:\d+\/frame\/[\w-]{43}$/);
  expect(dockerfile).toContain('"example@1.0.0"');
  expect(version).toMatch(/^v\d/);
  expect(chosen).toBe('process');
  expect(value).toBe(secret);
  expect(pid).toBe(daemon.child.pid);
  expect([...called].toSorted()).toEqual(Object.keys(operations).toSorted());
});
