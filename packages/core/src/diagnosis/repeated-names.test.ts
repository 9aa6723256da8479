import { expect, test } from 'vitest';
import { repeatedNames } from './repeated-names.ts';

test('tells each name that several tools have once, up to a limit', () => {
  expect(repeatedNames(['a', 'b', 'a', 'c', 'a', 'c', 'b'], 2)).toEqual([
    'the server lists several tools with the name a',
    'the server lists several tools with the name c',
  ]);
});

test('compares the names of very many tools in time', { timeout: 60_000 }, () => {
  const names = Array.from({ length: 200_000 }, (_, at) => `${'x'.repeat(600)}${at}`.slice(-600));

  expect(repeatedNames(names, 3)).toEqual([]);
});
