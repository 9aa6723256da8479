import { once } from 'node:events';
import { Server, type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { testPort } from '@toolhive/testing/port';
import { startEmbedded } from '../testing/embedded.ts';

test('a listener for each port arrives after the word of the daemon, and the program ends when all are taken', async () => {
  const ports = [await testPort(), await testPort()];
  await using program = startEmbedded('open-sockets.ts', [ports.join()]);
  const received: unknown[] = [];
  program.child.on('message', (kind, handle) => received.push([kind, handle]));

  program.child.send('connected');
  while (received.length < 2) await once(program.child, 'message');
  program.child.send('taken');
  const exit = await program.exited;

  const opened = received.map((entry) => {
    const [kind, handle] = entry as [string, unknown];
    if (!(handle instanceof Server)) throw new Error('it is a listener');
    const { address, port } = handle.address() as AddressInfo;
    handle.close();
    return [kind, address, port];
  });
  expect(opened).toEqual(ports.map((port) => ['listener', '0.0.0.0', port]));
  expect(exit).toEqual([0, null]);
});

test('a port that is in use is reported', async () => {
  const other = createServer().listen(0, '0.0.0.0');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  await using program = startEmbedded('open-sockets.ts', [String(port)]);

  program.child.send('connected');
  const [message] = (await once(program.child, 'message')) as [string];
  other.close();

  expect(message).toContain('EADDRINUSE');
  expect(await program.exited).toEqual([1, null]);
});

test('the program ends with the daemon, whose end closes its standard input', async () => {
  await using program = startEmbedded('open-sockets.ts', ['1']);

  program.child.stdin?.end();

  expect(await program.exited).toEqual([1, null]);
});
