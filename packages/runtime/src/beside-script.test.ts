import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { causeOf } from './cause.ts';

const missing = (module: string): string => `ModuleNotFoundError: No module named '${module}'`;

test.each([
  ['of a script', (file: string) => ({ image: `uvx://${file}@local-1a2b` }), 'helpers'],
  [
    'of fastmcp run',
    (file: string) => ({ image: 'uvx://fastmcp@4.2.3', given: ['run', `${file}:mcp`] }),
    'helpers',
  ],
  ['that is a directory', (file: string) => ({ image: `uvx://${file}@local-1a2b` }), 'tools'],
  ['with the name of a package', (file: string) => ({ image: `uvx://${file}@local-1a2b` }), 'starlette'],
])('a module beside the script is not looked for among the packages: %s', async (_what, known, module) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-beside-'));
  const script = join(folder.path, 'server.py');
  await mkdir(join(folder.path, 'tools'));
  for (const name of ['helpers.py', 'starlette.py']) await writeFile(join(folder.path, name), '');

  const cause = causeOf(missing(module), { ...known(script), publishedAt: '2025-01-20T06:32:59Z' });

  expect(cause?.fix).toContain(
    `run it with --volume "${folder.path}:${folder.path}:ro" -e "PYTHONPATH=${folder.path}", because it gets only ${script}`,
  );
});

test('a module that is not beside the script is a package', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-beside-'));

  const cause = causeOf(missing('pandas'), { image: `uvx://${folder.path}/server.py@local-1a2b` });

  expect(cause?.fix).toContain('--with pandas');
});
