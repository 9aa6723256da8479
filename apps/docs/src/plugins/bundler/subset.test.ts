import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { characters } from './subset.ts';

test('the style sheet takes from each file of the font for text what it holds, and nothing from both', async () => {
  const css = await readFile(new URL('../../css/fonts.css', import.meta.url), 'utf8');
  const [whole, common] = Array.from(css.matchAll(/unicode-range:([^;]+);/g), ([, list = '']) =>
    codesIn(list),
  );

  const cut = new Set(Array.from(characters['?common'] ?? '', (character) => character.codePointAt(0) ?? 0));

  expect(common).toEqual(cut);
  expect(whole?.isDisjointFrom(cut)).toBe(true);
});

/** The code points of a list like `U+20-7e, U+a0`. */
function codesIn(list: string): Set<number> {
  return new Set(
    list.split(',').flatMap((range) => {
      const [first = 0, last = first] = range
        .trim()
        .replace('U+', '')
        .split('-')
        .map((hex) => parseInt(hex, 16));
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    }),
  );
}
