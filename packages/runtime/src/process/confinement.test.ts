// @suite system
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pinMounts } from '../mount-source.ts';
import { testLimits } from '../testing/conformance.ts';
import type { Launch } from '../runtime.ts';
import { type ProcessRig, openRig, talkTo } from './test-rig.ts';
import { proves } from '@toolhive/testing/promises';

/** What a server finds when it looks around and tries its luck, in a real sandbox. */
describe('a server in the sandbox', () => {
  let rig: ProcessRig;
  let outside: string;

  beforeAll(async () => {
    rig = await openRig();
    outside = await mkdtemp(join(tmpdir(), 'thv-outside-'));
    await writeFile(join(outside, 'secret.txt'), 'of the host');
  });
  afterAll(async () => {
    await rig[Symbol.asyncDispose]();
    await rm(outside, { recursive: true, force: true });
  });

  async function run(command: string, args: string[], changes: Partial<Launch> = {}) {
    await using server = await talkTo(rig, changes);
    const { text } = await server.call('execute', { command, args });
    return JSON.parse(text) as { code: number; output: string };
  }

  const python = (program: string, changes: Partial<Launch> = {}) =>
    run('/usr/bin/python3', ['-c', program], changes);
  const hasPython = spawnSync('/usr/bin/python3', ['--version']).status === 0;

  test('finds the environment that it was given and three variables besides', async () => {
    await using server = await talkTo(rig, { env: { GIVEN: 'yes' } });

    const environment: unknown = JSON.parse((await server.call('environment')).text);

    expect(environment).toEqual({
      GIVEN: 'yes',
      HOME: '/home/server',
      PATH: '/opt/toolhive/bin:/opt/toolhive/package/node_modules/.bin:/usr/local/bin:/usr/bin:/bin',
      PWD: '/home/server',
    });
  });

  test('alone is started with the environment that it was given', async () => {
    let said = '';
    const log = (chunk: Buffer) => void (said += chunk.toString());
    await using server = await talkTo(rig, { env: { LD_DEBUG: 'files' }, log });

    await server.call('environment');

    const started = [...said.matchAll(/transferring control: (.+)/g)].map(([, program]) => program);
    expect(started).toEqual(['/opt/toolhive/bin/node']);
  });

  test('finds nothing of the daemon in the environment of the first process', async () => {
    await using server = await talkTo(rig);

    expect(await server.call('read', { path: '/proc/1/environ' })).toEqual({ text: '', failed: false });
  });

  test('inherits no open file of the daemon', async () => {
    const { output } = await run('ls', ['-l', '/proc/self/fd']);

    const inherited = [...output.matchAll(/ (\d+) -> (.+)/g)].filter(([, number]) => Number(number) > 2);
    const targets = inherited.map(([, , target]) => target).filter((target) => target !== '/dev/null');
    expect(targets).toEqual([expect.stringMatching(/^\/proc\/\d+\/fd$/)]);
  });

  test.each([
    '/etc/shadow',
    '/root',
    '/work',
    '/home/server/../..//root',
    '/sys',
    '/run',
    '/var',
    '/proc/kcore',
  ])('cannot read %s', async (path) => {
    await using server = await talkTo(rig);

    const [read, list] = await Promise.all([server.call('read', { path }), server.call('list', { path })]);

    expect(read.failed || read.text === '').toBe(true);
    expect(list.failed).toBe(true);
  });

  test('sees no process but its own', async () => {
    proves('security.sandbox.processes');
    await using server = await talkTo(rig);

    const entries = JSON.parse((await server.call('list', { path: '/proc' })).text) as string[];

    expect(entries.filter((entry) => /^\d+$/.test(entry))).toEqual(['1', '2']);
  });

  test.each([
    '/new',
    '/usr/new',
    '/etc/new',
    '/dev/new',
    '/opt/toolhive/package/new',
    '/proc/self/oom_score_adj',
  ])('cannot write %s', async (path) => {
    await using server = await talkTo(rig);

    const write = await server.call('write', { path, content: '0' });

    expect(write).toMatchObject({ failed: true, text: expect.stringMatching(/EROFS|EACCES|EPERM|ENOENT/) });
  });

  test.each(['/tmp/new', '/home/server/new', '/dev/shm/new'])('can write %s', async (path) => {
    await using server = await talkTo(rig);

    expect(await server.call('write', { path })).toMatchObject({ failed: false });
  });

  test('gets no further than its mount by a link in it', async () => {
    const granted = await mkdtemp(join(tmpdir(), 'thv-grant-'));
    await symlink(join(outside, 'secret.txt'), join(granted, 'link'));
    await using server = await talkTo(rig, {
      mounts: await pinMounts([{ source: granted, target: '/data', readOnly: false }]),
    });

    const followed = await server.call('read', { path: '/data/link' });

    expect(followed).toMatchObject({ failed: true, text: expect.stringContaining('ENOENT') });
    await rm(granted, { recursive: true });
  });

  test('can be given a single file, and a folder hidden inside a granted one', async () => {
    const granted = await mkdtemp(join(tmpdir(), 'thv-grant-'));
    const empty = await mkdtemp(join(tmpdir(), 'thv-empty-'));
    await mkdir(join(granted, 'private'));
    await writeFile(join(granted, 'private', 'key'), 'hidden');
    await using server = await talkTo(rig, {
      mounts: await pinMounts([
        { source: empty, target: '/data/private', readOnly: true },
        { source: granted, target: '/data', readOnly: false },
        { source: join(outside, 'secret.txt'), target: '/given/secret.txt', readOnly: true },
      ]),
    });

    const [hidden, file] = await Promise.all([
      server.call('list', { path: '/data/private' }),
      server.call('read', { path: '/given/secret.txt' }),
    ]);

    expect(hidden.text).toBe('[]');
    expect(file.text).toBe('of the host');
    await Promise.all([granted, empty].map((folder) => rm(folder, { recursive: true })));
  });

  test('cannot write what was granted for reading', async () => {
    proves('security.mounts.read-only');
    await using server = await talkTo(rig, {
      mounts: await pinMounts([{ source: outside, target: '/data', readOnly: true }]),
    });

    const write = await server.call('write', { path: '/data/secret.txt' });

    expect(write).toMatchObject({ failed: true, text: expect.stringContaining('EROFS') });
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe('of the host');
  });

  test('cannot make a user namespace', async () => {
    const { code, output } = await run('unshare', ['--user', 'true']);

    expect(code).not.toBe(0);
    expect(output).toContain('Operation not permitted');
  });

  test('cannot mount anything', async () => {
    proves('security.sandbox.privileges');
    const { code } = await run('mount', ['-t', 'tmpfs', 'none', '/tmp']);

    expect(code).not.toBe(0);
  });

  test.runIf(hasPython)('gets no socket of a strange family, and one for the internet', async () => {
    const { output } = await python(`
import socket
for family, kind in ((17, socket.SOCK_RAW), (40, socket.SOCK_STREAM), (38, socket.SOCK_SEQPACKET), (2, socket.SOCK_STREAM)):
    try:
        socket.socket(family, kind).close()
        print('made')
    except OSError as error:
        print(error.errno)
`);

    expect(output.split('\n').slice(0, 4)).toEqual(['97', '97', '97', 'made']);
  });

  test.runIf(hasPython)('cannot trace even its own children', async () => {
    const { output } = await python(`
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(0, 0, 0, 0), ctypes.get_errno())
`);

    expect(output.trim()).toBe('-1 1');
  });

  test.runIf(hasPython)('has no Unix sockets only where those of the machine are in reach', async () => {
    const program = "import socket; socket.socket(socket.AF_UNIX); print('made')";

    const [isolated, connected, sharing] = await Promise.all([
      python(program, { network: { kind: 'none' } }),
      python(program, { network: { kind: 'open' } }),
      python(program, { network: { kind: 'mode', mode: 'host' } }),
    ]);

    expect(isolated.output.trim()).toBe('made');
    expect(connected.output.trim()).toBe('made');
    expect(sharing.output).toContain('Errno 97');
  });

  // bubblewrap itself needs more files than the fewest that a server may get.
  test.each([64, 4096])('has the limits that it was given, with %i files', async (openFiles) => {
    const limits = { ...testLimits, processes: 40, openFiles };
    const { output } = await run('cat', ['/proc/self/limits'], { limits });

    expect(output).toMatch(new RegExp(`Max open files\\s+${openFiles}\\s+${openFiles}`));
    expect(output).toMatch(/Max file size\s+4294967296\s+4294967296/);
    expect(output).toMatch(/Max core file size\s+0\s+0/);
  });

  test('cannot fill its temporary folder without end', async () => {
    const { code } = await run('dd', ['if=/dev/zero', 'of=/tmp/big', 'bs=1M', 'count=400', 'status=none']);

    expect(code).not.toBe(0);
  });
});
