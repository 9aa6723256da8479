// @suite system
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { testPort } from '@toolhive/testing/port';
import { waitFor } from '../testing/conformance.ts';
import { ask, sendListener, startEmbeddedFile } from '../testing/embedded.ts';

/** A server that answers with one of its environment variables, on a free port unless the arguments name one. */
const server = `require('node:net').createServer({ allowHalfOpen: true }, (socket) => {
  socket.resume().end(process.env.WORD);
}).listen(Number(process.argv[1] ?? 0), '127.0.0.1');`;

const withWord = { env: { WORD: 'from the environment' } };

/** Hides the processes of the machine, as a sandbox does. */
const alone = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc', '--'];

test.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
  'a server that listens on another port than the configured one is found (as root, with unshare)',
  async () => {
    const command = [process.execPath, '-e', server];
    await using program = await startEmbeddedFile('sandbox-forwarder.ts', ['1', ...command], {
      before: alone,
    });
    const port = await sendListener(program, withWord);

    const answer = await waitFor(async () => (await ask({ port }, '')) || undefined);

    expect(answer).toBe('from the environment');
  },
);

test('the server gets the environment from the daemon, and signals', async () => {
  const own = await testPort();
  const command = [process.execPath, '-e', server, String(own)];
  await using program = await startEmbeddedFile('sandbox-forwarder.ts', [String(own), ...command]);
  const port = await sendListener(program, withWord);
  await waitFor(async () => (await ask({ port: own }, '')) || undefined);

  const answer = await ask({ port }, '');
  program.child.kill('SIGTERM');

  expect(answer).toBe('from the environment');
  expect(await program.exited).toEqual([128 + 15, null]);
});

test('the program ends with the exit code of the server', async () => {
  await using program = await startEmbeddedFile('sandbox-forwarder.ts', [
    '1',
    process.execPath,
    '-e',
    'process.exitCode = 7',
  ]);
  await sendListener(program, withWord);

  expect(await program.exited).toEqual([7, null]);
});

test('a server that cannot be started is reported', async () => {
  await using program = await startEmbeddedFile('sandbox-forwarder.ts', ['1', '/nowhere/server'], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const { stderr } = program.child;
  if (stderr === null) throw new Error('its standard error is a pipe');
  const said = text(stderr);
  await sendListener(program, withWord);

  expect([await program.exited, await said]).toEqual([[127, null], 'spawn /nowhere/server ENOENT\n']);
});
