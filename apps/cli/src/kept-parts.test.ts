import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KeptParts } from './kept-parts.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-parts-'));
  await mkdir(join(folder, 'chunks'));
  await writeFile(join(folder, 'main.js'), 'main');
  for (const name of ['early', 'late']) await writeFile(join(folder, `chunks/${name}.js`), name);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('parts that a daemon has kept outlast an upgrade that removes their files', async () => {
  const parts = new KeptParts(folder);
  const early = [parts.read('main.js'), parts.read('chunks/early.js')];

  await parts.keep();
  await rm(folder, { recursive: true });

  expect([...early, parts.read('chunks/late.js')]).toEqual(['main', 'early', 'late']);
});

test('a part is kept until it is compiled', async () => {
  const parts = new KeptParts(folder);
  parts.read('chunks/early.js');
  await parts.keep();
  parts.read('chunks/late.js');

  await rm(folder, { recursive: true });

  for (const name of ['early', 'late']) expect(() => parts.read(`chunks/${name}.js`)).toThrow('ENOENT');
});
