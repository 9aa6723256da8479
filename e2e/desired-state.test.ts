// @suite e2e (in depth)
import { readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { connectTo } from './testing/mcp.ts';
import { isListening, processesWith, serve, testServer, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

const homes = openUsedHomes();
afterAll(() => homes[Symbol.asyncDispose]());

interface Listed {
  name: string;
  url: string;
  port: number;
  status: string;
  status_context?: string;
}

async function list(user: User): Promise<Listed[]> {
  return JSON.parse(await user.mustThv('list', '--all', '--format', 'json')) as Listed[];
}

/** The processes of servers, told from everything else by an argument that only they have. */
async function serversOf(user: User): Promise<number[]> {
  return (await processesWith(`--of=${user.home}`))
    .filter(({ command }) => !command.includes('thv.js'))
    .map(({ pid }) => pid);
}

/** Kills a process that may have ended with another one already. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The most that a process has ever had in memory, in bytes (proc_pid_status(5), VmHWM). */
async function mostMemoryOf(pid: number): Promise<number> {
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kibibytes) * 1024;
}

async function runServer(user: User, name: string): Promise<Listed> {
  await user.mustThv(
    'run',
    testServer,
    '--name',
    name,
    '--proxy-mode',
    'streamable-http',
    '--',
    'echo',
    `--of=${user.home}`,
  );
  const found = (await list(user)).find((workload) => workload.name === name);
  if (found === undefined) throw new Error(`${name} is not listed`);
  return found;
}

test('runs again what should run after the daemon was killed, and only that', async () => {
  proves('state.daemon-killed', 'state.stopped-stays');
  await using user = await homes.take();
  const kept = await runServer(user, 'kept');
  await runServer(user, 'stopped');
  await user.mustThv('stop', 'stopped');
  const before = await serversOf(user);

  await user.killDaemon();
  await until(async () => (await serversOf(user)).length === 0);
  await until(async () => !(await isListening(kept.port)));
  await until(async () => (await list(user)).find(({ name }) => name === 'kept')?.status === 'running');

  expect(before.length).toBeGreaterThan(0);
  expect(await list(user)).toMatchObject([
    { name: 'kept', status: 'running', port: kept.port, url: kept.url },
    { name: 'stopped', status: 'stopped' },
  ]);
  await using client = await connectTo(kept.url);
  expect((await client.call('echo', { message: 'again' })).text).toBe('again');
  const temporary = await readdir(join(user.home, '.local/state/toolhive/tmp'));
  expect(temporary.length).toBeLessThanOrEqual(2);
});

test('starts a killed server again while its clients carry on', async () => {
  proves('state.server-killed');
  await using user = await homes.take();
  const { url } = await runServer(user, 'echo');
  await using client = await connectTo(url);
  const before = await client.call('instance');

  const pending = client.call('slow', { ms: 60_000 }).catch((error: Error) => error.message);
  for (const pid of await serversOf(user)) kill(pid);

  expect(await pending).toContain('the server ended before answering: it was killed by SIGKILL');
  // A call can also reach another killed process of which the daemon has not heard yet.
  const after = await until(() => client.call('instance').catch(() => undefined));
  expect(after.text).not.toBe(before.text);
});

test('a flood on standard error costs neither memory nor disk, and is told as what it was', async () => {
  await using user = await homes.take();
  const { url } = await runServer(user, 'loud');
  await using client = await connectTo(url);
  const daemon = await user.daemonPid();
  const before = await mostMemoryOf(daemon);

  const { text } = await client.call('shout', { mebibytes: 500 });

  expect(text).toBe('shouted');
  await until(async () => (await user.mustThv('logs', 'loud', '--tail', '1')).includes('that was all'));
  const folder = join(user.home, '.local/share/toolhive/logs');
  const logs = (await readdir(folder)).filter((name) => name.startsWith('loud'));
  const sizes = await Promise.all(logs.map(async (name) => (await stat(join(folder, name))).size));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(12 * 1024 ** 2);
  // What waits on its way is bounded; what waits to be collected depends on how busy the machine is.
  expect((await mostMemoryOf(daemon)) - before).toBeLessThan(200 * 1024 ** 2);
});

test('two daemons never own one state directory', async () => {
  proves('state.one-daemon');
  await using user = await homes.take();
  await using _daemon = await serve(user);

  const background = await user.thv('serve', '--background');
  const foreground = await user.thv('serve', '--port', '0');

  expect([background.code, foreground.code]).toEqual([3, 3]);
  expect(background.stderr).toMatch(/another daemon owns .*\.local\/state\/toolhive/);
  expect(foreground.stderr).toMatch(/a daemon is already running in the foreground, as process \d+/);
});

test('a daemon in the foreground takes over from one in the background', async () => {
  await using user = await homes.take();
  const { url } = await runServer(user, 'echo');

  await using daemon = await serve(user);

  expect(daemon.output()).toContain('taking over from the daemon that runs already');
  await until(async () => (await list(user))[0]?.status === 'running');
  await using client = await connectTo(url);
  expect((await client.call('echo', { message: 'moved' })).text).toBe('moved');
});

test('sets an unreadable run config aside, names it, and runs the others', async () => {
  proves('state.set-aside');
  await using user = await homes.take();
  await runServer(user, 'broken');
  await runServer(user, 'fine');
  await user.killDaemon();
  await until(async () => (await serversOf(user)).length === 0);
  const path = join(user.home, '.local/state/toolhive/runconfigs/broken.json');
  const text = await readFile(path, 'utf8');
  await writeFile(path, text.slice(0, text.length / 2));

  const { stdout, stderr } = await user.thv('list');
  await until(async () => (await list(user)).find(({ name }) => name === 'fine')?.status === 'running');
  const log = await readFile(join(user.home, '.local/state/toolhive/hive.log'), 'utf8');

  expect(stdout).toMatch(/^broken +error/m);
  expect(stderr).toContain(
    'broken: its run config could not be read (the file is not JSON) and was set aside',
  );
  expect(log).toContain('unreadable file set aside');
  expect(await readFile(path.replace('.json', '.set-aside'), 'utf8')).toBe(text.slice(0, text.length / 2));
  expect(await user.mustThv('rm', 'broken')).toBe('removed broken\n');
  expect((await list(user)).map(({ name }) => name)).toEqual(['fine']);
});
