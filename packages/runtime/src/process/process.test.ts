// @suite system
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aLaunch, describeRuntime, waitFor } from '../testing/conformance.ts';
import { describeExit } from '../runtime.ts';
import { isAlive } from '../proc.ts';
import { groupPrefix } from './limits.ts';
import {
  type ProcessRig,
  networksOf,
  never,
  openRig,
  prepareOptions,
  processesWith,
  talkTo,
} from './test-rig.ts';

describeRuntime('process', { isolates: true }, async () => ({
  ...(await openRig()),
  missing: { kind: 'package', scheme: 'npx', name: 'no-such-package' },
}));

describe('the process runtime itself', () => {
  let rig: ProcessRig;

  beforeAll(async () => {
    rig = await openRig();
  });
  afterAll(() => rig[Symbol.asyncDispose]());

  test('touches nothing until it is asked to do something', async () => {
    await using untouched = await openRig();

    await expect(access(untouched.options.cacheDir)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('says what cannot be enforced', async () => {
    const { limits } = await rig.runtime.check();

    expect(limits.map(({ text }) => text).join('\n')).toContain(
      'without network isolation, a server reaches',
    );
  });

  test('refuses to run anything where there is no bubblewrap, and says how to get it', async () => {
    const source = await rig.prepared();
    await using bare = await openRig({ cacheDir: rig.options.cacheDir, env: { PATH: rig.folder } });

    const report = await bare.runtime.check();
    const starting = bare.runtime.start(aLaunch(source), never);

    expect(report).toMatchObject({ available: false, detail: 'bubblewrap is not installed' });
    expect(report.hint).toContain('apt install bubblewrap');
    await expect(starting).rejects.toMatchObject({ kind: 'unavailable', hint: report.hint });
  });

  test('refuses to run anything where the sandbox does not work', async () => {
    const folder = join(rig.folder, 'broken');
    await mkdir(folder);
    const script = '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n';
    await writeFile(join(folder, 'bwrap'), script, { mode: 0o755 });
    await using broken = await openRig({ env: { PATH: folder } });

    const report = await broken.runtime.check();

    expect(report).toMatchObject({
      available: false,
      detail: 'the sandbox could not be set up: No permissions to create new namespace',
      hint: expect.stringContaining('user namespaces'),
    });
  });

  test('does not run images, and says what it runs', async () => {
    const preparing = rig.runtime.prepare({ kind: 'image', image: 'ghcr.io/example/server' }, prepareOptions);

    await expect(preparing).rejects.toMatchObject({
      kind: 'unsupported',
      hint: expect.stringContaining('npx://'),
    });
  });

  test.each([
    ['privileged workloads', { privileged: true }, 'a sandboxed process cannot run privileged'],
    [
      'networks of a container engine',
      { network: { kind: 'mode', mode: 'bridge' } } as const,
      'the sandbox does not support the network mode bridge',
    ],
  ])('refuses %s', async (_name, changes, message) => {
    const launch = aLaunch(await rig.prepared(), changes);

    const starting = rig.runtime.start(launch, never);

    await expect(starting).rejects.toMatchObject({ kind: 'invalid', message });
    expect(() => rig.runtime.refuseImpossible?.(launch)).toThrow(message);
  });

  test('does not start what was not prepared', async () => {
    const source = {
      kind: 'package',
      scheme: 'npx',
      name: 'toolhive-test-servers',
      version: '9.9.9',
    } as const;

    const starting = rig.runtime.start(aLaunch(source), never);

    await expect(starting).rejects.toMatchObject({
      kind: 'not-found',
      message: 'npx://toolhive-test-servers@9.9.9 is not installed',
    });
  });

  test('shows no environment value in any command line', async () => {
    const secret = `value-${crypto.randomUUID()}`;
    await using server = await talkTo(rig, { env: { API_KEY: secret } });

    await server.request('ping');

    expect(await processesWith(secret)).toEqual([]);
  });

  test('notices when bubblewrap is killed, and leaves no process', async () => {
    const marker = crypto.randomUUID();
    await using server = await talkTo(rig, { args: ['echo', marker] });
    await server.request('ping');
    const [bwrap = 0] = await processesWith(marker);

    process.kill(bwrap, 'SIGKILL');
    const exit = await server.instance.exited;

    expect(describeExit(exit)).toBe('was killed by SIGKILL');
    expect(await processesWith(marker)).toEqual([]);
  });

  test('ends a server that closes its output and lives on', async () => {
    await using server = await talkTo(rig, { args: ['closes-output'] });

    expect(describeExit(await server.instance.exited)).toBe('closed its standard output');
  });

  test('insists after the grace time, and not before', async () => {
    await using server = await talkTo(rig, { args: ['stubborn'] });
    await server.request('ping');
    const began = performance.now();

    await server.instance.stop(200);

    const tookMs = performance.now() - began;
    expect(describeExit(await server.instance.exited)).toBe('was killed by SIGKILL');
    expect(tookMs).toBeGreaterThanOrEqual(190);
  });

  test('leaves no process behind when the daemon is killed', async () => {
    const source = await rig.prepared();
    const marker = crypto.randomUUID();
    const daemon = spawn(process.execPath, ['--input-type=module', '-e', daemonSource(rig, source, marker)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(daemon.stdout, 'data');

    const networks = networksOf(daemon.pid);
    daemon.kill('SIGKILL');
    await once(daemon, 'exit');

    expect(networks).toHaveLength(1);
    await expect(waitFor(async () => (await processesWith(marker)).length === 0)).resolves.toBe(true);
    await expect(waitFor(() => !networks.some(isAlive))).resolves.toBe(true);
  });

  test('sweeps what an earlier daemon left', async () => {
    const { cacheDir, tempDir, daemonId } = rig.options;
    const group = join('/sys/fs/cgroup/pids', `${groupPrefix(daemonId)}left`);
    const staging = join(cacheDir, '.staging', daemonId);
    await mkdir(group).catch(() => {}); // only root can, and only where there is version 1 of control groups
    await mkdir(join(staging, 'half'), { recursive: true });
    await mkdir(join(tempDir, 'something'), { recursive: true });

    await rig.runtime.sweep();

    expect(await readdir(tempDir)).toEqual([]);
    await expect(access(staging)).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(access(group)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('leaves nothing of a start that is given up, whenever that is', async () => {
    const source = await rig.prepared();
    const marker = crypto.randomUUID();

    for (const afterMs of [0, 5, 10, 15, 20, 25, 30, 40, 60]) {
      const launch = aLaunch(source, { args: ['echo', marker], network: { kind: 'open' } });
      const starting = rig.runtime.start(launch, AbortSignal.timeout(afterMs));
      await starting.then(
        (faster) => faster[Symbol.asyncDispose](),
        (error: unknown) => expect(error).toMatchObject({ kind: 'cancelled' }),
      );
    }

    await expect(waitFor(async () => (await processesWith(marker)).length === 0)).resolves.toBe(true);
    expect(networksOf()).toEqual([]);
  });

  test('leaves no control group behind', async () => {
    const server = await talkTo(rig);
    await server.request('ping');

    await server[Symbol.asyncDispose]();

    const groups = await readdir('/sys/fs/cgroup', { recursive: true }).catch(() => []);
    expect(groups.filter((path) => path.includes(groupPrefix(rig.options.daemonId)))).toEqual([]);
  });
});

/** A daemon in a few lines: it starts one server, says so, and waits to be killed. */
function daemonSource(rig: ProcessRig, source: object, marker: string): string {
  const module = pathToFileURL(join(import.meta.dirname, 'process.ts')).href;
  const launch = JSON.stringify({
    ...aLaunch(rig.source),
    source,
    args: ['stubborn', marker],
    network: { kind: 'open' },
  });
  return `
    const { openProcessRuntime } = await import(${JSON.stringify(module)});
    const runtime = openProcessRuntime(${JSON.stringify({ ...rig.options, log: undefined })});
    const launch = { ...${launch}, log: () => {} };
    await runtime.start(launch, new AbortController().signal);
    console.log('started');
    setInterval(() => {}, 1000);
  `;
}
