import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { promises } from '../e2e/promises.ts';

test('the security model names a known promise for every attack', async () => {
  const page = new URL('../apps/docs/docs/toolhive/concepts/security-model.mdx', import.meta.url);
  const text = await readFile(page, 'utf8');
  const [attacks = ''] = /^\| Attack [\s\S]*?\n\n/m.exec(text) ?? [];

  const named = attacks
    .trim()
    .split('\n')
    .slice(2)
    .map((row) => /promise `([^`]+)`/.exec(row)?.[1]);

  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((id) => id === undefined || !Object.hasOwn(promises, id))).toEqual([]);
});
