import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** Opens a SQLite database that only the owner may read, and creates it if it is missing. Throws like SQLite. */
export function openDatabase(path: string): DatabaseSync {
  try {
    // SQLite would create a file that everyone can read, and gives its other files the same mode.
    closeSync(openSync(path, 'a', 0o600));
  } catch {
    // SQLite says why, in a way that tells damage from other failures.
  }
  return new DatabaseSync(path);
}
