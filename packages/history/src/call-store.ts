import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { TrafficEntry } from '@toolhive/contract/traffic';
import type { WorkloadId } from '@toolhive/state/workload-id';
import { hourMs } from './open-figures.ts';

/** For how long calls are kept, and how many and how many bytes of all workloads. */
export const callLimits = { keptMs: 24 * hourMs, calls: 100_000, bytes: 64 * 1024 * 1024 };
const removedAtOnce = 2_000;

/** A call as it is stored: without bodies, which stay in memory. */
export type StoredCall = Omit<TrafficEntry, 'has_bodies'>;

/** Which calls are meant. Absent members do not matter. */
export interface CallQuery {
  method?: string | undefined;
  item?: string | undefined;
  client?: string | undefined;
  session?: string | undefined;
  outcome?: string | undefined;
  source?: string | undefined;
  /** A part of the client, the method, the item, or the reason, in any letter case. */
  search?: string | undefined;
  /** Milliseconds since 1970. */
  sinceMs?: number | undefined;
  untilMs?: number | undefined;
  /** Includes own reads of ToolHive. */
  ownReads?: boolean | undefined;
}

/** The columns after the key, each with its value. */
const columns: Readonly<Record<string, (call: StoredCall) => SQLInputValue | undefined>> = {
  at: ({ at }) => Date.parse(at),
  source: ({ source }) => source,
  direction: ({ direction }) => direction,
  client: ({ client }) => client?.name,
  client_version: ({ client }) => client?.version,
  session: ({ session }) => session,
  protocol_version: (call) => call.protocol_version,
  method: ({ method }) => method,
  kind: ({ kind }) => kind,
  name: ({ name }) => name,
  duration_ms: (call) => call.duration_ms,
  request_bytes: (call) => call.request_bytes,
  response_bytes: (call) => call.response_bytes,
  outcome: ({ outcome }) => outcome,
  reason: ({ reason }) => reason,
  is_own_read: (call) => (call.is_own_read ? 1 : 0),
  words: wordsOf,
  size: sizeOf,
};
const names = Object.keys(columns);

/** The calls of the last day in SQLite. Throws like SQLite. */
export class CallStore {
  readonly #database: DatabaseSync;
  readonly #limits: typeof callLimits;
  readonly #insert: StatementSync;

  constructor(database: DatabaseSync, limits: typeof callLimits) {
    this.#database = database;
    this.#limits = limits;
    database.exec(`
      CREATE TABLE IF NOT EXISTS calls (
        workload TEXT NOT NULL, id INTEGER NOT NULL, at INTEGER NOT NULL, source TEXT NOT NULL,
        direction TEXT NOT NULL, client TEXT, client_version TEXT, session TEXT, protocol_version TEXT,
        method TEXT NOT NULL, kind TEXT, name TEXT, duration_ms REAL, request_bytes INTEGER,
        response_bytes INTEGER, outcome TEXT NOT NULL, reason TEXT, is_own_read INTEGER NOT NULL,
        words TEXT NOT NULL, size INTEGER NOT NULL, PRIMARY KEY (workload, id)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS calls_at ON calls (at);
      CREATE INDEX IF NOT EXISTS calls_size ON calls (workload, size);
    `);
    const values = Array(names.length + 2).fill('?');
    this.#insert = database.prepare(
      `INSERT OR REPLACE INTO calls (workload, id, ${names.join(', ')}) VALUES (${values.join(', ')})`,
    );
  }

  /** The ID of the latest call of a workload, 0 without one. */
  lastId(workload: WorkloadId): number {
    const row = this.#database.prepare('SELECT max(id) AS last FROM calls WHERE workload = ?').get(workload);
    return Number(row?.['last'] ?? 0);
  }

  /** The time of the oldest call of a workload since a time. */
  oldestMs(workload: WorkloadId, sinceMs: number): number | undefined {
    const row = this.#database
      .prepare('SELECT at FROM calls WHERE workload = ? AND at >= ? ORDER BY id LIMIT 1')
      .get(workload, sinceMs);
    return row === undefined ? undefined : Number(row['at']);
  }

  /** Adds calls, in the transaction of the caller. */
  add(workload: WorkloadId, calls: readonly StoredCall[]): void {
    for (const call of calls)
      this.#insert.run(workload, call.id, ...names.map((name) => columns[name]?.(call) ?? null));
  }

  /** The newest calls of a workload that match, the newest first. */
  list(workload: WorkloadId, query: CallQuery, before: number, limit: number): StoredCall[] {
    const conditions = [
      ['workload = ?', workload],
      ['id < ?', Math.min(before, Number.MAX_SAFE_INTEGER)],
      ['at >= ?', query.sinceMs],
      ['at < ?', query.untilMs],
      ['method = ?', query.method],
      ['name = ?', query.item],
      ['client = ?', query.client],
      ['session = ?', query.session],
      ['outcome = ?', query.outcome],
      ['source = ?', query.source],
      ['is_own_read = ?', showsOwnReads(query) ? undefined : 0],
      ['instr(words, ?) > 0', query.search?.toLowerCase()],
    ].filter((condition): condition is [string, string | number] => condition[1] !== undefined);
    const where = conditions.map(([condition]) => condition).join(' AND ');
    const values = conditions.map(([, value]) => value);
    return this.#database
      .prepare(`SELECT * FROM calls WHERE ${where} ORDER BY id DESC LIMIT ?`)
      .all(...values, limit)
      .map(callOf);
  }

  get(workload: WorkloadId, id: number): StoredCall | undefined {
    const row = this.#database.prepare('SELECT * FROM calls WHERE workload = ? AND id = ?').get(workload, id);
    return row === undefined ? undefined : callOf(row);
  }

  ids(): WorkloadId[] {
    const rows = this.#database.prepare('SELECT DISTINCT workload FROM calls').all();
    return rows.map(({ workload }) => String(workload) as WorkloadId); // written by `add`
  }

  /** Removes the calls of a workload, in the transaction of the caller. */
  forget(workload: WorkloadId): void {
    this.#database.prepare('DELETE FROM calls WHERE workload = ?').run(workload);
  }

  /** Removes some of the old calls. If there are too many, the workload that takes most loses its oldest ones. */
  prune(nowMs: number): void {
    const { keptMs, calls, bytes } = this.#limits;
    this.#remove('at < ? OR at > ?', 'at', nowMs - keptMs, nowMs + keptMs);
    const taken = this.#database
      .prepare('SELECT workload, count(*) AS calls, sum(size) AS bytes FROM calls GROUP BY workload')
      .all();
    const sum = (column: string): number => taken.reduce((total, row) => total + Number(row[column]), 0);
    const over = sum('bytes') > bytes ? 'bytes' : sum('calls') > calls ? 'calls' : undefined;
    if (over === undefined) return;
    const largest = taken.reduce((a, b) => (Number(b[over]) > Number(a[over]) ? b : a));
    this.#remove('workload = ?', 'id', String(largest['workload']));
  }

  #remove(condition: string, order: string, ...values: (number | string)[]): void {
    const oldest = `SELECT workload, id FROM calls WHERE ${condition} ORDER BY ${order} LIMIT ${removedAtOnce}`;
    this.#database.prepare(`DELETE FROM calls WHERE (workload, id) IN (${oldest})`).run(...values);
  }
}

/** Whether a call is meant that is not stored yet. */
export function matchesCall(call: StoredCall, query: CallQuery): boolean {
  const { sinceMs = -Infinity, untilMs = Infinity, search = '' } = query;
  const found: Readonly<Record<string, unknown>> = { ...call, item: call.name, client: call.client?.name };
  const atMs = Date.parse(call.at);
  return (
    (!call.is_own_read || showsOwnReads(query)) &&
    atMs >= sinceMs &&
    atMs < untilMs &&
    (['method', 'item', 'client', 'session', 'outcome', 'source'] as const).every(
      (key) => query[key] === undefined || query[key] === found[key],
    ) &&
    wordsOf(call).includes(search.toLowerCase())
  );
}

/** Who asks for the calls of the web UI means all of them. */
const showsOwnReads = ({ ownReads, source }: CallQuery): boolean => ownReads === true || source === 'ui';

/** The text that searches look at. */
function wordsOf({ client, method, name, reason }: StoredCall): string {
  return [client?.name, method, name, reason]
    .filter((word) => word !== undefined)
    .join('\n')
    .toLowerCase();
}

function sizeOf(call: StoredCall): number {
  const { client, session, protocol_version: version, method, name, reason } = call;
  const texts = [client?.name, client?.version, session, version, method, name, reason, wordsOf(call)];
  return 100 + texts.reduce((sum, text = '') => sum + Buffer.byteLength(text), 0);
}

function callOf(row: Record<string, unknown>): StoredCall {
  const { client, client_version: clientVersion } = row;
  const known = [
    'session',
    'protocol_version',
    'kind',
    'name',
    'duration_ms',
    'request_bytes',
    'response_bytes',
    'reason',
  ]
    .filter((column) => row[column] !== null)
    .map((column) => [column, row[column]]);
  return {
    ...Object.fromEntries(known),
    id: row['id'],
    at: new Date(Number(row['at'])).toISOString(),
    source: row['source'],
    direction: row['direction'],
    ...(client === null
      ? {}
      : { client: { name: client, ...(clientVersion === null ? {} : { version: clientVersion }) } }),
    method: row['method'],
    outcome: row['outcome'],
    is_own_read: row['is_own_read'] === 1,
  } as StoredCall; // written by `add`
}
