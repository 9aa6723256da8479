import { expect, test } from 'vitest';
import { Rotation } from './rotation.ts';

test('owners take turns, and the things of one owner keep their order', () => {
  const rotation = new Rotation<string>();
  for (const thing of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) rotation.add(thing.slice(0, 1), thing);

  const order = Array.from({ length: 7 }, () => rotation.next());

  expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', undefined]);
  expect(rotation.size).toBe(0);
});
