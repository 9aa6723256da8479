import {
  chmod,
  chown,
  mkdir,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { makeHome } from './testing/test-core.ts';
import { writeWhole } from '@toolhive/state/files';
import { takeOwnership } from '@toolhive/state/ownership';
import { statePaths } from '@toolhive/state/paths';
import { makePrivateDirectory, requirePrivateDirectory } from '@toolhive/state/private-directory';
import { RunConfigs } from '@toolhive/state/run-configs';
import { Logs } from '@toolhive/state/logs';
import { Statuses } from '@toolhive/state/statuses';
import { newWorkloadId } from '@toolhive/state/workload-id';

const log = pino({ level: 'silent' });

describe('paths', () => {
  test('follow the XDG variables where they are absolute', () => {
    const env = {
      HOME: '/home/ada',
      XDG_STATE_HOME: '/elsewhere',
      XDG_DATA_HOME: 'relative',
      XDG_CONFIG_HOME: '',
    };

    expect(statePaths(env, 'linux')).toMatchObject({
      config: '/home/ada/.config/toolhive',
      state: '/elsewhere/toolhive',
      data: '/home/ada/.local/share/toolhive',
      runConfigs: '/elsewhere/toolhive/runconfigs',
      socket: '/elsewhere/toolhive/hive.sock',
    });
  });

  test('lead to a shorter place for a socket that would not fit', () => {
    const { socket } = statePaths({ HOME: `/${'deep/'.repeat(40)}` }, 'linux');

    expect(socket.length).toBeLessThanOrEqual(103);
    expect(socket).toMatch(/toolhive-\d+\/[0-9a-f]{16}\.sock$/);
  });
});

describe('a directory where others can write', () => {
  test('is made for this user alone, and used again', async () => {
    await using home = await makeHome();
    const path = join(home.path, 'own');

    await makePrivateDirectory(path);
    await makePrivateDirectory(path);

    expect((await stat(path)).mode & 0o777).toBe(0o700);
  });

  const isRoot = process.getuid?.() === 0;
  test.each<[string, (path: string) => Promise<unknown>]>([
    ['others can write to', (path) => mkdir(path).then(() => chmod(path, 0o777))],
    [
      'is a link',
      (path) => mkdir(`${path}-there`, { mode: 0o700 }).then(() => symlink(`${path}-there`, path)),
    ],
    ['is a file', (path) => writeFile(path, '')],
    ...(isRoot
      ? [
          [
            'somebody else owns',
            (path: string) => mkdir(path, { mode: 0o700 }).then(() => chown(path, 1, 1)),
          ] as [string, (path: string) => Promise<void>],
        ]
      : []),
  ])('is refused when it %s', async (_what, make) => {
    await using home = await makeHome();
    const path = join(home.path, 'trap');
    await make(path);

    const refusal = {
      kind: 'unavailable',
      message: `${path} is not a directory that only this user can access`,
    };
    await expect(makePrivateDirectory(path)).rejects.toMatchObject(refusal);
    await expect(requirePrivateDirectory(path)).rejects.toMatchObject(refusal);
  });
});

describe('a file', () => {
  test('is written whole, for its owner only, and nothing else is left', async () => {
    await using home = await makeHome();
    const path = join(home.path, 'new', 'file.json');

    await writeWhole(path, 'one');
    await writeWhole(path, 'two');

    expect(await readFile(path, 'utf8')).toBe('two');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(dirname(path))).toEqual(['file.json']);
  });

  test('stays as it was when it cannot be written', async () => {
    await using home = await makeHome();
    const path = join(home.path, 'taken');
    await mkdir(join(path, 'folder'), { recursive: true });

    await expect(writeWhole(path, 'text')).rejects.toThrow();

    expect(await readdir(home.path)).toEqual(['taken']);
  });
});

describe('the state directory', () => {
  test('belongs to one owner at a time, and keeps its identity', async () => {
    await using home = await makeHome();
    const paths = statePaths(home.env, 'linux');
    const first = await takeOwnership(paths, log);

    await expect(takeOwnership(paths, log)).rejects.toMatchObject({ kind: 'conflict' });
    first[Symbol.dispose]();
    using second = await takeOwnership(paths, log);

    expect(second.daemonId).toBe(first.daemonId);
  });
});

const aRunConfig = {
  schema_version: 'v0.1.0' as const,
  name: 'echo',
  base_name: 'echo',
  container_name: 'echo',
  image: 'example/echo:1',
  transport: 'stdio' as const,
  host: '127.0.0.1',
  port: 12_345,
};

describe('run configs', () => {
  test('come back as they were saved, with what others wrote into them', async () => {
    await using home = await makeHome();
    const store = new RunConfigs(home.path, log);
    const stored = { id: newWorkloadId(), runConfig: { ...aRunConfig, from_the_future: { kept: true } } };
    await store.save(stored);

    expect((await store.load()).runConfigs).toEqual([stored]);
  });

  test.each([
    ['an empty file', '', 'the file is empty'],
    ['half a file', '{"name": "echo", "ba', 'the file is not JSON'],
    ['something else', '[]', 'the file: Invalid input: expected object, received array'],
    [
      'a wrong port',
      JSON.stringify({ ...aRunConfig, port: 'many' }),
      'port: Invalid input: expected number, received string',
    ],
    [
      'a member that would be dropped',
      JSON.stringify(aRunConfig).replace('{', '{"env_vars":{"__proto__":"lost"},'),
      'the file has a member __proto__, which is not accepted',
    ],
    [
      'another name',
      JSON.stringify({ ...aRunConfig, name: 'other' }),
      'the file is named echo, but its workload other',
    ],
  ])('are set aside when they cannot be read: %s', async (_title, text, why) => {
    await using home = await makeHome();
    const store = new RunConfigs(home.path, log);
    await writeFile(join(home.path, 'echo.json'), text);

    const { runConfigs, setAside } = await store.load();

    expect(runConfigs).toEqual([]);
    expect(setAside).toEqual([{ name: 'echo', path: join(home.path, 'echo.set-aside'), why }]);
    expect(await readFile(join(home.path, 'echo.set-aside'), 'utf8')).toBe(text);
    expect((await store.load()).setAside).toEqual(setAside);
  });

  test.each([undefined, ''])(
    'of the original can lack fields with one possible value: %j',
    async (lacking) => {
      await using home = await makeHome();
      const store = new RunConfigs(home.path, log);
      const fields = { schema_version: lacking, base_name: lacking, container_name: lacking };
      await writeFile(join(home.path, 'echo.json'), JSON.stringify({ ...aRunConfig, ...fields }));

      const { runConfigs, setAside } = await store.load();

      expect(runConfigs).toMatchObject([{ runConfig: aRunConfig }]);
      expect(setAside).toEqual([]);
    },
  );

  test('never take the place of one that was set aside earlier', async () => {
    await using home = await makeHome();
    const store = new RunConfigs(home.path, log);
    await writeFile(join(home.path, 'echo.json'), 'first');
    await store.load();
    await writeFile(join(home.path, 'echo.json'), 'second');

    const { setAside } = await store.load();

    expect(setAside.map(({ name }) => name)).toEqual(['echo', 'echo']);
    const texts = await Promise.all(setAside.map(({ path }) => readFile(path, 'utf8')));
    expect(texts).toEqual(['first', 'second']);
  });

  test('are gone with everything that was set aside for them', async () => {
    await using home = await makeHome();
    const store = new RunConfigs(home.path, log);
    await writeFile(join(home.path, 'echo.json'), 'broken');
    await store.load();

    await store.remove('echo');

    expect(await readdir(home.path)).toEqual([]);
  });
});

describe('statuses', () => {
  test('end as the last write says, however quickly they follow', async () => {
    await using home = await makeHome();
    const statuses = new Statuses(home.path, log);
    const created_at = '2026-01-01T00:00:00Z';

    await Promise.all(
      (['starting', 'running', 'stopping', 'stopped'] as const).map((status) =>
        statuses.write('echo', { status, created_at }),
      ),
    );

    expect(await statuses.read('echo')).toEqual({ status: 'stopped', created_at });
  });

  test('are told apart when they cannot be read', async () => {
    await using home = await makeHome();
    const statuses = new Statuses(home.path, log);
    await writeFile(join(home.path, 'echo.json'), '{"status":"flying"}');

    expect([await statuses.read('echo'), await statuses.read('nobody')]).toEqual(['unreadable', undefined]);
  });
});

describe('the log of a server', () => {
  test('continues at its path after it was removed or replaced', async () => {
    await using home = await makeHome();
    const logs = new Logs(join(home.path, 'logs'));
    await using log = await logs.open('echo', 'server');
    log.write('lost\n');
    await logs.read('echo', 'server', { lines: 1 });

    await rm(join(home.path, 'logs'), { recursive: true });
    await expect.poll(() => logs.read('echo', 'server', { lines: 9 })).toBe('');
    log.write('first\n');
    expect(await logs.read('echo', 'server', { lines: 9 })).toBe('first\n');

    await rename(join(home.path, 'logs', 'echo.server.log'), join(home.path, 'moved'));
    await logs.read('echo', 'server', { lines: 9 });
    log.write('second\n');

    expect(await logs.read('echo', 'server', { lines: 9 })).toBe('second\n');
  });

  test('begins another line behind an unfinished one on request', async () => {
    await using home = await makeHome();
    const logs = new Logs(home.path);
    await using log = await logs.open('echo', 'server');
    log.endLine();
    log.write('Password: ');
    log.endLine();
    log.endLine();
    log.write('next\n');

    expect(await logs.read('echo', 'server', { lines: 9 })).toBe('Password: \nnext\n');
  });

  test('keeps the last lines, across its two files', async () => {
    await using home = await makeHome();
    const logs = new Logs(home.path);
    const line = `${'x'.repeat(1000)}\n`;
    {
      await using log = await logs.open('echo', 'server');
      for (let n = 0; n < 5000; n++) {
        log.write(line);
        if (n % 500 === 0) await new Promise(setImmediate);
      }
      await new Promise(setImmediate);
    }
    await using again = await logs.open('echo', 'server');
    again.write('the end\n');
    await again[Symbol.asyncDispose]();

    const sizes = await Promise.all(
      (await readdir(home.path)).map(async (file) => (await stat(join(home.path, file))).size),
    );

    expect(Math.max(...sizes)).toBeLessThan(6 * 1024 * 1024);
    expect((await logs.read('echo', 'server', { lines: 2 })).split('\n').at(-2)).toBe('the end');
    expect((await logs.read('echo', 'server', { lines: 100 })).trimEnd().split('\n')).toHaveLength(100);
  });

  test('has the end of a flood, and says how much is missing before', async () => {
    await using home = await makeHome();
    const logs = new Logs(home.path);
    await using log = await logs.open('echo', 'server');
    const line = `${'x'.repeat(99)}\n`;

    for (let n = 0; n < 20_000; n++) log.write(line);
    log.write('the end\n');

    await expect
      .poll(() => logs.read('echo', 'server', { lines: 200 }))
      .toMatch(/\n\(\d{5,} bytes were dropped here\)\n(x{99}\n)+the end\n$/);
  });

  test('that was rotated in a flood loses no more than it says', async () => {
    await using home = await makeHome();
    const logs = new Logs(home.path);
    const line = `${'x'.repeat(99)}\n`;
    {
      await using log = await logs.open('echo', 'server');
      for (let n = 0; n < 60_000; n++) {
        log.write(line);
        if (n % 2_000 === 0) await new Promise(setImmediate);
      }
      log.write('the end\n');
    }

    expect(await logs.read('echo', 'server', { lines: 1 })).toBe('the end\n');
  });

  test('bears the time of every line, and gives those that are new enough', async () => {
    await using home = await makeHome();
    const logs = new Logs(home.path);
    await using log = await logs.open('echo', 'server');
    log.write('be');
    log.write('fore\n');
    const since = await nextMillisecond();
    log.write('after\nwith');
    log.write('out end');

    expect(await logs.read('echo', 'server', { lines: 100 })).toBe('before\nafter\nwithout end\n');
    expect(await logs.read('echo', 'server', { lines: 100, since })).toBe('after\nwithout end\n');
  });

  test('can be followed until the workload is removed', async () => {
    await using home = await makeHome();
    const logs = new Logs(home.path);
    await using log = await logs.open('echo', 'server');
    log.write('one\ntwo\n');
    const pieces = logs.follow('echo', 'server', { lines: 1 }, new AbortController().signal);

    const first = await pieces.next();
    log.write('three\n');
    const second = await pieces.next();
    await logs.remove('echo');
    const third = await pieces.next();

    expect([first.value, second.value, third.done]).toEqual(['two\n', 'three\n', true]);
  });

  test('ends for a follower that has read nothing when the workload is removed', async () => {
    await using home = await makeHome();
    const logs = new Logs(home.path);
    const pieces = logs.follow('echo', 'server', { lines: 1 }, new AbortController().signal);

    await logs.remove('echo');

    expect((await pieces.next()).done).toBe(true);
  });

  test('drops what a follower does not read, and says so', async () => {
    await using home = await makeHome();
    const logs = new Logs(home.path);
    await using log = await logs.open('echo', 'server');
    const pieces = logs.follow('echo', 'server', { lines: 0 }, new AbortController().signal);
    const first = pieces.next();
    await new Promise(setImmediate);

    for (let n = 0; n < 30; n++) log.write(`${'x'.repeat(99_999)}\n`);

    expect((await first).value).toHaveLength(1_000_000);
    expect((await pieces.next()).value).toBe('(2000000 characters were dropped here)\n');
  });

  test('is empty for a server that wrote nothing', async () => {
    await using home = await makeHome();

    expect(await new Logs(home.path).read('nobody', 'server', { lines: 100 })).toBe('');
  });

  test('goes when its workload is gone, with all of its files', async () => {
    await using home = await makeHome();
    const logs = new Logs(home.path);
    const files = ['here.log', 'here.server.log.1', 'gone.log', 'gone.server.log', 'gone.server.log.1'];
    for (const file of [...files, 'notes.txt', 'open.log']) await writeFile(join(home.path, file), '');
    await using log = await logs.open('open', 'proxy');

    const removed = await logs.prune(['here']);

    expect(removed).toEqual(files.slice(2).map((file) => join(home.path, file)));
    expect(await readdir(home.path)).toEqual(['here.log', 'here.server.log.1', 'notes.txt', 'open.log']);
    log.write('it goes on\n');
  });

  test('of the proxy of a workload named a.server is not the one of the server of a workload named a', async () => {
    await using home = await makeHome();
    const logs = new Logs(home.path);
    {
      await using server = await logs.open('a', 'server');
      await using proxy = await logs.open('a.server', 'proxy');
      await using longer = await logs.open('a.server.server', 'proxy');
      server.write('of the server\n');
      proxy.write('of the proxy\n');
      longer.write('of another proxy\n');
    }

    const [server, proxy] = [
      await logs.read('a', 'server', { lines: 10 }),
      await logs.read('a.server', 'proxy', { lines: 10 }),
    ];
    const pruned = await logs.prune(['a', 'a.server', 'a.server.server']);
    await logs.remove('a.server');

    expect([server, proxy]).toEqual(['of the server\n', 'of the proxy\n']);
    expect(pruned).toEqual([]);
    expect(await readdir(home.path)).toEqual(['a.server.log', 'a.server.server~proxy.log']);
  });

  test('that cannot be written costs nothing but itself', async () => {
    await using home = await makeHome();
    await mkdir(join(home.path, 'echo.server.log'));
    await chmod(home.path, 0o700);
    await using log = await new Logs(home.path).open('echo', 'server');

    expect(() => log.write('lost')).not.toThrow();
  });
});

describe('the log of a server after a write error', () => {
  test('continues when it can be written again, and notes the gap', async () => {
    await using home = await makeHome();
    const logs = new Logs(home.path);
    const path = join(home.path, 'echo.server.log');
    await mkdir(path); // writing to a directory fails as a full disk does
    await using log = await logs.open('echo', 'server');

    log.write('lost\n');
    await log.flushed();
    await rm(path, { recursive: true });
    log.write('kept\n');

    await expect
      .poll(() => logs.read('echo', 'server', { lines: 10 }), { timeout: 10_000 })
      .toMatch(/^\(\d+ bytes were dropped here\)\nkept\n$/);
  });
});

test('a log that is flooded without end stays small, and the rest is noted', async () => {
  await using home = await makeHome();
  const logs = new Logs(home.path);
  const flood = Buffer.from('\n'.repeat(64 * 1024));
  {
    await using log = await logs.open('echo', 'server');
    // More at once than a disk could ever take in between.
    for (let n = 0; n < 500; n++) {
      log.write(flood);
      if (n % 100 === 0) await new Promise(setImmediate);
    }
    log.write('the end\n');
  }

  const text = await logs.read('echo', 'server', { lines: 100_000 });

  expect(text).toMatch(/\(\d{7,} bytes were dropped here\)\n\n+the end\n$/);
});

/** A time that nothing written so far has. */
async function nextMillisecond(): Promise<Date> {
  const now = Date.now();
  while (Date.now() === now) await new Promise(setImmediate);
  return new Date();
}
