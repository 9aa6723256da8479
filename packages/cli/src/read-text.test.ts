import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
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
