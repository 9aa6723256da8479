import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { engineSocket } from '@toolhive/runtime/testing/engines';
import { expect, test } from 'vitest';
import { isInDepth, suites, suitesOf, suitesWith, testFiles } from './suites.ts';
import type { SuiteName } from './suites.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

test.each([
  ['packages/core/src/groups/operate.test.ts', 'import', ['unit']],
  ['packages/core/src/secrets/keyring.test.ts', '// @suite system\nimport', ['system']],
  ['packages/core/src/secrets/keyring.test.ts', '// @suite system (in depth)\nimport', ['system']],
  ['e2e/serve.test.ts', 'import', ['e2e']],
  ['e2e/cluster/pods.test.ts', 'import', ['kubernetes']],
  [
    'e2e/attacks.test.ts',
    "import { sharedOut } from '@toolhive/runtime/testing/engines';",
    ['e2e', 'engines'],
  ],
])('%s belongs to a suite by its folder, its first line, or its runtimes', (path, content, expected) => {
  expect(suitesOf(path, content)).toEqual(expected);
});

test('an unknown suite in the first line of a test file is an error that lists all suites', () => {
  expect(() => suitesOf('a.test.ts', '// @suite sistem\n')).toThrow(
    'a.test.ts: unknown suite sistem. The suites are docs, engines,',
  );
});

test.each([
  ['// @suite system (in depth)\n', true],
  ['// @suite system\n', false],
  ["const line = '// @suite system (in depth)';\n", false],
])('%j says whether a file is left out of the default run', (content, expected) => {
  expect(isInDepth(content)).toBe(expected);
});

test('the default run leaves out only files of default suites, and no default suite is empty', () => {
  const [all, short] = [testFiles(root), testFiles(root, { inDepth: false })];
  const shorter = [...all].filter(([name, files]) => files.length > (short.get(name)?.length ?? 0));
  const isShort = ([name]: [SuiteName, string[]]): boolean => suites[name].isDefault || name === 'engines';

  expect(shorter.every(isShort)).toBe(true);
  expect([...short].filter(([name, files]) => name !== 'web' && files.length === 0)).toEqual([]);
});

test.each([
  [['e2e/cluster/scale.test.ts'], ['kubernetes']],
  [['./packages/proxy/src/chaos.test.ts', '--bail=1'], ['faults']],
  [['apps/web/src/ui/toasts.test.tsx'], ['web']],
  [['packages/contract/src/printable.test.ts', '-t', 'a title'], ['unit']],
  [['-t', 'a title'], []],
])('%j names the suites of its files', (words, expected) => {
  expect(suitesWith(words, root)).toEqual(expected);
});

test('every test file that uses a runtime of the machine belongs to another suite than the pure tests', async () => {
  const pure = new Set(testFiles(root).get('unit'));

  expect(pure).toContain('scripts/suites.test.ts');
  expect(pure).not.toContain('packages/runtime/src/docker/docker.test.ts');
  await expect(engineSocket('docker')).rejects.toThrow('a pure test asks for docker: put "// @suite system"');
});

test.each([
  ['asynchronously', () => spawn('ls')],
  ['synchronously', () => spawnSync('ls')],
  ['by its path', () => execFileSync('/bin/ls')],
])('a pure test cannot start a system program %s', (_, start) => {
  expect(start).toThrow('put "// @suite system" in the first line of the test file');
});
