import type { StatementSync } from 'node:sqlite';
import type { PinFinding, PinnedItem } from '@toolhive/contract/tool-pins';
import type { WorkloadId } from '@toolhive/state/workload-id';
import type { WorkloadDatabase, WorkloadRows } from '@toolhive/state/workload-database';

export type PinnedKind = PinnedItem['kind'];

/** A stored version of an item. */
export interface StoredVersion {
  kind: PinnedKind;
  name: string;
  hash: string;
  isApproved: boolean;
  /** The time of its approval or first appearance. */
  at: string;
  findings: PinFinding[];
  /** How many bytes its content has. */
  bytes: number;
}

/** When the items of a kind were first listed, and whether that first list has ended. */
export interface StoredKind {
  kind: PinnedKind;
  beganAt: string;
  isOver: boolean;
}

/** The servers' tool definitions in the database. */
export class PinStore {
  /** The rows by workload. */
  readonly rows: WorkloadRows;
  readonly #put: StatementSync;
  readonly #content: StatementSync;

  /** `earlier` is the path of the database of earlier versions. */
  constructor(database: WorkloadDatabase, earlier: string) {
    this.rows = database.rows({
      names: ['versions', 'kinds'],
      schema: `
        CREATE TABLE IF NOT EXISTS kinds (
          workload TEXT NOT NULL, kind TEXT NOT NULL, began_at TEXT NOT NULL, is_over INTEGER NOT NULL,
          PRIMARY KEY (workload, kind)
        ) STRICT;
        CREATE TABLE IF NOT EXISTS versions (
          workload TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL,
          is_approved INTEGER NOT NULL, at TEXT NOT NULL, findings TEXT NOT NULL, bytes INTEGER NOT NULL, content TEXT,
          PRIMARY KEY (workload, kind, name, hash)
        ) STRICT;
        CREATE INDEX IF NOT EXISTS tools ON versions (kind, name);
      `,
      earlier,
    });
    this.#put = this.rows.prepare('INSERT OR REPLACE INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)');
    this.#content = this.rows.prepare(
      'SELECT content FROM versions WHERE workload = ? AND kind = ? AND name = ? AND hash = ?',
    );
  }

  /** How many items of each workload wait for approval. */
  pending(): Map<WorkloadId, number> {
    const rows = this.rows
      .prepare('SELECT workload, count(*) AS count FROM versions WHERE is_approved = 0 GROUP BY workload')
      .all();
    return new Map(rows.map((row) => [String(row['workload']) as WorkloadId, Number(row['count'])])); // see `save`
  }

  /** Everything that is stored of a workload except contents, the oldest first. */
  read(workload: WorkloadId): { kinds: StoredKind[]; versions: StoredVersion[] } {
    const kinds = this.rows.prepare('SELECT * FROM kinds WHERE workload = ?').all(workload);
    const versions = this.rows
      .prepare(
        'SELECT kind, name, hash, is_approved, at, findings, bytes FROM versions WHERE workload = ? ORDER BY at, rowid',
      )
      .all(workload);
    return {
      // Written by this class.
      kinds: kinds.map((row) => ({
        kind: row['kind'] as PinnedKind,
        beganAt: String(row['began_at']),
        isOver: row['is_over'] === 1,
      })),
      versions: versions.map((row) => ({
        kind: row['kind'] as PinnedKind,
        name: String(row['name']),
        hash: String(row['hash']),
        isApproved: row['is_approved'] === 1,
        at: String(row['at']),
        findings: JSON.parse(String(row['findings'])) as PinFinding[],
        bytes: Number(row['bytes']),
      })),
    };
  }

  /** The content of a version. Undefined if it was too long to store. */
  contentOf(
    workload: WorkloadId,
    { kind, name, hash }: Pick<StoredVersion, 'kind' | 'name' | 'hash'>,
  ): string | undefined {
    const content = this.#content.get(workload, kind, name, hash)?.['content'];
    return typeof content === 'string' ? content : undefined;
  }

  /** Other workloads with a tool of this name. */
  workloadsWith(tool: string, besides: WorkloadId): WorkloadId[] {
    const rows = this.rows
      .prepare("SELECT DISTINCT workload FROM versions WHERE kind = 'tool' AND name = ? AND workload != ?")
      .all(tool, besides);
    return rows.map((row) => String(row['workload']) as WorkloadId); // see `save`
  }

  saveKind(workload: WorkloadId, { kind, beganAt, isOver }: StoredKind): void {
    this.rows
      .prepare('INSERT OR REPLACE INTO kinds VALUES (?, ?, ?, ?)')
      .run(workload, kind, beganAt, isOver ? 1 : 0);
  }

  /** Stores versions. Without new content, keeps the stored content. */
  save(workload: WorkloadId, versions: readonly (StoredVersion & { content: string | undefined })[]): void {
    this.rows.together(() => {
      for (const { kind, name, hash, isApproved, at, findings, bytes, content } of versions) {
        const text = content ?? this.contentOf(workload, { kind, name, hash }) ?? null;
        const found = JSON.stringify(findings);
        this.#put.run(workload, kind, name, hash, isApproved ? 1 : 0, at, found, bytes, text);
      }
    });
  }

  forget(workload: WorkloadId, versions: readonly Pick<StoredVersion, 'kind' | 'name' | 'hash'>[]): void {
    const statement = this.rows.prepare(
      'DELETE FROM versions WHERE workload = ? AND kind = ? AND name = ? AND hash = ?',
    );
    this.rows.together(() => {
      for (const { kind, name, hash } of versions) statement.run(workload, kind, name, hash);
    });
  }
}
