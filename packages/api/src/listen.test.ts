import { once } from 'node:events';
import { mkdir, mkdtempDisposable, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { Hono } from 'hono';
import { expect, onTestFinished, test, vi } from 'vitest';
import { listenOnSocket } from './listen.ts';

test('a socket belongs to this user alone, and what a kill left in its place is cleared', async () => {
  await using home = await mkdtempDisposable(join(tmpdir(), 'thv-listen-'));
  const state = join(home.path, 'toolhive');
  await mkdir(join(state, 'hive'), { recursive: true });
  await writeFile(join(state, 'hive', 's'), 'left by a kill before the socket was moved');
  await writeFile(join(state, 'hive.sock'), 'left by a kill while it listened');

  await using _listener = await listenOnSocket(new Hono(), join(state, 'hive.sock'));

  expect(await readdir(home.path, { recursive: true })).toEqual(['toolhive', 'toolhive/hive.sock']);
  const { mode } = await stat(join(state, 'hive.sock'));
  expect(mode & 0o777).toBe(0o600);
});

test('a socket is private without a change of the mode of files that others create meanwhile', async () => {
  await using home = await mkdtempDisposable(join(tmpdir(), 'thv-umask-'));
  const umask = vi.spyOn(process, 'umask'); // it applies to the whole process
  onTestFinished(() => umask.mockRestore());
  const path = join(home.path, 'state', 'hive.sock');

  await using _listener = await listenOnSocket(new Hono(), path);

  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(umask).not.toHaveBeenCalled();
});

test.each([
  ['its file', (path: string) => rm(path)],
  ['its directory', (path: string) => rm(dirname(path), { recursive: true })],
])('a socket comes back after %s was removed', async (_title, remove) => {
  await using home = await mkdtempDisposable(join(tmpdir(), 'thv-listen-'));
  const path = join(home.path, 'sockets', 'hive.sock');
  const app = new Hono().get('/', (context) => context.text('here'));
  const restoreDirectory = async (): Promise<void> => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  };
  await using listener = await listenOnSocket(app, path, { restoreDirectory, checkMs: 5 });

  await remove(path);

  await expect.poll(() => ask(path)).toBe('here');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await listener[Symbol.asyncDispose]();
  expect(await readdir(dirname(path))).toEqual([]);
});

test('the directory of a socket is not created again by itself', async () => {
  await using home = await mkdtempDisposable(join(tmpdir(), 'thv-listen-'));
  const path = join(home.path, 'state', 'hive.sock');
  const looked = Promise.withResolvers<void>();
  const restoreDirectory = async (): Promise<void> => looked.resolve();
  await using listener = await listenOnSocket(new Hono(), path, { restoreDirectory, checkMs: 5 });

  await rm(dirname(path), { recursive: true });
  await looked.promise;
  await listener[Symbol.asyncDispose]();

  expect(await readdir(home.path)).toEqual([]);
});

/** The text of an answer over a socket. Undefined if nothing listens there. */
async function ask(socketPath: string): Promise<string | undefined> {
  const [answer] = (await once(request({ socketPath, agent: false }).end(), 'response').catch(() => [])) as [
    IncomingMessage?,
  ];
  return answer && textOf(answer);
}
