import { expect, test } from 'vitest';
import { escaped, printable, withoutSequences } from './printable.ts';

test.each([
  ['a zero-width space', 0x200b],
  ['a zero-width joiner', 0x200d],
  ['a word joiner', 0x2060],
  ['a byte order mark', 0xfeff],
  ['a soft hyphen', 0xad],
  ['an override of direction', 0x202e],
  ['an isolate of direction', 0x2066],
  ['the Arabic letter mark', 0x61c],
  ['a filler', 0x3164],
  ['a tag', 0xe0041],
  ['a supplementary variation selector', 0xe0100],
  ['a line separator', 0x2028],
  ['an escape', 0x1b],
  ['a carriage return', 0x0d],
  ['a C1 control', 0x9b],
  ['half a character', 0xd800],
])('%s does not reach a terminal', (_what, code) => {
  const text = `a${String.fromCodePoint(code)}b`;

  expect(printable(text)).toBe('a\ufffdb');
  expect(escaped(text)).toMatch(/^a(\\u[0-9a-f]{4}){1,2}b$/);
  expect(JSON.parse(`"${escaped(text)}"`)).toBe(text);
});

test.each(['plain\ttext\n', 'Grüße, 世界, שלום', '❤️ 👍🏽', 'e\u0301'])('%j stays as it is', (text) => {
  expect([printable(text), escaped(text)]).toEqual([text, text]);
});

test.each([
  ['colors', '\u001b[1;31mError\u001b[0m: no\u001b[K', 'Error: no'],
  ['a link', '\u001b]8;;https://example.com\u0007text\u001b]8;;\u001b\\', 'text'],
  ['a title that does not end', '\u001b]0;title', '0;title'],
  ['other text', 'Grüße [1;31m', 'Grüße [1;31m'],
])('%s', (_what, text, plain) => {
  expect(withoutSequences(text)).toBe(plain);
});

test.each(['\u001b]', '\u001b[', '\u001b];', '\u001b[1;', '\u001bP', '\u001b '])(
  'many of %j take time in proportion to their number',
  (start) => {
    expect(withoutSequences(start.repeat(1_000_000)).length).toBeLessThan(4_000_000);
  },
);
