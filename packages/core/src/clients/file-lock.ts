import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { conflict } from '@toolhive/contract/failure';

const waitMs = 1000;
const retryMs = 100;
const staleAfterMs = 5 * 60_000;

/**
 * Takes the lock that programs of ours agree on: a file beside the locked one. One that a dead process left behind
 * is taken over. Throws `conflict` when somebody else keeps it for more than a second.
 */
export async function takeLock(path: string): Promise<AsyncDisposable> {
  const lock = `${path}.lock`;
  for (let waitedMs = 0; !(await create(lock)); waitedMs += retryMs) {
    if (await breakStale(lock)) continue;
    if (waitedMs >= waitMs) {
      throw conflict(`${path} is locked by another program`, { hint: `if none is running, remove ${lock}` });
    }
    await pause(retryMs);
  }
  return { [Symbol.asyncDispose]: () => rm(lock, { force: true }) };
}

/** A process has the same number as one before it now and then, but not the same time of birth. */
const holder = (): string => `${process.pid} ${Math.round(performance.timeOrigin)}\n`;

/** The lock says whose it is from its first moment on, or a crash right then would leave one that nobody dares to take. */
async function create(lock: string): Promise<boolean> {
  const whole = `${lock}.${randomUUID()}`;
  try {
    await writeFile(whole, holder(), { flag: 'wx', mode: 0o600 });
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
    await writeFile(lock, holder(), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Takes a lock away that nobody holds; false when somebody does. */
async function breakStale(lock: string): Promise<boolean> {
  try {
    const { ino, mtimeMs } = await stat(lock);
    const isHeld = Date.now() - mtimeMs < staleAfterMs && isAlive(await readFile(lock, 'utf8'));
    if (isHeld) return false;
    // Two programs may get here at once: only the file that was looked at may go.
    const aside = `${lock}.${randomUUID()}`;
    await rename(lock, aside);
    if ((await stat(aside)).ino !== ino) await link(aside, lock).catch(() => {}); // a third one has it already
    await rm(aside, { force: true });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true; // just released
    throw error;
  }
}

/** Whether the process that wrote a lock is there. Locks of other programs do not say; they count by their age. */
function isAlive(text: string): boolean {
  const [, pid] = /^(\d{1,10}) \d+\n$/.exec(text) ?? [];
  if (pid === undefined) return true;
  if (Number(pid) === process.pid) return text === holder();
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
