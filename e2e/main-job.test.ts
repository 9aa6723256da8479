import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { connectTo, officialClients } from './testing/mcp.ts';
import { isListening, makeUser, processesWith, publicRegistries } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

// The server comes from the public registry, as for every user. Nothing else here leaves the machine.
describe('the filesystem server from the registry, without a container engine', () => {
  let user: User;
  let folder: string;
  let first: { stdout: string; stderr: string };
  let url: string;

  beforeAll(async () => {
    user = await makeUser({ env: publicRegistries() });
    folder = join(user.home, 'notes');
    await mkdir(folder);
    await writeFile(join(folder, 'hello.txt'), 'a note');
    await writeFile(join(user.home, 'private.txt'), 'not for servers');
    first = await user.thv('run', 'filesystem', '--volume', `${folder}:/projects`, '--', '/projects', '/');
    url = /http:\S+/.exec(first.stdout)?.[0] ?? '';
  });
  afterAll(() => user?.[Symbol.asyncDispose]());

  test('is installed with progress on standard error and reports its URL', () => {
    proves('run.catalogued');
    expect(first.stderr).toMatch(/- installing @modelcontextprotocol\/server-filesystem/);
    expect(first.stderr).toMatch(/- waiting for its first response/);
    expect(first.stdout).toMatch(/^filesystem runs at http:\/\/127\.0\.0\.1:\d+\/mcp\n$/);
  });

  test.each(Object.keys(officialClients))('serves a file to the official client: %s', async (name) => {
    proves('run.client.current', 'run.client.previous', 'transport.stdio');
    await using client = await officialClients[name]!(url); // one of its own keys

    const tools = await client.tools();
    const { text } = await client.call('read_text_file', { path: '/projects/hello.txt' });

    expect(tools).toContain('read_text_file');
    expect(text).toBe('a note');
  });

  test.each(['private.txt', '.local/state/toolhive/runconfigs/filesystem.json'])(
    'cannot read %s, though the server was told that everything is allowed',
    async (file) => {
      proves('run.sandbox.files');
      await using client = await connectTo(url);

      const allowed = await client.call('list_allowed_directories');
      const { text, failed } = await client.call('read_text_file', { path: join(user.home, file) });

      expect(allowed.text).toMatch(/^\/$/m);
      expect([failed, text]).toEqual([true, expect.stringContaining('ENOENT')]);
    },
  );

  test('cannot read the password file of the machine', async () => {
    await using client = await connectTo(url);

    expect(await client.call('read_text_file', { path: '/etc/shadow' })).toMatchObject({ failed: true });
  });

  test('writes where it may', async () => {
    proves('run.mounts');
    await using client = await connectTo(url);

    const { failed } = await client.call('write_file', { path: '/projects/new.txt', content: 'written' });

    expect(failed).toBe(false);
  });

  test('is listed, logged, stopped, restarted on its port, and removed with nothing left', async () => {
    proves('cli.life-cycle', 'cli.background-daemon');
    const port = Number(new URL(url).port);

    const listed = JSON.parse(await user.mustThv('list', '--format', 'json')) as object[];
    const logs = await user.mustThv('logs', 'filesystem');
    const stopped = await user.mustThv('stop', 'filesystem');
    const isPortOpenWhileStopped = await isListening(port);
    const restarted = await user.mustThv('restart', 'filesystem');
    const removed = await user.mustThv('rm', 'filesystem');

    expect(listed).toMatchObject([{ name: 'filesystem', status: 'running', url, port }]);
    expect(logs).toContain('running on stdio');
    expect([stopped, isPortOpenWhileStopped, restarted, removed]).toEqual([
      'stopped filesystem\n',
      false,
      `filesystem runs at ${url}\n`,
      'removed filesystem\n',
    ]);
    expect(JSON.parse(await user.mustThv('list', '--all', '--format', 'json'))).toEqual([]);
    const servers = (await processesWith(user.home)).filter(({ command }) => !command.includes('thv.js'));
    expect(servers).toEqual([]);
    expect(await isListening(port)).toBe(false);
  });
});
