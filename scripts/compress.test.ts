import { mkdir, mkdtempDisposable, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { compressSite } from './compress.ts';

const text = 'to be or not to be '.repeat(500);

test('writes each text in both encodings, and leaves pictures and fonts as they are', async () => {
  await using folder = await aSite({
    'index.html': text,
    'assets/a.js': text,
    'font.woff2': 'font',
    'a.png': 'png',
  });

  await compressSite(folder.path, 'small');

  for (const name of ['index.html', 'assets/a.js']) {
    expect(brotliDecompressSync(await readFile(join(folder.path, `${name}.br`))).toString()).toBe(text);
    expect(gunzipSync(await readFile(join(folder.path, `${name}.gz`))).toString()).toBe(text);
  }
  for (const name of ['font.woff2.br', 'a.png.br', 'index.html.br.gz'])
    await expect(stat(join(folder.path, name))).rejects.toThrow('ENOENT');
});

test('takes what has not changed from the build before', async () => {
  await using before = await aSite({ 'same.js': text, 'other.js': text });
  await compressSite(before.path, 'small');
  await writeFile(join(before.path, 'same.js.br'), 'taken over');
  await using after = await aSite({ 'same.js': text, 'other.js': `${text}!`, 'new.js': text });

  await compressSite(after.path, 'small', before.path);

  expect(await readFile(join(after.path, 'same.js.br'), 'utf8')).toBe('taken over');
  expect(brotliDecompressSync(await readFile(join(after.path, 'other.js.br'))).toString()).toBe(`${text}!`);
  expect(brotliDecompressSync(await readFile(join(after.path, 'new.js.br'))).toString()).toBe(text);
});

test('compresses again what was done with less effort, and not what was done with more', async () => {
  await using folder = await aSite({ 'a.js': text });
  const afterEach = async (effort: 'quick' | 'small'): Promise<boolean> => {
    await writeFile(join(folder.path, 'a.js.br'), 'before');
    await compressSite(folder.path, effort);
    return (await readFile(join(folder.path, 'a.js.br'), 'utf8')) !== 'before';
  };

  const done = [
    await afterEach('quick'),
    await afterEach('quick'),
    await afterEach('small'),
    await afterEach('quick'),
  ];

  expect(done).toEqual([true, false, true, false]);
});

async function aSite(files: Record<string, string>): Promise<Awaited<ReturnType<typeof mkdtempDisposable>>> {
  const folder = await mkdtempDisposable(join(tmpdir(), 'site-'));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder.path, name)), { recursive: true });
    await writeFile(join(folder.path, name), content);
  }
  return folder;
}
