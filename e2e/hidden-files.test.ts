// @suite e2e (in depth)
import { link, mkdir, mkdtemp, readFile, realpath, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TEST_IMAGE } from '@toolhive/runtime/testing/docker-engine';
import { engineSocket, sharedOut } from '@toolhive/runtime/testing/engines';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connectTo } from './testing/mcp.ts';
import { makeUser, testServer } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { removeWorkloads } from './testing/used-homes.ts';
import { proves } from '@toolhive/testing/promises';

// A server that tries to read files that ignore files hide from it.

const runtimes = await Promise.all(
  sharedOut(['the sandbox', 'docker', 'podman'] as const).map(async (name) => {
    if (name === 'the sandbox') return { name, isMissing: false, source: testServer, env: {} };
    const socket = await engineSocket(name);
    const variable = name === 'docker' ? 'TOOLHIVE_DOCKER_SOCKET' : 'TOOLHIVE_PODMAN_SOCKET';
    const env = { TOOLHIVE_RUNTIME: '', [variable]: socket };
    return { name, isMissing: socket === '', source: TEST_IMAGE, env };
  }),
);

/** The set-up of the tests says which engines are missing. */
const available = runtimes.filter(({ isMissing }) => !isMissing);

const SECRET = 'PRIVATE KEY';

/** Reads everything below a directory, as a hostile server does. */
const readAll = `
  const { readdirSync, readFileSync, lstatSync } = require('fs');
  const walk = (folder) => {
    for (const name of readdirSync(folder)) {
      const path = folder + '/' + name;
      try {
        if (lstatSync(path).isDirectory()) walk(path);
        else console.log(path, JSON.stringify(readFileSync(path, 'utf8')));
      } catch (error) { console.log(path, error.code); }
    }
  };
  walk('/data');
`;

describe.each(available)('files that are hidden from a hostile server in $name', ({ name, source, env }) => {
  let user: User;
  let folder: string;
  let workload: string;
  let count = 0;

  beforeAll(async () => {
    user = await makeUser({ env });
    await mkdir(join(user.home, '.config/toolhive'), { recursive: true });
    await writeFile(join(user.home, '.config/toolhive/thvignore'), '.env\n*.pem\nsecrets/\n!public.pem\n');
  });
  afterAll(() => user[Symbol.asyncDispose]());
  beforeEach(async () => {
    workload = `hostile-${++count}`;
    folder = await realpath(await mkdtemp(join(user.home, 'data-')));
    await mkdir(join(folder, 'secrets/deep'), { recursive: true });
    await mkdir(join(folder, 'app/config'), { recursive: true });
    await writeFile(join(folder, '.env'), SECRET);
    await writeFile(join(folder, 'app/config/key.pem'), SECRET);
    await writeFile(join(folder, 'secrets/deep/token'), SECRET);
    await writeFile(join(folder, 'app/code.js'), 'CODE');
    await writeFile(join(folder, 'public.pem'), 'CERTIFICATE');
  });

  afterEach(() => removeWorkloads(user));

  /** Starts a server, with a process of its own for each client session only if `flags` say so. */
  async function start(volumes = [`${folder}:/data`], ...flags: string[]) {
    const sessions = flags.includes('--sessions') ? [] : ['--sessions', 'shared'];
    const given = volumes.flatMap((volume) => ['--volume', volume]);
    const { stdout, stderr } = await user.thv(
      'run',
      source,
      '--name',
      workload,
      ...given,
      ...flags,
      ...sessions,
      '--',
      'echo',
    );
    const url = /http:\S+/.exec(stdout)?.[0];
    if (url === undefined) throw new Error(stderr);
    return { url, stderr };
  }

  async function restart(): Promise<string> {
    await user.mustThv('restart', workload);
    const { text } = await user.api('GET', '/api/v1beta/workloads');
    const { workloads } = JSON.parse(text) as { workloads: { name: string; url: string }[] };
    return workloads.find(({ name }) => name === workload)?.url ?? '';
  }

  /** Runs a program of the server's and returns what it prints. */
  async function attack(url: string, program: string): Promise<string> {
    await using client = await connectTo(url);
    const { text } = await client.call('execute', { command: 'node', args: ['-e', program] });
    return (JSON.parse(text) as { output: string }).output;
  }

  /** Tries something that may fail, prints how that went, and reads everything. */
  const afterTrying = (...attempts: string[]) => `
    const fs = require('fs');
    for (const attempt of [${attempts.map((attempt) => `() => ${attempt}`).join(', ')}]) {
      try { attempt(); console.log('done'); } catch (error) { console.log(error.code); }
    }
    ${readAll}`;

  test('are empty when they are read, and the others are readable', async () => {
    const { url } = await start(undefined, '--sessions', 'auto');

    const seen = await attack(url, readAll);

    expect(seen).not.toContain(SECRET);
    expect(seen.trim().split('\n').toSorted()).toEqual([
      '/data/.env ""',
      '/data/app/code.js "CODE"',
      '/data/app/config/key.pem ""',
      '/data/public.pem "CERTIFICATE"',
    ]);
  });

  test('are empty under every spelling of their path', async () => {
    proves('security.hidden-files');
    await writeFile(join(folder, 'app/.ENV'), SECRET);
    const { url } = await start();

    const paths = [
      '/data//.env',
      '/data/app/../.env',
      '/proc/self/root/data/.env',
      '/data/app/.ENV',
      '/data/secrets/../secrets/deep/token',
    ];
    const seen = await attack(
      url,
      `process.chdir('/data'); const fs = require('fs');
      for (const path of ${JSON.stringify([...paths, '/proc/self/cwd/.env', './.env'])}) {
        try { console.log(fs.readFileSync(path, 'utf8')); } catch (error) { console.log(error.code); }
      }
      const directory = fs.openSync('/data', 'r');
      console.log(fs.readFileSync('/proc/self/fd/' + directory + '/.env', 'utf8'));`,
    );

    expect(seen).not.toContain(SECRET);
  });

  test('are empty through symbolic links, old and new', async () => {
    await symlink('.env', join(folder, 'old-link'));
    await symlink('app/real-settings', join(folder, 'other.pem'));
    await writeFile(join(folder, 'app/real-settings'), SECRET);
    const { url } = await start();

    const seen = await attack(
      url,
      afterTrying(
        `fs.symlinkSync('/data/.env', '/data/new-link')`,
        `fs.symlinkSync('secrets', '/data/folder')`,
      ),
    );

    expect(seen).not.toContain(SECRET);
    expect(seen).toContain('/data/app/real-settings ""');
  });

  test('are empty under other names of the same file, and get no new names', async () => {
    await link(join(folder, '.env'), join(folder, 'app/copy'));
    const { url } = await start();

    const seen = await attack(
      url,
      afterTrying(
        `fs.linkSync('/data/.env', '/data/new-name')`,
        `fs.linkSync('/data/app/copy', '/data/other')`,
      ),
    );

    expect(seen).not.toContain(SECRET);
    expect(seen).toContain('/data/app/copy ""');
    expect(seen.match(/EXDEV|EPERM/g)).toHaveLength(2);
  });

  test('stay hidden under another name after an editor has replaced them', async () => {
    await link(join(folder, '.env'), join(folder, 'app/copy'));
    await start();
    await writeFile(join(folder, '.env.new'), SECRET);
    await rename(join(folder, '.env.new'), join(folder, '.env'));

    const seen = await attack(await restart(), readAll);

    expect(seen).not.toContain(SECRET);
    expect(seen).toContain('/data/app/copy ""');
  });

  test('cannot be renamed, removed, or replaced', async () => {
    const { url } = await start();

    const seen = await attack(
      url,
      afterTrying(
        `fs.renameSync('/data/.env', '/data/visible')`,
        `fs.unlinkSync('/data/.env')`,
        `fs.writeFileSync('/data/.env', 'x')`,
        `fs.renameSync('/data/app/code.js', '/data/.env')`,
        `fs.renameSync('/data/secrets', '/data/visible')`,
        `fs.rmdirSync('/data/secrets')`,
        `fs.writeFileSync('/data/secrets/new', 'x')`,
      ),
    );

    expect(seen).not.toContain(SECRET);
    expect(seen).not.toContain('done');
    expect(await readFile(join(folder, '.env'), 'utf8')).toBe(SECRET);
  });

  test('stay hidden when the directories above them are renamed', async () => {
    const { url } = await start();

    const seen = await attack(
      url,
      afterTrying(
        `fs.renameSync('/data/app/config', '/data/moved')`,
        `fs.mkdirSync('/data/app/config')`,
        `fs.renameSync('/data/app', '/data/other')`,
      ),
    );

    expect(seen).toContain('/data/moved/key.pem ""');
    expect(seen).not.toContain(SECRET);
  });

  test('are found again at their new place at the next start', async () => {
    const { url } = await start();
    await attack(url, afterTrying(`fs.renameSync('/data/app/config', '/data/moved')`));

    const seen = await attack(await restart(), readAll);

    expect(seen).toContain('/data/moved/key.pem ""');
    expect(seen).not.toContain(SECRET);
  });

  test('cannot be uncovered by unmounting', async () => {
    const { url } = await start();

    const seen = await attack(
      url,
      `const { spawnSync } = require('child_process');
      for (const words of [['umount', '/data/.env'], ['unshare', '-rm', 'umount', '/data/.env']]) {
        const { error, stderr } = spawnSync(words[0], words.slice(1));
        console.log(error?.code ?? String(stderr));
      }
      ${readAll}`,
    );

    expect(seen).toContain('/data/.env ""');
    expect(seen).not.toContain(SECRET);
  });

  test('stay hidden in every other mount of the same files', async () => {
    await writeFile(join(folder, '.thvignore'), '/app/code.js\n');
    const { url } = await start([`${folder}:/data:ro`, `${folder}/app:/again:ro`]);

    const seen = await attack(url, readAll + `walk('/again');`);

    expect(seen).not.toContain(SECRET);
    expect(seen).toContain('/again/code.js ""');
  });

  test('are hidden if they are created later in a hidden directory', async () => {
    const { url } = await start();
    await writeFile(join(folder, 'secrets/later'), SECRET);

    const seen = await attack(url, readAll);

    expect(seen).not.toContain(SECRET);
  });

  test('stay hidden while another session moves their directory at every moment of a start', async () => {
    const { url } = await start(undefined, '--sessions', 'auto');
    await using mover = await connectTo(url);
    const over = new AbortController();
    const moving = mover
      .call('execute', {
        command: 'node',
        args: [
          '-e',
          `const fs = require('fs');
          fs.mkdirSync('/data/decoy'); fs.writeFileSync('/data/decoy/key.pem', 'DECOY');
          const end = Date.now() + 1500;
          let moves = 0;
          const move = (from, to) => { try { fs.renameSync('/data/' + from, '/data/' + to); moves++; } catch {} };
          const inode = (path) => fs.statSync('/data/' + path, { throwIfNoEntry: false })?.ino;
          const moved = [inode('app/config'), inode('decoy'), undefined];
          // A start in between can make a directory that nothing can be moved to.
          const remove = (path) => {
            try { if (!moved.includes(inode(path))) fs.rmSync('/data/' + path, { recursive: true }); } catch {}
          };
          while (Date.now() < end) {
            for (const path of ['app/config', 'spare', 'decoy']) remove(path);
            move('app/config', 'spare');
            move('decoy', 'app/config');
            move('app/config', 'decoy');
            move('spare', 'app/config');
          }
          console.log(moves);`,
        ],
      })
      .finally(() => over.abort());

    const seen: string[] = [];
    do seen.push(await attack(url, readAll).catch(String));
    while (!over.signal.aborted);

    expect(seen.join('\n')).not.toContain(SECRET);
    expect(Number((JSON.parse((await moving).text) as { output: string }).output)).toBeGreaterThan(100);
  });

  // What is hidden is found out before a server starts, and does not depend on where it runs.
  if (name !== 'the sandbox') return;

  test('stay hidden when their directory gets a name that no pattern has', async () => {
    await writeFile(join(folder, '.thvignore'), '/app/keys/id\n');
    await mkdir(join(folder, 'app/keys'));
    await writeFile(join(folder, 'app/keys/id'), SECRET);
    const { url } = await start();
    const tried = await attack(url, afterTrying(`fs.renameSync('/data/app/keys', '/data/app/moved')`));

    const seen = [await attack(await restart(), readAll), await attack(await restart(), readAll)];
    await user.killDaemon();
    seen.push(await attack(await restart(), readAll));

    expect(tried).toMatch(/^done/);
    for (const each of [tried, ...seen]) expect(each).toContain('/data/app/moved/id ""');
  });

  test('are visible when the user no longer hides them', async () => {
    await writeFile(join(folder, '.thvignore'), 'code.js\n');
    const { url } = await start();
    const before = await attack(url, readAll);
    await writeFile(join(folder, '.thvignore'), '');

    const after = await attack(await restart(), readAll);

    expect(before).toContain('/data/app/code.js ""');
    expect(after).toContain('/data/app/code.js "CODE"');
  });

  test('stay hidden when the server changes the ignore file of the directory', async () => {
    await writeFile(join(folder, '.thvignore'), 'private/\n');
    await mkdir(join(folder, 'private'));
    await writeFile(join(folder, 'private/file'), SECRET);
    const { url } = await start();
    const tried = await attack(
      url,
      afterTrying(
        `fs.writeFileSync('/data/.thvignore', '!private/')`,
        `fs.unlinkSync('/data/.thvignore')`,
        `fs.renameSync('/data/.thvignore', '/data/old')`,
        `(fs.writeFileSync('/data/new', ''), fs.renameSync('/data/new', '/data/.thvignore'))`,
      ),
    );

    const seen = await attack(await restart(), readAll);

    expect(tried).not.toContain('done');
    expect(tried + seen).not.toContain(SECRET);
    expect(await readFile(join(folder, '.thvignore'), 'utf8')).toBe('private/\n');
  });

  test('stay hidden when the server writes an ignore file with exceptions', async () => {
    const { url } = await start();
    const exceptions = '!.env\\n!*.pem\\n!secrets/\\n!secrets/**\\n';
    await attack(url, afterTrying(`fs.writeFileSync('/data/.thvignore', '${exceptions}')`));

    const seen = await attack(await restart(), readAll);

    expect(seen).not.toContain(SECRET);
    expect(seen).toContain('/data/app/code.js "CODE"');
  });

  test.each([
    ['a link to a file of the user', `fs.symlinkSync('/etc/passwd', '/data/.thvignore')`, 'symbolic link'],
    ['a directory', `fs.mkdirSync('/data/.thvignore')`, 'not a regular file'],
    ['a pattern that takes forever', `fs.writeFileSync('/data/.thvignore', '*a'.repeat(30))`, 'wildcards'],
    ['a huge file', `fs.writeFileSync('/data/.thvignore', 'a'.repeat(1e6))`, 'larger than 256 KiB'],
  ])('stay hidden, and the server starts, if its ignore file is %s', async (_what, attempt, reason) => {
    const { url } = await start();
    await attack(url, afterTrying(attempt));

    const seen = await attack(await restart(), readAll);
    const { stdout } = await user.thv('list', '--format', 'json');

    expect(seen).toBe('');
    expect(stdout).toContain(`the server sees an empty directory instead of ${folder}`);
    expect(stdout).toContain(reason);
  });

  test('stay hidden from a server whose ignore file another server can write to', async () => {
    await writeFile(join(folder, 'app/.thvignore'), 'code.js\n');
    await user.thv(
      'run',
      source,
      '--name',
      `${workload}-victim`,
      '--volume',
      `${folder}/app:/data:ro`,
      '--',
      'echo',
    );
    const { url } = await start();

    const tried = await attack(url, afterTrying(`fs.writeFileSync('/data/app/.thvignore', '')`));

    expect(tried).toMatch(/^(EROFS|EACCES|EPERM)/);
    expect(await readFile(join(folder, 'app/.thvignore'), 'utf8')).toBe('code.js\n');
  });

  test('are visible until the next start if they are created later elsewhere, as the status says', async () => {
    const { url } = await start();
    await using running = await connectTo(url);
    await running.call('list', { path: '/data' });
    await writeFile(join(folder, 'app/.env'), 'LATER');
    const { stdout } = await user.thv('list', '--format', 'json');

    const before = await running.call('read', { path: '/data/app/.env' });
    const after = await attack(await restart(), readAll);

    expect(stdout).toContain('one that is created or replaced later is visible until the next start');
    expect(before.text).toBe('LATER');
    expect(after).toContain('/data/app/.env ""');
  });

  test('are listed if the user asks for them', async () => {
    const { stderr } = await start([`${folder}:/data`], '--print-resolved-overlays');

    const hidden = ['.env', 'app/config/key.pem', 'secrets'].map(
      (path) => `note: ${join(folder, path)} is hidden from the server`,
    );
    expect(stderr.split('\n')).toEqual(expect.arrayContaining(hidden));
  });

  test('are visible without the global ignore file', async () => {
    const { url } = await start([`${folder}:/data`], '--ignore-globally=false');

    expect(await attack(url, readAll)).toContain(`/data/.env "${SECRET}"`);
  });
});
