import { expect, test } from 'vitest';
import { valueOfYaml } from './yaml-keys.ts';

const read = (text: string): unknown => valueOfYaml(text, { maxAliasCount: 0 });

test.each([
  ['only mistakes', `a: 1\n${'] '.repeat(240_000)}`, 'Unexpected flow-seq-end token'],
  ['a repeated key', 'a: 1\n"a": 2\n', 'a key occurs twice'],
  ['an alias', 'a: &x 1\nb: *x\n', 'Alias resolution is disabled'],
])('a text with %s is refused', (_what, text, problem) => {
  expect(() => read(text)).toThrow(problem);
});

test('a text with very many keys is read in a moment', () => {
  const keys = Array.from({ length: 60_000 }, (_, at) => `k${at}: 1`);

  expect(Object.keys(read(keys.join('\n')) as object)).toHaveLength(60_000);
});
