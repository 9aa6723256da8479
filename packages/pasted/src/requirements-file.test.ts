import { expect, test } from 'vitest';
import { requirementsIn } from './requirements-file.ts';

test.each([
  ['mcp', ['mcp'], []],
  ['  Flask [async] == 3.0 # web', ['Flask[async]==3.0'], []],
  ['a~=1.4.2\nb!=2\nc===1.0\nd>1,<2', ['a~=1.4.2', 'b!=2', 'c===1.0', 'd>1,<2'], []],
  ['a; platform_system == "Darwin"\nb; os_name == "posix"', ['b'], []],
  ['# only\n\n  # comments', [], []],
  ['-r other.txt\n../local\ngit+https://example.com/a', [], [1, 2, 3]],
  ['--index-url=https://pypi.org/simple\n--pre\na', ['a'], []],
  ['a \\\n  --hash=sha256:0\n./b', ['a'], [3]],
  ['import os', [], [1]],
])('%j', (text, requirements, others) => {
  expect(requirementsIn(text)).toEqual({ requirements, others });
});

test.each([
  'mcp\n--extra-index-url https://packages.example.com/simple\nown-tool',
  '-i https://packages.example.com/simple\nown-tool',
  '--index-url=https://packages.example.com/simple',
  '--no-index\nown-tool',
  '--find-links ./wheels\nown-tool',
])('is refused with packages of another registry: %j', (text) => {
  expect(() => requirementsIn(text)).toThrow('does not install packages from the registry');
});

/** With steps that grow with the square of the length, these texts would take minutes. */
test.each([' ', '\\\n', 'a;', '# ', 'a\n', 'a==', '[a', 'a, '])(
  'is read with many %j',
  { timeout: 60_000 },
  (part) => {
    expect(requirementsIn(part.repeat(500_000 / part.length))).toHaveProperty('requirements');
  },
);
