import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { RefusedWrites } from './refused-writes.ts';

const mount = {
  source: '/home/ada/notes',
  target: '/notes',
  readOnly: true,
  pin: { path: '/home/ada/notes', device: '1', inode: '1' },
};

function reportsOf(...output: string[]): string[] {
  return reportsWith([], ...output);
}

function reportsWith(homeFiles: readonly string[], ...output: string[]): string[] {
  const reports: string[] = [];
  const writes = new RefusedWrites({ mounts: [mount], homeFiles }, (text) => reports.push(text));
  for (const piece of output) writes.look(Buffer.from(piece));
  return reports;
}

test.each([
  ["Error: EROFS: read-only file system, open '/data/memory.json'", '/data/memory.json'],
  ["OSError: [Errno 30] Read-only file system: '/data/it is.db'", '/data/it is.db'],
  ['open /data/state.db: read-only file system', '/data/state.db'],
])('names the flag that allows what the server could not write: %s', (output, path) => {
  expect(reportsOf(output)).toEqual([
    `the server cannot write ${path}. To allow it, mount a directory there with --volume DIR:/data`,
  ]);
});

test('names a mount that is read-only', () => {
  expect(reportsOf("EROFS: read-only file system, mkdir '/notes/new'")).toEqual([
    'the server cannot write /notes/new, because /home/ada/notes is mounted read-only. To allow it, remove :ro from --volume /home/ada/notes:/notes:ro',
  ]);
});

const file = { ...mount, source: '/home/ada/memory.json', target: '/data/memory.json', readOnly: false };

test.each([
  "Error: EBUSY: resource busy or locked, rename '/data/memory.json.tmp' -> '/data/memory.json'",
  "OSError: [Errno 16] Device or resource busy: '/data/x.tmp' -> '/data/memory.json'",
  "EXDEV: cross-device link not permitted, rename '/tmp/x' -> '/data/memory.json'",
  'rename /data/x.tmp /data/memory.json: device or resource busy',
])('explains that a mounted file cannot be replaced: %s', (output) => {
  const reports: string[] = [];
  const writes = new RefusedWrites({ mounts: [file], homeFiles: [] }, (text) => reports.push(text));

  writes.look(
    Buffer.from(output.replace('/data/memory.json', '/data/other.json').replace(/memory.json$/, 'x')),
  );
  writes.look(Buffer.from(output));
  writes.look(Buffer.from(output));

  expect(reports).toEqual([
    'the server replaces /data/memory.json when it saves, which is impossible for a file that is mounted alone. Move /home/ada/memory.json to a directory of its own, and mount the directory with --volume DIR:DIR',
  ]);
});

test('suggests the home directory for files of a package', () => {
  const path = '/opt/toolhive/package/node_modules/@modelcontextprotocol/server-memory/dist/memory.jsonl';

  expect(reportsOf(`{"text":"EROFS: read-only file system, open '${path}'"}`)).toEqual([
    `the server cannot write ${path}, which is part of its package. Set another path in /home/server with the server's argument or environment variable, for example -e NAME=/home/server/memory.jsonl`,
  ]);
});

test('names the variable that the catalog knows for files of a package', () => {
  const path = '/opt/toolhive/package/dist/memory.jsonl';

  const reports = reportsWith(
    ['MEMORY_FILE_PATH=/home/server/memory.jsonl'],
    `EROFS: read-only file system, open '${path}'`,
  );

  expect(reports).toEqual([
    `the server cannot write ${path}, which is part of its package. To store its files in its home directory, add -e MEMORY_FILE_PATH=/home/server/memory.jsonl`,
  ]);
});

test.each([
  ['memory.jsonl.tmp', 'memory.jsonl'],
  ['memory.jsonl.4711.0d9f3a2b.tmp', 'memory.jsonl'],
  ['notes.db-journal', 'notes.db'],
  ['notes.db', 'notes.db'],
  ['.tmp', '.tmp'],
])('suggests the lasting name for the temporary file %s', (file, lasting) => {
  const [report] = reportsOf(`EROFS: read-only file system, open '/opt/toolhive/package/${file}'`);

  expect(report).toMatch(new RegExp(`-e NAME=/home/server/${lasting}$`));
});

test('reports only the first refusal', () => {
  const output = "EROFS: read-only file system, open '/data/one'";

  expect(reportsOf(output, output.replace('one', 'two'))).toHaveLength(1);
});

test('takes no control characters from a server', () => {
  const [report] = reportsOf("EROFS: read-only file system, open '/data/\u001b[2J'");

  expect(report).not.toContain('\u001b');
});

test('takes nothing from a server that a shell would run', () => {
  const [report] = reportsOf("EROFS: read-only file system, open '/data/$(touch x)/`id`;ls'");

  expect(report).toMatch(/^the server cannot write a file/);
});

test('reads a long word in time in proportion to its length', () => {
  // Where a pattern begins again at every letter, this does not come to an end.
  expect(reportsOf(`${'a'.repeat(4_000_000)}: read-only file system`)).toHaveLength(1);
});

test('does not read a stream before others do', async () => {
  const reports: string[] = [];
  const stream = new PassThrough();
  new RefusedWrites({ mounts: [], homeFiles: [] }, (text) => reports.push(text)).follow(stream);
  stream.write("EROFS: read-only file system, open '/data/one'");
  await turn();
  const read: string[] = [];

  stream.on('data', (chunk: Buffer) => read.push(chunk.toString()));
  await turn();

  expect(read.join('')).toContain('/data/one');
  expect(reports).toHaveLength(1);
});
