import { expect, test } from 'vitest';
import { systemFailure } from './system-failure.ts';

const failed = (members: Record<string, unknown>): Error => Object.assign(new Error('raw'), members);

test.each([
  [
    { code: 'EMFILE', syscall: 'open', path: '/state/index.json' },
    'unavailable',
    'cannot open /state/index.json: the daemon has too many open files',
  ],
  [{ code: 'ENOSPC', syscall: 'write' }, 'no-space', 'no space is left on the device'],
  [
    { code: 'EDQUOT', syscall: 'mkdir', path: '/state/x' },
    'no-space',
    'cannot mkdir /state/x: the disk quota is used up',
  ],
  [{ code: 'ERR_SQLITE_ERROR', errcode: 13 }, 'no-space', 'no space is left on the device'],
  [{ code: 'ERR_SQLITE_ERROR', errcode: 8 | (4 << 8) }, 'unavailable', 'the file system is read-only'],
  [
    { code: 'EACCES', syscall: 'open', path: '/state/x' },
    'unavailable',
    'cannot open /state/x: permission denied',
  ],
])('a failure of the machine %j names the problem and a fix', (members, kind, message) => {
  const failure = systemFailure(failed(members));

  expect(failure).toMatchObject({ kind, message, hint: expect.stringContaining(' ') as string });
});

test.each([{ code: 'ENOENT', path: '/x' }, { code: 'EACCES', syscall: 'connect' }, { errcode: 19 }, {}])(
  'a failure of another kind stays as it is: %j',
  (members) => {
    expect(systemFailure(failed(members))).toBeUndefined();
  },
);
