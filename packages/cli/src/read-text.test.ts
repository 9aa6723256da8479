import { mkdir, mkdtempDisposable, symlink, truncate, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readText, readTextInside } from './read-text.ts';

test('a path from the home directory may have passed no shell', async () => {
  await using directory = await mkdtempDisposable(join(homedir(), '.thv-test-'));
  await writeFile(join(directory.path, 'servers.json'), '{}');
  const written = directory.path.replace(homedir(), '~');

  expect(await readText(`${written}/servers.json`, 'SOURCE')).toBe('{}');
  await expect(readText(`${written}/none.json`, 'SOURCE')).rejects.toThrow(
    `invalid SOURCE: cannot read ${written}/none.json: file not found`,
  );
});

test.each([
  ['little', Buffer.from('\uFEFF{"a": "é"}', 'utf16le')],
  ['big', Buffer.from('\uFEFF{"a": "é"}', 'utf16le').swap16()],
])('a file can be UTF-16, as PowerShell writes it: %s endian', async (_order, bytes) => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'thv-test-'));
  const path = join(directory.path, 'servers.json');
  await writeFile(path, bytes);

  const text = await readText(path, 'SOURCE');

  expect(text).toBe('{"a": "é"}');
});

test('a file that a configuration names is a file of its directory', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'thv-test-'));
  const project = join(directory.path, 'project');
  await mkdir(join(project, 'inner'), { recursive: true });
  await writeFile(join(project, 'inner/values.env'), 'A=1');
  await writeFile(join(directory.path, 'credentials'), 'KEY=secret');
  await symlink('../credentials', join(project, 'link.env'));
  const read = (path: string) => readTextInside(project, path, 'envFile');

  expect(await read(join(project, 'inner/values.env'))).toBe('A=1');
  for (const path of [join(directory.path, 'credentials'), join(project, '../credentials'), '/dev/zero'])
    await expect(read(path)).rejects.toThrow(
      `the configuration names ${path}, which is outside of ${project}`,
    );
  await expect(read(join(project, 'link.env'))).rejects.toThrow('is outside of');
  await expect(read(join(project, 'inner'))).rejects.toThrow('is not a file');
  await expect(read(join(project, 'none'))).rejects.toThrow('file not found');
  await truncate(join(project, 'inner/values.env'), 1024 ** 4);
  await expect(read(join(project, 'inner/values.env'))).rejects.toThrow('has more than 1 MiB');
});
