import { readFile, stat } from 'node:fs/promises';
import { expect, test } from 'vitest';

const root = new URL('../', import.meta.url);
const readme = await readFile(new URL('README.md', root), 'utf8');

test('the README has at most 600 words', () => {
  const words = readme.match(/\S*[\p{L}\d]\S*/gu) ?? [];

  expect(words.length).toBeGreaterThan(100);
  expect(words.length).toBeLessThanOrEqual(600);
});

test('every link and picture of the README leads to a file of the repository or to another site', async () => {
  const targets = [...readme.matchAll(/\]\((?!https:)([^)#]+)/g)].map(([, target = '']) => target);

  const missing = await Promise.all(
    targets.map(async (target) => {
      const found = await stat(new URL(target, root)).catch(() => undefined); // reported below
      return found === undefined ? [target] : [];
    }),
  );

  expect(targets.length).toBeGreaterThan(10);
  expect(missing.flat()).toEqual([]);
});

test('the README shows the two commands for newcomers', () => {
  expect(readme).toContain('\nnpm ci && npm start ');
  expect(readme).toContain('\nnpm ci && npm test ');
});
