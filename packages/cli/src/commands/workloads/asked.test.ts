import { mkdtemp, rm, writeFile, mkdir } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '@toolhive/contract/client';
import { askedFor, unreachablePaths, withOpenVariables } from './asked.ts';

/** Commands and paths are read without the daemon. */
const noDaemon = {} as Client;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-asked-'));
  await mkdir(join(folder, 'notes'));
  await writeFile(join(folder, 'notes/known.db'), '');
  await mkdir(join(folder, 'my servers/a pkg'), { recursive: true });
  for (const script of ['server.mjs', 'my servers/server.mjs', 'my servers/a tool.py'])
    await writeFile(join(folder, script), '');
  await writeFile(join(folder, 'my servers/a pkg/package.json'), '{"name": "pkg", "version": "1.0.0"}');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const noteFor = (...args: string[]) =>
  unreachablePaths({ image: 'npx://server', cmd_arguments: args.map((arg) => arg.replace('FOLDER', folder)) })
    .join()
    .replaceAll(folder, 'FOLDER');

test.each([
  ['FOLDER/notes', 'FOLDER/notes'],
  ['FOLDER/notes/known.db', 'FOLDER/notes'],
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

test.each([
  ['a file in a directory of its own', 'FOLDER/notes/known.db', 'FOLDER/notes'],
  ['a file that the server would create', 'FOLDER/notes/new.db', 'FOLDER/notes'],
])('there is a note about %s in a variable', (_what, value, granted) => {
  const path = value.replace('FOLDER', folder);

  const [note = ''] = unreachablePaths({ image: 'npx://server', env_vars: { STORE: path, MODE: '/none' } });

  expect(note.replaceAll(folder, 'FOLDER')).toContain(`the server has no access to ${granted}.`);
  expect(note).toContain(`--env STORE=${path}`);
});

test('a file that is only read is mounted read-only, and another one beside a project alone, with a note', async () => {
  await mkdir(join(folder, 'app/.git'), { recursive: true });
  for (const file of ['app/rules.yaml', 'app/data.db']) await writeFile(join(folder, file), '');
  const [rules, data] = [join(folder, 'app/rules.yaml'), join(folder, 'app/data.db')];

  const notes = unreachablePaths({ image: 'npx://server', cmd_arguments: ['--config', rules, data] });

  expect(notes[0]).toContain(`--volume ${data}:${data} --volume ${rules}:${rules}:ro npx://server`);
  expect(notes.slice(1)).toEqual([
    expect.stringContaining(`a server that replaces ${data} instead of changing it`),
  ]);
});

test.each([
  ['HOME', homedir()],
  ['TMPDIR', tmpdir()],
  ['CACHE', '/tmp'],
  ['PYTHON', '/usr/bin/env'],
  ['OUTPUT', '/dev/null'],
])('there is no note about %s=%s, which every sandbox has', (name, value) => {
  expect(unreachablePaths({ image: 'npx://server', env_vars: { [name]: value } })).toEqual([]);
});

test('there is no note about a path in a mount', () => {
  const request = { image: 'npx://server', volumes: [`${folder}:${folder}`] };

  expect(unreachablePaths({ ...request, cmd_arguments: [`--db=${folder}/notes/new.db`] })).toEqual([]);
});

describe('a word with a space', () => {
  const asked = (word: string, ...rest: string[]) =>
    askedFor(
      { arguments: [word.replace('FOLDER', folder)], rest, signal: AbortSignal.timeout(20_000) },
      noDaemon,
    );
  test.each([
    ['FOLDER/my servers/server.mjs', 'npx://FOLDER/my servers/server.mjs'],
    ['FOLDER/my servers/a tool.py', 'uvx://FOLDER/my servers/a tool.py'],
    ['FOLDER/my servers/a pkg', 'npx://FOLDER/my servers/a pkg'],
    ['npx://FOLDER/my servers/a pkg', 'npx://FOLDER/my servers/a pkg'],
    ['npx://FOLDER/my servers/./server.mjs', 'npx://FOLDER/my servers/server.mjs'],
    ['uvx://FOLDER/my servers/a tool.py', 'uvx://FOLDER/my servers/a tool.py'],
  ])('is a path that runs: %s', async (word, image) => {
    const { request } = await asked(word, '--x', 'a b');

    expect(request).toMatchObject({ image: image.replace('FOLDER', folder), cmd_arguments: ['--x', 'a b'] });
  });

  test.each([
    ['FOLDER/my servers/typo.mjs', 'my servers/typo.mjs not found'],
    ['npx://FOLDER/your servers/pkg', 'your servers/pkg not found'],
    ['./no such/file.js', 'no such/file.js not found'],
    ['FOLDER/server.mjs --flag', 'contains several words'],
    ['npx -y server', 'contains several words'],
    ['npx://server --flag', 'contains several words'],
  ])('is refused with its reason: %s', async (word, message) => {
    await expect(asked(word)).rejects.toThrow(message);
  });

  test.each([
    ['npx -y server', 'omit the quotes: thv run npx -y server'],
    ['npx -y server; rm -rf x', 'paste only the command of the server, without quotes'],
    ['npx -y server $(id)', 'paste only the command of the server, without quotes'],
  ])('has a hint that runs nothing else: %s', async (word, hint) => {
    await expect(asked(word)).rejects.toMatchObject({ hint });
  });
});

test('a variable that the command takes from another program is asked for, unless it is set', () => {
  const env_vars = { TOKEN: '${TOKEN}', MODE: 'x', KNOWN: '${KNOWN}' };
  const read = { request: { image: 'npx://server', env_vars }, notes: [] };

  const { request, needs } = withOpenVariables(read, { KNOWN: 'value' });

  expect(request).toEqual({ image: 'npx://server', env_vars: { MODE: 'x', KNOWN: 'value' } });
  expect(needs).toMatchObject([{ kind: 'variable', name: 'TOKEN', secret: true }]);
});

test.each([
  ['env TOKEN=<your-token> npx -y server', ['TOKEN: the value looks like an example. ']],
  ['env A=YOUR_API_KEY B=${MY_TOKEN} C=real npx -y server', ['A, B: the values look like examples. ']],
  [
    'claude mcp add --transport http x https://example.com/mcp --header X-Key:your-key',
    ['X-Key: the value '],
  ],
  ['env TOKEN=real MODE=test npx -y server', []],
])('examples in a command are named and kept: %s', async (text, notes) => {
  const given = { arguments: [], rest: text.split(' '), signal: AbortSignal.timeout(20_000) };

  const asked = await askedFor(given, noDaemon);

  expect(asked.notes).toEqual(notes.map((note) => expect.stringContaining(note)));
  expect(asked.needs ?? []).toEqual([]);
});
