import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { WorkloadId } from '@toolhive/state/workload-id';
import { addPacked, emptyHistogram, packed } from './histogram.ts';
import type { Histogram } from './histogram.ts';
import { hourMs, kinds, minuteMs } from './open-figures.ts';
import type { Cell, Figures, Kind } from './open-figures.ts';

const dayMs = 24 * hourMs;
/** For how long the figures of each step are kept, and how many rows. A row takes about 100 bytes. */
export const steps = {
  minutes: { stepMs: minuteMs, keptMs: dayMs },
  hours: { stepMs: hourMs, keptMs: 30 * dayMs },
} as const;
export type Step = keyof typeof steps;
const stepNames: readonly Step[] = ['minutes', 'hours'];

/** How many rows one statement removes, because nothing else runs in the meantime. */
const removedAtOnce = 5_000;

/** A name with figures. */
export interface Key {
  id: number;
  workload: WorkloadId;
  /** Undefined for the rest. */
  name: string | undefined;
}

/** The stored figures of one step, with the durations as `packed` writes them. */
export interface StoredFigures extends Omit<Figures, 'durations'> {
  at: number;
  durations: unknown;
}

/** The figures of minutes and hours in SQLite. Every save adds to both, so that hours need no later work. Throws like SQLite. */
export class FigureStore {
  readonly #database: DatabaseSync;
  readonly #maxRows: number;
  readonly #find: StatementSync;
  readonly #insert: StatementSync;
  readonly #add: Record<Step, StatementSync>;
  readonly #read: Record<Step, StatementSync>;

  /** `maxRows` is the limit for each of the two steps. */
  constructor(database: DatabaseSync, maxRows: number) {
    this.#database = database;
    this.#maxRows = maxRows;
    database.exec(`
      CREATE TABLE IF NOT EXISTS names (
        id INTEGER PRIMARY KEY, workload TEXT NOT NULL, kind INTEGER NOT NULL, is_rest INTEGER NOT NULL,
        name TEXT NOT NULL, UNIQUE (workload, kind, is_rest, name)
      ) STRICT;
    `);
    for (const step of stepNames) {
      database.exec(`
        CREATE TABLE IF NOT EXISTS ${step} (
          name INTEGER NOT NULL, at INTEGER NOT NULL, calls INTEGER NOT NULL, errors INTEGER NOT NULL,
          denied INTEGER NOT NULL, blocked INTEGER NOT NULL, bytes INTEGER NOT NULL, total_ms INTEGER NOT NULL,
          durations BLOB, PRIMARY KEY (name, at)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX IF NOT EXISTS ${step}_at ON ${step} (at);
      `);
    }
    database.function('merged', { deterministic: true }, (one, other) => {
      if (one === null || other === null) return one ?? other;
      const sum = emptyHistogram();
      addPacked(sum, one);
      addPacked(sum, other);
      return packed(sum);
    });
    this.#find = database.prepare(
      'SELECT id FROM names WHERE workload = ? AND kind = ? AND is_rest = ? AND name = ?',
    );
    this.#insert = database.prepare(
      'INSERT INTO names (workload, kind, is_rest, name) VALUES (?, ?, ?, ?) RETURNING id',
    );
    this.#add = forSteps((step) => database.prepare(addition(step)));
    this.#read = forSteps((step) => {
      const read = database.prepare(reading(step));
      read.setReturnArrays(true); // an answer has tens of thousands of rows
      return read;
    });
  }

  /** Adds figures, in the transaction of the caller. `clean` makes names fit to be stored. */
  add(cells: readonly Cell[], clean: (name: string) => string): void {
    for (const { workload, at, kind, name, figures } of cells) {
      const place = [workload, kinds.indexOf(kind), name === undefined ? 1 : 0, clean(name ?? '')] as const;
      const { id } = this.#find.get(...place) ?? this.#insert.get(...place) ?? {};
      const { calls, errors, denied, blocked, bytes, totalMs, durations } = figures;
      const histogram = durations === undefined ? null : packed(durations);
      for (const step of stepNames) {
        const { stepMs } = steps[step];
        this.#add[step].run(
          Number(id),
          Math.floor(at / stepMs) * stepMs,
          calls,
          errors,
          denied,
          blocked,
          bytes,
          Math.round(totalMs),
          histogram,
        );
      }
    }
  }

  /** The names of one kind, of all workloads or of one. */
  keys(kind: Kind, workload?: WorkloadId): Key[] {
    const index = kinds.indexOf(kind);
    const rows =
      workload === undefined
        ? this.#database.prepare('SELECT id, workload, is_rest, name FROM names WHERE kind = ?').all(index)
        : this.#database
            .prepare('SELECT id, workload, is_rest, name FROM names WHERE kind = ? AND workload = ?')
            .all(index, workload);
    return rows.map((row) => ({
      id: Number(row['id']),
      workload: String(row['workload']) as WorkloadId, // written by `add`
      name: row['is_rest'] === 1 ? undefined : String(row['name']),
    }));
  }

  /** The figures of a name from one time to another. */
  read(step: Step, { id }: Key, fromMs: number, toMs: number): StoredFigures[] {
    // As arrays in the order of `reading`, which the types do not know.
    const rows = this.#read[step].all(id, fromMs, toMs) as unknown as [...number[], unknown][];
    return rows.map(
      ([at = 0, calls = 0, errors = 0, denied = 0, blocked = 0, bytes = 0, totalMs = 0, durations]) =>
        ({ at, calls, errors, denied, blocked, bytes, totalMs, durations }) as StoredFigures,
    );
  }

  ids(): WorkloadId[] {
    const rows = this.#database.prepare('SELECT DISTINCT workload FROM names').all();
    return rows.map(({ workload }) => String(workload) as WorkloadId); // written by `add`
  }

  /** Removes everything of a workload, in the transaction of the caller. */
  forget(workload: WorkloadId): void {
    const ofWorkload = 'name IN (SELECT id FROM names WHERE workload = ?)';
    for (const step of stepNames)
      this.#database.prepare(`DELETE FROM ${step} WHERE ${ofWorkload}`).run(workload);
    this.#database.prepare('DELETE FROM names WHERE workload = ?').run(workload);
  }

  /**
   * Removes some of the figures that are too old, or that the clock has placed far in the future. If there are too many
   * rows, the workload with the most rows loses its oldest ones, so that no workload displaces the others.
   */
  prune(nowMs: number): void {
    for (const step of stepNames) {
      const { keptMs } = steps[step];
      this.#remove(step, 'at < ? OR at > ?', nowMs - keptMs, nowMs + dayMs);
      const rows = this.#database.prepare(`SELECT count(*) AS rows FROM ${step}`).get()?.['rows'];
      if (Number(rows) <= this.#maxRows) continue;
      const largest = this.#database
        .prepare(
          `SELECT workload FROM ${step} JOIN names ON names.id = ${step}.name GROUP BY workload ORDER BY count(*) DESC LIMIT 1`,
        )
        .get()?.['workload'];
      this.#remove(step, 'name IN (SELECT id FROM names WHERE workload = ?)', String(largest));
    }
  }

  /** Removes names without figures. Takes longer than `prune`. */
  pruneNames(): void {
    const unused = stepNames.map((step) => `NOT EXISTS (SELECT 1 FROM ${step} WHERE name = names.id)`);
    this.#database.exec(`
      DELETE FROM names
      WHERE id IN (SELECT id FROM names WHERE ${unused.join(' AND ')} LIMIT ${removedAtOnce})
    `);
  }

  #remove(step: Step, condition: string, ...values: (number | string)[]): void {
    const rows = `SELECT name, at FROM ${step} WHERE ${condition} ORDER BY at LIMIT ${removedAtOnce}`;
    this.#database.prepare(`DELETE FROM ${step} WHERE (name, at) IN (${rows})`).run(...values);
  }
}

/** The sum of the durations of stored figures. */
export function durationsOf(figures: readonly StoredFigures[]): Histogram {
  const sum = emptyHistogram();
  for (const { durations } of figures) addPacked(sum, durations);
  return sum;
}

function forSteps<Value>(of: (step: Step) => Value): Record<Step, Value> {
  return { minutes: of('minutes'), hours: of('hours') };
}

function reading(step: Step): string {
  return `
    SELECT at, calls, errors, denied, blocked, bytes, total_ms, durations FROM ${step}
    WHERE name = ? AND at >= ? AND at < ? ORDER BY at
  `;
}

function addition(step: Step): string {
  const sums = ['calls', 'errors', 'denied', 'blocked', 'bytes', 'total_ms'].map(
    (column) => `${column} = ${column} + excluded.${column}`,
  );
  return `
    INSERT INTO ${step} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET ${sums.join(', ')}, durations = merged(durations, excluded.durations)
  `;
}
