// @suite system
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtempDisposable, open, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type MountAccess, MountWatch } from './mount-watch.ts';
import { processesWith } from './process/test-rig.ts';
import { findProgram } from './programs.ts';
import { waitFor } from './testing/conformance.ts';

const { env } = process;
const hasInotify = (await findProgram('inotifywait', env)) !== undefined;

async function openFolder() {
  const folder = await mkdtempDisposable(join(tmpdir(), 'thv-watch-'));
  await mkdir(join(folder.path, 'sub'));
  await writeFile(join(folder.path, 'sub', 'file'), 'text');
  return folder;
}

describe.runIf(hasInotify)('a watched mount (with inotify-tools)', () => {
  test('reports what is read and written in all of its directories', async () => {
    await using folder = await openFolder();
    const seen: MountAccess[] = [];
    using watch = await MountWatch.open(folder.path, env, (access) => seen.push(access));
    const saw = (kind: string, path: string) =>
      waitFor(() => seen.some((access) => access.kind === kind && access.path === path));

    await readFile(join(folder.path, 'sub', 'file'));
    await saw('read', 'sub/file');
    expect(seen.every(({ kind }) => kind === 'read')).toBe(true);
    await readdir(folder.path);
    await saw('read', '');
    await writeFile(join(folder.path, 'new'), 'text');
    await saw('write', 'new');
    await mkdir(join(folder.path, 'later'));
    await saw('write', 'later');
    await rm(join(folder.path, 'sub', 'file'));
    await saw('write', 'sub/file');

    watch[Symbol.dispose]();
    expect(await watch.ended).toBeUndefined();
  });

  test('can be a file', async () => {
    await using folder = await openFolder();
    const seen: MountAccess[] = [];
    using _watch = await MountWatch.open(join(folder.path, 'sub', 'file'), env, (access) =>
      seen.push(access),
    );

    await readFile(join(folder.path, 'sub', 'file'));

    await waitFor(() => seen.length > 0);
    expect(seen[0]).toEqual({ kind: 'read', path: '' });
  });

  test('does not include what links in it lead to', async () => {
    await using folder = await openFolder();
    await using outside = await openFolder();
    await symlink(outside.path, join(folder.path, 'link'));
    const seen: MountAccess[] = [];
    using _watch = await MountWatch.open(folder.path, env, (access) => seen.push(access));

    await readFile(join(outside.path, 'sub', 'file'));
    await readFile(join(folder.path, 'sub', 'file'));

    await waitFor(() => seen.length > 0);
    expect(seen.map(({ path }) => path).filter((path) => path !== 'sub/file')).toEqual([]);
  });

  test('reports no path outside, whatever a file is called', async () => {
    await using folder = await openFolder();
    const inside = join(folder.path, 'a\nOPEN ');
    await mkdir(inside);
    const seen: MountAccess[] = [];
    using _watch = await MountWatch.open(folder.path, env, (access) => seen.push(access));

    await writeFile(join(inside, 'forged'), ''); // the line for it ends with "OPEN /forged"
    await readFile(join(folder.path, 'sub', 'file'));
    await waitFor(() => seen.some(({ path }) => path === 'sub/file'));

    expect(new Set(seen.map(({ path }) => path))).toEqual(new Set(['a', 'sub/file']));
  });

  test('gives up if there are too many accesses, so that they do not keep the daemon busy', async () => {
    await using folder = await openFolder();
    // With a path that is as long as possible, 300 accesses are too many for a second, which every machine can reach.
    const deep = join(folder.path, ...Array.from({ length: 17 }, () => 'x'.repeat(200)));
    await mkdir(deep, { recursive: true });
    using watch = await MountWatch.open(folder.path, env, () => {});
    const state = { isOver: false };
    void watch.ended.then(() => (state.isOver = true));
    const path = join(deep, 'x'.repeat(200));

    while (!state.isOver) await (await open(path, 'a')).close();

    expect(await watch.ended).toBe('there were too many accesses to record');
  });

  test('names what keeps it from being watched', async () => {
    await using folder = await openFolder();

    await expect(MountWatch.open(join(folder.path, 'missing'), env, () => {})).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/^inotifywait ended: Couldn't watch .*missing: No such file/),
    });
  });

  test('is not watched any longer than the daemon runs', async () => {
    await using folder = await openFolder();
    const daemon = `
import { MountWatch } from ${JSON.stringify(new URL('mount-watch.ts', import.meta.url).href)};
await MountWatch.open(${JSON.stringify(folder.path)}, process.env, () => {});
console.log('watching');
setInterval(() => {}, 1000);
`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', daemon]);
    await once(child.stdout, 'data');
    const watching = () => processesWith(`--\0${folder.path}\0`);
    const before = await watching();

    child.kill('SIGKILL');
    await once(child, 'exit');

    expect(before).toHaveLength(1);
    await waitFor(async () => (await watching()).length === 0);
  });
});
