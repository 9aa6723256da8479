import { mkdir, mkdtempDisposable, readdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
