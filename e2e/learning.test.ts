// @suite e2e (in depth)
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TEST_IMAGE } from '@toolhive/runtime/testing/docker-engine';
import { engineSocket } from '@toolhive/runtime/testing/engines';
import { canMakeNetworks } from '@toolhive/runtime/testing/stand-in-hosts';
import { openWebHosts } from '@toolhive/runtime/testing/web-hosts';
import type { WebHosts } from '@toolhive/runtime/testing/web-hosts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isInstalled } from '@toolhive/testing/machine';
import { connectTo } from './testing/mcp.ts';
import { openTerminal } from './testing/terminal.ts';
import { makeUser, testServer, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

// A real server in the sandbox that connects to hosts in learning mode, and the profile that its user gets.

/** Runs as a program of the server: connects to each place, says something, and tells whether anything is answered. */
const ask = `
  const { connect } = require('net');
  const answers = (host, port) => new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.on('data', () => { resolve(true); socket.destroy(); });
    socket.on('error', () => resolve(false)).on('end', () => resolve(false));
    socket.write('GET / HTTP/1.1\\r\\nHost: ' + host + '\\r\\nConnection: close\\r\\n\\r\\n');
  });
  Promise.all(JSON.parse(process.argv[1]).map((place) => answers(...place)))
    .then((all) => console.log(JSON.stringify(all)));
`;

describe.runIf(canMakeNetworks)('learning mode in the sandbox (as root, with iproute2)', () => {
  let user: User;
  let hosts: WebHosts;
  let first: string;
  let second: string;
  let third: string;
  let local: string;

  beforeAll(async () => {
    hosts = await openWebHosts(3);
    [first = '', second = '', third = ''] = hosts.far;
    [local = ''] = hosts.private;
    user = await openUsedHomes().take();
  });
  afterAll(async () => {
    await user?.[Symbol.asyncDispose]();
    await hosts?.[Symbol.asyncDispose]();
  });

  const run = (...flags: string[]) => user.mustThv('run', testServer, ...flags, '--', 'echo');

  /** Whether the server of a workload gets an answer from each of the places. */
  async function reaches(workload: string, ...places: [host: string, port: number][]): Promise<boolean[]> {
    await using client = await connectTo(await urlOf(user, workload));
    const { text } = await client.call('execute', {
      command: '/opt/toolhive/bin/node',
      args: ['-e', ask, JSON.stringify(places)],
    });
    const { output } = JSON.parse(text) as { output: string };
    return JSON.parse(output) as boolean[];
  }

  test('a profile of two hosts is learned, shown, and applied to the running server', async () => {
    const profile = join(user.home, 'profile.json');
    const network = { outbound: { allow_host: [third, 'api.example'], allow_port: [80] } };
    await writeFile(profile, JSON.stringify({ network }));
    await run('--name', 'curious', '--permission-profile', profile);
    const before = await reaches('curious', [third, 80], [first, 5432]);
    const started = await user.mustThv('learn', 'curious');
    const during = await reaches('curious', [first, 5432], [second, 80], [local, 5432], [hosts.near, 80]);
    const status = await user.mustThv('list', '--format', 'json');

    const shown = await user.thv('learn', 'curious', '--stop');
    const terminal = openTerminal(user, ['learn', 'curious', '--stop']);
    await terminal.shows('Apply this profile to curious? [y/N]');
    terminal.type('y\r');
    const answered = await terminal.ended;
    const after = await reaches('curious', [first, 5432], [second, 80], [third, 80], [local, 5432]);
    const permissions = await user.mustThv('permission', 'show', 'curious');

    expect(before).toEqual([true, false]);
    expect(started).toContain('curious has been in learning mode since');
    expect(during).toEqual([true, true, false, false]);
    expect(JSON.parse(status)).toMatchObject([
      { name: 'curious', warnings: [expect.stringContaining('thv learn curious --stop')] },
    ]);
    expect(shown.stdout.replace(/since \S+Z/, 'since then')).toBe(
      [
        'Hosts and ports that curious has reached since then:',
        `  hosts: ${first}, ${second}`,
        '  ports: 80, 5432',
        `Compared with the current profile (${third}, api.example on port 80):`,
        `  + host ${first}`,
        `  + host ${second}`,
        `  - host ${third}`,
        '  - host api.example',
        '  + port 5432',
        '  = port 80',
        '',
      ].join('\n'),
    );
    expect(shown.code).toBe(2);
    expect(shown.stderr).toContain('to apply the profile: thv learn curious --stop --yes');
    expect(answered).toBe(0);
    expect(after).toEqual([true, true, false, false]);
    expect(permissions).toContain(`Network: ${first}, ${second} on port 80, 5432`);
    expect(permissions).not.toContain('learning mode');
  });

  test('a server with an open network is put behind the gateway, and keeps only what it used', async () => {
    await run('--name', 'open', '--permission-profile', 'network', '--learn');
    const during = await reaches('open', [first, 80], [local, 5432]);

    const { stderr } = await user.thv('learn', 'open', '--stop', '--yes');
    const after = await reaches('open', [first, 80], [second, 80], [local, 5432]);

    expect(during).toEqual([true, false]);
    expect(stderr).toContain('open is no longer in learning mode and uses this profile.');
    expect(after).toEqual([true, false, false]);
  });

  test('continues after the daemon was restarted, and can be given up', async () => {
    await run('--name', 'patient', '--permission-profile', 'none', '--learn');
    await reaches('patient', [first, 80]);
    process.kill(await user.daemonPid());
    await user.mustThv('list');
    await reaches('patient', [second, 80]);

    const proposal = await user.mustThv('learn', 'patient', '--stop', '--format', 'json');
    const discarded = await user.mustThv('learn', 'patient', '--discard');
    const after = await reaches('patient', [first, 80]);

    expect(JSON.parse(proposal)).toMatchObject({
      network: { hosts: [first, second], ports: [80] },
      applied: false,
    });
    expect(discarded).toContain('Network: none');
    expect(after).toEqual([false]);
  });

  test('ends by its time, also without a daemon, and its record is applied afterwards', async () => {
    await run('--name', 'timed', '--permission-profile', 'none');
    const started = JSON.parse(await user.mustThv('learn', 'timed', '--for', '20s', '--format', 'json')) as {
      until: string;
    };
    const during = await reaches('timed', [first, 80]);
    process.kill(await user.daemonPid());
    await expect.poll(() => Date.now(), { timeout: 30_000 }).toBeGreaterThan(Date.parse(started.until));

    const shown = await user.mustThv('permission', 'show', 'timed');
    const after = await reaches('timed', [first, 80]);
    const applied = await user.mustThv('learn', 'timed', '--stop', '--yes');
    const applies = await reaches('timed', [first, 80], [second, 80]);

    expect(during).toEqual([true]);
    expect(shown).toContain(`Learning mode: ended at ${started.until}`);
    expect(shown).toContain('Network: none');
    expect(after).toEqual([false]);
    expect(applied).toContain(`hosts: ${first}`);
    expect(applies).toEqual([true, false]);
  });
});

const dockerSocket = await engineSocket('docker');
const runtimes = [
  { name: 'the sandbox', source: testServer, env: {} },
  {
    name: 'Docker',
    source: TEST_IMAGE,
    env: { TOOLHIVE_RUNTIME: '', TOOLHIVE_DOCKER_SOCKET: dockerSocket },
  },
].filter(({ name }) => name !== 'Docker' || dockerSocket !== '');

describe.runIf(canMakeNetworks && isInstalled('inotifywait'))('learning mode (with inotify-tools)', () => {
  describe.each(runtimes)('in $name', ({ source, env }) => {
    let user: User;

    beforeAll(async () => {
      user = await makeUser({ env });
    });
    afterAll(() => user[Symbol.asyncDispose]());

    const start = (name: string, ...flags: string[]) =>
      user.mustThv('run', source, '--name', name, ...flags, '--', 'echo');

    test('mounts that are not used are removed, and those that are only read become read-only', async () => {
      const folders = Object.fromEntries(
        ['unused', 'scanned', 'edited', 'docs'].map((name) => [name, join(user.home, `mount-${name}`)]),
      );
      await user.thv('rm', 'tidy'); // of an earlier try
      for (const folder of Object.values(folders)) {
        await mkdir(folder, { recursive: true });
        await writeFile(join(folder, 'old.txt'), 'old');
      }
      const { unused = '', scanned = '', edited = '', docs = '' } = folders;
      const single = join(user.home, 'single.txt');
      await writeFile(single, 'alone');
      const profile = join(user.home, 'mounts.json');
      await writeFile(
        profile,
        JSON.stringify({ read: [`${docs}:/docs`], write: [`${edited}:/edited`, `${scanned}:/scanned`] }),
      );
      const volumes = ['--volume', `${unused}:/unused`, '--volume', `${single}:/single`];
      await start('tidy', '--permission-profile', profile, ...volumes, '--learn');

      await execute(
        user,
        'tidy',
        'for file in /docs/old.txt /scanned/old.txt /single; do read -r line <$file; done; echo new >/edited/new.txt',
      );
      const proposal = async () =>
        JSON.parse(await user.mustThv('learn', 'tidy', '--stop', '--format', 'json')) as {
          mounts: unknown;
          profile: unknown;
        };
      // A separate program observes each mount.
      await expect
        .poll(async () => (await proposal()).mounts)
        .toEqual([
          { source: docs, target: '/docs', granted: 'read', used: 'read', files: ['old.txt'] },
          { source: edited, target: '/edited', granted: 'write', used: 'write', files: ['new.txt'] },
          { source: scanned, target: '/scanned', granted: 'write', used: 'read', files: ['old.txt'] },
          { source: unused, target: '/unused', granted: 'write', used: 'none', files: [] },
          { source: single, target: '/single', granted: 'write', used: 'read', files: [] },
        ]);
      const before = await proposal();
      process.kill(await user.daemonPid());
      await user.mustThv('list');
      const after = await proposal();
      const { stdout } = await user.thv('learn', 'tidy', '--stop', '--yes');
      const permissions = await user.mustThv('permission', 'show', 'tidy');

      expect(after).toEqual(before);
      expect(after.profile).toMatchObject({
        read: [`${docs}:/docs`, `${scanned}:/scanned`],
        write: [`${edited}:/edited`],
      });
      expect(stdout).toContain(
        [
          'Mounts:',
          '  = mount /docs (read-only): old.txt',
          '  = mount /edited (read and write): new.txt',
          '  ~ mount /scanned (read and write): only read, and read-only from now on: old.txt',
          '  - mount /unused (read and write): not used',
          '  ~ mount /single (read and write): only read, and read-only from now on',
        ].join('\n'),
      );
      expect(permissions.split('\n').filter((line) => line.startsWith('Reads'))).toEqual([
        `Reads ${docs} as /docs`,
        `Reads ${scanned} as /scanned`,
        `Reads and writes ${edited} as /edited`,
        `Reads ${single} as /single`,
      ]);
      expect(
        await execute(
          user,
          'tidy',
          'echo more >/unused/new.txt; echo more >/scanned/old.txt; echo more >/edited/new.txt',
        ),
      ).toMatch(/\/unused\/new.txt: Directory nonexistent[^]*\/scanned\/old.txt: Read-only file system\n$/);
    });

    test('mounts of a running server are observed, and can be kept as they are', async () => {
      const folder = join(user.home, 'mount-kept');
      await mkdir(folder);
      await start('keeper', '--permission-profile', 'none', '--volume', `${folder}:/data`);
      await execute(user, 'keeper', 'true');
      await user.mustThv('learn', 'keeper');

      await execute(user, 'keeper', 'echo /data/*');
      const proposal = JSON.parse(
        await until(async () => {
          const shown = await user.mustThv('learn', 'keeper', '--stop', '--format', 'json');
          return shown.includes('"used": "read"') ? shown : undefined;
        }),
      );
      await user.mustThv('learn', 'keeper', '--stop', '--keep-mounts', '--yes');

      expect(proposal.mounts).toMatchObject([{ target: '/data', granted: 'write', used: 'read', files: [] }]);
      expect(await user.mustThv('permission', 'show', 'keeper')).toContain(
        `Reads and writes ${folder} as /data`,
      );
      expect((await user.thv('learn', 'keeper', '--keep-mounts')).stderr).toContain(
        '--keep-mounts is only for --stop',
      );
    });
  });
});

/** Runs a shell script inside a server, and returns the output. */
async function execute(user: User, workload: string, script: string): Promise<string> {
  await using client = await connectTo(await urlOf(user, workload));
  const { text } = await client.call('execute', { command: 'sh', args: ['-c', script] });
  return (JSON.parse(text) as { output: string }).output;
}

async function urlOf(user: User, workload: string): Promise<string> {
  const { url } = await until(async () => {
    const list = JSON.parse(await user.mustThv('list', '--format', 'json')) as {
      name: string;
      url: string;
    }[];
    return list.find(({ name }) => name === workload); // only those that run
  });
  return url;
}
