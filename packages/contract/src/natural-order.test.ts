import { expect, test } from 'vitest';
import { inNaturalOrder } from './natural-order.ts';

test('names are in the order in which people count', () => {
  const names = ['w10', 'b', 'W2', 'w2', 'w1', 'w01', 'B', 'a-10-2', 'a-9-10', 'w2'];

  expect(names.toSorted(inNaturalOrder)).toEqual([
    'a-9-10',
    'a-10-2',
    'B',
    'b',
    'w01',
    'w1',
    'W2',
    'w2',
    'w2',
    'w10',
  ]);
  expect(names.toReversed().toSorted(inNaturalOrder)).toEqual(names.toSorted(inNaturalOrder));
});
