import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import type { AuditOutcome } from '@toolhive/contract/audit';

export interface AuditQuery {
  workload?: string | undefined;
  type?: string | undefined;
  outcome?: AuditOutcome | undefined;
  user?: string | undefined;
  /** A part of the record, but not of recorded bodies, in any letter case of the Latin alphabet. */
  search?: string | undefined;
  /** Milliseconds since 1970. */
  since?: number | undefined;
  until?: number | undefined;
}

/** How many records a search reads that are not in the index. */
const maxUnindexed = 200;
/** How many records are added to the index between two looks at the clock. */
const indexedAtOnce = 20;
/** How long one turn of the event loop adds records. */
const maxTurnMs = 1.5;
/** How often a search catches up with what was written while it caught up. */
const maxRounds = 3;

/**
 * Everything that searches compare, without the records themselves, which are large. An entry costs as much as all the
 * rest of writing a record, so only searches add entries, and whatever is missing is read from the records. The entries
 * always cover all records up to a position.
 */
export class SearchIndex {
  readonly #database: DatabaseSync;
  readonly #add: StatementSync;
  readonly #lastId: () => number;
  #position: number;
  #catchingUp: Promise<void> | undefined;
  #isClosed = false;

  /** `lastId` returns the ID of the newest record. */
  constructor(database: DatabaseSync, lastId: () => number) {
    this.#database = database;
    this.#lastId = lastId;
    database.exec(`
      DROP INDEX IF EXISTS selection; -- of earlier versions
      DROP INDEX IF EXISTS searchable; -- of earlier versions, which indexed each record when it was written
      CREATE TABLE IF NOT EXISTS searched (
        id INTEGER PRIMARY KEY, at INTEGER NOT NULL, workload TEXT, type TEXT NOT NULL, outcome TEXT NOT NULL,
        user TEXT NOT NULL, user_id TEXT NOT NULL, text TEXT
      ) STRICT;
      -- Earlier versions remove records without their entries.
      DELETE FROM searched WHERE id < (SELECT min(id) FROM records);
      DELETE FROM searched WHERE id > (SELECT coalesce(max(id), 0) FROM records);
    `);
    this.#add = database.prepare(`
      INSERT OR REPLACE INTO searched
      SELECT id, at, workload, type, outcome, user, user_id, ${searchedText} FROM records
      WHERE id > ? ORDER BY id LIMIT ?`);
    this.#position = Number(
      database.prepare('SELECT coalesce(max(id), 0) AS id FROM searched').get()?.['id'],
    );
  }

  /** The ID up to which the index contains all records. */
  get position(): number {
    return this.#position;
  }

  /**
   * Adds most of the records that `find` would otherwise read one by one, in many turns of the event loop. Searches at
   * the same time share the work.
   */
  async prepare(query: AuditQuery, after: number): Promise<void> {
    const unindexed = this.#lastId() - Math.max(this.#position, after);
    if (unindexed <= maxUnindexed || conditionsOf(query).length === 0) return;
    this.#catchingUp ??= this.#catchUp().finally(() => {
      this.#catchingUp = undefined;
    });
    await this.#catchingUp;
  }

  /** Returns the IDs of the first records after an ID that match, in an order. Complete whatever the index contains. */
  find(
    query: AuditQuery,
    { after, order, limit }: { after: number; order: 'ASC' | 'DESC'; limit: number },
  ): number[] {
    const conditions = conditionsOf(query);
    // Without conditions, the records are as fast.
    const position = conditions.length === 0 ? 0 : this.#position;
    const parts = [
      { table: 'searched', text: 'text', from: after, to: position },
      { table: 'records', text: searchedText, from: Math.max(after, position), to: Number.MAX_SAFE_INTEGER },
    ];
    const found: number[] = [];
    for (const { table, text, from, to } of order === 'ASC' ? parts : parts.toReversed()) {
      if (from >= to || found.length >= limit) continue;
      const where = ['id > ?', 'id <= ?', ...conditions.map(({ sql }) => sql(text))].join(' AND ');
      const values = conditions.flatMap((condition) => condition.values);
      const rows = this.#database
        .prepare(`SELECT id FROM ${table} WHERE ${where} ORDER BY id ${order} LIMIT ?`)
        .all(from, to, ...values, limit - found.length);
      for (const { id } of rows) found.push(Number(id));
    }
    return found;
  }

  /** Removes the entries of the oldest records. */
  remove(until: number): void {
    this.#database.prepare('DELETE FROM searched WHERE id <= ?').run(until);
  }

  /** Stops the work for searches. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#catchingUp;
  }

  /** Ends in any case, also if records are written faster than they are indexed. */
  async #catchUp(): Promise<void> {
    for (let round = 0; round < maxRounds; round++) {
      const last = this.#lastId();
      if (last - this.#position <= maxUnindexed) return;
      while (this.#position < last) {
        if (!this.#indexSome(last)) return;
        await turn();
        if (this.#isClosed) return;
      }
    }
  }

  /** Returns whether it was possible. Without space for more entries, searches read the records. */
  #indexSome(last: number): boolean {
    const untilMs = performance.now() + maxTurnMs;
    let position = this.#position;
    try {
      this.#database.exec('BEGIN IMMEDIATE');
      do {
        const { changes, lastInsertRowid } = this.#add.run(position, indexedAtOnce);
        // Records at the end may have been removed by another program.
        position = changes === 0 ? last : Number(lastInsertRowid);
      } while (position < last && performance.now() < untilMs);
      this.#database.exec('COMMIT');
      this.#position = position;
      return true;
    } catch {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      return false;
    }
  }
}

/** The searched members. A record that was changed by hand may be no JSON. */
const searchedText = `CASE WHEN json_valid(line) THEN json_extract(line, ${[
  'type',
  'outcome',
  'workload',
  'subjects',
  'target',
  'source',
  'metadata.extra.reason',
]
  .map((path) => `'$.${path}'`)
  .join(', ')}) END`;

/** Whether the entry of a record agrees with the record. */
export const entryAgrees = `EXISTS (
  SELECT 1 FROM searched WHERE searched.id = records.id AND text IS ${searchedText}
  AND ${['at', 'workload', 'type', 'outcome', 'user', 'user_id']
    .map((column) => `searched.${column} IS records.${column}`)
    .join(' AND ')})`;

interface Condition {
  /** `text` is the expression with the searched members. */
  sql: (text: string) => string;
  values: (string | number)[];
}

function conditionsOf({ workload, type, outcome, user, since, until, search }: AuditQuery): Condition[] {
  const all: [value: string | number | undefined, sql: (text: string) => string, times?: number][] = [
    [workload, () => 'workload = ?'],
    [type, () => 'type = ?'],
    [outcome, () => 'outcome = ?'],
    [user, () => '(user = ? OR user_id = ?)', 2],
    [since, () => 'at >= ?'],
    [until, () => 'at < ?'],
    // Without bodies, which not every caller may read.
    [search === undefined ? undefined : likePattern(search), (text) => `${text} LIKE ? ESCAPE '\\'`],
  ];
  return all.flatMap(([value, sql, times = 1]) =>
    value === undefined ? [] : [{ sql, values: Array<string | number>(times).fill(value) }],
  );
}

/** Matches texts that contain a text. */
function likePattern(text: string): string {
  return `%${JSON.stringify(text)
    .slice(1, -1)
    .replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
}
