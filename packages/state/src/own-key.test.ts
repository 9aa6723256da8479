import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ownKey } from './own-key.ts';

async function folder() {
  const path = await mkdtemp(join(tmpdir(), 'own-key-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

test('a key is created once, for its owner only', async () => {
  await using opened = await folder();
  const path = join(opened.path, 'key');

  const [first, second] = [await ownKey(path), await ownKey(path)];

  expect(first).toHaveLength(32);
  expect(second).toEqual(first);
  expect((await stat(path)).mode & 0o077).toBe(0);
});

test.each([
  ['a damaged key', 'short'],
  ['a key of zeros, which a power cut leaves,', '\0'.repeat(32)],
])('%s is replaced', async (_key, text) => {
  await using opened = await folder();
  const path = join(opened.path, 'key');
  await writeFile(path, text);

  const key = await ownKey(path);

  expect(key).toHaveLength(32);
  expect(key.some((byte) => byte !== 0)).toBe(true);
  expect(await readFile(path)).toEqual(Buffer.from(key));
});

test('a key that cannot be stored is an error', async () => {
  await using opened = await folder();

  await expect(ownKey(opened.path)).rejects.toThrow(/EISDIR/);
});
