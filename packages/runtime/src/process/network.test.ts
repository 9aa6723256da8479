// @suite system
import { execFile, spawnSync } from 'node:child_process';
import { type Socket as Datagrams, createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdir, readFile, symlink } from 'node:fs/promises';
import { get } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { aLaunch, waitFor } from '../testing/conformance.ts';
import { type InstanceAddress, type Launch, describeExit } from '../runtime.ts';
import { isAlive } from '../proc.ts';
import { findProgram } from '../programs.ts';
import { type ProcessRig, networksOf, never, openRig, talkTo } from './test-rig.ts';

const open: Partial<Launch> = { network: { kind: 'open' } };
const everything: Partial<Launch> = { network: { kind: 'open', privateAddresses: 'all' } };
const python = '/usr/bin/python3';
const hasPython = spawnSync(python, ['--version']).status === 0;
const iproute = await findProgram('ip', { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' });
const canMakeNetworks = process.getuid?.() === 0 && iproute !== undefined;

describe('a network of a server’s own', () => {
  let rig: ProcessRig;

  beforeAll(async () => {
    rig = await openRig();
    await rig.prepared();
  });
  afterAll(() => rig[Symbol.asyncDispose]());

  test('does not lead to what listens on the loopback of the machine', async () => {
    await using host = await listenOnLoopback();
    await using server = await talkTo(rig, open);

    const names = ['127.0.0.1', '127.0.0.2', 'localhost', '10.0.2.2', '10.0.2.3', '0.0.0.0', '::1'];
    const dialled = await Promise.all(
      names.map((name) => server.call('dial', { host: name, port: host.port, ms: 1000 })),
    );

    expect(dialled.map(({ failed }) => failed)).toEqual(names.map(() => true));
    expect(host.visits).toEqual([]);
  });

  test.each<[string, Partial<Launch>]>([
    ['no network', { network: { kind: 'none' } }],
    ['a network', open],
    ['the network of the machine', { network: { kind: 'mode', mode: 'host' } }],
  ])('with %s has the name of its host and of its system', async (_title, launch) => {
    await using server = await talkTo(rig, launch);

    const { text } = await server.call('execute', {
      command: '/bin/sh',
      args: ['-c', 'getent hosts "$(uname -n)"; cat /etc/os-release'],
    });

    const { output } = JSON.parse(text) as { output: string };
    const [name = '', ...system] = output.split('\n');
    expect(name).toMatch(/^(?:127\.0\.0\.1|::1)\s.*\btoolhive$/);
    expect(system.join('\n')).toBe(await readFile('/etc/os-release', 'utf8'));
  });

  test.runIf(hasPython)('does not lead there by its device either', async () => {
    await using host = await listenOnLoopback();
    await using server = await talkTo(rig, open);

    const { text } = await server.call('execute', {
      command: python,
      args: ['-c', byDevice, String(host.port)],
    });

    expect(text).toContain('tried 12');
    expect(host.visits).toEqual([]);
  });

  test('does not lead to other servers', async () => {
    const http = { args: ['http'], transport: { kind: 'http', targetPort: 8080 } } as const;
    const env = { MCP_PORT: '8080', MCP_HOST: '0.0.0.0' };
    await using other = await rig.runtime.start(
      aLaunch(await rig.prepared(), { ...open, ...http, env }),
      never,
    );
    await waitFor(() => answers(other.address));
    await using server = await talkTo(rig, open);

    const dialled = await Promise.all(
      ['127.0.0.1', '10.0.2.100', '10.0.2.2'].map((host) =>
        server.call('dial', { host, port: 8080, ms: 500 }),
      ),
    );

    expect(dialled.map(({ failed }) => failed)).toEqual([true, true, true]);
  });

  test.runIf(canMakeNetworks)('leads to other hosts (as root, with iproute2)', async () => {
    await using neighbour = await openNeighbour();
    await using server = await talkTo(rig, everything);

    const dialled = await reach(server, neighbour);

    expect(dialled.text).toContain('connected');
  });

  test.runIf(canMakeNetworks)('leads to granted private addresses alone', async () => {
    await using neighbour = await openNeighbour();
    const network = { kind: 'open', privateAddresses: [`${neighbour.address}/32`] } as const;
    await using granted = await talkTo(rig, { network });
    await using server = await talkTo(rig, open);
    await reach(granted, neighbour);
    const { address, port } = neighbour;

    const dialled = await server.call('dial', { host: address, port, ms: 1000 });
    const { text } = await server.call('execute', {
      command: python,
      args: ['-c', pastRoutes, address, String(port)],
    });

    expect(dialled).toMatchObject({ failed: true, text: expect.stringContaining('EHOSTUNREACH') });
    expect(text).toContain('tried 4');
    expect(text).not.toContain('reached');
  });

  test.each(['169.254.169.254', '10.0.0.1', '172.17.0.1', '192.168.0.1', '100.64.0.1', '198.18.0.1', 'own'])(
    'does not lead to %s',
    async (target) => {
      proves('security.network.public-only');
      await using host = await listenOnLoopback();
      await using server = await talkTo(rig, open);
      const own = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
      const address = target === 'own' ? own.find((found) => !found.internal)?.address : target;

      const dialled = await server.call('dial', { host: address, port: host.port, ms: 1000 });

      expect(dialled).toMatchObject({ failed: true, text: expect.stringContaining('EHOSTUNREACH') });
      expect(host.visits).toEqual([]);
    },
  );

  test.runIf(iproute !== undefined)('cannot be changed by the server', async () => {
    await using server = await talkTo(rig, open);

    for (const change of [
      'route del unreachable 10.0.0.0/8',
      'route add 10.0.0.0/9 via 10.0.2.2',
      'rule del from all',
    ]) {
      const { text } = await server.call('execute', { command: iproute, args: change.split(' ') });
      expect(text).toMatch(/not permitted/);
    }
  });

  test('asks slirp4netns for names, and nobody else', async () => {
    await using server = await talkTo(rig, open);

    const { text } = await server.call('read', { path: '/etc/resolv.conf' });

    expect(text).toBe('nameserver 10.0.2.3\n');
  });

  test('is lost with slirp4netns, and the server ends', async () => {
    await using server = await talkTo(rig, open);
    const [slirp = 0] = networksOf();

    process.kill(slirp, 'SIGKILL');

    expect(describeExit(await server.instance.exited)).toBe('lost its network');
  });

  test('goes when the server is stopped', async () => {
    const server = await talkTo(rig, open);
    const networks = networksOf();

    await server.instance.stop(1000);

    expect(networks).toHaveLength(1);
    expect(networks.some(isAlive)).toBe(false);
  });

  test('goes when the server ends by itself', async () => {
    const server = await talkTo(rig, open);

    server.send('crash', { code: 7 });

    expect(describeExit(await server.instance.exited)).toBe('exited with code 7');
    expect(networksOf()).toEqual([]);
  });

  test('is not to be had without slirp4netns; servers without network run', async () => {
    const source = await rig.prepared();
    const path = join(rig.folder, 'only-bubblewrap');
    await mkdir(path);
    await symlink((await findProgram('bwrap', process.env)) ?? '', join(path, 'bwrap'));
    await using bare = await openRig({ cacheDir: rig.options.cacheDir, env: { PATH: path } });

    const { available, limits } = await bare.runtime.check();
    const starting = bare.runtime.start(aLaunch(source, open), never);

    await expect(starting).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'a server with a network cannot run here: slirp4netns is not installed',
      hint: expect.stringMatching(/apt install slirp4netns.*--permission-profile none/),
    });
    expect(available).toBe(true);
    expect(limits).toContainEqual({
      concerns: 'servers with an open network',
      text: expect.stringContaining('apt install slirp4netns'),
    });
    await using isolated = await bare.runtime.start(aLaunch(source), never);
    expect(isolated.id).not.toBe('');
  });
});

type Server = Awaited<ReturnType<typeof talkTo>>;

/** Dials until that succeeds, as the other end may still be starting. */
function reach(server: Server, { address, port }: { address: string; port: number }) {
  return waitFor(async () => {
    const answer = await server.call('dial', { host: address, port, ms: 500 });
    return answer.failed ? undefined : answer;
  });
}

async function answers(address: InstanceAddress | undefined): Promise<boolean> {
  if (address?.kind !== 'socket') throw new Error('the instance has no socket');
  const asked = get({ socketPath: address.path, path: '/', agent: false });
  return once(asked, 'response').then(
    () => asked.destroy() !== undefined,
    () => false,
  );
}

/** Dials an address past the routes: bound to the device, through its gateway, and with the device in a datagram. */
const pastRoutes = `
import socket, struct, sys
host, port = sys.argv[1], int(sys.argv[2])
loose = bytes([131, 7, 4]) + socket.inet_aton(host) + b'\\x01'
strict = bytes([137, 7, 4]) + socket.inet_aton(host) + b'\\x01'
for target, level, option, value in (
    (host, socket.SOL_SOCKET, 25, b'tap0'),
    (host, socket.IPPROTO_IP, 50, struct.pack('!i', socket.if_nametoindex('tap0'))),
    ('10.0.2.2', socket.IPPROTO_IP, 4, loose),
    ('10.0.2.2', socket.IPPROTO_IP, 4, strict),
):
    s = socket.socket()
    s.settimeout(1)
    try:
        s.setsockopt(level, option, value)
        s.connect((target, port))
        print('reached', target, value)
    except OSError:
        pass
    s.close()
print('tried 4')
`;

/** Dials loopback addresses past the server's own: bound to the device, and with the device named in a datagram. */
const byDevice = `
import socket, struct, sys
port, tried = int(sys.argv[1]), 0
index = struct.pack('@i', socket.if_nametoindex('tap0'))
for host in ('127.0.0.1', '127.0.0.2', '127.255.255.254'):
    for kind, level, option, value in (
        (socket.SOCK_STREAM, socket.SOL_SOCKET, 25, b'tap0'),
        (socket.SOCK_DGRAM, socket.SOL_SOCKET, 25, b'tap0'),
        (socket.SOCK_DGRAM, socket.IPPROTO_IP, 50, struct.pack('!i', socket.if_nametoindex('tap0'))),
    ):
        tried += 1
        s = socket.socket(socket.AF_INET, kind)
        s.settimeout(0.3)
        try:
            s.setsockopt(level, option, value)
            s.connect((host, port))
            s.send(b'x')
        except OSError:
            pass
    tried += 1
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        s.sendmsg([b'x'], [(socket.IPPROTO_IP, 8, index + bytes(8))], 0, (host, port))
    except OSError:
        pass
print('tried', tried)
`;

/** Listens for connections and datagrams on every address of the machine's loopback, and tells who came. */
async function listenOnLoopback(): Promise<AsyncDisposable & { port: number; visits: string[] }> {
  const visits: string[] = [];
  const server = createServer((socket) => {
    visits.push(`a connection to ${socket.localAddress}`);
    socket.destroy();
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const datagrams: Datagrams = createSocket('udp4', () => visits.push('a datagram'));
  datagrams.bind(port, '0.0.0.0');
  await once(datagrams, 'listening');
  return {
    port,
    visits,
    async [Symbol.asyncDispose]() {
      datagrams.close();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Another host, as far as this machine can tell: a network namespace behind a cable, with a listener in it. */
async function openNeighbour(): Promise<AsyncDisposable & { address: string; port: number }> {
  const name = `thv-${crypto.randomUUID().slice(0, 8)}`;
  const near = `${name}n`.slice(0, 15);
  const far = `${name}f`.slice(0, 15);
  await using undo = new AsyncDisposableStack();
  await ip('netns', 'add', name);
  undo.defer(() => ip('netns', 'del', name));
  await ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far);
  undo.defer(() => ip('link', 'del', near).catch(() => {})); // it went with its other end, if that got away
  await ip('link', 'set', far, 'netns', name);
  await ip('address', 'add', '10.231.0.1/24', 'dev', near);
  await ip('link', 'set', near, 'up');
  await ip('-n', name, 'address', 'add', '10.231.0.2/24', 'dev', far);
  await ip('-n', name, 'link', 'set', far, 'up');
  const source = "require('node:net').createServer((socket) => socket.destroy()).listen(9000, '10.231.0.2')";
  const listening = execFile(iproute ?? '', ['netns', 'exec', name, process.execPath, '-e', source]);
  undo.defer(async () => {
    const gone = once(listening, 'exit');
    listening.kill('SIGKILL');
    await gone;
  });
  const resources = undo.move();
  return { address: '10.231.0.2', port: 9000, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

async function ip(...args: string[]): Promise<void> {
  await promisify(execFile)(iproute ?? '', args);
}
