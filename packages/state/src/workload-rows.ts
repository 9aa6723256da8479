import type { DatabaseSync } from 'node:sqlite';
import { adoptedWorkloadId } from './workload-id.ts';
import type { WorkloadId } from './workload-id.ts';

/** The version of databases whose column `workload` contains IDs. In earlier ones, it contains names. */
const versionWithIds = 1;

/** The rows of workloads in a database, by the ID in the column `workload` of each table. */
export class WorkloadRows {
  readonly #database: DatabaseSync;
  readonly #tables: readonly string[];

  /** Adopts the rows of earlier versions. Throws like SQLite. */
  constructor(database: DatabaseSync, tables: readonly string[]) {
    this.#database = database;
    this.#tables = tables;
    if (Number(database.prepare('PRAGMA user_version').get()?.['user_version']) >= versionWithIds) return;
    database.function('adopted', { deterministic: true }, (name) => adoptedWorkloadId(String(name)));
    this.together(() => {
      for (const table of tables)
        database.exec(`UPDATE OR REPLACE ${table} SET workload = adopted(workload)`);
      database.exec(`PRAGMA user_version = ${versionWithIds}`);
    });
  }

  /** The workloads that something is stored of. */
  ids(): WorkloadId[] {
    const rows = this.#tables.flatMap((table) =>
      this.#database.prepare(`SELECT DISTINCT workload FROM ${table}`).all(),
    );
    return [...new Set(rows.map(({ workload }) => String(workload) as WorkloadId))]; // written with IDs only
  }

  /** Deletes everything of a workload. Throws like SQLite. */
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
