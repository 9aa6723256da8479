// @suite system
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { root } from './build.ts';

const run = promisify(execFile);

test('CONTRIBUTING.md describes every directory of the repository, package, and app', async () => {
  const page = await readFile(join(root, 'CONTRIBUTING.md'), 'utf8');
  const { stdout } = await run('git', ['ls-tree', '-d', '--name-only', 'HEAD', './', 'packages/', 'apps/'], {
    cwd: root,
  });
  const directories = stdout
    .split('\n')
    .filter((path) => path !== '' && !['packages', 'apps'].includes(path));

  expect(directories.length).toBeGreaterThan(15);
  expect(
    directories.filter((path) => !new RegExp(`^\\| .*\`${RegExp.escape(path)}\``, 'm').test(page)),
  ).toEqual([]);
});
