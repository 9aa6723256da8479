import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pinMounts } from '../mount-source.ts';
import { openMounts } from './mounts.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-mounts-'));
  await mkdir(join(folder, 'inner'));
  await writeFile(join(folder, 'file'), '');
  await symlink('/etc', join(folder, 'link'));
});
afterAll(() => rm(folder, { recursive: true }));

const mount = (target: string, source = folder) => ({ source, target, readOnly: true });

async function checkMounts(mounts: ReturnType<typeof mount>[]) {
  await using opened = await openMounts(await pinMounts(mounts));
  return opened.mounts;
}

test.each([
  '/',
  '/proc',
  '/proc/self',
  '/dev/shm',
  '/usr/local/bin',
  '/etc',
  '/etc/passwd',
  '/lib',
  '/opt',
  '/opt/toolhive/package',
])('nothing can be laid at %s', async (target) => {
  await expect(checkMounts([mount(target)])).rejects.toMatchObject({
    kind: 'invalid',
    message: `cannot mount anything at ${target}`,
  });
});

test.each(['data', '/data/../etc', '/data//x', '/da\0ta'])('%j is no target', async (target) => {
  await expect(checkMounts([mount(target)])).rejects.toMatchObject({ kind: 'invalid' });
});

test('a source that does not exist is named', async () => {
  await expect(checkMounts([mount('/data', join(folder, 'no'))])).rejects.toMatchObject({
    kind: 'invalid',
    message: `mount source ${join(folder, 'no')} does not exist`,
  });
});

test('outer mounts come before those inside them', async () => {
  const checked = await checkMounts([mount('/data/inner', join(folder, 'inner')), mount('/data/')]);

  expect(checked.map(({ target }) => target)).toEqual(['/data', '/data/inner']);
});

test.each(['no', 'link'])(
  'a place inside another mount that is missing or a link (%s) is refused',
  async (name) => {
    await expect(checkMounts([mount('/data'), mount(`/data/${name}`)])).rejects.toMatchObject({
      kind: 'invalid',
    });
  },
);
