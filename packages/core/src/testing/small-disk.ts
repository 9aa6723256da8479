import { execFile } from 'node:child_process';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const exec = promisify(execFile);

/** Only the superuser of a Linux system mounts a file system; elsewhere the tests of full disks are skipped. */
export const canMount = process.platform === 'linux' && process.getuid?.() === 0;

/** A real file system of 1 MiB that can be filled up and made read-only; it is unmounted at the end. */
export interface SmallDisk extends AsyncDisposable {
  /** Fills the disk, except for this many kibibytes. */
  fill(freeKibibytes?: number): Promise<void>;
  free(): Promise<void>;
  setReadOnly(isReadOnly: boolean): Promise<void>;
}

export async function mountSmallDisk(path: string): Promise<SmallDisk> {
  await mkdir(path, { recursive: true });
  await exec('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', path]);
  const ballast = join(path, 'ballast');
  let isCovered = false;
  return {
    async fill(freeKibibytes = 0) {
      await using file = await open(ballast, 'a');
      const kilobyte = Buffer.alloc(1024);
      try {
        for (;;) await file.write(kilobyte);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
      const { size } = await file.stat();
      await file.truncate(size - freeKibibytes * kilobyte.length);
    },
    free: () => rm(ballast),
    async setReadOnly(isReadOnly) {
      isCovered = isReadOnly;
      if (!isReadOnly) {
        await exec('umount', [path]);
        return;
      }
      // On top of itself, as files of the one below are open for writing. It is busy if one is opened between the steps.
      for (let isBusy = true; isBusy;) {
        await exec('mount', ['--bind', path, path]);
        isBusy = await exec('mount', ['-o', 'remount,bind,ro', path]).then(
          () => false,
          () => true,
        );
        if (isBusy) await exec('umount', ['--lazy', path]);
      }
    },
    async [Symbol.asyncDispose]() {
      if (isCovered) await exec('umount', ['--lazy', path]); // a test that failed has left it read-only
      await exec('umount', ['--lazy', path]);
    },
  };
}
