import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A run of all tests fills up to 1.7 GB. */
const leastAvailableBytes = 8 * 1024 ** 3;

/**
 * Puts the temporary files of the tests into memory until this process ends, where that is possible (Linux, as root, with
 * memory to spare). Tests make thousands of databases, and each one waits several times for a disk. A folder whose process
 * was killed is removed by the next run: until then, tests that still run can clean up.
 */
export function keepTemporaryFilesInMemory(): void {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return;
  const parent = tmpdir();
  for (const name of readdirSync(parent)) if (isAbandoned(name)) release(join(parent, name));
  const availableBytes = process.availableMemory();
  if (availableBytes < leastAvailableBytes) return;
  const folder = join(parent, `t-${process.pid}`); // short, because the paths of sockets must be
  if (!mount(folder, Math.floor(availableBytes / 2))) return;
  process.env['TMPDIR'] = folder;
  process.once('exit', () => release(folder));
}

function isAbandoned(name: string): boolean {
  const [, pid] = /^t-(\d{1,9})$/.exec(name) ?? [];
  if (pid === undefined) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch {
    return true; // this user may send signals to every process, so there is none
  }
}

function mount(folder: string, bytes: number): boolean {
  try {
    mkdirSync(folder);
  } catch {
    return false; // something else has this name
  }
  const options = `mode=1777,size=${bytes}`;
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status === 0) return true;
  release(folder);
  return false;
}

function release(folder: string): void {
  spawnSync('umount', ['--lazy', folder]); // something that a test has left may still run
  try {
    rmdirSync(folder);
  } catch {
    // It is not ours, or cannot be unmounted.
  }
}
