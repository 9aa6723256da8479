import { expect, test } from 'vitest';
import { parseDocuments } from './parse-document.ts';

test('YAML with a repeated key is refused, because one of the two would get lost', () => {
  expect(() => parseDocuments('mcpServers:\n  a: {command: x}\n  a: {command: y}\n', 'it')).toThrow(
    'it is not JSON, YAML, or TOML',
  );
});

test('YAML with very many keys is read in time', { timeout: 60_000 }, () => {
  const text = Array.from({ length: 100_000 }, (_, at) => `a${at}: 1\n`).join('');

  expect(Object.keys(parseDocuments(text, 'it')[0] as object)).toHaveLength(100_000);
});
