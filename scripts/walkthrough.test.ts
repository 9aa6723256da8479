import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = new URL('..', import.meta.url).pathname;
const page = await readFile(join(root, 'docs/walkthrough.md'), 'utf8');
const stops = [...page.matchAll(/`([^`\s]+)`\s+→\s+`([^`]+)`/g)].map(([, file = '', name = '']) => ({
  file,
  name,
}));

test.each(stops)('$file declares $name', async ({ file, name }) => {
  expect(declares(await readFile(join(root, file), 'utf8'), name)).toBe(true);
});

test('every file on the page belongs to a stop', () => {
  const files = [...page.matchAll(/`((?:packages|apps|e2e|scripts)\/[^`]+)`/g)].map(([, file]) => file);

  expect(files.length).toBeGreaterThan(0);
  expect(stops.map(({ file }) => file)).toEqual(files);
});

test.each([
  ['a function', 'export async function run(core: Core) {', true],
  ['a method', '  async run(core: Core): Promise<void> {', true],
  ['a private method', '  #run(): void {', true],
  ['a property', '  run: operation({', true],
  ['a call', '  run(core);', false],
  ['an awaited call', '  await run(core);', false],
  ['a longer name', 'export function runAgain() {', false],
  ['a method that is called', '  core.run(1);', false],
])('recognizes %s', (_kind, line, isDeclared) => {
  expect(declares(`\n${line}\n`, 'run')).toBe(isDeclared);
});

/** Whether a source declares a function, class, constant, method, or property of this name. */
function declares(source: string, name: string): boolean {
  const topLevel = `(?:export )?(?:async )?(?:function\\*?|class|const|interface|type) ${name}\\b`;
  const member = `\\s+(?:static |async |readonly )*#?${name}(?:<[^>]*>)?(?:\\(.*|\\??: .*)`;
  const isDeclaration = new RegExp(`^(?:${topLevel}.*|${member})$`);
  return source.split('\n').some((line) => isDeclaration.test(line) && !/^\s.*\);$/.test(line));
}
