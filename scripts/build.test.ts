import { stat } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { buildCli } from './build.ts';

test('builds nothing again when nothing has changed', async () => {
  const bundle = new URL('../apps/cli/dist/thv.js', import.meta.url);
  await buildCli();
  const before = await stat(bundle);

  await buildCli();

  const after = await stat(bundle);
  expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs]);
});
