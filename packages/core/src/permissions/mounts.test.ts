import type { RunConfig } from '@toolhive/contract/run-config';
import { expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { mountsOf, mountsOfRunConfig, parseVolume, withMounts } from './mounts.ts';

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
  expect(() => mountsOf({}, ['/a:/x', '/b:/x'])).toThrow('/a and /b have the same mount target /x');
});

test('narrows each mount to the access that is kept, and removes the others', () => {
  const runConfig = {
    permission_profile: { name: 'own', read: ['/etc/app'], write: ['/data', '/logs:/var/log', '/tmp/x'] },
    volumes: ['/a:/a', '/b:/b:rw', '/c:/c:ro', '/d:/d'],
  } as unknown as RunConfig; // the other fields do not matter
  const kept = new Map([
    ['/etc/app', 'read'],
    ['/data', 'write'],
    ['/var/log', 'read'],
    ['/a', 'read'],
    ['/b', 'read'],
    ['/c', 'write'],
    ['/not-mounted', 'write'],
  ] as const);

  const narrowed = withMounts(runConfig, kept);

  expect(narrowed).toEqual({
    permission_profile: { name: 'own', read: ['/etc/app', '/logs:/var/log'], write: ['/data'] },
    volumes: ['/a:/a:ro', '/b:/b:ro', '/c:/c:ro'],
  });
  expect(mountsOfRunConfig(narrowed).filter(({ readOnly }) => !readOnly)).toHaveLength(1);
  expect(withMounts({ volumes: null } as unknown as RunConfig, kept)).toEqual({});
});
