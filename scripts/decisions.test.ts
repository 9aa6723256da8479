import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './build.ts';

const folder = join(root, 'docs/decisions');
const paths = (await Array.fromAsync(glob(join(folder, '[0-9]*.md')))).toSorted();
const records = await Promise.all(
  paths.map(async (path) => ({ name: basename(path), text: await readFile(path, 'utf8') })),
);
const superseded = /^\*\*Status\.\*\* Superseded by \[decision \d+\]\((?<by>\d{4}-[\w-]+\.md)\)\.$/m;
const accepted = /^\*\*Status\.\*\* Accepted\. Binds (?<files>`[^`]+`(?:,\s`[^`]+`)*)\.$/m;

test.each(records)('$name is accepted and binds existing files, or is superseded', ({ name, text }) => {
  const { by, files = '' } = (accepted.exec(text) ?? superseded.exec(text))?.groups ?? {};
  const bound = [...files.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file);

  expect(text).toMatch(new RegExp(`^# ${Number(name.slice(0, 4))}\\. `));
  expect(by === undefined ? bound.length : existsSync(join(folder, by))).toBeTruthy();
  expect(bound.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});

test('the table lists every decision once, and no others', async () => {
  const table = await readFile(join(folder, 'README.md'), 'utf8');
  const listed = [...table.matchAll(/^\| \[(\d+)\]\((\d{4}-[^)]+)\)/gm)].map(([, , name]) => name);

  expect(records.length).toBeGreaterThan(50);
  expect(listed).toEqual(records.map(({ name }) => name));
});
