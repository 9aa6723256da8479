import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readText } from './read-text.ts';

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
