import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { isInputFile, ownDirectoryOf } from './file-places.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'thv-places-'));
  vi.stubEnv('HOME', home);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(home, { recursive: true, force: true });
});

async function placeOf(path: string, ...others: string[]): Promise<string | undefined> {
  for (const each of [path, ...others]) {
    await mkdir(dirname(join(home, each)), { recursive: true });
    await writeFile(join(home, each), '');
  }
  return ownDirectoryOf(join(home, path))?.slice(home.length + 1);
}

test.each([
  ['notes/memory.json', []],
  [
    'notes/memory.json',
    ['notes/.DS_Store', 'notes/other.json', 'notes/memory.json.bak', 'notes/.memory.lock'],
  ],
  ['notes/data.db', ['notes/data.db-wal', 'notes/data/1.bin']],
  ['Documents/memory/graph.db', []],
  ['.local/share/memory/memory.jsonl', []],
])('the directory of %s is its own, beside %j', async (path, others) => {
  expect(await placeOf(path, ...others)).toBe(dirname(path));
});

test.each([
  ['memory.json', []],
  ['Documents/memory.json', []],
  ['downloads/data.db', []],
  ['Dropbox (Me)/data.db', []],
  ['.config/memory/memory.json', []],
  ['.ssh/known.db', []],
  ['Library/Application Support/app/data.db', []],
  ['.local/share/data.db', []],
  ['app/data.db', ['app/.git/HEAD']],
  ['app/data.db', ['app/package.json']],
  ['app/data.db', ['app/.env']],
  ['app/data.db', ['app/server.pem']],
  ['app/data.db', ['app/aws-credentials.json']],
  ['all/data.db', ['all/project/.git/HEAD']],
  ['finance/memory.json', ['finance/taxes.pdf']],
  ['notes/memory.json', ['notes/more/other.json']],
  ['notes/memory', ['notes/letter']],
  ['keys/app.db', ['keys/app.pem']],
  ['keys/app.db', ['keys/app-secrets.txt']],
  ['notes/a.db', ['notes/accounts.xlsx']],
  ['many/data.db', Array.from({ length: 201 }, (_, index) => `many/${index}`)],
])('the directory of %s has other things, beside %j', async (path, others) => {
  expect(await placeOf(path, ...others)).toBeUndefined();
});

test('a link to a directory is judged by both names', async () => {
  await writeFile(join(home, 'data.db'), '');
  await symlink(home, join(home, 'notes'));

  expect(ownDirectoryOf(join(home, 'notes/data.db'))).toBeUndefined();
});

test.each([
  '/data.db',
  '/tmp/data.db',
  '/etc/app/data.db',
  '/srv/data.db',
  '/home/other/data.db',
  '/root/data.db',
  '/usr/share/app/a.db',
])('the directory of %s belongs to the system or to everything of a user', (path) => {
  expect(ownDirectoryOf(path)).toBeUndefined();
});

test.each([
  ['/data/ca.pem', ''],
  ['/data/.env', ''],
  ['/data/kubeconfig', ''],
  ['/data/my-credentials.json', ''],
  ['/data/rules.yaml', 'config'],
  ['/data/api.json', 'openapi-spec'],
  ['/data/x', 'GOOGLE_APPLICATION_CREDENTIALS'],
  ['/data/x', 'tls-key'],
  ['/data/server.py', ''],
])('%s of %j is only read', (path, name) => {
  expect(isInputFile(path, name)).toBe(true);
});

test.each([
  ['/data/memory.json', 'MEMORY_FILE_PATH'],
  ['/data/notes.db', 'db-path'],
  ['/data/monkey.csv', 'keyboard'],
])('%s of %j may be written', (path, name) => {
  expect(isInputFile(path, name)).toBe(false);
});
