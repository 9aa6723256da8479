import { expect, test } from 'vitest';
import { findStructureBreaches, largestCircle, lastingFunctions, longParts } from './structure.ts';

test('the code keeps the limits of its structure', async () => {
  expect(await findStructureBreaches()).toEqual([]);
});

test('the largest circle contains files that import each other over others, also for types', () => {
  const files = [
    { file: 'a/one.ts', text: "import { two } from './two.ts';\n" },
    { file: 'a/two.ts', text: "import type {\n  Three,\n} from '../b/three.ts';\n" },
    { file: 'b/three.ts', text: "export * from '../a/one.ts';\n" },
    { file: 'b/four.ts', text: "import { one } from '../a/one.ts';\n" },
  ];

  expect(largestCircle(files)).toEqual(['a/one.ts', 'a/two.ts', 'b/three.ts']);
});

test('long classes and functions are found with their places', () => {
  const body = 'x();\n'.repeat(300);
  const text = `// first\nclass A {\n  m() {\n${body}  }\n}\nconst f = () => 1;\n`;

  expect(longParts({ file: 'a.ts', text })).toEqual({
    classes: ['a.ts:2 has 304 lines'],
    functions: ['a.ts:3 has 302 lines'],
  });
});

test('functions that V8 keeps for longer than a request are found', () => {
  const text = [
    'a.b = () => 1;',
    'this.#b = (async (x) => x) as never;',
    'a[b] = x => x;',
    'a.b ??= function () {};',
    'a.b = (x: { y: () => void }, z = f(1)): void => {};',
    'const o = { get x() { return 1; } };',
    'const f = () => 1; a.b = f; a.c = f(() => 1); a.d = (x); a.e = x >= 1;',
    'const p = { x() {}, y: () => 1 }; class C { get z() { return 1; } w = () => 1; }',
  ].join('\n');

  expect(lastingFunctions({ file: 'a.ts', text })).toEqual([1, 2, 3, 4, 5, 6].map((line) => `a.ts:${line}`));
});
