import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect, test } from 'vitest';
import { openTestApi } from './testing/test-api.ts';
import { UiSessions } from './ui-sessions.ts';
import { peerUser } from './peer-user.ts';

const isRoot = process.getuid?.() === 0;

test.runIf(process.platform === 'linux').for([
  ['127.0.0.1', '127.0.0.1'],
  ['::', '127.0.0.1'],
  ['::1', '::1'],
])('finds the user of a program that connects to %s', async ([host, address]) => {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const client = connect(port, address);
  const [socket] = (await once(server, 'connection')) as [Socket];

  const user = await peerUser(socket);

  expect(user).toBe(process.getuid?.());
  client.destroy();
  socket.destroy();
  server.close();
});

test.runIf(isRoot)('another user of this machine cannot sign in with a code', async () => {
  const uiSessions = new UiSessions();
  await using api = await openTestApi({}, { uiSessions });
  const body = JSON.stringify({ code: uiSessions.issueCode() });
  const request = [
    'POST /api/v1beta/ui/session HTTP/1.1',
    `Host: 127.0.0.1:${api.port}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
  const nobody = 65_534;

  const child = spawn(
    '/bin/bash',
    ['-c', `exec 3<>/dev/tcp/127.0.0.1/${api.port}; printf %s "$0" >&3; cat <&3`, request],
    {
      uid: nobody,
      gid: nobody,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let answer = '';
  for await (const chunk of child.stdout) answer += String(chunk);

  expect(answer).toMatch(/^HTTP\/1\.1 403 /);
  expect(answer).toContain('only a browser of the user who runs this daemon can sign in');
});
