import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { proves } from '../../../../e2e/promises.ts';
import { makeHome } from '../testing/test-core.ts';
import { checkMounts, mountsOf, parseVolume, refuseIgnoreFiles } from './mounts.ts';

test.each([
  ['/a:/b', { source: '/a', target: '/b', readOnly: false }],
  ['/a:/b:ro', { source: '/a', target: '/b', readOnly: true }],
  ['/a:/b:rw', { source: '/a', target: '/b', readOnly: false }],
  ['/a/../c/:/b/', { source: '/c', target: '/b', readOnly: false }],
])('reads the volume %s', (volume, mount) => {
  proves('run.mounts');
  expect(parseVolume(volume)).toEqual(mount);
});

test.each(['', '/a', 'a:/b', '/a:b', '/a:/b:rx', '/a:/b:ro:x', '/a\0:/b'])(
  'refuses the volume %j',
  (volume) => {
    expect(() => parseVolume(volume)).toThrow(expect.objectContaining({ kind: 'invalid' }) as Error);
  },
);

test('puts grants and volumes together, writable if either is', () => {
  const mounts = mountsOf({ read: ['/etc/app', '/data:/data'], write: ['/data:/data'] }, ['/logs:/logs:ro']);

  expect(mounts).toEqual([
    { source: '/etc/app', target: '/etc/app', readOnly: true },
    { source: '/data', target: '/data', readOnly: false },
    { source: '/logs', target: '/logs', readOnly: true },
  ]);
});

test('refuses two things in one place', () => {
  expect(() => mountsOf({}, ['/a:/x', '/b:/x'])).toThrow('/a and /b are both to be mounted at /x');
});

test('refuses what is not there', async () => {
  await expect(checkMounts([{ source: '/no/such', target: '/x', readOnly: true }], [])).rejects.toThrow(
    '/no/such does not exist',
  );
});

test.each([
  ['the folder itself', 'state'],
  ['a folder above it', '.'],
  ['a folder in it', 'state/runconfigs'],
  ['a link to it', 'link'],
])('never shares the files of the hive: %s', async (_title, path) => {
  proves('run.own-state');
  await using home = await makeHome();
  const own = join(home.path, 'state');
  await mkdir(join(own, 'runconfigs'), { recursive: true });
  await symlink(own, join(home.path, 'link'));
  const source = join(home.path, path);

  await expect(checkMounts([{ source, target: '/x', readOnly: true }], [own])).rejects.toThrow(
    'holds files of ToolHive itself',
  );
});

test('shares a folder beside the files of the hive', async () => {
  await using home = await makeHome();
  await writeFile(join(home.path, 'state-of-the-art'), '');

  await expect(
    checkMounts(
      [{ source: join(home.path, 'state-of-the-art'), target: '/x', readOnly: true }],
      [join(home.path, 'state')],
    ),
  ).resolves.toBeUndefined();
});

test('shares nothing of which parts are to be hidden, as nothing hides them', async () => {
  proves('bad.unenforced');
  await using home = await makeHome();
  const everywhere = join(home.path, 'thvignore');
  const source = join(home.path, 'shared');
  await mkdir(source);
  const mounts = [{ source, target: '/x', readOnly: true }];

  await expect(refuseIgnoreFiles(mounts, everywhere)).resolves.toBeUndefined();
  await writeFile(everywhere, '.env\n');
  await expect(refuseIgnoreFiles(mounts, everywhere)).rejects.toMatchObject({ kind: 'not-implemented' });
  await expect(refuseIgnoreFiles([], everywhere)).resolves.toBeUndefined();
  await expect(refuseIgnoreFiles(mounts, everywhere, { loadGlobal: false })).resolves.toBeUndefined();
  await writeFile(join(source, '.thvignore'), '.env\n');
  await expect(refuseIgnoreFiles(mounts, everywhere, { loadGlobal: false })).rejects.toThrow('.thvignore');
});
