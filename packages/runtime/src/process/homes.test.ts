// @suite system (in depth)
import { mkdir, mkdtemp, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { pinMounts } from '../mount-source.ts';
import type { Launch } from '../runtime.ts';
import { type ProcessRig, openRig, talkTo } from './test-rig.ts';

const MEBIBYTE = 1024 ** 2;

describe('the home directory of a sandboxed server', () => {
  let rig: ProcessRig;
  let outside: string;
  let home: string;
  let workload: string;
  let workloads = 0;

  beforeAll(async () => {
    rig = await openRig();
    outside = await realpath(await mkdtemp(join(tmpdir(), 'thv-outside-')));
    await writeFile(join(outside, 'large'), Buffer.alloc(8 * MEBIBYTE, 1));
  });
  afterAll(async () => {
    await rig[Symbol.asyncDispose]();
    await rm(outside, { recursive: true, force: true });
  });
  beforeEach(() => {
    workload = `server-${++workloads}`;
    home = join(rig.options.homesDir, workload);
  });

  const talk = (changes: Partial<Launch> = {}) => talkTo(rig, { workload, home: 'persistent', ...changes });

  async function shell(script: string, changes: Partial<Launch> = {}): Promise<string> {
    await using server = await talk(changes);
    const { text } = await server.call('execute', { command: '/bin/sh', args: ['-c', script] });
    return (JSON.parse(text) as { output: string }).output;
  }

  test('contains what an earlier process of the workload has written', async () => {
    await shell('echo kept > notes.txt');

    const found = await shell('cat ~/notes.txt');

    expect(found).toBe('kept\n');
  });

  test('is shared by the processes of a workload', async () => {
    await using first = await talk();
    await using second = await talk();
    await first.call('write', { path: 'shared.txt', content: 'of the first' });

    const { text } = await second.call('read', { path: 'shared.txt' });

    expect(text).toBe('of the first');
  });

  test('is not shared by workloads', async () => {
    await shell('echo kept > notes.txt');

    const found = await shell('ls -A', { workload: `${workload}-other` });

    expect(found).toBe('');
  });

  test('is empty at every start if it is ephemeral', async () => {
    await shell('echo kept > notes.txt', { home: 'ephemeral' });

    const found = await shell('ls -A', { home: 'ephemeral' });

    expect(found).toBe('');
  });

  test('is replaced by a directory that is mounted at its place', async () => {
    const mounts = await pinMounts([{ source: outside, target: '/home/server', readOnly: true }]);

    const found = await shell('ls', { mounts });

    expect(found).toBe('large\n');
  });

  test('contains directories and files that are mounted in it', async () => {
    const granted = [
      { source: outside, target: '/home/server/deep/data', readOnly: true },
      { source: join(outside, 'large'), target: '/home/server/.config/large', readOnly: true },
    ];
    const mounts = await pinMounts(granted);

    const found = await shell('ls deep/data; wc -c < .config/large', { mounts });

    expect(found).toBe(`large\n${8 * MEBIBYTE}\n`);
  });

  test('is no way to make ToolHive create something outside', async () => {
    await shell(`ln -s ${outside} deep`);
    const mounts = await pinMounts([{ source: outside, target: '/home/server/deep/data', readOnly: true }]);

    const starting = talk({ mounts });

    await expect(starting).rejects.toMatchObject({ kind: 'conflict' });
    await expect(stat(join(outside, 'data'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('refuses to start if the directory is a link', async () => {
    await mkdir(rig.options.homesDir, { recursive: true });
    await symlink(outside, home);

    const starting = talk();

    await expect(starting).rejects.toMatchObject({ kind: 'conflict' });
  });

  test('is measured without following links', async () => {
    await shell(`ln -s ${outside} directory; ln -s ${outside}/large file; head -c 3M /dev/zero > own`);

    const measured = await rig.runtime.homes.measure(workload);

    expect(measured).toMatchObject({ place: home, isEmpty: false });
    expect(measured?.bytes).toBeGreaterThanOrEqual(3 * MEBIBYTE);
    expect(measured?.bytes).toBeLessThan(4 * MEBIBYTE);
  });

  test('is measured with files in directories that cannot be listed, and with names that are no UTF-8', async () => {
    await shell(`mkdir hidden; head -c 3M /dev/zero > "hidden/$(printf '\\377')"; chmod 0 hidden`);

    const measured = await rig.runtime.homes.measure(workload);

    expect(measured?.bytes).toBeGreaterThanOrEqual(3 * MEBIBYTE);
  });

  test('is measured with files that are deleted and still open', async () => {
    await using server = await talk();
    const script = 'exec 3> gone; head -c 3M /dev/zero >&3; rm gone; kill -STOP $$';
    server.send('execute', { command: '/bin/sh', args: ['-c', script] });

    await expect
      .poll(async () => (await rig.runtime.homes.measure(workload))?.bytes, { timeout: 10_000 })
      .toBeGreaterThanOrEqual(3 * MEBIBYTE);
    await expect.poll(() => stat(join(home, 'gone')).catch(() => 'gone')).toBe('gone');
  });

  test('reports a tree that is too deep to measure', async () => {
    await shell('for i in $(seq 100); do mkdir d; cd d; done');

    const measured = await rig.runtime.homes.measure(workload);

    expect(measured?.excess).toBe('nested more than 64 directories in its home directory');
  });

  test('is deleted whatever the server has left in it, and nothing else', async () => {
    await shell(
      `ln -s ${outside} link; mkdir locked; touch locked/file; chmod 0 locked; for i in $(seq 3000); do mkdir dd; cd dd; done`,
    );

    await rig.runtime.homes.remove(workload);

    await expect(stat(home)).rejects.toMatchObject({ code: 'ENOENT' });
    expect((await readFile(join(outside, 'large'))).length).toBe(8 * MEBIBYTE);
  });
});
