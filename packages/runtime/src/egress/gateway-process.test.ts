// @suite system
import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { gatewayCommand } from './gateway-command.ts';
import { ConnectionPlaces } from './connection-places.ts';
import type { GatewaySockets } from './gateway.ts';
import { GatewayProcess } from './gateway-process.ts';
import { findEgressTools } from './tools.ts';
import { GatewayNetwork } from './gateway-network.ts';
import { TestEgress } from '../testing/test-egress.ts';
import { canMakeNetworks } from '../testing/stand-in-hosts.ts';

describe('the process of the egress gateways', () => {
  test('can read no other file, write none, and start no program', async () => {
    proves('security.network.contained');
    const script = `
const fs = require('node:fs');
const attempts = [
  () => fs.readFileSync('/etc/passwd'),
  () => fs.readdirSync(require('node:os').homedir()),
  () => fs.writeFileSync('/tmp/toolhive-gateway-test', 'x'),
  () => require('node:child_process').spawnSync('true'),
  () => new (require('node:worker_threads').Worker)('', { eval: true }),
];
for (const attempt of attempts) try { attempt(); console.log('allowed') } catch (error) { console.log(error.code) }
`;
    const options = gatewayCommand().args.slice(0, -1);

    const { stdout } = await promisify(execFile)(process.execPath, [...options, '-e', script]);

    expect(stdout).toBe('ERR_ACCESS_DENIED\n'.repeat(5));
  });

  test.runIf(canMakeNetworks)(
    'has no environment of the daemon, and no descriptor but its sockets',
    async () => {
      const tools = await findEgressTools(process.env);
      if ('problem' in tools) throw new Error(tools.problem);
      const gateways = new GatewayProcess();
      const network = new GatewayNetwork(gateways);
      const sandbox = await network.makeNamespace(tools);
      using _namespace = sandbox.namespace;
      using _gateway = await network.openGateway(tools, sandbox, new TestEgress());
      const pid = await gateways.pid();

      const environment = await readFile(`/proc/${pid}/environ`, 'utf8');
      const { stdout: descriptors } = await promisify(execFile)('ls', ['-l', `/proc/${pid}/fd`]);

      expect(environment.match(/^\w+/gm)?.filter((name) => !name.startsWith('NODE_CHANNEL'))).toEqual([]);
      const targets = descriptors.match(/-> .*$/gm) ?? [];
      expect(targets.filter((target) => !/socket:|pipe:|anon_inode:|\/dev\/null/.test(target))).toEqual([]);
    },
  );
});

test('a process that does not respond is replaced', async () => {
  const gateways = new GatewayProcess({ patienceMs: 2_000 }); // its successor must respond on a busy machine, too
  const sockets = async (): Promise<GatewaySockets> => {
    const datagrams = createSocket('udp4').bind(0, '127.0.0.1');
    const lookups = createServer().listen(0, '127.0.0.1');
    await Promise.all([once(datagrams, 'listening'), once(lookups, 'listening')]);
    return { datagrams, lookups, listeners: [] };
  };
  const way = { kind: 'sockets', sockets: await sockets(), reopen: sockets } as const;
  using _gateway = await gateways.open(new TestEgress(), way);
  const stopped = await gateways.pid();

  process.kill(stopped ?? 0, 'SIGSTOP');

  await expect.poll(() => gateways.pid()).not.toBe(stopped);
  await expect.poll(() => gateways.pid()).toBeGreaterThan(0);
});

test('connections of one server leave places for those of others, however few files can be open', () => {
  for (const openFiles of [64, 128, 256, 1024, 4096, 1_000_000]) {
    const places = new ConnectionPlaces(openFiles);
    let taken = 0;
    while (taken < places.perGateway && places.take()) taken += 1;

    expect(taken).toBeGreaterThanOrEqual(16);
    expect(taken).toBeLessThanOrEqual(1024);
    expect(places.take() || openFiles < 256).toBe(true);
    expect(taken * 2).toBeLessThan(Math.max(openFiles, 65) / 1.5);
  }
});
