import { closeSync, fstatSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** Opens a SQLite database that only the owner may read, and creates it if it is missing. Throws like SQLite. */
export function openDatabase(path: string): DatabaseSync {
  const isNew = prepareFile(path);
  const database = new DatabaseSync(path);
  // Until a store chooses. An empty file has nothing to lose, and to choose a journal would wait for the disk three times.
  if (isNew) database.exec('PRAGMA synchronous = OFF');
  return database;
}

/** Creates the file: SQLite would create one that everyone can read, and gives its other files the same mode. */
function prepareFile(path: string): boolean {
  try {
    const file = openSync(path, 'a', 0o600);
    const { size } = fstatSync(file);
    closeSync(file);
    return size === 0;
  } catch {
    return false; // SQLite says why, in a way that tells damage from other failures
  }
}
