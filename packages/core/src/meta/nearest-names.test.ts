import { expect, test } from 'vitest';
import { nearestNames } from './nearest-names.ts';

test('the nearest names are those with the fewest different characters, in their order', () => {
  const names = ['write_file', 'read_files', 'reed_file', 'list', 'read_file_of', 'Read-File', 'list'];

  expect(nearestNames('READ_FILE', names, 4)).toEqual([
    'read_files',
    'Read-File',
    'reed_file',
    'read_file_of',
  ]);
  expect(nearestNames('lists', names, 1)).toEqual(['list']);
  expect(nearestNames('lists', names, 10)).toHaveLength(6);
  expect(nearestNames('', ['b', 'a'], 1)).toEqual(['a']);
});

test('names that differ only behind their first characters count as equal', () => {
  const long = 'x'.repeat(64);

  expect(nearestNames(`${long}a`, ['other', `${long}c`, `${long}b`], 2)).toEqual([`${long}b`, `${long}c`]);
});
