import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { conflict } from '@toolhive/contract/failure';
import { readIfThere, writeWhole } from './files.ts';
import type { StatePaths } from './paths.ts';

/** The right to write to a state directory. One process has it at a time; it ends with the process. */
export interface Ownership extends Disposable {
  /** The same for every hive of this directory, and for no other directory: what runtimes mark their things with. */
  hiveId: string;
}

/**
 * Takes ownership of the state directory, or throws `conflict` when another hive has it. SQLite's file lock
 * stands behind it: unlike a pid file, the kernel lets go of it however the owner ends.
 */
export async function takeOwnership(paths: StatePaths): Promise<Ownership> {
  await mkdir(dirname(paths.lock), { recursive: true, mode: 0o700 });
  const lock = new DatabaseSync(paths.lock);
  try {
    lock.exec('PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;');
  } catch (cause) {
    lock.close();
    throw conflict(`another hive owns ${paths.state}`, {
      hint: 'use that one, or end it first; `thv list` talks to it',
      cause,
    });
  }
  return { hiveId: await hiveIdOf(paths), [Symbol.dispose]: () => lock.close() };
}

async function hiveIdOf(paths: StatePaths): Promise<string> {
  const known = (await readIfThere(paths.hiveId))?.trim();
  if (known !== undefined && /^[0-9a-f-]{36}$/.test(known)) return known;
  const id = randomUUID();
  await writeWhole(paths.hiveId, `${id}\n`);
  return id;
}
