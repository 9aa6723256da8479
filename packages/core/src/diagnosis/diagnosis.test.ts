import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import type { Diagnosis } from '@toolhive/contract/diagnosis';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import { openMemoryRuntime } from '@toolhive/runtime/memory';
import type { Runtime } from '@toolhive/runtime/runtime';
import { memoryTestServers } from '@toolhive/runtime/testing/memory-servers';
import { testPort } from '@toolhive/testing/port';
import { expect, test } from 'vitest';
import { createWorkload } from '../workloads/creation/create.ts';
import { deleteWorkload, restartWorkload, stopWorkload } from '../workloads/operate.ts';
import type { Core } from '../core.ts';
import { makeHome, openTestCore, testServer } from '../testing/test-core.ts';
import type { TestHome } from '../testing/test-core.ts';
import { diagnoseClient, diagnoseMachine, diagnoseWorkload } from './diagnosis.ts';

const { signal } = new AbortController();
const quiet = { signal, report: () => {} };

interface Rig extends AsyncDisposable {
  core: Core;
  home: TestHome;
}

async function openRig(): Promise<Rig> {
  await using opened = new AsyncDisposableStack();
  const home = opened.use(await makeHome());
  const core = opened.use(await openTestCore(home));
  const everything = opened.move();
  return { core, home, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

async function run(core: Core, request: object = {}): Promise<string> {
  const body = { image: testServer, cmd_arguments: ['echo'], ...request };
  const { name } = await createWorkload(core, body, quiet);
  const settled = /^(running|error)$/;
  await expect.poll(() => core.workloads.require(name).condition.status, { interval: 5 }).toMatch(settled);
  return name;
}

/** The states of the findings, by their layers. */
function statesOf({ findings }: Diagnosis): Record<string, string> {
  return Object.fromEntries(findings.map(({ layer, state }) => [layer, state]));
}

function told({ findings }: Diagnosis, layer: string): string {
  return findings
    .filter((finding) => finding.layer === layer)
    .map(({ says, hint = '' }) => `${says}; ${hint}`)
    .join('\n');
}

test('a workload that works is told layer by layer, down to its tools', async () => {
  await using rig = await openRig();
  const name = await run(rig.core);

  const diagnosis = await diagnoseWorkload(rig.core, name, signal);

  expect(diagnosis).toMatchObject({ subject: name, healthy: true });
  expect(statesOf(diagnosis)).toMatchObject({
    runtime: 'ok',
    permissions: 'ok',
    secrets: 'ok',
    install: 'ok',
    process: 'ok',
    port: 'ok',
    protocol: 'ok',
    listing: 'ok',
    clients: 'warning',
  });
  expect(told(diagnosis, 'listing')).toMatch(/the server offers \d+ tools/);
  expect(told(diagnosis, 'clients')).toContain('thv client setup');
});

test('a server that ends at once is told with what it wrote', async () => {
  await using rig = await openRig();
  const name = await run(rig.core, { cmd_arguments: ['exit-at-once'] });

  const diagnosis = await diagnoseWorkload(rig.core, name, signal);

  expect(diagnosis.healthy).toBe(false);
  expect(statesOf(diagnosis)).toMatchObject({ install: 'ok', process: 'failed', listing: 'skipped' });
  expect(told(diagnosis, 'process')).toMatch(/exited with code 3/);
  expect(told(diagnosis, 'process')).toContain('THE_SETTING is not set');
  expect(told(diagnosis, 'process')).toContain(`thv logs ${name}`);
});

test('a server that is started again and again has failed all the while', async () => {
  await using rig = await openRig();
  const name = await run(rig.core, { cmd_arguments: ['exit-at-once'] });
  const { condition } = rig.core.workloads.require(name);

  const states = new Set<string | undefined>();
  do states.add(statesOf(await diagnoseWorkload(rig.core, name, signal))['process']);
  while (rig.core.workloads.require(name).condition.context === condition.context);

  expect([...states]).toEqual(['failed']);
});

test('a workload that was stopped says how to start it', async () => {
  await using rig = await openRig();
  const name = await run(rig.core);
  const { follow } = await stopWorkload(rig.core, name);
  await follow(quiet.report, signal);

  const diagnosis = await diagnoseWorkload(rig.core, name, signal);

  expect(statesOf(diagnosis)).toMatchObject({ process: 'failed', port: 'skipped', listing: 'skipped' });
  expect(told(diagnosis, 'process')).toContain(`thv start ${name}`);
});

test('an unusable certificate is reported to the installation of packages', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home, {
    runtimes: () => [trusting(openMemoryRuntime(memoryTestServers))],
  });
  const name = await run(core);
  await (await stopWorkload(core, name)).follow(quiet.report, signal);
  await core.settings.change([['ca_certificate_path'], join(home.path, 'missing.pem')]);

  const diagnosis = await diagnoseWorkload(core, name, signal);

  expect(statesOf(diagnosis)).toMatchObject({ install: 'failed' });
  expect(told(diagnosis, 'install')).toContain('the setting ca-cert');
});

/** Asks which certificates to trust, as runtimes do that fetch packages. */
function trusting(runtime: Runtime): Runtime {
  return {
    ...runtime,
    async prepare(source, options) {
      await options.trusted?.();
      return runtime.prepare(source, options);
    },
  };
}

test.each<[PermissionProfile, rule: string, hint: string, more: object]>([
  [{ network: {} }, 'the server has no network access', '--permission-profile network', {}],
  [
    { network: { outbound: { insecure_allow_all: true } } },
    'the server can reach every public host',
    '--isolate-network=false',
    {},
  ],
  [
    { network: { outbound: { allow_port: [443] } } },
    "this machine's loopback",
    'other than loopback',
    { network_isolation: false },
  ],
])(
  'with the permissions %o, what its log tells of being refused is told',
  async (profile, rule, hint, more) => {
    await using rig = await openRig();
    const name = await run(rig.core, {
      cmd_arguments: ['calls-out', '127.0.0.1', '1'],
      permission_profile: profile,
      accepted_risks: ['open-network'],
      ...more,
    });

    const diagnosis = await diagnoseWorkload(rig.core, name, signal);

    expect(statesOf(diagnosis)).toMatchObject({ network: 'warning', listing: 'ok' });
    expect(told(diagnosis, 'network')).toContain(rule);
    expect(told(diagnosis, 'network')).toContain('127.0.0.1: connect ECONNREFUSED');
    expect(told(diagnosis, 'network')).toContain(hint);
  },
);

test('the local ports that a server reaches are told, with a warning', async () => {
  await using rig = await openRig();
  const local = { permission_profile: {}, local_ports: [5432], accepted_risks: ['local-ports' as const] };
  const name = await run(rig.core, local);

  const diagnosis = await diagnoseWorkload(rig.core, name, signal);

  expect(told(diagnosis, 'network')).toContain('the server can reach port 5432 of this machine');
  expect(JSON.stringify(diagnosis)).toContain('reaches the programs that listen on port 5432');
});

test('a folder that is no longer there is named', async () => {
  await using rig = await openRig();
  const shared = join(rig.home.path, 'shared');
  await mkdir(shared);
  const name = await run(rig.core, { volumes: [`${shared}:/shared`] });
  await rm(shared, { recursive: true });

  const diagnosis = await diagnoseWorkload(rig.core, name, signal);

  expect(statesOf(diagnosis)).toMatchObject({ permissions: 'failed' });
  expect(told(diagnosis, 'permissions')).toContain(`${shared} does not exist`);
});

test('a secret that is gone is named, and nothing of its value', async () => {
  await using rig = await openRig();
  await rig.core.secrets.setup({ provider_type: 'encrypted', password: 'correct horse' });
  await rig.core.secrets.create('token', 'canary-0815');
  const name = await run(rig.core, { secrets: [{ name: 'token', target: 'TOKEN' }] });
  const before = await diagnoseWorkload(rig.core, name, signal);
  await rig.core.secrets.remove('token');

  const after = await diagnoseWorkload(rig.core, name, signal);

  expect([statesOf(before)['secrets'], statesOf(after)['secrets']]).toEqual(['ok', 'failed']);
  expect(told(after, 'secrets')).toContain('token');
  expect(JSON.stringify([before, after])).not.toContain('canary');
});

test('a tool that is named and not there is told', async () => {
  await using rig = await openRig();
  const name = await run(rig.core, { tools: ['echo', 'nonsense'] });

  const diagnosis = await diagnoseWorkload(rig.core, name, signal);

  expect(statesOf(diagnosis)).toMatchObject({ listing: 'warning' });
  expect(told(diagnosis, 'listing')).toContain('nonsense');
});

test('another program on its port is told', async () => {
  await using rig = await openRig();
  const name = await run(rig.core, { proxy_port: await testPort() });
  await (await stopWorkload(rig.core, name)).follow(quiet.report, signal);
  const other = createServer((_request, response) => response.end('somebody else'));
  await using _closed = { [Symbol.asyncDispose]: async () => void other.close() };
  const { port } = rig.core.workloads.require(name).runConfig;
  await once(other.listen(port, '127.0.0.1'), 'listening');
  await restartWorkload(rig.core, name);
  await expect.poll(() => rig.core.workloads.require(name).condition.status, { interval: 5 }).toBe('error');

  const diagnosis = await diagnoseWorkload(rig.core, name, signal);

  expect(statesOf(diagnosis)).toMatchObject({ process: 'failed', port: 'failed', listing: 'skipped' });
  expect(told(diagnosis, 'port')).toContain(`another program listens on port ${port}`);
});

test('a client application is told from its folder to its workloads', async () => {
  await using rig = await openRig();
  const missing = await diagnoseClient(rig.core, 'cursor', signal);
  await mkdir(join(rig.home.path, '.cursor'));
  await rig.core.clients.register(['cursor'], ['default']);
  const name = await run(rig.core);

  const fine = await diagnoseClient(rig.core, 'cursor', signal);
  await writeFile(join(rig.home.path, '.cursor/mcp.json'), '{ broken');
  const broken = await diagnoseClient(rig.core, 'cursor', signal);

  expect(statesOf(missing)).toMatchObject({ application: 'failed', clients: 'failed', file: 'skipped' });
  expect(fine.healthy).toBe(true);
  expect(told(fine, 'process')).toContain(`${name} runs`);
  expect(statesOf(broken)).toMatchObject({ file: 'failed' });
  expect(told(broken, 'file')).toContain('mcp.json');
});

test('a stopped workload can be started by the operation that its finding names', async () => {
  await using rig = await openRig();
  const name = await run(rig.core);
  await (await stopWorkload(rig.core, name)).follow(quiet.report, signal);

  const { findings } = await diagnoseWorkload(rig.core, name, signal);

  expect(findings.find(({ layer }) => layer === 'process')).toEqual({
    layer: 'process',
    state: 'failed',
    says: 'the workload was stopped',
    hint: `start it again: thv start ${name}`,
    fixes: [{ label: 'Start', operation: 'startWorkload', parameters: { name } }],
  });
});

test('a workload is told without the problems of others in the same client', async () => {
  await using rig = await openRig();
  await mkdir(join(rig.home.path, '.cursor'));
  const foreign = { mcpServers: { taken: { url: 'https://mcp.example.com/mcp' } } };
  await writeFile(join(rig.home.path, '.cursor/mcp.json'), JSON.stringify(foreign));
  await rig.core.clients.register(['cursor'], ['default']);
  const fine = await run(rig.core, { name: 'fine' });
  const taken = await run(rig.core, { name: 'taken' });
  await rig.core.clients.reconcile();

  const without = await diagnoseWorkload(rig.core, fine, signal);
  const own = await diagnoseWorkload(rig.core, taken, signal);

  expect(statesOf(without)).toMatchObject({ clients: 'ok' });
  expect(statesOf(own)).toMatchObject({ clients: 'failed' });
  expect(told(own, 'clients')).toContain('already contains an entry taken');
});

test('the machine is told with everything on it', async () => {
  await using rig = await openRig();
  const empty = await diagnoseMachine(rig.core, signal);
  const good = await run(rig.core, { name: 'good' });
  const bad = await run(rig.core, { name: 'bad', cmd_arguments: ['exit-at-once'] });

  const full = await diagnoseMachine(rig.core, signal);

  expect(empty.healthy).toBe(true);
  expect(told(empty, 'process')).toContain('no workloads');
  expect(full.healthy).toBe(false);
  expect(told(full, 'process')).toContain(`${good} runs`);
  expect(told(full, 'process')).toContain(`thv doctor ${bad}`);
});

test('a registry with unreadable entries is reported', async () => {
  await using rig = await openRig();
  const path = join(rig.home.path, 'registry.json');
  const servers = { broken: { image: 5 } };
  await writeFile(path, JSON.stringify({ version: '1.0.0', last_updated: '2026-01-01T00:00:00Z', servers }));
  await rig.core.registry.update({ local_path: path });

  const diagnosis = await diagnoseMachine(rig.core, signal);

  expect(statesOf(diagnosis)).toMatchObject({ registry: 'warning' });
  expect(told(diagnosis, 'registry')).toContain('1 other entries could not be read');
});

test('a workload that is gone is not found', async () => {
  await using rig = await openRig();
  const name = await run(rig.core);
  const { follow } = await deleteWorkload(rig.core, name);
  await follow(quiet.report, signal);

  await expect(diagnoseWorkload(rig.core, name, signal)).rejects.toMatchObject({ kind: 'not-found' });
});
