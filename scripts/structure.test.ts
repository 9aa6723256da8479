import { expect, test } from 'vitest';
import { findStructureBreaches, largestCircle, longParts } from './structure.ts';

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
