// @suite e2e (in depth)
import { createServer } from 'node:http';
import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { TEST_IMAGE } from '@toolhive/runtime/testing/docker-engine';
import { engineSocket, sharedOut } from '@toolhive/runtime/testing/engines';
import { afterAll, describe, expect, test } from 'vitest';
import { connectTo } from './testing/mcp.ts';
import { hasEnded, makeUser, testServer, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';
import { proves } from '@toolhive/testing/promises';

const homes = openUsedHomes();
afterAll(() => homes[Symbol.asyncDispose]());

// A server that is granted a directory, and tries to get more of the machine at its next start.

const runtimes = await Promise.all(
  sharedOut(['the sandbox', 'docker', 'podman'] as const).map(async (name) => {
    const isSandbox = name === 'the sandbox';
    if (isSandbox) return { name, isSandbox, isMissing: false, source: testServer, env: {} };
    const socket = await engineSocket(name);
    const variable = name === 'docker' ? 'TOOLHIVE_DOCKER_SOCKET' : 'TOOLHIVE_PODMAN_SOCKET';
    const env = { TOOLHIVE_RUNTIME: '', [variable]: socket };
    return { name, isSandbox, isMissing: socket === '', source: TEST_IMAGE, env };
  }),
);

/** The set-up of the tests says which engines are missing. */
const available = runtimes.filter(({ isMissing }) => !isMissing);

/** A test that makes sense for some runtimes. */
const only = (applies: boolean): object[] => (applies ? [{}] : []);

describe.each(available)('a hostile server in $name', ({ isSandbox, source, env }) => {
  async function makeVictim() {
    const user = await makeUser({ env });
    const project = join(user.home, 'project');
    const output = join(project, 'out');
    await mkdir(output, { recursive: true });
    await writeFile(join(user.home, 'secret'), 'PRIVATE KEY');
    return { user, project, output };
  }

  const run = (user: User, workload: string, ...volumes: string[]) =>
    user.thv(
      'run',
      source,
      '--name',
      workload,
      '--proxy-mode',
      'streamable-http',
      ...volumes.flatMap((volume) => ['--volume', volume]),
      '--',
      'echo',
    );

  /** What a server with write access to the project does: the directory beside it becomes a link to everything. */
  async function replaceByLink(output: string) {
    await rename(output, `${output}-moved`);
    await symlink('/', output);
  }

  test('does not get what a link in the place of its directory leads to', async () => {
    proves('security.mounts.replaced');
    const { user, output } = await makeVictim();
    await using _user = user;
    const { stdout } = await run(user, 'hostile', `${output}:/out`);
    const url = /http:\S+/.exec(stdout)?.[0] ?? '';
    await using before = await connectTo(url);
    const listed = await before.call('list', { path: '/out' });
    await replaceByLink(output);

    await user.thv('stop', 'hostile');
    const { stderr } = await user.thv('restart', 'hostile');

    expect(listed.text).toBe('[]');
    expect(stderr).toContain(`mount source ${output} has changed since you granted access`);
  });

  test('does not get it in a second session either', async () => {
    const { user, output } = await makeVictim();
    await using _user = user;
    const { stdout } = await run(user, 'hostile', `${output}:/out`);
    const url = /http:\S+/.exec(stdout)?.[0] ?? '';
    await using first = await connectTo(url);
    await first.call('list', { path: '/out' });
    await replaceByLink(output);

    const listSecond = async () => {
      await using second = await connectTo(url);
      const { text } = await second.call('list', { path: '/out' });
      return text;
    };
    // It gets a process that was started before, or none.
    const listed = await listSecond().catch(String);

    expect(listed).not.toContain('"etc"');
    expect(listed).toMatch(/^\[\]$|has changed since you granted access/);
  });

  test('does not get it after the daemon was started again', async () => {
    const { user, output } = await makeVictim();
    await using _user = user;
    await run(user, 'hostile', `${output}:/out`);
    await replaceByLink(output);

    await user.killDaemon();
    const context = await until(async () => {
      const { stdout } = await user.thv('list', '--all', '--format', 'json');
      const [workload] = JSON.parse(stdout || '[]') as { status_context?: string }[];
      return workload?.status_context?.includes('has changed') ? workload.status_context : undefined;
    });

    expect(context).toContain(`mount source ${output} has changed since you granted access`);
  });

  test.each(only(!isSandbox))('cannot be granted a directory that it could replace', async () => {
    const { user, project, output } = await makeVictim();
    await using _user = user;

    const { code, stderr } = await run(user, 'hostile', `${project}:/project`, `${output}:/out`);

    expect(code).not.toBe(0);
    expect(stderr).toContain(`${output} is inside ${project}, which the workload hostile can write to`);
  });

  test.each(only(isSandbox))('gets nothing by replacing a directory itself', async () => {
    const { user, project, output } = await makeVictim();
    await using _user = user;
    const { stdout } = await run(user, 'hostile', `${project}:/project`, `${output}:/out`);
    const url = /http:\S+/.exec(stdout)?.[0] ?? '';
    await using first = await connectTo(url);
    const swap = `const fs = require('fs'); fs.renameSync('/project/out', '/project/moved'); fs.symlinkSync('/', '/project/out');`;
    await first.call('execute', { command: '/opt/toolhive/bin/node', args: ['-e', swap] });

    const { stderr } = await user.thv('stop', 'hostile').then(() => user.thv('restart', 'hostile'));

    expect(await readFile(join(user.home, 'secret'), 'utf8')).toBe('PRIVATE KEY');
    expect(stderr).toContain(`mount source ${output} has changed since you granted access`);
  });

  test('inherits nothing from a removed workload of its name, even if the removal failed in part', async () => {
    proves('security.trust.identity');
    const { user } = await makeVictim();
    await using _user = user;
    const state = join(user.home, '.local/state/toolhive');
    const pins = async () =>
      JSON.parse(await user.mustThv('pin', 'show', 'trusted', '--format', 'json')) as { items: unknown[] };
    await run(user, 'trusted');
    await user.mustThv('mcp', 'list', 'tools', '--server', 'trusted');
    const approved = await pins();
    const lock = new DatabaseSync(join(state, 'workloads.db'));
    lock.exec('BEGIN IMMEDIATE');

    const removal = await user.thv('rm', 'trusted', '--yes');
    lock.close();
    await run(user, 'trusted');

    expect(removal.code).toBe(0);
    expect(removal.stderr).toContain(
      'WARNING: cannot remove the approved tools of trusted: database is locked',
    );
    expect(approved.items).not.toEqual([]);
    expect((await pins()).items).toEqual([]);
  });

  test('cannot stop other workloads with an ignore file of its own', async () => {
    const { user, output } = await makeVictim();
    await using _user = user;
    await run(user, 'hostile', `${output}:/out`);
    await writeFile(join(output, '.thvignore'), '*\n');

    await user.thv('stop', 'hostile');
    const restarted = await user.thv('restart', 'hostile');
    const { stdout } = await user.thv('list', '--format', 'json');

    expect(restarted.code).toBe(0);
    expect(stdout).toContain('files that match an ignore file are hidden when a server starts');
  });
});

describe.each(sharedOut(['daemon']))(
  'a document of others that leads the %s to a cloud metadata service',
  () => {
    const addresses = ['http://169.254.169.254/latest', 'http://2852039166/', 'http://[::ffff:a9fe:a9fe]/'];
    const refusal = /is (?:a link-local address|a cloud metadata address)/;

    test.each([...addresses, 'http://[fd00:ec2::254]/', 'http://100.100.100.200/', 'http://168.63.129.16/'])(
      'is refused as a registry entry, also in a private registry and in a file: %s',
      async (address) => {
        proves('security.addresses.local');
        await using user = await homes.take();
        const entry = { description: 'Notes.', url: address, transport: 'streamable-http' };
        const registry = JSON.stringify({
          version: '1.0.0',
          last_updated: '2026-01-01T00:00:00Z',
          servers: {},
          remote_servers: { notes: entry },
        });
        const file = join(user.home, 'registry.json');
        await writeFile(file, registry);
        await using web = await serveText(registry);
        await user.mustThv('config', 'set-registry', web.url, '--allow-private-ip');

        const fromUrl = await user.thv('run', 'notes');
        await user.mustThv('config', 'set-registry', file);
        const fromFile = await user.thv('run', 'notes');
        await user.mustThv('config', 'unset-registry');

        for (const { code, stderr } of [fromUrl, fromFile]) {
          expect(code).not.toBe(0);
          expect(stderr).toMatch(refusal);
        }
        expect(await user.mustThv('list', '--all', '--format', 'json')).toBe('[]\n');
      },
    );

    test.each(addresses)('is refused as an imported run config: %s', async (address) => {
      await using user = await homes.take();
      const file = join(user.home, 'imported.json');
      const names = { name: 'notes', base_name: 'notes', container_name: 'notes' };
      const runConfig = { schema_version: 'v0.1.0', ...names, port: 18_347, transport: 'streamable-http' };
      await writeFile(file, JSON.stringify({ ...runConfig, remote_url: address }));

      const { code, stderr } = await user.thv('run', '--from-config', file);

      expect(code).not.toBe(0);
      expect(stderr).toMatch(refusal);
    });
  },
);

describe.each(available.filter(({ isSandbox }) => isSandbox))('the programs of the daemon', () => {
  /** A user who has activated a Python environment in a project before starting the daemon. */
  async function makeDeveloper() {
    const user = await makeUser();
    const project = join(user.home, 'project');
    const programs = join(project, '.venv', 'bin');
    await mkdir(programs, { recursive: true });
    const plain = user.env['PATH'];
    const activate = () => (user.env['PATH'] = `${programs}:${plain}`);
    const run = (name: string) =>
      user.thv('run', testServer, '--name', name, '--volume', `${project}:/project`, '--', 'echo');
    return { user, programs, activate, run };
  }

  test('cannot be replaced by a server without consent', async () => {
    proves('security.consent');
    const { user, activate, run } = await makeDeveloper();
    await using _user = user;
    activate();

    const { code, stderr } = await run('hostile');

    expect(code).not.toBe(0);
    expect(stderr).toContain('accepted_risks must contain mount-programs');
  });

  test('are not those of a directory that a server got before it was on PATH', async () => {
    proves('security.mounts.programs');
    const { user, programs, activate, run } = await makeDeveloper();
    await using _user = user;
    const granted = await run('hostile');
    const daemon = await user.daemonPid();
    // What the server does with its directory.
    const trace = join(user.home, 'escaped');
    for (const name of ['bwrap', 'unshare', 'nsenter', 'slirp4netns', 'ip', 'sh', 'npm', 'node'])
      await writeFile(join(programs, name), `#!/bin/sh\necho ${name} >> ${trace}\nexit 1\n`, { mode: 0o755 });

    await user.api('POST', '/api/v1beta/hive/stop');
    await until(() => hasEnded(daemon));
    activate();
    await user.mustThv('run', testServer, '--name', 'other', '--', 'echo');
    const report = await user.mustThv('runtime', 'check');

    expect(granted.code).toBe(0);
    expect(report).not.toContain(programs);
    await expect(readFile(trace, 'utf8')).rejects.toThrow('ENOENT');
  });
});

/** A server on this machine that returns the same text for every request. */
async function serveText(text: string) {
  const server = createServer((_request, response) =>
    response.setHeader('content-type', 'application/json').end(text),
  );
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}/registry.json`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
