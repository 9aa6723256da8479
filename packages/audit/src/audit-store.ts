import { readFile } from 'node:fs/promises';
import type { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import type { CheckedChain, NumberedAuditRecord } from '@toolhive/contract/audit';
import { messageOf } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import type { Logger } from 'pino';
import { writeWhole } from '@toolhive/state/files';
import { chainStart, chained, hashOf, previousOf } from './chain.ts';
import { openRecoverable } from '@toolhive/state/recoverable-database';
import { SearchIndex, entryAgrees } from './search-index.ts';
import type { AuditQuery } from './search-index.ts';

/** How many records are kept, how many bytes, and for how long. */
const retention = { records: 100_000, bytes: 256 * 1024 * 1024, days: 90 };
/** What is kept beyond that before the oldest records go. */
const slack = 1_000;
/** How many records are verified in one turn of the event loop. */
const verifiedAtOnce = 20;
/** How many records are removed at once. */
const removedAtOnce = 1_000;
/** After how many new records, or after how long, old ones are looked for. Fewer than are removed at once. */
const prune = { records: removedAtOnce / 2, ms: 1_000 };
/** How much one selection returns. */
const maxSelectedBytes = 8 * 1024 * 1024;
/** How long the anchor may be behind the database. */
const anchorMs = 1_000;
/** How many records one statement inserts. A statement for each record takes half as long again. */
const insertedAtOnce = 40;
const columns = 8;
/** The database's page size. */
const pageBytes = 16 * 1024;
/** How much is copied at once from SQLite's log to the database. Four megabytes would take 8 ms. */
const checkpointBytes = 800 * 1024;

/** The place of a record in a chain. */
interface Link {
  id: number;
  hash: string;
}

/** The result of a selection. */
interface Selected {
  records: NumberedAuditRecord[];
  /** Nothing else matches. */
  isComplete: boolean;
}

/** A record that is ready to be stored, without its link. */
export interface StoredRecord {
  atMs: number;
  /** The JSON text. */
  text: string;
  workload: string | undefined;
  type: string;
  outcome: string;
  user: string;
  userId: string;
}

/** The records in SQLite, chained by their hashes. The last link is also kept in a file beside the database. */
export class AuditStore {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #insertMany: StatementSync;
  readonly #index: SearchIndex;
  readonly #anchorPath: string;
  readonly #log: Logger;
  readonly #limits: typeof retention;
  #last: Link;
  #first: number;
  #anchored: Link;
  #anchoring: NodeJS.Timeout | undefined;
  #pruned = { id: 0, ms: -Infinity };

  private constructor(
    database: DatabaseSync,
    { anchorPath, log, limits }: { anchorPath: string; log: Logger; limits: typeof retention },
    anchor: Link | undefined,
  ) {
    this.#database = database;
    this.#anchorPath = anchorPath;
    this.#log = log;
    this.#limits = limits;
    // Only a new file gets this size. In larger pages, records take a third less time to be written and half to be removed.
    database.exec(`PRAGMA page_size = ${pageBytes}; PRAGMA journal_mode = WAL;`);
    const { page_size: bytes } = database.prepare('PRAGMA page_size').get() ?? {};
    database.exec(`
      PRAGMA synchronous = OFF;
      PRAGMA wal_autocheckpoint = ${Math.ceil(checkpointBytes / Number(bytes ?? pageBytes))};
      CREATE TABLE IF NOT EXISTS records (
        id INTEGER PRIMARY KEY, at INTEGER NOT NULL, workload TEXT, type TEXT NOT NULL, outcome TEXT NOT NULL,
        user TEXT NOT NULL, user_id TEXT NOT NULL, line TEXT NOT NULL
      ) STRICT;
      CREATE TABLE IF NOT EXISTS links (name TEXT PRIMARY KEY, id INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
      DROP TABLE IF EXISTS files; -- of earlier versions, which also verified files
    `);
    this.#index = new SearchIndex(database, () => this.#last.id);
    const row = `(${Array(columns).fill('?').join()})`;
    this.#insert = database.prepare(`INSERT INTO records VALUES ${row}`);
    this.#insertMany = database.prepare(
      `INSERT INTO records VALUES ${Array(insertedAtOnce).fill(row).join()}`,
    );
    const newest = database.prepare('SELECT id, line FROM records ORDER BY id DESC LIMIT 1').get();
    const oldest = database.prepare('SELECT min(id) AS first FROM records').get();
    const floor = this.#link('floor') ?? { id: 0, hash: chainStart };
    const last =
      newest === undefined ? floor : { id: Number(newest['id']), hash: hashOf(String(newest['line'])) };
    this.#first = Number(oldest?.['first'] ?? last.id + 1);
    // A gap must stay detectable, so the chain continues from the last known record.
    this.#last = anchor !== undefined && !this.#contains(anchor, floor) ? anchor : last;
    this.#anchored = anchor ?? { id: 0, hash: chainStart };
    if (this.#last !== last) {
      log.warn({ expected: this.#last.id, found: last.id }, 'audit records were changed or removed');
      this.#last = { id: Math.max(this.#last.id, last.id), hash: this.#last.hash };
    }
  }

  /** Opens the database. A damaged one is set aside. If none can be written, records are kept until the daemon ends. */
  static async open(
    { audit: path, auditAnchor: anchorPath }: { audit: string; auditAnchor: string },
    log: Logger,
    limits: typeof retention = retention,
  ): Promise<AuditStore> {
    const anchor = await readAnchor(anchorPath);
    const options = { anchorPath, log, limits };
    return openRecoverable(path, {
      log,
      use: (database) => new AuditStore(database, options, anchor),
      inMemory: 'audit records are stored only until the daemon ends',
      useInMemory: (database) => new AuditStore(database, options, undefined),
    });
  }

  /** The ID of the newest record. */
  get lastId(): number {
    return this.#last.id;
  }

  /** The lines that the records become, each with the hash of the line before it. */
  linesOf(records: readonly StoredRecord[]): string[] {
    let { hash } = this.#last;
    return records.map(({ text }) => {
      const line = chained(text, hash);
      hash = hashOf(line);
      return line;
    });
  }

  /** Adds records in one transaction, with their `linesOf`. Throws like SQLite, and then adds none. */
  add(records: readonly StoredRecord[], lines = this.linesOf(records)): void {
    let { id } = this.#last;
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const values: (number | string | null)[] = [];
      for (const [index, { atMs, workload, type, outcome, user, userId }] of records.entries()) {
        id += 1;
        values.push(id, atMs, workload ?? null, type, outcome, user, userId, lines[index] ?? '');
        if (values.length < insertedAtOnce * columns) continue;
        this.#insertMany.run(...values);
        values.length = 0;
      }
      for (let from = 0; from < values.length; from += columns) {
        this.#insert.run(...values.slice(from, from + columns));
      }
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK'); // a full disk has rolled back already
      throw error;
    }
    const last = lines.at(-1);
    if (last !== undefined) this.#last = { id, hash: hashOf(last) };
    this.#pruneSometimes();
    this.#anchorSoon();
  }

  /** Makes the next search after this ID as fast as it can be. Its result is the same without. */
  async prepare(query: AuditQuery, after = 0): Promise<void> {
    await this.#index.prepare(query, after);
  }

  /** The newest records that match, the oldest first. */
  list(query: AuditQuery, limit: number): NumberedAuditRecord[] {
    return this.#select(query, { after: 0, order: 'DESC', limit }).records.toReversed();
  }

  /** The next records that match after this ID, the oldest first, and whether these are all of them. */
  after(id: number, query: AuditQuery, limit: number): Selected {
    return this.#select(query, { after: id, order: 'ASC', limit });
  }

  /** Follows the chain from the oldest record to the newest. */
  async verify(place: string, signal: AbortSignal): Promise<CheckedChain> {
    const floor = this.#link('floor') ?? { id: 0, hash: chainStart };
    const page = this.#database.prepare(
      `SELECT *, id > ? OR ${entryAgrees} AS is_found FROM records WHERE id > ? ORDER BY id LIMIT ?`,
    );
    const { id: end, hash: endHash } = this.#last;
    let link = floor;
    let records = 0;
    const broken = (position: number, reason: string): CheckedChain => ({
      place,
      records,
      broken: { position, reason },
    });
    for (;;) {
      signal.throwIfAborted();
      const rows = page.all(this.#index.position, link.id, verifiedAtOnce);
      for (const row of rows) {
        const id = Number(row['id']);
        if (id > end) break; // written meanwhile
        const line = String(row['line']);
        if (id !== link.id + 1) return broken(id, `${id - link.id - 1} preceding records are missing`);
        if (previousOf(line) !== link.hash)
          return broken(id, 'the record does not continue the preceding record');
        if (!agrees(row, line)) return broken(id, 'its columns differ from the record');
        if (row['is_found'] !== 1) return broken(id, 'searches do not find the record');
        records += 1;
        link = { id, hash: hashOf(line) };
        if (id === this.#anchored.id && link.hash !== this.#anchored.hash)
          return broken(id, 'the record differs from the written record');
      }
      if (rows.length < verifiedAtOnce || link.id >= end) break;
      await turn();
    }
    const isPruned = this.#first > end;
    if (link.id < end && !isPruned)
      return broken(link.id + 1, `${end - link.id} records at the end are missing`);
    if (link.id === end && link.hash !== endHash)
      return broken(end, 'the record differs from the written record');
    return { place, records };
  }

  async close(): Promise<void> {
    clearTimeout(this.#anchoring);
    await this.#index.close();
    await this.#anchor();
    this.#database.close();
  }

  #select(
    query: AuditQuery,
    { after, order, limit }: { after: number; order: 'ASC' | 'DESC'; limit: number },
  ): Selected {
    const ids = this.#index.find(query, { after, order, limit });
    const lineOf = this.#database.prepare('SELECT line FROM records WHERE id = ?');
    const records: NumberedAuditRecord[] = [];
    let bytes = 0;
    for (const [index, id] of ids.entries()) {
      const line = String(lineOf.get(id)?.['line'] ?? ''); // removed by another program, as a verification shows
      bytes += line.length;
      if (index > 0 && bytes > maxSelectedBytes) return { records, isComplete: false };
      const record = parsed(line);
      if (record !== undefined) records.push({ id, record });
    }
    return { records, isComplete: ids.length < limit };
  }

  #contains({ id, hash }: Link, floor: Link): boolean {
    if (id === floor.id) return hash === floor.hash;
    if (id < floor.id) return true; // pruned since
    const row = this.#database.prepare('SELECT line FROM records WHERE id = ?').get(id);
    return row !== undefined && hashOf(String(row['line'])) === hash;
  }

  #link(name: string): Link | undefined {
    const row = this.#database.prepare('SELECT id, hash FROM links WHERE name = ?').get(name);
    return row === undefined ? undefined : { id: Number(row['id']), hash: String(row['hash']) };
  }

  /** Looks for old records only now and then, because the search takes as long as a few insertions. */
  #pruneSometimes(): void {
    const nowMs = performance.now();
    const isDue = this.#last.id - this.#pruned.id >= prune.records || nowMs - this.#pruned.ms >= prune.ms;
    if (!isDue) return;
    this.#pruned = { id: this.#last.id, ms: nowMs };
    this.#prune();
  }

  /** Removes the oldest records beyond the limits, and stores the last removed link. */
  #prune(): void {
    const { records, bytes, days } = this.#limits;
    const count = this.#last.id - this.#first + 1;
    const until = Date.now() - days * 24 * 3_600_000;
    const most = this.#first + removedAtOnce - 1;
    const tooMany = count > records + slack ? this.#last.id - records : 0;
    const tooLarge = this.#size() > bytes ? most : 0;
    const tooOld = this.#oldest() < until ? this.#lastBefore(until, most) : 0;
    const last = Math.min(Math.max(tooMany, tooLarge, tooOld), most, this.#last.id - 1);
    if (last < this.#first) return;
    const row = this.#database.prepare('SELECT line FROM records WHERE id = ?').get(last);
    if (row === undefined) return; // removed by another program, as a verification shows
    this.#database.exec('BEGIN IMMEDIATE');
    this.#database
      .prepare("INSERT OR REPLACE INTO links VALUES ('floor', ?, ?)")
      .run(last, hashOf(String(row['line'])));
    this.#database.prepare('DELETE FROM records WHERE id <= ?').run(last);
    this.#index.remove(last);
    this.#database.exec('COMMIT');
    this.#first = last + 1;
  }

  /** The time of the oldest record. */
  #oldest(): number {
    const oldest = this.#database.prepare('SELECT at FROM records WHERE id = ?').get(this.#first);
    return Number(oldest?.['at'] ?? 0); // removed by another program, so that all records are looked at
  }

  #lastBefore(atMs: number, most: number): number {
    const old = this.#database.prepare('SELECT max(id) AS id FROM records WHERE id <= ? AND at < ?');
    return Number(old.get(most, atMs)?.['id'] ?? 0);
  }

  /** The size of the database without its free pages. */
  #size(): number {
    const pragma = (name: string): number =>
      Number(this.#database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
    return (pragma('page_count') - pragma('freelist_count')) * pragma('page_size');
  }

  #anchorSoon(): void {
    this.#anchoring ??= setTimeout(() => {
      this.#anchoring = undefined;
      this.#anchor().catch(raiseFault);
    }, anchorMs).unref();
  }

  async #anchor(): Promise<void> {
    const last = this.#last;
    if (last.id === this.#anchored.id) return;
    try {
      await writeWhole(this.#anchorPath, JSON.stringify(last));
      this.#anchored = last;
    } catch (error) {
      this.#log.error(
        { path: this.#anchorPath, why: messageOf(error) },
        'the audit anchor cannot be written',
      );
    }
  }
}

async function readAnchor(path: string): Promise<Link | undefined> {
  const text = await readFile(path, 'utf8').catch(() => ''); // nothing was recorded yet
  const { id, hash } = (/^\{"id":(?<id>\d{1,15}),"hash":"(?<hash>[0-9a-f]{64})"\}$/.exec(text)?.groups ??
    {}) as { id?: string; hash?: string };
  return id === undefined || hash === undefined ? undefined : { id: Number(id), hash };
}

function parsed(line: string): NumberedAuditRecord['record'] | undefined {
  try {
    return JSON.parse(line) as NumberedAuditRecord['record']; // written by `add`
  } catch {
    return undefined; // changed by another program, as a verification shows
  }
}

/** Whether the indexed columns agree with the record. */
function agrees(row: Record<string, unknown>, line: string): boolean {
  const record = parsed(line);
  if (record === undefined) return false;
  const { type, outcome, workload, subjects, logged_at: loggedAt } = record;
  return (
    row['type'] === type &&
    row['outcome'] === outcome &&
    row['workload'] === (workload ?? null) &&
    row['user'] === (subjects['user'] ?? '') &&
    row['user_id'] === (subjects['user_id'] ?? '') &&
    Number(row['at']) === Date.parse(loggedAt)
  );
}
