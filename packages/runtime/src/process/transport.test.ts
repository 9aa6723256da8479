// @suite system
import { once } from 'node:events';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { type AddressInfo, type Server, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testPort } from '@toolhive/testing/port';
import { aLaunch, waitFor } from '../testing/conformance.ts';
import { type Instance, type InstanceAddress, type Launch, describeExit } from '../runtime.ts';
import { type ProcessRig, never, openRig, talkTo } from './test-rig.ts';

describe('a server that speaks HTTP', () => {
  let rig: ProcessRig;

  beforeAll(async () => {
    rig = await openRig();
  });
  afterAll(() => rig[Symbol.asyncDispose]());

  async function serve(changes: Partial<Launch>, on: ProcessRig = rig): Promise<Instance> {
    const source = await on.prepared();
    return on.runtime.start(aLaunch(source, { args: ['http'], ...changes }), never);
  }

  test('is reached through a socket when the server has no network access', async () => {
    await using instance = await serve(isolated(8080));

    const reply = await waitFor(() => initialize(instance.address));

    expect(instance.address?.kind).toBe('socket');
    expect(reply).toContain('test-http');
  });

  test.each([
    ['a network of its own', { kind: 'open' }],
    ['the network of the machine', { kind: 'mode', mode: 'host' }],
  ] as const)('is reached through a socket when it has %s', async (_name, network) => {
    await using instance = await serve({ ...isolated(await testPort()), network });

    const reply = await waitFor(() => initialize(instance.address));

    expect(instance.address?.kind).toBe('socket');
    expect(reply).toContain('test-http');
  });

  test.each([
    ['no network', { kind: 'none' }],
    ['a network of its own', { kind: 'open' }],
    ['the network of the machine', { kind: 'mode', mode: 'host' }],
  ] as const)('is found on the port that it has chosen itself: %s', async (_name, network) => {
    const { env, ...launch } = isolated(await testPort());
    const chosen = { ...env, MCP_PORT: String(await testPort()) };
    await using instance = await serve({ ...launch, env: chosen, network });

    const reply = await waitFor(() => initialize(instance.address));

    expect(reply).toContain('test-http');
  });

  test('is not mistaken for another program of the machine in the same network', async () => {
    await using other = createServer((socket) => socket.end('not yours'));
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    let connections = 0;
    other.on('connection', () => connections++);
    const { env, ...launch } = isolated(await testPort());
    await using instance = await serve({
      ...launch,
      args: ['silent'],
      env,
      network: { kind: 'mode', mode: 'host' },
    });

    const reply = await initialize(instance.address);

    expect([reply, connections]).toEqual([undefined, 0]);
  });

  test.each(['none', 'open'] as const)('can use a port that others use as well: network %s', async (kind) => {
    await using one = await serve({ ...isolated(8080), network: { kind } });
    await using two = await serve({ ...isolated(8080), network: { kind } });

    const replies = await Promise.all([one, two].map(({ address }) => waitFor(() => initialize(address))));

    expect(replies.every((reply) => reply.includes('test-http'))).toBe(true);
  });

  test('finds nothing of the way to the daemon: neither the socket nor the channel', async () => {
    await using instance = await serve(isolated(8080));
    await waitFor(() => initialize(instance.address));

    const environment = await call(instance.address, 'environment');
    const list = await call(instance.address, 'list', { path: '/opt/toolhive' });

    expect(Object.keys(JSON.parse(environment) as object).toSorted()).toEqual([
      'HOME',
      'MCP_HOST',
      'MCP_PORT',
      'PATH',
      'PWD',
    ]);
    expect(JSON.parse(list)).toEqual(['bin', 'forwarder.cjs', 'package']);
  });

  test('cannot have its own code run in the forwarder, which has a channel to the daemon', async () => {
    let said = '';
    const log = (chunk: Buffer) => void (said += chunk.toString());
    const code = "console.error('loaded:'+process.argv[1])";
    const { env, ...launch } = isolated(8080);
    const loading = { ...env, NODE_OPTIONS: `--import=data:text/javascript,${code}` };
    await using instance = await serve({ ...launch, env: loading, log });

    await waitFor(() => initialize(instance.address));

    const loaded = [...said.matchAll(/loaded:(.+)/g)].map(([, program]) => program);
    expect(loaded).toEqual([expect.stringContaining('/opt/toolhive/package/')]);
  });

  test('has a socket that only the user of the daemon can reach', async () => {
    await using instance = await serve(isolated(8080));

    const { mode } = await stat(dirname(socketOf(instance)));

    expect(mode & 0o777).toBe(0o700);
  });

  test('has a short socket path even if the temporary folder is deep', async () => {
    const deep = await openRig({ cacheDir: rig.options.cacheDir });
    deep.options.tempDir = join(deep.folder, 'deep'.repeat(30));
    await using instance = await serve(isolated(8080), deep);

    const reply = await waitFor(() => initialize(instance.address));

    expect(socketOf(instance).length).toBeLessThan(104);
    expect(reply).toContain('test-http');
    await deep[Symbol.asyncDispose]();
  });

  test('tells its exit and is signalled through the forwarder, and leaves no socket', async () => {
    const { tempDir } = rig.options;
    const instance = await serve(isolated(8080));
    await waitFor(() => initialize(instance.address));

    await instance.stop(5000);

    expect(describeExit(await instance.exited)).toBe('was killed by SIGTERM');
    expect(await readdir(join(tempDir, 'sockets'))).toEqual([]);
  });

  test('ends with its own code behind the forwarder', async () => {
    const log: Buffer[] = [];
    await using instance = await serve({
      ...isolated(8080),
      args: ['exit-at-once'],
      log: (chunk) => log.push(chunk),
    });

    const exit = await instance.exited;

    expect(describeExit(exit)).toBe('exited with code 3');
    expect(Buffer.concat(log).toString()).toContain('THE_SETTING is not set');
  });
});

const isolated = (port: number): Partial<Launch> => ({
  transport: { kind: 'http', targetPort: port },
  env: { MCP_PORT: String(port) },
  network: { kind: 'none' },
});

describe('the network of a server', () => {
  let rig: ProcessRig;

  beforeAll(async () => {
    rig = await openRig();
    await mkdir(rig.options.tempDir);
  });
  afterAll(() => rig[Symbol.asyncDispose]());

  test.each([
    [{ kind: 'none' }, false],
    [{ kind: 'mode', mode: 'none' }, false],
    [{ kind: 'open' }, false],
    [{ kind: 'mode', mode: 'host' }, true],
  ] as const)('%o reaches the loopback of the machine: %s', async (network, reaches) => {
    await using host = await listen();
    await using server = await talkTo(rig, { network });

    const dialled = await server.call('dial', { host: '127.0.0.1', port: host.port, ms: 1000 });

    expect(dialled.failed).toBe(!reaches);
  });
});

function socketOf({ address }: Instance): string {
  if (address?.kind !== 'socket') throw new Error('the instance has no socket');
  return address.path;
}

let session: string | undefined;

async function initialize(address: InstanceAddress | undefined): Promise<string | undefined> {
  const params = { protocolVersion: '2025-06-18', capabilities: {} };
  const reply = await post(address, { jsonrpc: '2.0', id: 1, method: 'initialize', params }).catch(
    () => undefined,
  );
  session = reply?.session;
  return reply?.body;
}

async function call(address: InstanceAddress | undefined, name: string, given: object = {}): Promise<string> {
  const message = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name, arguments: given } };
  const { body } = await post(address, message);
  const { result } = JSON.parse(body) as { result: { content: [{ text: string }] } };
  return result.content[0].text;
}

async function post(address: InstanceAddress | undefined, message: object) {
  if (address === undefined) throw new Error('the instance has no address');
  const where =
    address.kind === 'socket' ? { socketPath: address.path } : { host: address.host, port: address.port };
  const headers = { 'content-type': 'application/json', ...(session ? { 'mcp-session-id': session } : {}) };
  const sent = request({ ...where, path: '/mcp', method: 'POST', headers, agent: false });
  sent.end(JSON.stringify(message));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let body = '';
  for await (const chunk of response.setEncoding('utf8')) body += chunk;
  return { body, session: [response.headers['mcp-session-id']].flat()[0] };
}

async function listen(): Promise<AsyncDisposable & { port: number }> {
  const server: Server = createServer((socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) };
}
