// @suite system
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { LocalService } from '../testing/local-service.ts';
import { killProcessOf } from '../testing/network-rules.ts';
import { canMakeNetworks } from '../testing/stand-in-hosts.ts';
import { TestEgress } from '../testing/test-egress.ts';
import { GatewayNetwork } from './gateway-network.ts';
import { GatewayProcess } from './gateway-process.ts';
import { OwnPorts } from './own-ports.ts';
import { type EgressTools, findEgressTools } from './tools.ts';

const limits = { burst: 100, perSecond: 1 };

describe.runIf(canMakeNetworks)('ports of this machine (as root, with iproute2)', () => {
  let tools: EgressTools;
  let gateways: GatewayProcess;
  let network: GatewayNetwork;

  beforeAll(async () => {
    const found = await findEgressTools(process.env);
    if ('problem' in found) throw new Error(found.problem);
    tools = found;
    gateways = new GatewayProcess({ limits });
    network = new GatewayNetwork(gateways);
  });

  /** The network namespace of a server to which ports are granted. */
  async function openPlace(...localPorts: number[]) {
    using undo = new DisposableStack();
    const egress = new TestEgress({ hosts: [], ports: [], localPorts });
    const sandbox = await network.makeNamespace(tools);
    undo.use(sandbox.namespace);
    undo.use(await network.openGateway(tools, sandbox, egress));
    const into = [`--net=/proc/${process.pid}/fd/${sandbox.namespace.network}`, '--', process.execPath, '-e'];
    const run = (script: string) => execFile(tools.nsenter, [...into, script]);
    const resources = undo.move();
    return {
      egress,
      run,
      /** What a client says, the answer, and how the connection ends. */
      async dial(host: string, port: number, say = 'hello'): Promise<string> {
        const script = `
const socket = require('node:net').connect(${port}, '${host}', () => socket.end('${say}'));
let text = '';
socket.on('data', (chunk) => (text += chunk)).on('error', (error) => (text += error.code)).on('close', () => console.log(text));
`;
        return (await promisify(execFile)(tools.nsenter, [...into, script])).stdout.trim();
      },
      [Symbol.dispose]: () => resources.dispose(),
    };
  }

  test.each(['127.0.0.1', '::1'])(
    'a service that listens on %s is reached at both addresses',
    async (host) => {
      await using service = await LocalService.open(host);
      using place = await openPlace(service.port);
      const { port } = service;

      for (const address of ['127.0.0.1', '::1', 'localhost'])
        expect(await place.dial(address, port)).toBe('welcome hello');

      const decision = { host: 'localhost', port, verdict: 'allowed', rule: `local port ${port}` };
      await expect.poll(() => place.egress.decisions).toEqual([decision, decision, decision]);
      await expect.poll(() => place.egress.traffic).toContainEqual({ sent: 5, received: 13 });
    },
  );

  test('another port, and one that no program listens on, are not reached', async () => {
    await using other = await LocalService.open('127.0.0.1');
    const gone = await LocalService.open('127.0.0.1');
    await gone[Symbol.asyncDispose]();
    using place = await openPlace(gone.port);

    expect(await place.dial('127.0.0.1', other.port)).toBe('ECONNREFUSED');
    expect(await place.dial('127.0.0.1', gone.port)).toBe('ECONNRESET');

    const reason = 'no program accepts connections to this port of this machine';
    await expect.poll(() => place.egress.denied).toEqual([`localhost:${gone.port}: ${reason}`]);
  });

  test('a port to which ToolHive itself moved is not reached', async () => {
    const service = await LocalService.open('127.0.0.1');
    const { port } = service;
    using place = await openPlace(port);
    const before = await place.dial('127.0.0.1', port);
    await service[Symbol.asyncDispose]();
    let received = '';
    await using own = createServer((client) => {
      client.on('error', () => {}).on('data', (chunk: Buffer) => (received += chunk.toString()));
      client.write('secret');
    });
    await once(own.listen(port, '127.0.0.1'), 'listening');

    expect(before).toBe('welcome hello');
    expect(await place.dial('127.0.0.1', port)).toBe('ECONNRESET');
    expect(received).toBe('');
    await expect.poll(() => place.egress.denied.join()).toContain('the port belongs to ToolHive');
  });

  test('a connection ends when its port is not granted any more', async () => {
    await using service = await LocalService.open('127.0.0.1');
    const { port } = service;
    using place = await openPlace(port);
    const client = place.run(`
const socket = require('node:net').connect(${port}, '127.0.0.1');
socket.on('data', (text) => console.log(String(text))).on('error', (error) => console.log(error.code)).on('close', () => console.log('closed'));
`);
    let said = '';
    client.stdout?.on('data', (text: string) => (said += text));
    await expect.poll(() => said).toContain('welcome');

    await place.egress.change({ hosts: [], ports: [] });

    await expect.poll(() => said).toContain('closed');
    expect(await place.dial('127.0.0.1', port)).toBe('ECONNRESET');
    await place.egress.change({ hosts: [], ports: [], localPorts: [port] });
    expect(await place.dial('127.0.0.1', port)).toBe('welcome hello');
  });

  test('a port is reached again after the process of the gateways has ended', async () => {
    await using service = await LocalService.open('127.0.0.1');
    using place = await openPlace(service.port);
    const before = await place.dial('::1', service.port);

    await killProcessOf(gateways);

    await expect.poll(() => place.dial('::1', service.port), { timeout: 10_000 }).toBe('welcome hello');
    expect(before).toBe('welcome hello');
  });

  test('a server that opens too many connections loses its local ports, and others keep theirs', async () => {
    await using service = await LocalService.open('127.0.0.1');
    const { port } = service;
    using flooding = await openPlace(port);
    using other = await openPlace(port);
    const flood = flooding.run(`
const open = () => require('node:net').connect(${port}, '127.0.0.1').on('error', () => {}).on('close', () => setTimeout(open, 1));
for (let count = 0; count < 1000; count += 1) open();
`);

    const reason =
      'the server opened too many connections at once, so it has no local ports until it restarts';
    await expect
      .poll(() => flooding.egress.denied, { timeout: 20_000 })
      .toContain(`localhost:${port}: ${reason}`);

    flood.kill('SIGKILL');
    expect(await flooding.dial('127.0.0.1', port)).toBe('ECONNREFUSED');
    expect(await other.dial('127.0.0.1', port)).toBe('welcome hello');
  });
});

test('the ports of this process are its own, on every address, as long as it listens', async () => {
  const ports = new OwnPorts();
  const found: boolean[] = [];
  for (const host of ['127.0.0.1', '::1', '0.0.0.0', '::']) {
    const server = createServer();
    await once(server.listen(0, host), 'listening');
    const { port } = server.address() as AddressInfo;
    found.push(await ports.has(port));
    await promisify(server.close.bind(server))();
    found.push(await ports.has(port));
  }

  expect(found).toEqual([true, false, true, false, true, false, true, false]);
});

test('those who ask at the same time get an answer that is not older than their question', async () => {
  const ports = new OwnPorts();
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await promisify(server.close.bind(server))();

  const before = Array.from({ length: 100 }, () => ports.has(port));
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const after = Array.from({ length: 100 }, () => ports.has(port));

  expect(new Set(await Promise.all(after))).toEqual(new Set([true]));
  expect(await Promise.all(before)).toHaveLength(100);
  await promisify(server.close.bind(server))();
});

test('a port on which an engine publishes a server belongs to ToolHive until it is released', async () => {
  await using service = await LocalService.open('127.0.0.1');
  const ports = new OwnPorts();
  const before = await ports.has(service.port);
  const [one, other] = [ports.add(service.port), ports.add(service.port)];

  one[Symbol.dispose]();
  const during = await ports.has(service.port);
  other[Symbol.dispose]();

  expect([before, during, await ports.has(service.port)]).toEqual([false, true, false]);
});
