import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { withoutReplaceable } from './search-path.ts';

async function folder(): Promise<string> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'thv-path-')));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

test('the directories that others can write are left out of PATH', async () => {
  const root = await folder();
  const project = join(root, 'project');
  await mkdir(join(project, '.venv', 'bin'), { recursive: true });
  await symlink(join(project, '.venv'), join(root, 'link'));
  const own = [`${project}-2/bin`, '/usr/bin', '', 'relative'];
  // The last one does not exist yet, so the server could create it.
  const others = [`${project}/.venv/bin`, `${root}/link/bin`, `${root}/link/later/bin`];
  const env = { PATH: [own[0], ...others, ...own.slice(1)].join(':'), HOME: root };

  const found = await withoutReplaceable(env, [{ path: project }]);

  expect(found).toEqual({ env: { PATH: own.join(':'), HOME: root }, leftOut: others });
});

test('so are the directory of a file that others can write, and directories around a link to a mount', async () => {
  const root = await folder();
  await Promise.all(
    ['bin', 'mount', 'data/inner'].map((name) => mkdir(join(root, name), { recursive: true })),
  );
  await writeFile(join(root, 'bin', 'tool'), '');
  await symlink(join(root, 'mount'), join(root, 'other'));
  const env = { PATH: `${root}/bin:${root}/mount/bin:${root}/data` };

  const { leftOut } = await withoutReplaceable(env, [
    { path: join(root, 'bin', 'tool') },
    { path: join(root, 'other') },
    { path: join(root, 'data', 'inner') },
  ]);

  expect(leftOut).toEqual([`${root}/bin`, `${root}/mount/bin`]);
});

test('a link that has replaced a directory leads to nothing that others can write', async () => {
  const root = await folder();
  await symlink('/', join(root, 'out'));
  const env = { PATH: `/usr/bin:${root}/out/bin:${root}/earlier/bin` };

  const found = await withoutReplaceable(env, [{ path: join(root, 'out'), place: join(root, 'earlier') }]);

  expect(found.leftOut).toEqual([`${root}/out/bin`, `${root}/earlier/bin`]);
});

test('PATH stays the same if its directories are not writable for others', async () => {
  const env = { PATH: '/usr/bin::/bin' };

  expect((await withoutReplaceable(env, [{ path: '/srv/data' }, { path: '/usr/bin-data' }])).env).toBe(env);
});
