import { expect, test } from 'vitest';
import { mountWarnings } from './mount-warnings.ts';

test.each([
  ['/', 'every file on this machine'],
  ['/proc', 'the kernel'],
  ['/dev/kvm', 'the kernel'],
  ['/etc', 'system files'],
  ['/var/run', 'socket of a container engine'],
  ['/run/docker.sock', 'socket of a container engine'],
  ['/home/user', 'home directory'],
  ['/home', 'home directory'],
  ['/home/user/.ssh', 'credentials'],
  ['/home/user/.colima/default/docker.sock', 'socket of a container engine'],
  ['/home/other', 'home directory'],
])('a mount of %s gets a warning', (source, text) => {
  expect(mountWarnings([source], '/home/user')).toEqual([expect.stringContaining(text)]);
});

test.each(['/home/user/notes', '/srv/data', '/home/user/.sshd'])('a mount of %s gets none', (source) => {
  expect(mountWarnings([source], '/home/user')).toEqual([]);
});
