// @suite system
import { execFile } from 'node:child_process';
import { readlinkSync, readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../testing/conformance.ts';
import { TestEgress } from '../testing/test-egress.ts';
import { canMakeNetworks } from '../testing/stand-in-hosts.ts';
import { GatewayNetwork, type SandboxNamespace } from './gateway-network.ts';
import { GatewayProcess } from './gateway-process.ts';
import { type EgressTools, findEgressTools } from './tools.ts';

const limits = { burst: 200, perSecond: 50 };

describe.runIf(canMakeNetworks)('sandboxes that share a gateway network (as root, with iproute2)', () => {
  let tools: EgressTools;
  let network: GatewayNetwork;

  beforeAll(async () => {
    const found = await findEgressTools(process.env);
    if ('problem' in found) throw new Error(found.problem);
    tools = found;
    network = new GatewayNetwork(new GatewayProcess({ limits }));
  });

  /** A network namespace with a gateway, in which this test has more power than a server. */
  class Place implements Disposable {
    readonly egress = new TestEgress();
    readonly sandbox: SandboxNamespace;
    readonly #resources: DisposableStack;

    private constructor(sandbox: SandboxNamespace, resources: DisposableStack) {
      this.sandbox = sandbox;
      this.#resources = resources;
    }

    static async open(ports: readonly number[] = []): Promise<Place> {
      using undo = new DisposableStack();
      const sandbox = await network.makeNamespace(tools);
      const resources = undo.use(new DisposableStack());
      const place = new Place(
        resources.adopt(sandbox, () => sandbox.namespace[Symbol.dispose]()),
        resources,
      );
      await place.egress.reset({ hosts: [], ports: [80] });
      resources.use(await network.openGateway(tools, sandbox, place.egress));
      resources.use(await network.listen(tools, ports));
      undo.move();
      return place;
    }

    [Symbol.dispose](): void {
      this.#resources.dispose();
    }

    run(program: string, ...args: string[]): Promise<string> {
      return runIn(this.sandbox.namespace.network, program, ...args);
    }

    /** What a connection to a port ends with, from the address if there is one. */
    async dial(host: string, port: number, localAddress?: string): Promise<string> {
      const options = JSON.stringify({ host, port, localAddress });
      const script = `
const socket = require('node:net').connect(${options});
socket.on('error', (error) => console.log(error.code)).on('close', () => process.exit());
setTimeout(() => { console.log('timeout'); process.exit(); }, 1000);
`;
      return (await this.run(process.execPath, '-e', script)).trim();
    }
  }

  test('are told apart by the addresses of their connections', async () => {
    using one = await Place.open();
    using other = await Place.open();

    expect(await one.dial('9.9.9.1', 80)).toBe('ECONNRESET');
    expect(await other.dial('9.9.9.2', 80)).toBe('ECONNRESET');

    await expect.poll(() => one.egress.denied).toEqual(['9.9.9.1:80: no rule allows this host']);
    await expect.poll(() => other.egress.denied).toEqual(['9.9.9.2:80: no rule allows this host']);
  });

  test('reach no address of each other, even if the machine forwards packets', async () => {
    using one = await Place.open();
    using other = await Place.open();
    const listening =
      "require('node:net').createServer((s) => s.end('reached')).listen(9999, () => console.log('listening'))";
    const listener = execFile(tools.nsenter, entering(other.sandbox, process.execPath, '-e', listening));
    await new Promise((resolve) => listener.stdout?.once('data', resolve));
    const shared = await findShared(one.sandbox.device);
    await runIn(
      shared,
      'sh',
      '-c',
      'for file in /proc/sys/net/ipv4/conf/*/forwarding; do echo 1 >"$file"; done',
    );

    const dialed = await one.dial(other.sandbox.address, 9999);

    listener.kill('SIGKILL');
    expect(await runIn(shared, 'cat', '/proc/sys/net/ipv4/ip_forward')).toBe('1\n');
    expect(dialed).toBe('ECONNREFUSED');
    expect(await one.dial(other.sandbox.address, 80)).toBe('ECONNRESET');
    expect(other.egress.decisions).toEqual([]);
  });

  test('cannot pretend to be each other', async () => {
    using one = await Place.open();
    using other = await Place.open();
    await one.run(tools.ip, 'address', 'add', `${other.sandbox.address}/32`, 'dev', 'eth0');

    expect(await one.dial('9.9.9.1', 80)).toBe('ECONNRESET'); // the neighbors know each other
    expect(await one.dial('9.9.9.2', 80, other.sandbox.address)).toBe('timeout');
    expect(await one.dial('9.9.9.3', 80)).toBe('ECONNRESET');

    const addresses = ['9.9.9.1', '9.9.9.3'];
    await expect
      .poll(() => one.egress.denied)
      .toEqual(addresses.map((address) => `${address}:80: no rule allows this host`));
    expect(other.egress.decisions).toEqual([]);
  });

  test('have resolvers that the others do not reach', async () => {
    using one = await Place.open();
    const shared = await findShared(one.sandbox.device);

    const [, ...datagramSockets] = (await runIn(shared, 'cat', '/proc/net/udp')).trim().split('\n');

    expect(datagramSockets).toEqual([]);
    expect(await one.dial('198.18.0.3', 53)).toBe('ECONNREFUSED');
  });

  test('have a listener for a further port as long as one of them needs it', async () => {
    using one = await Place.open();
    const before = await one.dial('9.9.9.9', 2222);
    const places = await Promise.all([Place.open([2222]), Place.open([2222, 80])]);

    expect(await one.dial('9.9.9.9', 2222)).toBe('ECONNRESET');
    places[0][Symbol.dispose]();
    expect(await one.dial('9.9.9.9', 2222)).toBe('ECONNRESET');
    places[1][Symbol.dispose]();

    await waitFor(async () => (await one.dial('9.9.9.9', 2222)) === 'ECONNREFUSED');
    expect(before).toBe('ECONNREFUSED');
  });

  test('are cut off for a while if they open more connections than the daemon could accept', async () => {
    using flooding = await Place.open();
    using other = await Place.open();
    const shared = await findShared(flooding.sandbox.device);
    const isUp = async (): Promise<boolean> => {
      const found = await runIn(shared, tools.ip, '-json', 'link', 'show', flooding.sandbox.device);
      return /"UP"/.test(found);
    };
    const flood = `
const open = () => require('node:net').connect(80, '9.9.9.9').on('error', () => {}).on('close', open);
for (let count = 0; count < 100; count += 1) open();
setTimeout(() => process.exit(), 60_000);
`;
    const flooder = execFile(tools.nsenter, entering(flooding.sandbox, process.execPath, '-e', flood));

    const expected =
      /9.9.9.9:80: the server opened too many connections at once, and has no network for \d+ s/;
    await waitFor(() => flooding.egress.denied.some((denied) => expected.test(denied)));
    await waitFor(async () => !(await isUp()));
    flooder.kill('SIGKILL');

    expect(await other.dial('9.9.9.2', 80)).toBe('ECONNRESET');
    await waitFor(isUp);
    await waitFor(async () => (await flooding.dial('9.9.9.3', 80)) === 'ECONNRESET');
    await expect.poll(() => flooding.egress.denied.at(-1)).toBe('9.9.9.3:80: no rule allows this host');
  });

  test('get no answer before they have a gateway', async () => {
    const made = await network.makeNamespace(tools);
    const script =
      "require('node:net').connect(80, '9.9.9.9').on('error', (error) => console.log(error.code))";

    expect(await runIn(made.namespace.network, process.execPath, '-e', script)).toBe('ECONNRESET\n');
    network.drop(made);
  });

  /** The shared namespace, which has the device. */
  async function findShared(device: string): Promise<number> {
    const descriptors = readdirSync('/proc/self/fd').map(Number);
    for (const descriptor of descriptors) {
      if (!isNetwork(descriptor)) continue;
      const found = await runIn(descriptor, tools.ip, 'link', 'show', device).catch(() => '');
      if (found !== '') return descriptor;
    }
    throw new Error('the shared namespace was not found');
  }

  async function runIn(descriptor: number, program: string, ...args: string[]): Promise<string> {
    return (await promisify(execFile)(tools.nsenter, into(descriptor, program, ...args))).stdout;
  }
});

/** The arguments with which `nsenter` runs a program in a network namespace. */
const into = (descriptor: number, ...command: string[]): string[] => [
  `--net=/proc/${process.pid}/fd/${descriptor}`,
  '--',
  ...command,
];

const entering = ({ namespace }: SandboxNamespace, ...command: string[]): string[] =>
  into(namespace.network, ...command);

function isNetwork(descriptor: number): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith('net:');
  } catch {
    return false; // just closed
  }
}
