import { createHash, randomUUID } from 'node:crypto';
import { access, constants, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { conflict, messageOf, unavailable } from '@toolhive/contract/failure';
import type { Logger } from 'pino';
import * as z from 'zod';
import { openDatabase } from './database.ts';
import { readIfThere, writeWhole } from './files.ts';
import type { StatePaths } from './paths.ts';
import { setAside } from './set-aside.ts';
import { isBusy, isDamage } from './sqlite.ts';

/** The right to write to a state directory. One process has it at a time, until its end. */
export interface Ownership extends Disposable {
  /**
   * An ID that is the same for every daemon of this directory and differs for other directories. Runtimes mark their
   * objects with it.
   */
  daemonId: string;
}

/**
 * Takes ownership of the state directory. Throws `conflict` if another daemon owns it. Uses SQLite's file lock:
 * unlike a PID file, the kernel releases it however the owner ends.
 */
export async function takeOwnership(paths: StatePaths, log: Logger): Promise<Ownership> {
  const lock = await lockedFile(paths, log);
  return { daemonId: await daemonIdOf(paths, log), [Symbol.dispose]: () => lock.close() };
}

/** Sets aside a lock file that SQLite cannot read, because no process can hold a lock on it. */
async function lockedFile({ lock, state }: StatePaths, log: Logger): Promise<DatabaseSync> {
  try {
    await mkdir(dirname(lock), { recursive: true, mode: 0o700 });
    await refuseReadOnly(lock);
    try {
      return lockNow(lock);
    } catch (error) {
      if (!isDamage(error)) throw error;
      await setAside(lock, error, log);
      return lockNow(lock);
    }
  } catch (cause) {
    if (isBusy(cause)) {
      throw conflict(`another daemon owns ${state}`, {
        hint: 'use that daemon with commands such as thv list, or stop it first',
        cause,
      });
    }
    throw unavailable(`cannot lock ${lock}: ${messageOf(cause)}`, {
      hint: 'make the directory writable, and check that there is space left on its disk',
      cause,
    });
  }
}

/** SQLite also opens a file that it cannot write, but its lock on such a file does not exclude other processes. */
async function refuseReadOnly(lock: string): Promise<void> {
  await access(lock, constants.W_OK).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EROFS') throw new Error('the file system is read-only', { cause: error });
    // A missing file is created. Otherwise SQLite's error counts.
  });
}

function lockNow(path: string): DatabaseSync {
  const database = openDatabase(path);
  try {
    // The transaction never writes, so it needs no journal, which would fail on a full disk.
    database.exec(
      'PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;',
    );
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

async function daemonIdOf({ daemonId: path, state }: StatePaths, log: Logger): Promise<string> {
  try {
    const known = (await readIfThere(path))?.trim();
    if (known !== undefined) return DaemonId.parse(known);
  } catch (error) {
    await setAside(path, error, log);
  }
  const id = randomUUID();
  try {
    await writeWhole(path, `${id}\n`);
    return id;
  } catch (error) {
    log.error({ path, why: messageOf(error) }, 'daemon id could not be saved');
    return derivedId(state); // the next start finds the objects with this mark if the disk stays full
  }
}

const DaemonId = z.string().regex(/^[0-9a-f-]{36}$/, 'not a daemon id');

/** In the form of a UUID, and always the same for a state directory. */
function derivedId(state: string): string {
  const hash = createHash('sha256').update(state).digest('hex');
  return hash.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
