import { expect, test } from 'vitest';
import { ask, openEcho, sendListener, startEmbedded } from '../testing/embedded.ts';

test('connections go to the first address that accepts them, and both directions end separately', async () => {
  using server = await openEcho('heard');
  await using program = startEmbedded('port-forwarder.ts', [
    String(server.port),
    '127.99.99.99',
    '127.0.0.1',
  ]);
  const port = await sendListener(program, {});

  const answers = await Promise.all([ask({ port }, 'one'), ask({ port }, 'two')]);

  expect(answers).toEqual(['heard one', 'heard two']);
});

test('a connection that no address accepts is closed, and the next one is tried again', async () => {
  const server = await openEcho('heard');
  await using program = startEmbedded('port-forwarder.ts', [String(server.port), '127.0.0.1']);
  const port = await sendListener(program, {});

  server[Symbol.dispose]();
  const during = await ask({ port }, 'one');
  server.server.listen(server.port, '127.0.0.1');
  const after = await ask({ port }, 'two');
  server[Symbol.dispose]();

  expect([during, after]).toEqual(['', 'heard two']);
});

test('the program ends with the daemon, whose end closes its standard input', async () => {
  await using program = startEmbedded('port-forwarder.ts', ['1', '127.0.0.1']);
  await sendListener(program, {});

  program.child.stdin?.end();

  expect(await program.exited).toEqual([0, null]);
});
