import { expect, test } from 'vitest';
import { allowOwner } from './umask.ts';

test.each([
  [0o777, 0o077],
  [0o177, 0o077],
  [0o022, 0o022],
  [0o000, 0o000],
])('a umask of %o becomes one that leaves the bits of the owner', (inherited, expected) => {
  const before = process.umask(inherited);

  allowOwner();

  expect(process.umask(before)).toBe(expected);
});
