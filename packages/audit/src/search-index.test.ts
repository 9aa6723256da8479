import { cp, mkdtemp, mkdtempDisposable, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import type { AuditEntry } from '@toolhive/proxy/audit';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AuditLog } from './audit-log.ts';
import { storedRecordOf } from './audit-record.ts';
import { AuditStore } from './audit-store.ts';
import type { StoredRecord } from './audit-store.ts';
import { Redaction } from './redaction.ts';
import type { AuditQuery } from './search-index.ts';

// Entries for searches are added by searches. Whatever is missing, every search is complete.

const log = pino({ level: 'silent' });
const never = new AbortController().signal;

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'thv-audit-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const pathsIn = (folder: string) => ({
  audit: join(folder, 'audit.db'),
  auditFile: join(folder, 'audit.log'),
  auditAnchor: join(folder, 'anchor.json'),
});

const openStore = (records = 1e6): Promise<AuditStore> =>
  AuditStore.open(pathsIn(directory), log, { records, bytes: 1e9, days: 90 });

function anEntry(tool: string): AuditEntry {
  return {
    type: 'mcp_tool_call',
    outcome: 'success',
    component: 'c',
    source: { type: 'network', value: '127.0.0.1' },
    subjects: { user: 'ada' },
    target: { name: tool },
    workload: 'w',
  };
}

const redaction = new Redaction();
const named = (tool: string): StoredRecord => storedRecordOf(anEntry(tool), redaction);

/** So many records, of which every tenth is of the tool `needle`. */
const hay = (count: number): StoredRecord[] =>
  Array.from({ length: count }, (_, index) => named(index % 10 === 0 ? 'needle' : 'straw'));

const needle: AuditQuery = { search: 'needle' };

async function found(store: AuditStore, query = needle, limit = 10_000): Promise<number[]> {
  await store.prepare(query);
  return store.list(query, limit).map(({ id }) => id);
}

/** Runs SQL as another program would. */
function other<Result>(use: (database: DatabaseSync) => Result): Result {
  using database = new DatabaseSync(pathsIn(directory).audit);
  return use(database);
}

const entries = (): number =>
  other((database) => Number(database.prepare('SELECT count(*) AS n FROM searched').get()?.['n']));

const tenth = (count: number): number[] => Array.from({ length: count / 10 }, (_, index) => 10 * index + 1);

test('writing adds no entries, and a search adds those of all records but the newest', async () => {
  const store = await openStore();
  store.add(hay(1_000));
  const before = entries();

  const ids = await found(store);

  expect(before).toBe(0);
  expect(ids).toEqual(tenth(1_000));
  expect(entries()).toBe(1_000);
  await store.close();
});

test('a search finds records that were written right before it', async () => {
  const store = await openStore();
  store.add(hay(1_000));
  await found(store);
  store.add([named('straw'), named('needle')]);

  expect(store.list(needle, 2).map(({ id }) => id)).toEqual([991, 1_002]);
  expect(entries()).toBe(1_000);
  await store.close();
});

test('a search without any entry finds the same', async () => {
  const store = await openStore();
  store.add(hay(1_000));

  const ids = store.list(needle, 10_000).map(({ id }) => id);

  expect(ids).toEqual(tenth(1_000));
  expect(entries()).toBe(0);
  await store.close();
});

test('pages continue across the last entry', async () => {
  const store = await openStore();
  store.add(hay(1_000));
  await found(store);
  store.add(hay(100));
  const pages: number[][] = [];
  for (let after = 960, isComplete = false; !isComplete;) {
    const page = store.after(after, needle, 3);
    pages.push(page.records.map(({ id }) => id));
    ({ isComplete } = page);
    after = page.records.at(-1)?.id ?? after;
  }

  expect(pages).toEqual([
    [961, 971, 981],
    [991, 1_001, 1_011],
    [1_021, 1_031, 1_041],
    [1_051, 1_061, 1_071],
    [1_081, 1_091],
  ]);
  await store.close();
});

test('searches at once share the work, and each is complete', async () => {
  const store = await openStore();
  store.add(hay(3_000));
  const run = vi.spyOn(StatementSync.prototype, 'run');

  const [one, two] = await Promise.all([found(store), found(store, { ...needle, workload: 'w' })]);

  const added = run.mock.results.reduce((sum, { value }) => sum + (value as { changes: number }).changes, 0);
  run.mockRestore();
  expect(one).toEqual(tenth(3_000));
  expect(two).toEqual(tenth(3_000));
  expect(entries()).toBe(3_000);
  expect(added).toBe(3_000);
  await store.close();
});

test('a search finds records that were written while it caught up', async () => {
  const store = await openStore();
  store.add(hay(3_000));

  const searching = found(store);
  store.add(hay(500));

  expect((await searching).length).toBe(350);
  await store.close();
});

test('after a crash between writing and indexing, nothing is missing', async () => {
  const store = await openStore();
  store.add(hay(1_000));
  await found(store);
  store.add(hay(500));
  await using copied = await mkdtempDisposable(join(tmpdir(), 'thv-audit-'));
  await cp(directory, copied.path, { recursive: true });

  const again = await AuditStore.open(pathsIn(copied.path), log);
  const ids = await found(again);

  expect(ids).toEqual(tenth(1_500));
  expect(await again.verify('database', never)).toEqual({ place: 'database', records: 1_500 });
  await again.close();
  await store.close();
});

test('an entry that cannot be written changes no result', async () => {
  const store = await openStore();
  store.add(hay(1_000));
  using writer = new DatabaseSync(pathsIn(directory).audit);
  writer.exec('BEGIN IMMEDIATE');

  const ids = await found(store);

  writer.exec('ROLLBACK');
  expect(ids).toEqual(tenth(1_000));
  expect(entries()).toBe(0);
  expect(await found(store)).toEqual(ids);
  await store.close();
});

test('an earlier version can use the database in between', async () => {
  const store = await openStore();
  store.add(hay(1_000));
  await found(store);
  await store.close();
  other((database) =>
    database.exec(`
      CREATE INDEX searchable ON records (id, at, workload, type, outcome, user, user_id, (json_extract(line, '$.type')));
      DELETE FROM records WHERE id <= 500;
      INSERT INTO records SELECT id + 500, at, workload, type, outcome, user, user_id, line FROM records;`),
  );

  const again = await openStore();
  const ids = await found(again);

  expect(ids).toEqual(tenth(1_500).slice(50));
  expect(entries()).toBe(1_000);
  await again.close();
});

test('removed records have no entries', async () => {
  const store = await openStore(100);
  store.add(hay(2_000));
  await found(store);
  for (let added = 0; added < 5; added++) store.add(hay(500));

  const ids = await found(store);
  const first = other((database) => database.prepare('SELECT min(id) AS id FROM records').get()?.['id']);

  expect(first).toBeGreaterThan(2_000);
  expect(ids).toEqual(tenth(4_500).filter((id) => id >= Number(first)));
  expect(entries()).toBe(4_500 - Number(first) + 1);
  await store.close();
});

test.each([
  ['removed', 'DELETE FROM searched WHERE id = 11'],
  ['changed', `UPDATE searched SET text = '' WHERE id = 11`],
  ['given to another user', `UPDATE searched SET user = 'eve' WHERE id = 11`],
])('verification notices an entry that was %s', async (_how, sql) => {
  const store = await openStore();
  store.add(hay(300));
  await found(store);
  other((database) => database.exec(sql));

  const { broken } = await store.verify('database', never);

  expect(broken).toEqual({ position: 11, reason: 'searches do not find the record' });
  await store.close();
});

test('an audit log that ends during a search refuses the search', async () => {
  const audit = await AuditLog.open(pathsIn(directory), log);
  for (let count = 0; count < 2_000; count++) audit.record(anEntry('straw'));
  await audit.flush();

  const searching = audit.list(needle);
  const ending = audit[Symbol.asyncDispose]();

  await expect(searching).rejects.toMatchObject({ kind: 'unavailable' });
  await ending;
});

test('a watcher that resumes far back gets each record once', async () => {
  await using audit = await AuditLog.open(pathsIn(directory), log);
  for (let count = 0; count < 2_000; count++) audit.record(anEntry(count % 10 === 0 ? 'needle' : 'straw'));
  const stop = new AbortController();
  const watched = await audit.watch(needle, '0', stop.signal);
  const ids: number[] = [];

  for await (const { id } of watched) {
    ids.push(Number(id));
    if (ids.length === 100) audit.record(anEntry('needle'));
    if (ids.length === 201) break;
  }

  stop.abort();
  expect(ids).toEqual([...tenth(2_000), 2_001]);
});
