import { mkdtemp, rm, writeFile, mkdir } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unreachablePaths } from './asked.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-asked-'));
  await mkdir(join(folder, 'notes'));
  await writeFile(join(folder, 'notes/known.db'), '');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const noteFor = (...args: string[]) =>
  unreachablePaths({ image: 'npx://server', cmd_arguments: args.map((arg) => arg.replace('FOLDER', folder)) })
    .join()
    .replaceAll(folder, 'FOLDER');

test.each([
  ['FOLDER/notes', 'FOLDER/notes'],
  ['FOLDER/notes/known.db', 'FOLDER/notes/known.db'],
  ['FOLDER/notes/new.db', 'FOLDER/notes'],
  ['--db-path=FOLDER/notes/new.sqlite3', 'FOLDER/notes'],
  ['--root=FOLDER/notes', 'FOLDER/notes'],
])('the note about %s grants access to %s', (arg, granted) => {
  const note = noteFor(arg);

  expect(note).toContain(`the server has no access to ${granted}.`);
  expect(note).toContain(`--volume ${granted}:${granted} npx://server -- ${arg}`);
});

test.each([
  ['a new file beside everything of the user', join(homedir(), 'no-such-file.db')],
  ['a new file in the temporary directory, which every sandbox has', join(tmpdir(), 'no-such-file.db')],
  ['a directory that does not exist', 'FOLDER/none/new.db'],
  ['a path of an API', '--base-path=/v1/items'],
  ['a flag without a path', '--name=value'],
])('there is no note about %s', (_what, arg) => {
  expect(noteFor(arg)).toBe('');
});

test('there is no note about a path in a mount', () => {
  const request = { image: 'npx://server', volumes: [`${folder}:${folder}`] };

  expect(unreachablePaths({ ...request, cmd_arguments: [`--db=${folder}/notes/new.db`] })).toEqual([]);
});
