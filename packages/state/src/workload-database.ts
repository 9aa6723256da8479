import { existsSync, rmSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { messageOf, unavailable } from '@toolhive/contract/failure';
import type { Logger } from 'pino';
import { openRecoverable } from './recoverable-database.ts';
import { adoptedWorkloadId } from './workload-id.ts';
import type { WorkloadId } from './workload-id.ts';

/** The format of the database, which an earlier version must not change. */
const format = 2;
/** The format of earlier databases whose column `workload` contains IDs. In the first ones, it contained names. */
const formatWithIds = 1;

/** A part of the database: its tables, which have the column `workload`. */
interface Tables {
  names: readonly string[];
  /** Creates the tables if they do not exist. */
  schema: string;
  /** Where earlier versions stored the same tables. By default, they had none. */
  earlier?: string;
}

/**
 * What the daemon stores of workloads in rows, by their ID, for all parts of a workload. It survives a power failure as a
 * whole: each change of one part is one transaction.
 */
export class WorkloadDatabase implements Disposable {
  readonly #database: DatabaseSync;
  readonly #log: Logger;
  readonly #isInMemory: boolean;

  private constructor(database: DatabaseSync, log: Logger, isInMemory: boolean) {
    this.#database = database;
    this.#log = log;
    this.#isInMemory = isInMemory;
    database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = NORMAL;
      CREATE TABLE IF NOT EXISTS imported (file TEXT PRIMARY KEY) STRICT;
    `);
    // Not again: a write fails on a full disk or beside a lock, and then the approvals would not be known.
    if (formatOf(database) !== format) database.exec(`PRAGMA user_version = ${format}`);
  }

  /**
   * A damaged file is set aside, and then every server is in its first use again. Where none can be written, rows are
   * remembered until the daemon ends. Throws `unavailable` if a later version has written the file:
   * a conflict would be one with another daemon, whose end is waited for.
   */
  static async open(path: string, log: Logger): Promise<WorkloadDatabase> {
    let written: number = format;
    const opened = await openRecoverable(path, {
      log,
      use(database) {
        written = formatOf(database);
        if (written <= format) return new WorkloadDatabase(database, log, false);
        database.close();
        return undefined;
      },
      useInMemory: (database) => new WorkloadDatabase(database, log, true),
      inMemory: 'approved tools and network decisions are remembered only until the daemon ends',
    });
    if (opened !== undefined) return opened;
    throw unavailable(
      `${path} was written by a later version of ToolHive (format ${written}, this version knows ${format})`,
      { hint: 'use that version, or move the file away to start without the approvals in it' },
    );
  }

  /**
   * The tables of one part, which are created, and filled from the file of an earlier version once. If that file cannot be
   * read now, or the disk is full, the tables are temporary, so that what is recorded without the others does not stay. The
   * next daemon tries again. Throws `unavailable` if that would hide rows.
   */
  rows(tables: Tables): WorkloadRows {
    const rows = new WorkloadRows(this.#database, tables.names);
    if (!this.#create(rows, tables)) return rows;
    try {
      const { earlier } = tables;
      if (earlier !== undefined && existsSync(earlier)) this.#import(rows, { ...tables, earlier });
    } catch (error) {
      this.#log.error({ path: tables.earlier, why: messageOf(error) }, 'earlier state could not be adopted');
      this.#createTemporary(tables);
    }
    return rows;
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }

  /** Returns whether the tables are in the file. */
  #create(rows: WorkloadRows, tables: Tables): boolean {
    const path = this.#database.location() ?? '';
    try {
      rows.together(() => this.#database.exec(tables.schema));
      return true;
    } catch (error) {
      const why = messageOf(error);
      const found = this.#database.prepare('SELECT 1 FROM sqlite_master WHERE name = ?');
      if (tables.names.some((name) => found.get(name) !== undefined))
        throw unavailable(`${path} cannot be extended: ${why}`, {
          hint: 'free space on the disk',
          cause: error,
        });
      this.#log.error({ path, why }, 'some state of servers is remembered only until the daemon ends');
      this.#createTemporary(tables);
      return false;
    }
  }

  /** Hides the tables in the file. */
  #createTemporary({ schema }: Tables): void {
    this.#database.exec(schema.replaceAll('CREATE TABLE', 'CREATE TEMP TABLE'));
  }

  #import(rows: WorkloadRows, { names, earlier }: Tables & { earlier: string }): void {
    const database = this.#database;
    const isKnown = database.prepare('SELECT 1 FROM imported WHERE file = ?').get(earlier) !== undefined;
    if (!isKnown) {
      database.prepare('ATTACH ? AS earlier').run(earlier);
      try {
        const { user_version: version } = database.prepare('PRAGMA earlier.user_version').get() ?? {};
        const hasNames = Number(version) < formatWithIds;
        database.function('adopted', { deterministic: true }, (id) =>
          hasNames ? adoptedWorkloadId(String(id)) : String(id),
        );
        rows.together(() => {
          for (const name of names) {
            const columns = database.prepare(`PRAGMA main.table_info(${name})`).all();
            const values = columns.map(({ name: column }) =>
              column === 'workload' ? 'adopted(workload)' : column,
            );
            database.exec(
              `INSERT OR IGNORE INTO main.${name} SELECT ${values.join(', ')} FROM earlier.${name}`,
            );
          }
          database.prepare('INSERT INTO imported VALUES (?)').run(earlier);
        });
      } finally {
        database.exec('DETACH earlier');
      }
    }
    if (this.#isInMemory) return; // the next daemon reads it again
    for (const file of [earlier, `${earlier}-wal`, `${earlier}-shm`]) rmSync(file, { force: true });
  }
}

function formatOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
}

/** The rows of workloads, by the ID in the column `workload` of each table. Methods throw like SQLite. */
export class WorkloadRows {
  readonly #database: DatabaseSync;
  readonly #tables: readonly string[];

  constructor(database: DatabaseSync, tables: readonly string[]) {
    this.#database = database;
    this.#tables = tables;
  }

  prepare(sql: string): StatementSync {
    return this.#database.prepare(sql);
  }

  /** The workloads that something is stored of. */
  ids(): WorkloadId[] {
    const rows = this.#tables.flatMap((table) =>
      this.#database.prepare(`SELECT DISTINCT workload FROM ${table}`).all(),
    );
    return [...new Set(rows.map(({ workload }) => String(workload) as WorkloadId))]; // written with IDs only
  }

  /** Deletes everything of a workload. */
  forget(id: WorkloadId): void {
    this.together(() => {
      for (const table of this.#tables)
        this.#database.prepare(`DELETE FROM ${table} WHERE workload = ?`).run(id);
    });
  }

  /** Makes several changes as one. */
  together(work: () => void): void {
    this.#database.exec('BEGIN');
    try {
      work();
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK'); // a full disk has rolled back already
      throw error;
    }
  }
}
