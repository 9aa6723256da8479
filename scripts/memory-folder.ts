import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A run of all tests fills up to 1.7 GB. */
const leastAvailableBytes = 8 * 1024 ** 3;

/**
 * Puts the temporary files of the tests into memory until this process ends, where that is possible (Linux, as root, with
 * memory to spare). Tests make thousands of databases, and each one waits five times for a disk.
 */
export function keepTemporaryFilesInMemory(): void {
  const availableBytes = process.availableMemory();
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || availableBytes < leastAvailableBytes)
    return;
  const folder = mkdtempSync(join(tmpdir(), 't-')); // short, because the paths of sockets must be
  const options = `mode=1777,size=${Math.floor(availableBytes / 2)}`;
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status === 0;
  if (!isMounted) {
    rmdirSync(folder);
    return;
  }
  process.env['TMPDIR'] = folder;
  process.once('exit', () => {
    spawnSync('umount', ['--lazy', folder]); // something that a test has left may still run
    rmdirSync(folder);
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
}
