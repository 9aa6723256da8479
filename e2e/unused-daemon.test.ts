// @suite e2e (in depth)
import { once } from 'node:events';
import { access, mkdtempDisposable, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { statePaths } from '@toolhive/state/paths';
import { takeOwnership } from '@toolhive/state/ownership';
import pino from 'pino';
import { expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { hasEnded, makeUser, testServer, until } from './testing/thv.ts';

test('a background daemon ends when its state directory is removed, with its servers', async () => {
  proves('cli.background-daemon.end');
  await using user = await makeUser();
  await user.mustThv('run', testServer, '--name', 'one');
  const pid = await user.daemonPid();
  const state = join(user.home, '.local/state/toolhive');

  await rm(state, { recursive: true, maxRetries: 10 }); // the daemon may write meanwhile

  await until(() => hasEnded(pid));
  await expect(access(join(state, 'hive.lock'))).rejects.toThrow('ENOENT');
});

test('a background daemon ends without workloads and requests', async () => {
  proves('cli.background-daemon.end');
  await using user = await makeUser({ env: { TOOLHIVE_IDLE_TIMEOUT: '1s' } });
  await user.mustThv('run', testServer, '--name', 'one');
  const pid = await user.daemonPid();

  await user.mustThv('stop', 'one');

  await until(() => hasEnded(pid));
  const listed = JSON.parse(await user.mustThv('list', '--all', '--format', 'json')) as object[];
  expect(listed).toEqual([expect.objectContaining({ name: 'one', status: 'stopped' })]);
  expect(await user.daemonPid()).not.toBe(pid);
});

test('a command during the end of a daemon waits for its end, and gets an answer from the next one', async () => {
  await using user = await makeUser();
  const paths = statePaths(user.env);
  const ending = await takeOwnership(paths, pino({ enabled: false }));
  const log = join(paths.state, 'hive.log');

  const listed = user.thv('list', '--format', 'json');
  await until(async () => (await readFile(log, 'utf8').catch(() => '')).includes('waiting for the end'));
  ending[Symbol.dispose]();

  expect(await listed).toMatchObject({ code: 0, stdout: '[]\n' });
});

test('a daemon that waits for nothing but an engine stays until the engine answers', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-engine-'));
  const socket = join(folder.path, 'engine.sock');
  // An earlier daemon is removing its container, so the next one waits for that without a limit.
  const engine = createServer(({ url = '', method }, response) => {
    const path = url.replace(/^\/v[\d.]+|\?.*$/g, '');
    response.setHeader('api-version', '1.41');
    if (path.endsWith('/wait')) return setTimeout(() => response.end('{"StatusCode":0}'), 500);
    if (method === 'DELETE') return response.writeHead(409).end('{"message":"removal is in progress"}');
    return response.end(path === '/_ping' ? 'OK' : path === '/containers/json' ? '[{"Id":"0a1b"}]' : '[]');
  });
  await once(engine.listen(socket), 'listening');
  await using user = await makeUser({ env: { TOOLHIVE_RUNTIME: '', TOOLHIVE_DOCKER_SOCKET: socket } });

  const { code, stderr, stdout } = await user.thv('list', '--format', 'json');

  expect({ code, stderr, stdout }).toMatchObject({ code: 0, stdout: '[]\n' });
  engine.close();
  engine.closeAllConnections();
});

test('what holds for all workloads of this machine is said once', async () => {
  proves('cli.limits-once');
  await using user = await makeUser();

  const first = await user.thv('run', testServer, '--name', 'one');
  const second = await user.thv('run', testServer, '--name', 'two');
  const list = await user.thv('list');
  const [one] = JSON.parse(await user.mustThv('list', '--format', 'json')) as { limits: string[] }[];

  const notes = ({ stderr }: { stderr: string }) => one?.limits.filter((limit) => stderr.includes(limit));
  expect([first, second, list].map(notes)).toEqual([one?.limits, [], []]);
});
