import { randomUUID } from 'node:crypto';
import { link, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { conflict } from '@toolhive/contract/failure';
import { filesIn, readBoundedFile } from '@toolhive/state/files';
import { holdFolder } from './held-folder.ts';

const waitMs = 1000;
const retryMs = 100;
const staleAfterMs = 5 * 60_000;

/**
 * Takes ToolHive's lock: a file beside the locked file. Takes over the lock of a dead process. Throws `conflict` if
 * another process holds the lock for more than a second.
 */
export async function takeLock(path: string): Promise<AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  // The lock is removed from the folder that it was created in, even if another one is in its place by then.
  const folder = opened.use(await holdFolder(dirname(path)));
  const lock = folder.at(`${basename(path)}.lock`);
  for (let waitedMs = 0; !(await create(lock)); waitedMs += retryMs) {
    if (await breakStale(lock)) continue;
    if (waitedMs >= waitMs) {
      throw conflict(`${path} is locked by another program`, {
        hint: `if none is running, remove ${path}.lock`,
      });
    }
    await pause(retryMs);
  }
  opened.defer(() => rm(lock, { force: true }));
  return opened.move();
}

/** Removes the locks on a file that killed ToolHive processes left. Locks of other programs stay. */
export async function sweepLocks(path: string): Promise<void> {
  const lock = `${path}.lock`;
  if ((await holderOf(lock))?.isAlive === false) await breakStale(lock);
  const beside = `${basename(lock)}.`;
  for (const file of await filesIn(dirname(path))) {
    if (!file.startsWith(beside) || holderIn(file.slice(beside.length))?.isAlive !== false) continue;
    await remove(join(dirname(path), file));
  }
}

/** A process ID may be reused, but not with the same start time. */
const born = Math.round(performance.timeOrigin);
const owner = `${process.pid} ${born}\n`;

/** A unique name that identifies its process, like a lock, even before the file has content. */
const nameBeside = (lock: string): string => `${lock}.${process.pid}-${born}-${randomUUID()}`;

/**
 * The lock identifies its process from the start. Otherwise a crash at that moment would leave a lock that no process
 * could safely take over.
 */
async function create(lock: string): Promise<boolean> {
  const whole = nameBeside(lock);
  try {
    await writeFile(whole, owner, { flag: 'wx', mode: 0o600 });
    await link(whole, lock);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    if (code !== 'ENOTSUP' && code !== 'ENOSYS' && code !== 'EPERM') throw error;
    return await createWithoutLink(lock); // as on some foreign file systems
  } finally {
    await rm(whole, { force: true });
  }
}

async function createWithoutLink(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, owner, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Removes a lock without a holder. Returns false if the lock has a holder, or is not a lock. */
async function breakStale(lock: string): Promise<boolean> {
  try {
    const { ino, mtimeMs } = await stat(lock);
    const isHeld = isFresh(mtimeMs) && ((await holderOf(lock))?.isAlive ?? true);
    if (isHeld) return false;
    // Two programs may get here at once: only the file that was looked at may go.
    const aside = nameBeside(lock);
    await rename(lock, aside);
    if ((await stat(aside)).ino !== ino) await link(aside, lock).catch(() => {}); // another process already has the lock
    if (await remove(aside)) return true;
    await rename(aside, lock); // a directory with files belongs to its user
    return false;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true; // just released
    throw error;
  }
}

/** Clients with the package `proper-lockfile`, such as Claude Code, lock with an empty directory. */
async function remove(lock: string): Promise<boolean> {
  if ((await stat(lock)).isDirectory()) {
    return rmdir(lock).then(
      () => true,
      () => false,
    );
  }
  await rm(lock, { force: true });
  return true;
}

/** Locks of other programs do not identify their process, so their age counts. A time far in the future is of a wrong clock. */
function isFresh(mtimeMs: number): boolean {
  return Math.abs(Date.now() - mtimeMs) < staleAfterMs;
}

/** The process that holds a lock. Undefined without a ToolHive lock: anything can have its name. */
async function holderOf(lock: string): Promise<{ isAlive: boolean } | undefined> {
  try {
    const bytes = await readBoundedFile(lock, {
      maxBytes: maxLockBytes,
      notAFile: () => new NotALock(),
      tooLarge: () => new NotALock(),
    });
    return holderIn(bytes.toString());
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (error instanceof NotALock || ['ENOENT', 'ENXIO', 'ELOOP'].includes(code)) return undefined;
    throw error;
  }
}

/** A lock contains the numbers of a process and of its start. */
const maxLockBytes = 1024;

class NotALock extends Error {}

/** The process that a lock or a temporary name belongs to. Undefined if it does not belong to ToolHive. */
function holderIn(text: string): { isAlive: boolean } | undefined {
  const [, pid, time] = /^(\d{1,10})[ -](\d{1,15})[\n-]/.exec(text) ?? [];
  if (pid === undefined) return undefined;
  if (Number(pid) === process.pid) return { isAlive: Number(time) === born };
  try {
    process.kill(Number(pid), 0);
    return { isAlive: true };
  } catch (error) {
    return { isAlive: (error as NodeJS.ErrnoException).code !== 'ESRCH' };
  }
}
