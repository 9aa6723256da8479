import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { openAccess } from '@toolhive/access/access';
import { expect, test } from 'vitest';
import { openTestApi } from './testing/test-api.ts';
import { UiSessions, sessionCookie } from './ui-sessions.ts';
import { peerOf } from './peer-user.ts';

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

  const peer = await peerOf(socket);

  expect(peer).toEqual({ kind: 'user', id: process.getuid?.() });
  client.destroy();
  socket.destroy();
  server.close();
});

test.runIf(process.platform === 'linux').for([
  ['closes', (client: Socket) => client.destroy()],
  ['resets', (client: Socket) => client.resetAndDestroy()],
] as const)('counts a connection as gone that its program %s', async ([, leave]) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const client = connect(port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  socket.pause().on('error', () => {});

  leave(client);
  await once(client, 'close');

  expect(await peerOf(socket)).toEqual({ kind: 'gone' });
  socket.destroy();
  server.close();
});

const nobody = 65_534;

/** Sends a request as another user of this machine, and returns the answer. */
async function sendAsNobody(port: number, lines: readonly string[], body = ''): Promise<string> {
  const request = [...lines, `Host: 127.0.0.1:${port}`, 'Connection: close', '', body].join('\r\n');
  const child = spawn(
    '/bin/bash',
    ['-c', `exec 3<>/dev/tcp/127.0.0.1/${port}; printf %s "$0" >&3; cat <&3`, request],
    {
      uid: nobody,
      gid: nobody,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let answer = '';
  for await (const chunk of child.stdout) answer += String(chunk);
  return answer;
}

test.runIf(isRoot)('another user of this machine cannot sign in with a code', async () => {
  const uiSessions = new UiSessions();
  await using api = await openTestApi({}, { uiSessions });
  const body = JSON.stringify({ code: uiSessions.issueCode() });

  const answer = await sendAsNobody(
    api.port,
    [
      'POST /api/v1beta/ui/session HTTP/1.1',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ],
    body,
  );

  expect(answer).toMatch(/^HTTP\/1\.1 403 /);
  expect(answer).toContain('only a browser of the user who runs this daemon can sign in');
});

test.runIf(isRoot)('another user of this machine cannot use the session of a browser', async () => {
  const uiSessions = new UiSessions();
  const access = openAccess({ token: 'correct-horse-battery-staple' });
  await using api = await openTestApi({}, { access, uiSessions });
  const host = `127.0.0.1:${api.port}`;
  const [cookie = ''] = sessionCookie(host, uiSessions.redeem(uiSessions.issueCode())).split(';');

  const own = await api.get('/api/v1beta/workloads', { cookie, 'sec-fetch-site': 'same-origin' });
  const stolen = await sendAsNobody(api.port, [
    'GET /api/v1beta/workloads HTTP/1.1',
    `Cookie: ${cookie}`,
    'Sec-Fetch-Site: same-origin',
  ]);

  expect(own.status).toBe(200);
  expect(stolen).toMatch(/^HTTP\/1\.1 401 /);
});
