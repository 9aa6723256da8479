import { rm } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '@toolhive/contract/failure';
import type { Logger } from 'pino';
import { openDatabase } from './database.ts';
import { setAside } from './set-aside.ts';
import { isDamage } from './sqlite.ts';

interface Recovery<Store> {
  log: Logger;
  /** Reads the database or creates its tables. Throws like SQLite. */
  use: (database: DatabaseSync) => Store;
  /** What the log says if the store is in memory only. */
  inMemory: string;
  /** Creates a store in memory. `use` by default. */
  useInMemory?: (database: DatabaseSync) => Store;
}

/**
 * Opens a store whose contents are worth less than the daemon. A damaged file is set aside. Where no file can be
 * written, the store is in memory, until the daemon ends.
 */
export async function openRecoverable<Store>(
  path: string,
  { log, use, inMemory, useInMemory = use }: Recovery<Store>,
): Promise<Store> {
  try {
    try {
      return use(openDatabase(path));
    } catch (error) {
      if (!isDamage(error)) throw error;
      await setAside(path, error, log);
      for (const file of [`${path}-wal`, `${path}-shm`]) await rm(file, { force: true });
      return use(openDatabase(path));
    }
  } catch (error) {
    log.error({ path, why: messageOf(error) }, inMemory);
    return useInMemory(new DatabaseSync(':memory:'));
  }
}
