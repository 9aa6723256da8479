import { execFile } from 'node:child_process';
import { mkdir, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { Report } from './test-report.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Runs Vitest with the reporter over test files, in the repository so that these files can import Vitest. */
async function reportOn(files: Record<string, string>): Promise<{ report: Report; output: string }> {
  await mkdir(join(root, 'test-results'), { recursive: true });
  await using folder = await mkdtempDisposable(join(root, 'test-results/report-'));
  await writeFile(
    join(folder.path, 'vitest.config.ts'),
    `export default { test: { include: ['*.test.js'] } };`,
  );
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(folder.path, name), `import { beforeAll, test } from 'vitest';\n${content}`);
  }
  const path = join(folder.path, 'report.json');
  const reporter = join(root, 'scripts/test-report.ts');
  const words = [
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--root',
    folder.path,
    `--reporter=${reporter}`,
  ];
  const { stdout } = await promisify(execFile)(process.execPath, words, {
    env: { PATH: process.env['PATH'], THV_TEST_REPORT: path },
  }).catch((error: { stdout: string }) => error); // tests that fail end with a code
  return { report: JSON.parse(await readFile(path, 'utf8')) as Report, output: stdout };
}

test.each([
  [
    'an error after a test',
    `test('ends', async () => { queueMicrotask(() => { throw new Error('late') }); await new Promise(setImmediate); });`,
    'late',
  ],
  [
    'a promise without an owner',
    `test('ends', async () => { Promise.reject(new Error('floating')); await new Promise(setImmediate); });`,
    'floating',
  ],
  [
    'a process that is killed',
    `test('dies', () => { process.kill(process.pid, 'SIGKILL'); return new Promise(() => {}); });`,
    'SIGKILL',
  ],
])('%s is reported with the name of the test file', async (_, content, text) => {
  const { report, output } = await reportOn({
    'stray.test.js': content,
    'fine.test.js': `test('passes', () => {});`,
  });

  expect(report.strayErrors.join('\n')).toContain('stray.test.js');
  expect(report.strayErrors.join('\n')).toContain(text);
  expect(report.strayErrors.join('\n')).not.toContain('fine.test.js');
  for (const error of report.strayErrors) expect(output).toContain(`!!! ${error.split('\n')[0]}`);
});

test('the error of a hook is reported with the tests that did not start', async () => {
  const { report } = await reportOn({
    'hook.test.js': `beforeAll(() => { throw new Error('no registry') }); test('waits', () => {});`,
  });

  expect(
    report.files.map(({ errors, tests }) => [
      errors.map((error) => error.split('\n')[0]),
      tests.map(({ state }) => state),
    ]),
  ).toEqual([[['Error: no registry'], ['skipped']]]);
});
