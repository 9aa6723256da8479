// @suite system (in depth)
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, mkdtempDisposable, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { once } from 'node:events';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { proves } from '@toolhive/testing/promises';
import { pinMounts } from '../mount-source.ts';
import { describeExit, type Instance, type Launch, type Runtime } from '../runtime.ts';
import { parseSource, type PackageSource } from '../source.ts';
import { aLaunch, describeRuntime, testLimits, waitFor } from '../testing/conformance.ts';
import { buildFromScratch, programFiles, TEST_IMAGE } from '../testing/docker-engine.ts';
import { engineSocket, sharedOut } from '../testing/engines.ts';
import type { EngineName } from '../testing/engines.ts';
import { GatewayProcess } from '../egress/gateway-process.ts';
import { describeNetworkRules, killProcessOf } from '../testing/network-rules.ts';
import { TestEgress } from '../testing/test-egress.ts';
import { canMakeNetworks } from '../testing/stand-in-hosts.ts';
import { startRegistry, type TestRegistry } from '../testing/registry.ts';
import { Conversation } from '../testing/talk.ts';
import { removeContainer } from './container.ts';
import { openDockerRuntime } from './docker.ts';
import { callEngine, connectEngine, type Call } from './engine.ts';

const never = new AbortController().signal;
const testServers = { kind: 'image', image: TEST_IMAGE } as const;
/** This machine's address on its own network: where a server that is published too widely would be seen. */
const ownAddress = Object.values(networkInterfaces())
  .flat()
  .find((address) => address?.family === 'IPv4' && !address.internal)?.address;

const tempDir = await mkdtemp(join(tmpdir(), 'thv-docker-test-'));
afterAll(() => rm(tempDir, { recursive: true, force: true }));

let daemons = 0;
const newDaemonId = () => `daemon-${process.pid}-${++daemons}`;

describe.each(sharedOut(['docker', 'podman'] as const))('%s', async (name) => {
  const socket = await engineSocket(name);
  describe.runIf(socket !== '')('a container', () => {
    containerCases(name, socket);
  });
  describe.runIf(socket !== '' && canMakeNetworks)('network rules (as root, with iproute2)', () => {
    ruleCases(socket);
  });
  describe.runIf(socket !== '')('an image', () => {
    imageCases(socket);
  });
  test.runIf(socket !== '')('limits the memory of what runs while an image is built', async () => {
    const steps = [`FROM ${TEST_IMAGE}`, `RUN ${JSON.stringify(['node', '-e', requireLimit])}`, ''];

    const building = buildFromScratch(socket, 'toolhive-test-limited:1', steps.join('\n'));

    await expect(building).resolves.toBeUndefined();
  });
});

const dockerSockets = [await engineSocket('docker')];

describe.each(sharedOut(dockerSockets).filter((socket) => socket !== ''))('docker', (socket) => {
  test('runs a workload with a name of one character, which engines refuse', async () => {
    const options = { daemonId: newDaemonId(), env: {}, tempDir, recordsDir: tempDir, socket };
    const runtime = openDockerRuntime(options);
    await using instance = await runtime.start(aLaunch(testServers, { workload: 'd', ...http() }), never);
    const engine = await connectEngine(socket);
    const inspected = await callEngine(engine, z.object({ Name: z.string() }), {
      method: 'GET',
      path: `/containers/${instance.id}/json`,
    });

    expect(inspected.Name).toBe('/d-1');
  });

  test('stops a container whose image names a stop signal that does not exist', async () => {
    const image = await imageWithStopSignal(socket, 'SIGNOTHING');
    const runtime = openDockerRuntime({
      daemonId: newDaemonId(),
      env: {},
      tempDir,
      recordsDir: tempDir,
      socket,
    });
    const launch = { workload: 'without-signal', source: { kind: 'image', image } as const };
    await using instance = await runtime.start(aLaunch(testServers, { ...launch, ...http() }), never);

    await instance.stop(200);

    expect(await instance.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });

  describe('a package', () => {
    packageCases(socket);
  });
  describeRuntime('docker', { isolates: true }, async () => {
    const registry = await startRegistry();
    return {
      runtime: openDockerRuntime({ daemonId: newDaemonId(), env: {}, tempDir, recordsDir: tempDir, socket }),
      source: testServers,
      missing: { kind: 'image', image: `${registry.host}/no/such-server:1` },
      ...(ownAddress && { hostName: ownAddress }),
      [Symbol.asyncDispose]: () => registry[Symbol.asyncDispose](),
    };
  });
});

test.each(sharedOut(['docker']))(
  'says that there is no engine, and throws only when something is asked of it',
  async () => {
    const runtime = openDockerRuntime({
      daemonId: 'daemon',
      env: {},
      tempDir,
      recordsDir: tempDir,
      socket: '/nowhere/docker.sock',
    });

    const report = await runtime.check();
    const starting = runtime.start(aLaunch(testServers), never);

    expect(report).toMatchObject({
      available: false,
      hint: expect.stringContaining('start Docker, Podman, or Colima'),
    });
    await expect(starting).rejects.toMatchObject({ name: 'ThvError', kind: 'unavailable' });
    await expect(runtime.sweep()).resolves.toBeUndefined();
  },
);

/** The image of the test servers with another stop signal. No builder accepts every one, but images can have them. */
async function imageWithStopSignal(socket: string, signal: string): Promise<string> {
  const engine = await connectEngine(socket);
  const post = (path: string, query: Record<string, string>, body: object) =>
    callEngine(engine, z.object({ Id: z.string() }), { method: 'POST', path, query, body: { json: body } });
  const { Id: container } = await post('/containers/create', {}, { Image: TEST_IMAGE });
  const config = { StopSignal: signal, Entrypoint: ['node', '/app/main.js'], Env: ['PATH=/bin'] };
  const [repo, tag] = ['toolhive-test-stop-signal', '1'];
  await post('/commit', { container, repo, tag }, { ...config, WorkingDir: '/app' });
  await removeContainer(engine, container);
  return `${repo}:${tag}`;
}

function ruleCases(socket: string): void {
  describeNetworkRules({ node: 'node' }, async (nameServer) => {
    const daemonId = newDaemonId();
    const gateways = new GatewayProcess({ nameServers: [nameServer] });
    const places = { tempDir, recordsDir: tempDir, socket };
    const runtime = openDockerRuntime({ daemonId, env: process.env, ...places, gateways });
    const killGateways = (): Promise<void> => killProcessOf(gateways);
    return { runtime, source: testServers, killGateways, [Symbol.asyncDispose]: () => runtime.sweep() };
  });

  const daemonId = newDaemonId();
  const runtime = openDockerRuntime({ daemonId, env: process.env, tempDir, recordsDir: tempDir, socket });
  const rules = () => {
    const egress = new TestEgress({ hosts: ['api.example'], ports: [443] });
    return { kind: 'rules', egress } as const;
  };
  const waiting = async () => {
    const engine = await connectEngine(socket);
    const filters = JSON.stringify({ label: [`toolhive-hive=${daemonId}`, 'toolhive-pause'] });
    const Containers = z.array(z.object({ Id: z.string() }));
    return callEngine(engine, Containers, { method: 'GET', path: '/containers/json', query: { filters } });
  };
  afterAll(() => runtime.sweep());

  test('a server that speaks HTTP is reached, on whatever address it listens', async () => {
    for (const host of ['127.0.0.1', '0.0.0.0']) {
      const env = { MCP_PORT: '8080', MCP_HOST: host };
      const launch = { ...http(), workload: 'rules-http', env, network: rules() };
      await using instance = await runtime.start(aLaunch(testServers, launch), never);
      const { address } = instance;
      if (address?.kind !== 'socket') throw new Error('it has no socket');

      await waitFor(async () => (await statusAt(address.path)) !== undefined);

      expect(await statusAt(address.path)).toBeGreaterThanOrEqual(200);
      expect(instance.limits).toEqual([]);
    }
  });

  test('a server that speaks HTTP ends when the way to it does, so that it is started again', async () => {
    const launch = { ...http(), workload: 'rules-http', network: rules() };
    await using instance = await runtime.start(aLaunch(testServers, launch), never);
    const { stdout } = await promisify(execFile)('pgrep', [
      '-P',
      String(process.pid),
      '-f',
      'forward\\(outer',
    ]);

    process.kill(Number(stdout), 'SIGKILL');

    expect(await instance.exited).toMatchObject({ signal: 'SIGKILL' });
  });

  test('the network of a server ends with it, and the prepared network with the sweep', async () => {
    const instance = await runtime.start(
      aLaunch(testServers, { workload: 'rules', network: rules() }),
      never,
    );
    const both = await waitFor(async () => ((found) => found.length > 1 && found)(await waiting()));

    await instance.stop(0);
    const prepared = await waiting();
    await runtime.sweep();

    expect(both).toHaveLength(2);
    expect(prepared).toHaveLength(1);
    expect(await waiting()).toEqual([]);
  });

  test('a prepared network that was removed is not used', async () => {
    const launch = aLaunch(testServers, { workload: 'rules', network: rules() });
    await using first = await runtime.start(launch, never);
    await waitFor(async () => (await waiting()).length === 2);

    await runtime.sweep();
    await first.exited;
    await using second = await runtime.start(launch, never);

    expect(second.id).not.toBe(first.id);
  });
}

/** The status of an answer behind a Unix socket; undefined if nothing answers. */
async function statusAt(socketPath: string): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  request({ socketPath, path: '/mcp', agent: false }, (response) => {
    response.resume();
    resolve(response.statusCode);
  })
    .on('error', () => resolve(undefined))
    .end();
  return promise;
}

function containerCases(name: EngineName, socket: string): void {
  const daemonId = newDaemonId();
  const runtime = openDockerRuntime({ daemonId, env: {}, tempDir, recordsDir: tempDir, socket });
  const started: Instance[] = [];

  afterEach(async () => {
    await Promise.all(started.splice(0).map((instance) => instance.stop(0)));
  });

  async function start(changes: Partial<Launch> = {}, using: Runtime = runtime): Promise<Instance> {
    const instance = await using.start(aLaunch(testServers, { workload: 'contained', ...changes }), never);
    started.push(instance);
    return instance;
  }

  async function talk(changes: Partial<Launch> = {}): Promise<Conversation & { instance: Instance }> {
    const instance = await start(changes);
    return Object.assign(new Conversation(stdioOf(instance)), { instance });
  }

  test('is spoken with by its standard streams, and tells how it ended', async () => {
    const server = await talk();

    const answer = await server.call('echo', { message: 'grüß Gott' });
    server.send('crash', { code: 7 });

    expect(answer.text).toBe('grüß Gott');
    expect(describeExit(await server.instance.exited)).toBe('exited with code 7');
  });

  test('keeps what it stores where its image declares a volume', async () => {
    const image = 'toolhive-test-volumes:1';
    await buildFromScratch(socket, image, `FROM ${TEST_IMAGE}\nVOLUME ["/data"]\n`);
    const changes = { source: { kind: 'image', image }, home: 'persistent', workload: 'keeping' } as const;
    const first = await talk(changes);
    await first.call('write', { path: '/data/notes', content: 'kept' });
    await first.instance.stop(0);

    const second = await talk(changes);
    const { text } = await second.call('read', { path: '/data/notes' });
    await second.instance.stop(0);

    expect(text).toBe('kept');
    expect(await runtime.homes.measure('keeping')).toMatchObject({ isEmpty: false });
    await runtime.homes.remove('keeping');
    expect(await runtime.homes.exists('keeping')).toBe(false);
  });

  test.each([
    ['ephemeral', '/data'],
    ['persistent', '/tmp/more'],
  ] as const)('with %s files is ended if it fills the volume %s of its image', async (home, volume) => {
    const image = 'toolhive-test-filled:1';
    await buildFromScratch(socket, image, `FROM ${TEST_IMAGE}\nVOLUME ["/data", "/tmp/more"]\n`);
    const limits = { ...testLimits, temporaryBytes: 1024 ** 2 };
    const server = await talk({ source: { kind: 'image', image }, home, limits, workload: 'filling' });
    onTestFinished(() => runtime.homes.remove('filling'));

    const { text } = await server.call('write', {
      path: `${volume}/file`,
      content: 'x'.repeat(2 * 1024 ** 2),
    });

    expect(text).toBe('written');
    expect(describeExit(await server.instance.exited)).toBe(
      'stored more than 1 MiB in the temporary volumes of its image; allow more with --disk',
    );
  });

  test('sees what it was granted, for what it was granted, and nothing else', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'thv-grant-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const mounts = await pinMounts([
      { source: folder, target: '/read', readOnly: true },
      { source: folder, target: '/write', readOnly: false },
    ]);
    const server = await talk({ mounts });

    const wanted = ['/write/file', '/read/other', '/etc/x', '/app/x', '/tmp/x'];
    const answers = await Promise.all(wanted.map((path) => server.call('write', { path })));

    expect(answers.map(({ failed }) => failed)).toEqual([false, true, true, true, false]);
    expect((await server.call('read', { path: '/read/file' })).text).toBe('x');
  });

  // Podman 4 does not tell here: the sentence in its report says so.
  const testIfTold = name === 'podman' ? test.fails : test;
  testIfTold('says that it used too much memory', async () => {
    const limits = { ...testLimits, memoryBytes: 192 * 1024 * 1024 };
    const server = await talk({ limits });

    server.send('allocate', { mebibytes: 600 });

    expect(describeExit(await server.instance.exited)).toBe(
      'used more than 192 MiB of memory; allow more with --memory',
    );
  });

  test('outlives the signal of its start', async () => {
    const starting = new AbortController();
    const instance = await runtime.start(aLaunch(testServers, { workload: 'contained' }), starting.signal);
    started.push(instance);
    const server = new Conversation(stdioOf(instance));

    starting.abort();

    expect((await server.call('echo', { message: 'still here' })).text).toBe('still here');
  });

  test('whose start is given up half-way leaves no trace', async () => {
    const giving = new AbortController();
    await using engine = await silentTo(socket, /^POST \S+\/attach\?/, () => giving.abort());
    const options = { daemonId, env: {}, tempDir, recordsDir: tempDir, socket: engine.socket };

    const starting = openDockerRuntime(options).start(
      aLaunch(testServers, { workload: 'contained' }),
      giving.signal,
    );

    await expect(starting).rejects.toMatchObject({ kind: 'cancelled' });
    expect(await containersOf(socket, daemonId)).toEqual([]);
  });

  test('is published on loopback and nowhere else', async () => {
    const { address } = await start(http());
    const port = address?.kind === 'tcp' ? address.port : 0;

    const status = await waitFor(() => statusOf(`http://127.0.0.1:${port}/`));

    expect(status).toBe(404);
    await expect(dial(ownAddress ?? '127.0.0.2', port)).rejects.toThrow(/ECONNREFUSED/);
  });

  test('is told that HTTP needs a network', async () => {
    const starting = start({ ...http(), network: { kind: 'none' } });

    await expect(starting).rejects.toMatchObject({
      kind: 'unsupported',
      hint: expect.stringContaining('stdio'),
    });
  });

  test('does not reach its neighbours on the open network', async () => {
    const neighbour = await start({ ...http(), workload: 'neighbour' });
    await waitFor(() => statusOf(urlOf(neighbour)));
    const { NetworkSettings } = await inspect(socket, neighbour.id);
    const host = NetworkSettings.Networks[`toolhive-external-${daemonId}`]?.IPAddress;
    const { kind } = await connectEngine(socket);
    const server = await talk({ network: { kind: 'open', privateAddresses: 'all' } });

    const { failed } = await server.call('dial', { host, port: 8080, ms: 1000 });

    // Podman's bridges keep networks apart, but not the containers on one of them.
    expect(failed).toBe(kind === 'docker');
  });

  test('has the limits and nothing to grow by', async () => {
    const server = await talk();

    const { HostConfig } = await inspect(socket, server.instance.id);

    expect(HostConfig).toMatchObject({
      Memory: 512 * 1024 * 1024,
      CpuPeriod: 100_000,
      CpuQuota: 100_000,
      PidsLimit: 64,
      ReadonlyRootfs: true,
    });
    expect(HostConfig.CapAdd ?? []).toEqual([]);
    const status = await server.call('read', { path: '/proc/self/status' });
    expect(status.text).toMatch(/CapEff:\t0+\n[^]*CapBnd:\t0+\n[^]*NoNewPrivs:\t1\n[^]*Seccomp:\t2\n/);
  });

  test('that was killed from outside is noticed', async () => {
    const server = await talk();
    await server.request('ping');
    const { State } = await inspect(socket, server.instance.id);

    process.kill(State.Pid, 'SIGKILL');

    expect(describeExit(await server.instance.exited)).toBe('was killed by SIGKILL');
    await expect(inspect(socket, server.instance.id)).rejects.toMatchObject({ kind: 'not-found' });
  });

  test('that was removed from outside is noticed', async () => {
    const { id, exited } = await start(http());

    await engineCall(socket, { method: 'DELETE', path: `/containers/${id}`, query: { force: '1' } });

    await expect(exited).resolves.toBeDefined();
  });

  test('that ignores its end of input and the signal is killed after the grace', async () => {
    const image = 'toolhive-test-deaf:1';
    const program = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.error('ready')`;
    const entrypoint = JSON.stringify(['node', '-e', program]);
    await buildFromScratch(socket, image, `FROM ${TEST_IMAGE}\nENTRYPOINT ${entrypoint}\n`);
    const { promise: ready, resolve } = Promise.withResolvers<void>();
    const instance = await start({ source: { kind: 'image', image }, log: () => resolve() });
    await ready;

    await instance.stop(200);

    expect(await instance.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });

  const secrets = { TOKEN: 'canary-of-a-container' };

  test('is told secrets that the engine does not tell', async () => {
    proves('security.secrets.inspect');
    const server = await talk({ secrets });

    const { text } = await server.call('environment');
    const told = [
      await answerOf(socket, `/containers/${server.instance.id}/json`),
      await answerOf(socket, `/containers/${server.instance.id}/top`),
      await answerOf(socket, `/containers/${server.instance.id}/changes`),
    ];

    expect(JSON.parse(text)).toMatchObject(secrets);
    expect(JSON.stringify(told)).toContain('/app/main.js');
    expect(JSON.stringify(told)).not.toContain(secrets.TOKEN);
    expect(server.instance.limits).toEqual([]);
  });

  test('that speaks HTTP is told secrets, and finds its input at its end', async () => {
    const image = 'toolhive-test-telling:1';
    const program = `process.stdin.resume().on('end', () => console.log('ended', process.env.TOKEN, process.argv[1]))`;
    const entrypoint = JSON.stringify(['node', '-e', program]);
    await buildFromScratch(socket, image, `FROM ${TEST_IMAGE}\nENTRYPOINT ${entrypoint}\nCMD ["usual"]\n`);
    const log: Buffer[] = [];
    const launch = { ...http(), args: [], secrets, log: (chunk: Buffer) => void log.push(chunk) };

    const { exited } = await start({ ...launch, source: { kind: 'image', image } });

    expect(describeExit(await exited)).toBe('exited with code 0');
    expect(Buffer.concat(log).toString()).toBe(`ended ${secrets.TOKEN} usual\n`);
  });

  test('of an image without a shell is told secrets all the same, with a warning', async () => {
    const image = 'toolhive-test-shellless:1';
    const program = `process.stdout.write(process.env.TOKEN)`;
    const dockerfile = `FROM scratch\nCOPY files/ /\nENTRYPOINT ["/bin/node", "-e", ${JSON.stringify(program)}]\n`;
    await buildFromScratch(socket, image, dockerfile, await programFiles({ node: process.execPath }));

    const instance = await start({ source: { kind: 'image', image }, args: [], secrets });

    expect(await text(stdioOf(instance).output)).toBe(secrets.TOKEN);
    expect(instance.limits).toEqual([
      { concerns: 'every server', text: expect.stringContaining('has no shell') },
    ]);
    await instance.exited;
    expect(await containersOf(socket, daemonId)).toEqual([]);
  });

  test('with variables that a shell would lose keeps them, with a warning', async () => {
    const server = await talk({ env: { 'a.b': 'kept' }, secrets });

    const { text: environment } = await server.call('environment');

    expect(JSON.parse(environment)).toMatchObject({ 'a.b': 'kept', ...secrets });
    expect(server.instance.limits).toHaveLength(1);
  });

  test('leaves no trace', async () => {
    const server = await talk();
    await server.instance.stop(1000);

    expect(await containersOf(socket, daemonId)).toEqual([]);
  });

  test('that could not be started leaves no trace either', async () => {
    const source = await mkdtemp(join(tmpdir(), 'thv-grant-'));
    const mounts = await pinMounts([{ source, target: '/granted', readOnly: true }]);
    await rm(source, { recursive: true });

    await expect(start({ mounts })).rejects.toMatchObject({ name: 'ThvError' });

    expect(await containersOf(socket, daemonId)).toEqual([]);
  });

  test('of an image that is not there is not found', async () => {
    const starting = start({ source: { kind: 'image', image: 'toolhive-test-missing:1' } });

    await expect(starting).rejects.toMatchObject({ kind: 'not-found', hint: expect.any(String) });
  });

  test('never takes the place of one that is not ours', async () => {
    const workload = 'taken-by-another';
    await start(
      { workload },
      openDockerRuntime({ daemonId: newDaemonId(), env: {}, tempDir, recordsDir: tempDir, socket }),
    );

    await expect(start({ workload })).rejects.toMatchObject({
      kind: 'conflict',
      message: 'a container named taken-by-another exists and does not belong to ToolHive',
    });
  });

  test('can run twice at once', async () => {
    const [one, two] = await Promise.all([talk(), talk()]);

    await one.instance.stop(1000);

    expect((await two.call('echo', { message: 'still here' })).text).toBe('still here');
  });

  test('that a dead daemon left behind is replaced by a new one of the same name', async () => {
    const left = await start(http());
    const successor = openDockerRuntime({ daemonId, env: {}, tempDir, recordsDir: tempDir, socket });

    const instance = await start(http(), successor);

    await expect(left.exited).resolves.toBeDefined();
    expect(await containersOf(socket, daemonId)).toEqual([instance.id]);
  });

  test('that a dead daemon left behind is swept away, and its network', async () => {
    const left = await start(http());
    const other = await start(
      { workload: 'of-another-daemon' },
      openDockerRuntime({ daemonId: newDaemonId(), env: {}, tempDir, recordsDir: tempDir, socket }),
    );

    await openDockerRuntime({ daemonId, env: {}, tempDir, recordsDir: tempDir, socket }).sweep();

    await expect(left.exited).resolves.toBeDefined();
    expect(await containersOf(socket, daemonId)).toEqual([]);
    await expect(inspect(socket, other.id)).resolves.toBeDefined();
  });

  test('ends with the connection to its daemon', async () => {
    const server = await talk();
    await server.request('ping');

    server.instance.stdio?.input.destroy();

    await expect(server.instance.exited).resolves.toBeDefined();
    expect(await containersOf(socket, daemonId)).toEqual([]);
  });
}

function imageCases(socket: string): void {
  let registry: TestRegistry;
  const report: string[] = [];
  const runtime = openDockerRuntime({
    daemonId: newDaemonId(),
    env: {},
    tempDir,
    recordsDir: tempDir,
    socket,
  });

  beforeAll(async () => void (registry = await startRegistry()));
  afterAll(() => registry[Symbol.asyncDispose]());
  afterEach(() => void report.splice(0));

  async function prepare(image: string, using = runtime): Promise<string> {
    const options = { report: (message: string) => void report.push(message), signal: never };
    const source = await using.prepare({ kind: 'image', image }, options);
    return source.kind === 'image' ? source.image : '';
  }

  test('is pulled, pinned by digest, and not pulled again', async () => {
    await registry.offer('example/server', '1', 'first');
    const image = `${registry.host}/example/server`;

    const pinned = await prepare(`${image}:1`);
    const pulls = registry.pulls.length;
    const again = [await prepare(`${image}:1`), await prepare(pinned)];

    expect(pinned).toMatch(/^127\.0\.0\.1:\d+\/example\/server@sha256:[0-9a-f]{64}$/);
    expect(again).toEqual([pinned, pinned]);
    expect(registry.pulls).toHaveLength(pulls);
    expect(report[0]).toBe(`pulling ${image}:1`);
  });

  test.each(['', ':latest'])('is pulled again when it may have changed (%j)', async (tag) => {
    const image = `${registry.host}/example/moving${tag}`;
    await registry.offer('example/moving', 'latest', 'first');
    const first = await prepare(image);
    await registry.offer('example/moving', 'latest', 'second');

    const second = await prepare(image);

    expect(second).not.toBe(first);
  });

  test('that may have changed serves from this machine when its registry is away', async () => {
    const away = await startRegistry();
    await away.offer('example/away', 'latest', 'content');
    const image = `${away.host}/example/away:latest`;
    const pinned = await prepare(image);
    await away[Symbol.asyncDispose]();

    const again = await prepare(image);

    expect(again).toBe(pinned);
    expect(report.at(-1)).toBe(`using the local copy of ${image}, because the pull failed`);
  });

  test('that nobody has is not found', async () => {
    await expect(prepare(`${registry.host}/example/missing:1`)).rejects.toMatchObject({
      kind: 'not-found',
      message: `the image ${registry.host}/example/missing:1 was not found`,
    });
  });

  test('whose registry is away is unavailable, not missing', async () => {
    const away = await startRegistry();
    await away[Symbol.asyncDispose]();

    await expect(prepare(`${away.host}/example/server:1`)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('of a private registry needs its login', async () => {
    await using closed = await startRegistry({ username: 'me', password: 'secret' });
    await closed.offer('example/private', '1', 'content');
    const image = `${closed.host}/example/private:1`;
    const env = { REGISTRY_USERNAME: 'me', REGISTRY_PASSWORD: 'secret' };

    await expect(prepare(image)).rejects.toMatchObject({
      kind: 'not-found',
      hint: expect.stringContaining('log in'),
    });
    await expect(
      prepare(
        image,
        openDockerRuntime({ daemonId: newDaemonId(), env, tempDir, recordsDir: tempDir, socket }),
      ),
    ).resolves.toContain('@sha256:');
  });

  test('is not waited for by somebody who has given up', async () => {
    const preparing = runtime.prepare(
      { kind: 'image', image: `${registry.host}/example/server:2` },
      { report: () => {}, signal: AbortSignal.abort() },
    );

    await expect(preparing).rejects.toMatchObject({ kind: 'cancelled' });
  });
}

/** Ends a build unless the kernel limits the memory of its containers. */
const requireLimit = `if (process.constrainedMemory() > 8 * 1024 ** 3) throw new Error('memory is not limited')`;

function packageCases(socket: string): void {
  // Stands in for a Node.js image: it has a node and a shell, and package managers that know one package.
  const base = 'toolhive-test-node:1';
  const runtime = openDockerRuntime({
    tempDir,
    recordsDir: tempDir,
    daemonId: newDaemonId(),
    env: {},
    socket,
    baseImages: { npx: { build: base, run: base } },
  });
  const reports: string[] = [];
  const options = { report: (message: string) => void reports.push(message), signal: never };

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'thv-base-'));
    const npm = `#!/bin/node
      const { mkdirSync, readFileSync, writeFileSync, symlinkSync } = require('fs');
      const trusted = process.env.SSL_CERT_FILE ? readFileSync(process.env.SSL_CERT_FILE, 'utf8') : undefined;
      if (process.argv.at(-1).startsWith('-')) process.exit(); // a local package without dependencies
      if (process.argv[2] === 'config') { console.log('https://registry.example/'); process.exit(); }
      if (process.argv[2] === 'view') { console.log('{}'); process.exit(); }
      const [, name, version = '1.4.0'] = /^(.+?)(?:@([^@]*))?$/.exec(process.argv.at(-1));
      if (!['test-package', 'hostile-package'].includes(name)) { console.error('npm error code E404'); process.exit(1); }
      const folder = '/app/node_modules/' + name;
      mkdirSync(folder, { recursive: true });
      mkdirSync('/app/node_modules/.bin');
      const bin = { other: 'other.js', [name]: 'server.js' };
      writeFileSync(folder + '/package.json', JSON.stringify({ name, version, bin }));
      writeFileSync(folder + '/server.js', \`#!/bin/node
        const fs = require('fs');
        if (process.argv[2] === 'store') fs.writeFileSync('stored', 'kept');
        process.stdout.write(JSON.stringify({ version: '\${version}', args: process.argv.slice(2),
          uid: process.getuid(), home: process.env.HOME, trusted: \${JSON.stringify(trusted)},
          stored: fs.existsSync(process.env.HOME + '/stored') || undefined }));\`, { mode: 0o755 });
      symlinkSync('../' + name + '/server.js', '/app/node_modules/.bin/' + name);
      const dependencies = name === 'hostile-package' ? { inner: 'git+https://example.com/inner.git' } : {};
      writeFileSync('/app/node_modules/.package-lock.json', JSON.stringify({ packages: { ['node_modules/' + name]: { version, integrity: 'sha512-' + name, dependencies } } }));
      writeFileSync('/app/identity', String(process.getuid()));`;
    const chown = `#!/bin/node
      for (const path of process.argv.slice(3)) require('fs').chownSync(path, 65534, 65534);`;
    const mkdir = `#!/bin/node
      for (const path of process.argv.slice(3)) require('fs').mkdirSync(path, { recursive: true });`;
    const cat = `#!/bin/node
      process.stdout.write(require('fs').readFileSync(process.argv[2]));`;
    const files = new Map<string, string>();
    for (const [name, script] of Object.entries({ npm, apk: '#!/bin/sh\n', mkdir, chown, cat })) {
      await writeFile(join(folder, name), script);
      await chmod(join(folder, name), 0o755);
      files.set(`bin/${name}`, join(folder, name));
    }
    await buildFromScratch(socket, base, `FROM ${TEST_IMAGE}\nCOPY files/ /\n`, files);
    await rm(folder, { recursive: true });
  });

  test('runs a directory and a script of this machine, with their current content', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "thv it's local-"));
    const program = (word: string) => `console.log(JSON.stringify(['${word}', ...process.argv.slice(2)]))`;
    await writeFile(join(folder.path, 'package.json'), JSON.stringify({ name: 'local', bin: 'main.js' }));
    await writeFile(join(folder.path, 'main.js'), program('directory'));
    await writeFile(join(folder.path, "it's.js"), program('script'));
    const run = async (url: string) => {
      await runtime.prepare(parseSource(url), options);
      return outputOf(url, ['two words']);
    };

    const before = [await run(`npx://${folder.path}`), await run(`npx://${folder.path}/it's.js`)];
    await writeFile(join(folder.path, 'main.js'), program('changed'));

    expect(before).toEqual([
      ['directory', 'two words'],
      ['script', 'two words'],
    ]);
    expect(await run(`npx://${folder.path}`)).toEqual(['changed', 'two words']);
  });

  async function outputOf(url: string, args: string[], changes: Partial<Launch> = {}): Promise<unknown> {
    const launch = aLaunch(parseSource(url), { workload: 'packaged', args, ...changes });
    const instance = await runtime.start(launch, never);
    onTestFinished(() => instance.stop(0));
    const output = await json(stdioOf(instance).output);
    await instance.exited;
    return output;
  }

  test('keeps its home directory until that is removed, unless it is ephemeral', async () => {
    const url = 'npx://test-package@1.5.0';
    await runtime.prepare(parseSource(url), options);
    const kept = { home: 'persistent', workload: 'keeping' } as const;

    await outputOf(url, ['store'], kept);
    const measured = await runtime.homes.measure('keeping');

    expect(measured).toMatchObject({ bytes: 4, isEmpty: false });
    expect(await outputOf(url, [], kept)).toMatchObject({ stored: true });
    expect(await outputOf(url, [], { ...kept, home: 'ephemeral' })).not.toHaveProperty('stored');
    expect(await outputOf(url, [], { ...kept, workload: 'other' })).not.toHaveProperty('stored');
    await runtime.homes.remove('keeping');
    await runtime.homes.remove('other');
    expect(await runtime.homes.exists('keeping')).toBe(false);
    expect(await outputOf(url, [], kept)).not.toHaveProperty('stored');
    await runtime.homes.remove('keeping');
  });

  test('is built once, and runs with its arguments as nobody', async () => {
    const source = parseSource('npx://test-package@1.2.0');

    const pinned = await runtime.prepare(source, options);
    const built = reports.splice(0);
    const again = await runtime.prepare(source, options);

    expect([pinned, again]).toEqual([source, source]);
    expect(built).toContainEqual(
      expect.stringMatching(/^building npx:\/\/test-package@1\.2\.0 \(step 2 of \d+\)$/),
    );
    expect(reports).toEqual([]);
    expect(await outputOf('npx://test-package@1.2.0', ['--flag', 'two words; $HOME'])).toMatchObject({
      version: '1.2.0',
      args: ['--flag', 'two words; $HOME'],
      uid: 65534,
      home: '/home/server',
    });
  });

  test('is built with what is trusted, and has the same name then', async () => {
    const source = parseSource('npx://test-package@1.3.0');
    let asked = 0;
    const trusted = async (): Promise<string> => `CERTIFICATE ${++asked}\n`;

    await runtime.prepare(source, { ...options, trusted });
    await runtime.prepare(source, { ...options, trusted });

    expect(asked).toBe(1);
    // The administrator of this machine may have added others.
    const { trusted: all } = (await outputOf('npx://test-package@1.3.0', [])) as { trusted: string };
    expect(all).toMatch(/^CERTIFICATE 1\n/);
  });

  test('without a version is pinned to the one that was installed', async () => {
    const pinned = await runtime.prepare(parseSource('npx://test-package'), options);

    expect(pinned).toEqual(parseSource('npx://test-package@1.4.0'));
    expect(await outputOf('npx://test-package@1.4.0', [])).toMatchObject({ version: '1.4.0' });
  });

  test('becomes an image with a name of its own, which runs by that name', async () => {
    const image = await runtime.images?.build(aPackage('npx://test-package@1.2.0'), {
      ...options,
      tag: 'toolhive-test-built',
    });
    const launch = aLaunch(parseSource(image ?? ''), { workload: 'built', args: ['--flag'] });
    const instance = await runtime.start(launch, never);
    onTestFinished(() => instance.stop(0));

    expect(image).toBe('toolhive-test-built:latest');
    expect(await json(stdioOf(instance).output)).toMatchObject({ version: '1.2.0', args: ['--flag'] });
  });

  test('becomes an image with a name that is made up', async () => {
    const image = await runtime.images?.build(aPackage('npx://test-package@1.2.0'), options);

    expect(image).toMatch(/^toolhivelocal\/npx-test-package:1\.2\.0-[0-9a-f]{12}$/);
  });

  test.each(['UPPER', 'a b', 'npx://x', `name@sha256:${'0'.repeat(64)}`])(
    'becomes no image with the name %s',
    async (tag) => {
      const building = runtime.images?.build(aPackage('npx://test-package@1.2.0'), { ...options, tag });

      await expect(building).rejects.toMatchObject({ kind: 'invalid' });
    },
  );

  test('that does not exist is not found', async () => {
    await expect(runtime.prepare(parseSource('npx://no-such-package'), options)).rejects.toMatchObject({
      kind: 'not-found',
      message: 'npx://no-such-package was not found',
    });
  });

  test('that was not built is not found, with what to do', async () => {
    const launch = aLaunch(parseSource('npx://test-package@9.9.9'));

    await expect(runtime.start(launch, never)).rejects.toMatchObject({ kind: 'not-found' });
  });

  test('that depends on something outside package registries is refused', async () => {
    const preparing = runtime.prepare(parseSource('npx://hostile-package@1.0.0'), options);

    await expect(preparing).rejects.toMatchObject({ name: 'ThvError' });
  });
}

function aPackage(url: string): PackageSource {
  const source = parseSource(url);
  if (source.kind !== 'package') throw new Error(`${url} is no package`);
  return source;
}

function http(): Pick<Launch, 'args' | 'env' | 'transport' | 'network'> {
  return {
    args: ['http'],
    env: { MCP_PORT: '8080', MCP_HOST: '127.0.0.1' },
    transport: { kind: 'http', targetPort: 8080 },
    network: { kind: 'open', privateAddresses: 'all' },
  };
}

function stdioOf({ stdio }: Instance): NonNullable<Instance['stdio']> {
  if (stdio === undefined) throw new Error('the instance speaks no stdio');
  return stdio;
}

function urlOf({ address }: Instance): string {
  return address?.kind === 'tcp' ? `http://${address.host}:${address.port}/` : '';
}

async function statusOf(url: string): Promise<number | undefined> {
  return fetch(url).then(
    ({ status }) => status,
    () => undefined,
  );
}

async function dial(host: string, port: number): Promise<void> {
  const socket = connect({ host, port });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(2000) });
  } finally {
    socket.destroy();
  }
}

async function engineCall(socket: string, call: Call): Promise<void> {
  await callEngine(await connectEngine(socket), z.unknown(), call);
}

const Container = z.looseObject({
  HostConfig: z.looseObject({ CapAdd: z.array(z.string()).nullish() }),
  State: z.looseObject({ Pid: z.number() }),
  NetworkSettings: z.looseObject({
    Networks: z.record(z.string(), z.looseObject({ IPAddress: z.string() })),
  }),
});

async function answerOf(socket: string, path: string): Promise<unknown> {
  return callEngine(await connectEngine(socket), z.unknown(), { method: 'GET', path });
}

async function inspect(socket: string, id: string): Promise<z.infer<typeof Container>> {
  return callEngine(await connectEngine(socket), Container, {
    method: 'GET',
    path: `/containers/${id}/json`,
  });
}

/** A socket that leads to an engine, except for calls whose beginning matches: these get no answer. */
async function silentTo(socket: string, call: RegExp, told: () => void) {
  const path = join(tempDir, 'silent.sock');
  const server = createServer((client) => {
    client.on('error', () => {}); // the caller has given up
    client.once('data', (beginning) => {
      if (call.test(beginning.toString('latin1'))) return told();
      const engine = connect(socket);
      engine.on('error', () => client.destroy());
      engine.write(beginning);
      client.pipe(engine).pipe(client);
    });
  });
  await once(server.listen(path), 'listening');
  return {
    socket: path,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}

async function containersOf(socket: string, daemonId: string): Promise<string[]> {
  const filters = JSON.stringify({ label: [`toolhive-hive=${daemonId}`] });
  const query = { all: '1', filters };
  const answer = z.array(z.looseObject({ Id: z.string() }));
  const found = await callEngine(await connectEngine(socket), answer, {
    method: 'GET',
    path: '/containers/json',
    query,
  });
  return found.map(({ Id }) => Id);
}
