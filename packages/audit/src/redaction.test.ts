import { expect, test } from 'vitest';
import { Redaction } from './redaction.ts';

function redactionOf(...secrets: string[]): Redaction {
  const redaction = new Redaction();
  for (const secret of secrets) redaction.add(secret);
  return redaction;
}

test.each([
  ['a', 'a banana and a map', '[REDACTED] banana and [REDACTED] map'],
  ['a', 'a', '[REDACTED]'],
  ['417', '{"pin":"417"}', '{"pin":"[REDACTED]"}'],
  ['417', 'order 14170', 'order 14170'],
  ['417', '请输入417。', '请输入[REDACTED]。'],
  ['4171', 'order 041710', 'order 0[REDACTED]0'],
])('the secret %j is removed from %j, but a short one not from words', (secret, text, expected) => {
  expect(redactionOf(secret).withoutSecrets(text)).toBe(expected);
});

test('a short secret is removed where it is a number or a part of a structure', () => {
  const redaction = redactionOf('7', '42');

  expect(redaction.clean({ pins: [7, 17, 42], note: '7 of 70' })).toEqual({
    pins: ['[REDACTED]', 17, '[REDACTED]'],
    note: '[REDACTED] of 70',
  });
});
