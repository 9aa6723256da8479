import { expect, test } from 'vitest';
import { innerPath, parseInstall } from './install.ts';

const install = {
  version: '1.0.0',
  command: 'node',
  args: ['node_modules/x/main.js'],
  readOnlyPaths: ['/opt/python'],
};

test('reads what was written', () => {
  expect(parseInstall(JSON.stringify(install))).toEqual(install);
});

test.each([
  ['nothing', ''],
  ['no object', '7'],
  ['a command outside the package', { ...install, command: '/bin/sh' }],
  ['a script outside the package', { ...install, args: ['../../other/main.js'] }],
  ['a relative path of the machine', { ...install, readOnlyPaths: ['etc'] }],
  ['no version', { ...install, version: undefined }],
])('does not believe %s', (_name, value) => {
  expect(parseInstall(typeof value === 'string' ? value : JSON.stringify(value))).toBeUndefined();
});

test('keeps a program inside its package', () => {
  expect(innerPath('x', './dist/main.js')).toBe('dist/main.js');
  expect(() => innerPath('x', '../../../bin/sh')).toThrow('outside itself');
});
