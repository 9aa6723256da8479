import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { proves } from '../../../../e2e/promises.ts';
import { makeHome } from '../testing/test-core.ts';
import { mountsOf, parseVolume, refuseIgnoreFiles } from './mounts.ts';

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

test('shares nothing of which parts are to be hidden, as nothing hides them', async () => {
  proves('bad.unenforced');
  await using home = await makeHome();
  const everywhere = join(home.path, 'thvignore');
  const source = join(home.path, 'shared');
  await mkdir(source);
  const mounts = [{ source, target: '/x', readOnly: true }];

  await expect(refuseIgnoreFiles(mounts, everywhere, {})).resolves.toBeUndefined();
  await writeFile(everywhere, '.env\n');
  await expect(refuseIgnoreFiles(mounts, everywhere, {})).rejects.toMatchObject({ kind: 'not-implemented' });
  await expect(refuseIgnoreFiles([], everywhere, {})).resolves.toBeUndefined();
  await expect(refuseIgnoreFiles(mounts, everywhere, { loadGlobal: false })).resolves.toBeUndefined();
  await writeFile(join(source, '.thvignore'), '.env\n');
  await expect(refuseIgnoreFiles(mounts, everywhere, { loadGlobal: false })).rejects.toThrow('.thvignore');
});
