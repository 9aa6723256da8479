import { describe, expect, test } from 'vitest';
import { wordsIn } from './words.ts';

describe('a command line', () => {
  test.each<[string, string[]]>([
    [String.raw`a "b c" d\ e`, ['a', 'b c', 'd e']],
    [String.raw`code --add-mcp "{\"name\":\"x\"}"`, ['code', '--add-mcp', '{"name":"x"}']],
    ['code --add-mcp "{`"name`":`"x`"}"', ['code', '--add-mcp', '{"name":"x"}']],
    [String.raw`a 'it'\''s' '\"'`, ['a', "it's", String.raw`\"`]],
    [String.raw`C:\bin\npx.cmd "C:\My Files\" b`, [String.raw`C:\bin\npx.cmd`, 'C:\\My Files\\', 'b']],
    [String.raw`a \\host\share "C:\\Users\\me"`, ['a', String.raw`\\host\share`, String.raw`C:\Users\me`]],
    ['a “b c” ‘d e’ "f “g”"', ['a', 'b c', 'd e', 'f “g”']],
    ['a\u00A0b\u00A0\u00A0c', ['a', 'b', 'c']],
    ['a b # starts it', ['a', 'b']],
    ['a b#c "#d"', ['a', 'b#c', '#d']],
    ['a b;', ['a', 'b']],
    ['a https://example.com/?b&c=<KEY> <KEY> d|e', ['a', 'https://example.com/?b&c=<KEY>', '<KEY>', 'd|e']],
    ["a ''", ['a', '']],
    ['a B=$(c d | e) "f $(g)"', ['a', 'B=$(c d | e)', 'f $(g)']],
  ])('is divided into words: %s', (line, words) => {
    const divided = wordsIn(line);

    expect(divided).toEqual(words);
  });

  test.each(['a | b', 'a && b', 'a; b', 'a&& b', 'a > b', 'a >b', 'a 2>/dev/null', 'a &', 'a\nb', 'a <(b)'])(
    'that needs a shell is not: %s',
    (line) => {
      const divided = wordsIn(line);

      expect(divided).toBeUndefined();
    },
  );
});
