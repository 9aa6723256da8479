// @suite system
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TextFiles } from './text-files.ts';

const exec = promisify(execFile);

/** Only the superuser of a Linux system mounts a file. */
const canMount = process.platform === 'linux' && process.getuid?.() === 0;
if (!canMount) process.stderr.write('SKIPPED: tests of mounted files need the superuser of a Linux system\n');

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'thv-mounted-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

test.runIf(canMount)('a file that is a mount, as in a container, is written in place', async () => {
  const path = join(directory, 'config.json');
  const source = join(directory, 'on-the-host.json');
  const files = new TextFiles();
  await writeFile(source, 'old');
  await writeFile(path, '');
  await exec('mount', ['--bind', source, path]);
  try {
    await files.edit(path, { maxBytes: 1024 }, async (text) => `${text} new`);
  } finally {
    await exec('umount', [path]);
  }

  expect(await readFile(source, 'utf8')).toBe('old new');
  expect(await readdir(directory)).toEqual(['config.json', 'on-the-host.json']);
});
