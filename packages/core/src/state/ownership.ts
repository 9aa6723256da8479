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

/** The right to write to a state directory. One process has it at a time; it ends with the process. */
export interface Ownership extends Disposable {
  /** The same for every daemon of this directory, and for no other directory: what runtimes mark their things with. */
  daemonId: string;
}

/**
 * Takes ownership of the state directory, or throws `conflict` when another daemon has it. SQLite's file lock
 * stands behind it: unlike a pid file, the kernel lets go of it however the owner ends.
 */
export async function takeOwnership(paths: StatePaths, log: Logger): Promise<Ownership> {
  const lock = await lockedFile(paths, log);
  return { daemonId: await daemonIdOf(paths, log), [Symbol.dispose]: () => lock.close() };
}

/** A lock file that SQLite cannot read is set aside: nobody can hold a lock on it. */
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
        hint: 'use that one, or end it first; `thv list` talks to it',
        cause,
      });
    }
    throw unavailable(`cannot lock ${lock}: ${messageOf(cause)}`, {
      hint: 'make the directory writable, and check that there is space left on its disk',
      cause,
    });
  }
}

/** SQLite opens a file that it cannot write to as well, but its lock on that file excludes nobody. */
async function refuseReadOnly(lock: string): Promise<void> {
  await access(lock, constants.W_OK).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EROFS') throw new Error('the file system is read-only', { cause: error });
    // A file that is missing is created, and everything else is what SQLite says about it.
  });
}

function lockNow(path: string): DatabaseSync {
  const database = openDatabase(path);
  try {
    // Nothing is ever written into it. A journal would be, and on a full disk it cannot be.
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
    return derivedId(state); // the next start finds what this one marks, as long as the disk stays full
  }
}

const DaemonId = z.string().regex(/^[0-9a-f-]{36}$/, 'not a daemon id');

/** In the form of a UUID, and always the same for a state directory. */
function derivedId(state: string): string {
  const hash = createHash('sha256').update(state).digest('hex');
  return hash.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
