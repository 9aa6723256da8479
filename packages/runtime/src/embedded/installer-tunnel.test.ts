import { once } from 'node:events';
import { mkdtempDisposable } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { testPort } from '@toolhive/testing/port';
import { startEmbeddedFile } from '../testing/embedded.ts';

/** Connects to the ports in its arguments, and prints their answers. */
const tool = `const ask = (port) => new Promise((resolve) => {
  const socket = require('node:net').connect(Number(port), '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk) => (answer += chunk)).on('close', () => resolve(answer)).on('error', () => {});
  socket.write('GET / HTTP/1.1\\r\\nHost: proxy\\r\\nConnection: close\\r\\n\\r\\n');
});
Promise.all(process.argv.slice(1).map(ask)).then((answers) => {
  console.log(JSON.stringify(answers.map((answer) => answer.split('\\r\\n').at(-1))));
  process.exitCode = 3;
});`;

/** A gateway at a Unix socket that answers requests, and connects everything that is asked for to one word. */
async function openGateway() {
  const folder = await mkdtempDisposable(join(tmpdir(), 'thv-tunnel-'));
  const path = join(folder.path, 's');
  const asked: string[] = [];
  const server = createServer((_request, response) => response.end('as a proxy'));
  server.on('connect', (request, socket) => {
    asked.push(request.url ?? '');
    socket.end('HTTP/1.1 200 OK\r\n\r\nas a registry');
  });
  server.listen(path);
  await once(server, 'listening');
  return {
    path,
    asked,
    async [Symbol.asyncDispose]() {
      server.close();
      await folder.remove();
    },
  };
}

test('the tool reaches the gateway as a proxy and through the port of a local registry, and its exit code is kept', async () => {
  await using gateway = await openGateway();
  const [proxy, registry] = [await testPort(), await testPort()].map(String);
  const command = [process.execPath, '-e', tool, proxy ?? '', registry ?? ''];
  await using program = await startEmbeddedFile(
    'installer-tunnel.ts',
    [gateway.path, proxy ?? '', `localhost:${registry}`, ...command],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const { stdout } = program.child;
  if (stdout === null) throw new Error('its standard output is a pipe');
  const said = text(stdout);

  const exit = await program.exited;

  expect(JSON.parse(await said)).toEqual(['as a proxy', 'as a registry']);
  expect(gateway.asked).toEqual([`localhost:${registry}`]);
  expect(exit).toEqual([3, null]);
});

test('a tool that cannot be started is reported', async () => {
  await using gateway = await openGateway();
  await using program = await startEmbeddedFile(
    'installer-tunnel.ts',
    [gateway.path, String(await testPort()), '', '/nowhere/tool'],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const { stderr } = program.child;
  if (stderr === null) throw new Error('its standard error is a pipe');
  const said = text(stderr);

  expect([await program.exited, await said]).toEqual([[127, null], 'spawn /nowhere/tool ENOENT\n']);
});
