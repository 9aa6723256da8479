/** SQLITE_BUSY: another process has the lock. */
const busy = 5;
/** SQLITE_CORRUPT, SQLITE_CANTOPEN (a directory, or a loop of links) and SQLITE_NOTADB. */
const damage: readonly unknown[] = [11, 14, 26];

/** Has another process locked the database? */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === busy;
}

/** Is the file no database, or none that can be read? */
export function isDamage(error: unknown): boolean {
  return damage.includes(primaryCode(error));
}

/** The lower bits of the extended result code (https://www.sqlite.org/rescode.html). */
function primaryCode(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: number };
  return errcode === undefined ? undefined : errcode & 0xff;
}
