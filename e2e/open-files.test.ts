// @suite e2e (in depth)
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { connectTo } from './testing/mcp.ts';
import { makeUser, testServer, thvStart } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

/** What runs a program that can have so many files open, at first and at most. */
const limitedTo = (soft: number, hard: number): [string, ...string[]] => [
  'prlimit',
  `--nofile=${soft}:${hard}`,
  '--',
  process.execPath,
];

const limitedUser = (soft: number, hard: number): Promise<User> =>
  makeUser({ program: [...limitedTo(soft, hard), ...thvStart] });

async function runWorkload(user: User, name: string): Promise<string> {
  const words = ['--name', name, '--proxy-mode', 'streamable-http'];
  const stdout = await user.mustThv('run', testServer, ...words, '--', 'echo');
  return /http:\S+/.exec(stdout)?.[0] ?? '';
}

test('a daemon raises its limit on open files to the highest that it may have', async () => {
  await using user = await limitedUser(256, 2048);
  await user.mustThv('list');

  const limits = await readFile(`/proc/${await user.daemonPid()}/limits`, 'utf8');

  expect(limits).toMatch(/^Max open files\s+2048\s+2048/m);
});

test.each(['never send a whole request', 'wait for news'])(
  'clients that %s cannot use all files that a daemon may open, so that other workloads and the API answer',
  async (what) => {
    proves('security.files.shared');
    await using user = await limitedUser(256, 256);
    const one = await runWorkload(user, 'one');
    const other = await runWorkload(user, 'other');
    const pid = await user.daemonPid();

    await callAtOnce(one, 12);
    using _flood = await openFlood(Number(new URL(one).port), requests[what] ?? '');

    await using client = await connectTo(other);
    expect((await client.call('echo', { message: 'still here' })).text).toContain('still here');
    expect(await user.mustThv('list')).toMatch(/one[^]+other|other[^]+one/);
    expect(await user.daemonPid()).toBe(pid);
  },
);

/** Opens sessions with processes of their own, as many of them as there may be. */
async function callAtOnce(url: string, count: number): Promise<void> {
  const call = async (): Promise<void> => {
    await using client = await connectTo(url);
    await client.call('echo', { message: 'one more' });
  };
  await Promise.allSettled(Array.from({ length: count }, call));
}

const begun = 'POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n';
const listen = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'subscriptions/listen',
  params: {
    notifications: { toolsListChanged: true },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
});
const requests: Record<string, string> = {
  'never send a whole request': begun,
  'wait for news': `${begun}accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: subscriptions/listen\r\ncontent-length: ${listen.length}\r\n\r\n${listen}`,
};

/** Opens more connections than the daemon can have files, and sends a request over each. Returns when the daemon has taken or refused each. */
async function openFlood(port: number, request: string): Promise<Disposable> {
  const sockets = Array.from({ length: 600 }, () => connect(port, '127.0.0.1'));
  await Promise.all(
    sockets.map((socket) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      socket.on('connect', () => resolve()).on('error', () => resolve());
      socket.write(request);
      return promise;
    }),
  );
  return {
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
