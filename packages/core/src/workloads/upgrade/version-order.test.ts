import { expect, test } from 'vitest';
import { isNewer } from './version-order.ts';

test.each([
  ['1.1.0', '1.0.9'],
  ['1.10.0', '1.9.0'],
  ['2026.8.31', '2026.7.4'],
  ['1.0.0', '1.0.0-beta.2'],
  ['1.0.0-beta.3', '1.0.0-beta.2'],
  ['1.1', '1.0.5'],
  ['1.0.post1', '1.0'],
  ['1.0', '1.0rc1'],
])('%s is newer than %s', (newer, older) => {
  expect(isNewer(newer, older)).toBe(true);
});

test.each([
  ['1.0.0', '1.0.0'],
  ['1.0.0', '1.1.0-beta.1'],
  ['0.9.9', '1.0.0'],
  ['1.0', '1.0.0'],
  ['1.0.0+build.2', '1.0.0+build.1'],
  ['1.0', '1.0.post1'],
])('%s is not newer than %s, so that an upgrade never goes back', (version, other) => {
  expect(isNewer(version, other)).toBe(false);
});
