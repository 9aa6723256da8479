import { expect, test } from 'vitest';
import { canonicalJson, hashOf } from './canonical.ts';

test('gives equal values equal texts, whatever the order of their keys', () => {
  expect(canonicalJson({ b: 1, a: { d: undefined, c: [2, 1] } })).toBe('{"a":{"c":[2,1]},"b":1}');
  expect(hashOf({ a: 1, b: 2 })).toBe(hashOf({ b: 2, a: 1 }));
  expect(hashOf([1, 2])).not.toBe(hashOf([2, 1]));
});
