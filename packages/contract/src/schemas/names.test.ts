import { expect, test } from 'vitest';
import { Argument, Environment } from './names.ts';

test.each(['x'.repeat(130_000), 'ä'.repeat(65_000), ''])('a program receives up to 130,000 bytes', (text) => {
  expect(Argument.safeParse(text).success).toBe(true);
});

test.each([
  ['x'.repeat(130_001), 'has more than 130,000 bytes'],
  ['ä'.repeat(65_001), 'has more than 130,000 bytes'],
  ['a\0b', 'contains a NUL character'],
])('what no program receives is refused at its place', (text, reason) => {
  expect(Environment.safeParse({ KEY: text }).error?.issues).toMatchObject([
    { path: ['KEY'], message: expect.stringContaining(reason) },
  ]);
});
