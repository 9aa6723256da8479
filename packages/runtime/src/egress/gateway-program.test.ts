import { type ChildProcess, fork } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { type NameServer, openNameServer } from '../testing/name-server.ts';
import { connectionLimits } from './connection-limiter.ts';
import type { FromGateways } from './gateway-messages.ts';

/** A query for the address of a name, as a resolver library writes it. */
function query(name: string): Buffer {
  const labels = name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)]);
  return Buffer.from([0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, 1, 0, 1]);
}

describe('a process of egress gateways with a mistake', () => {
  let child: ChildProcess;
  let told: FromGateways[];
  let nameServer: NameServer;
  let requests: number;

  beforeEach(async () => {
    nameServer = await openNameServer(async () => ['192.0.2.1']);
    child = fork(new URL('../testing/sabotaged-gateways.ts', import.meta.url).pathname, {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    told = [];
    requests = 0;
    child.on('message', (message: FromGateways) => told.push(message));
    const nameServers = [nameServer.address];
    await ask({ type: 'settings', nameServers, limits: connectionLimits, openFiles: 1024 });
  });
  afterEach(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    }
    await nameServer[Symbol.asyncDispose]();
  });

  async function ask(message: object, handle?: Parameters<ChildProcess['send']>[1]): Promise<void> {
    const request = ++requests;
    child.send({ ...message, request }, handle);
    await expect
      .poll(() => told.find((answer) => answer.type === 'done' && answer.request === request))
      .toEqual({ type: 'done', request });
  }

  /** Opens a gateway on loopback sockets. Returns a function that asks it for a name, and tells whether it answered. */
  async function openGateway(gateway: number): Promise<(name: string) => Promise<boolean>> {
    const datagrams = createSocket('udp4').bind(0, '127.0.0.1');
    const lookups = createServer().listen(0, '127.0.0.1');
    await Promise.all([once(datagrams, 'listening'), once(lookups, 'listening')]);
    const { port } = datagrams.address();
    await ask({ type: 'socket', gateway, kind: 'datagrams' }, datagrams);
    await ask({ type: 'socket', gateway, kind: 'lookups' }, lookups);
    datagrams.close();
    lookups.close();
    await ask({ type: 'open', gateway, rules: { ports: [443] }, names: [] });
    return async (name) => {
      const client = createSocket('udp4');
      client.send(query(name), port, '127.0.0.1');
      let answer: boolean | undefined;
      client.on('message', () => (answer = true)).on('error', () => (answer = false));
      await expect
        .poll(
          () => answer ?? (told.some(({ type }) => type === 'fault') || child.exitCode !== null || undefined),
        )
        .toBeDefined();
      const answered = answer === true;
      client.close();
      return answered;
    };
  }

  test.each(['promise', 'timer'])('ends only the gateway that a %s failed for', async (how) => {
    proves('security.network.contained');
    const one = await openGateway(1);
    const other = await openGateway(2);
    expect(await other('before.example')).toBe(true);

    await one(`${how}.example`);

    await expect
      .poll(() => told.filter(({ type }) => type === 'fault'))
      .toMatchObject([{ gateway: 1, text: expect.stringContaining(`sabotaged ${how}`) }]);
    told = [];
    expect(await other('after.example')).toBe(true);
  });

  test('ends if no gateway can be found for the failure', async () => {
    const one = await openGateway(1);

    await one('nowhere.example');

    await expect.poll(() => child.exitCode).toBe(1);
  });
});
