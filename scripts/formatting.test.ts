// @suite system
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findUnformatted } from './formatting.ts';

async function aRepository(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'formatting-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  execFileSync('git', ['init', '-q', folder]);
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  return folder;
}

test('names the files that are not formatted or cannot be read, again and again', async () => {
  const root = await aRepository({
    '.prettierignore': 'ignored.ts\n',
    'fine.ts': 'const a = 1;\n',
    'odd.ts': 'const a=1\n',
    'broken.ts': 'const = ;\n',
    'ignored.ts': 'const a=1\n',
    'picture.bin': '\0',
  });
  const memory = join(root, '.git', 'formatted');

  const found = ['broken.ts is not formatted', 'odd.ts is not formatted'];
  expect(await findUnformatted({ root, memory })).toEqual(found);
  expect(await findUnformatted({ root, memory })).toEqual(found);
});

test('knows a formatted content in another clone, until the content or the settings change', async () => {
  const files = { 'fine.ts': 'const a = "a";\n' };
  const [first, second] = [await aRepository(files), await aRepository(files)];
  const memory = join(first, '.git', 'formatted');
  expect(await findUnformatted({ root: first, memory })).toEqual([]);
  const known = await readFile(memory, 'utf8');
  expect(await findUnformatted({ root: second, memory })).toEqual([]);
  expect(await readFile(memory, 'utf8')).toBe(known);

  await writeFile(join(second, '.prettierrc.json'), '{ "semi": false }\n');
  expect(await findUnformatted({ root: second, memory })).toEqual(['fine.ts is not formatted']);
  await writeFile(join(first, 'fine.ts'), 'const a="a"\n');
  expect(await findUnformatted({ root: first, memory })).toEqual(['fine.ts is not formatted']);
});

test('checks all files of an archive, which Git does not know', async () => {
  const root = await aRepository({ 'fine.ts': 'const a = 1;\n' });
  await rm(join(root, '.git'), { recursive: true });
  const memory = join(root, 'formatted');
  expect(await findUnformatted({ root, memory })).toEqual([]);

  await writeFile(join(root, 'odd.ts'), 'const a=1\n');
  expect(await findUnformatted({ root, memory })).toEqual([`files in ${root} are not formatted`]);
});
