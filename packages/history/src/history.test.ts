import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { HistoryGrouping, HistorySeries } from '@toolhive/contract/history';
import { newWorkloadId } from '@toolhive/state/workload-id';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import type { StoredCall } from './call-store.ts';
import type { History } from './history.ts';
import type { CountedCall } from './open-figures.ts';
import { openTestHistory } from './testing/test-history.ts';

const [a, b] = [newWorkloadId(), newWorkloadId()];
const both = new Map([
  [a, 'one'],
  [b, 'two'],
]);
const start = Date.parse('2026-01-31T09:00:00.000Z');
const minute = 60_000;
const hour = 60 * minute;
const iso = (ms: number): string => new Date(ms).toISOString();

/** A clock that tests set. */
const clockAt = (ms: number) => {
  const clock = { ms, now: () => new Date(clock.ms) };
  return clock;
};

const aCall = (changes: Partial<CountedCall> = {}): CountedCall => ({
  atMs: start,
  durationMs: 10,
  bytes: 100,
  isOk: true,
  isDenied: false,
  tool: 'add',
  client: 'cursor',
  ...changes,
});

const limits = {
  figures: 400_000,
  calls: { keptMs: 24 * hour, calls: 100_000, bytes: 64 * 1024 * 1024 },
};

async function seriesOf(
  history: History,
  by: HistoryGrouping,
  from: number,
  to: number,
  totals = false,
): Promise<HistorySeries[]> {
  return (await history.read(both, { by, from: iso(from), to: iso(to), totals })).series;
}

describe('figures', () => {
  test('are counted by workload, tool, client, and host, in minutes', async () => {
    const clock = clockAt(start + 2 * minute);
    await using place = await openTestHistory(clock);
    using history = await place.open();
    history.count(a, aCall());
    history.count(a, aCall({ isOk: false, tool: 'crash', client: undefined, durationMs: 1_000 }));
    history.count(a, aCall({ atMs: start + minute, isOk: false, isDenied: true, tool: undefined }));
    history.countConnections(a, 'api.example', false, 2);
    history.countConnections(a, 'evil.example', true, 3);
    history.countBytes(a, 'api.example', 500);

    const read = (by: HistoryGrouping) => seriesOf(history, by, start, start + hour);

    expect(await read('workload')).toEqual([
      {
        workload: 'one',
        calls: 3,
        errors: 2,
        denied: 1,
        bytes: 300,
        total_ms: 1_020,
        last_at: iso(start + 2 * minute),
        denied_connections: 3,
        p50_ms: expect.closeTo(10, 0) as number,
        p95_ms: 939,
        points: {
          at: [0, 1, 2],
          calls: [2, 1, 0],
          errors: [1, 1, 0],
          denied: [0, 1, 0],
          bytes: [200, 100, 0],
          p50_ms: [expect.closeTo(10, 0), expect.closeTo(10, 0), null],
          p95_ms: [939, expect.closeTo(10, 0), null],
        },
      },
    ]);
    expect(await read('tool')).toMatchObject([
      { name: 'add', calls: 1, errors: 0 },
      { name: 'crash', calls: 1, errors: 1 },
    ]);
    const clients = await read('client');
    expect(clients.map(({ name, calls }) => [name, calls])).toEqual([
      ['cursor', 2],
      [undefined, 1],
    ]);
    expect(clients.some(({ is_rest: isRest }) => isRest)).toBe(false);
    expect(await read('host')).toMatchObject([
      { name: 'evil.example', calls: 0, denied: 3, points: { at: [2], calls: [0], denied: [3] } },
      { name: 'api.example', calls: 2, denied: 0, bytes: 500 },
    ]);
  });

  test('give one workload, without the steps, and nothing of workloads that are not asked for', async () => {
    await using place = await openTestHistory(clockAt(start));
    using history = await place.open();
    history.count(a, aCall());
    history.count(b, aCall());

    const { series } = await history.read(new Map([[b, 'two']]), { by: 'client', totals: true });
    const none = await history.read(new Map(), { by: 'client' });

    expect(series).toMatchObject([{ workload: 'two', name: 'cursor', calls: 1 }]);
    expect(series[0]?.points).toBeUndefined();
    expect(none.series).toEqual([]);
  });

  test('become hours, which are kept longer than minutes', async () => {
    const clock = clockAt(start);
    await using place = await openTestHistory(clock);
    using history = await place.open();
    for (const at of [0, 1, 59, 60])
      history.count(a, aCall({ atMs: start + at * minute, durationMs: at === 59 ? 1_000 : 10 }));
    await history.read(both, { by: 'workload' });
    clock.ms = start + 3 * 24 * hour;

    const answer = await history.read(both, { by: 'workload', from: iso(start), to: iso(clock.ms) });

    expect(answer.step_seconds).toBe(3600);
    expect(answer.series).toMatchObject([
      {
        calls: 4,
        total_ms: 1_030,
        points: { at: [0, 1], calls: [3, 1], p95_ms: [939, expect.closeTo(10, 0)] },
      },
    ]);
    clock.ms = start + 31 * 24 * hour;
    expect(await seriesOf(history, 'workload', start, clock.ms)).toEqual([]);
  });

  test('continue with the next daemon', async () => {
    await using place = await openTestHistory(clockAt(start));
    {
      using history = await place.open();
      history.count(a, aCall());
    }
    using history = await place.open();
    history.count(a, aCall({ durationMs: 1_000 }));

    const [series] = await seriesOf(history, 'tool', start, start + hour);

    expect(series).toMatchObject({ name: 'add', calls: 2, total_ms: 1_010, points: { at: [0], calls: [2] } });
    expect(series?.p50_ms).toBeLessThan(series?.p95_ms ?? 0);
  });

  test('of a clock that jumps belong to the minutes that it showed', async () => {
    const clock = clockAt(start + hour);
    await using place = await openTestHistory(clock);
    using history = await place.open();

    for (const at of [5, 6, 5, 0, 5]) history.count(a, aCall({ atMs: start + at * minute }));

    const [series] = await seriesOf(history, 'tool', start, start + hour);
    expect(series?.points).toMatchObject({ at: [0, 5, 6], calls: [1, 3, 1] });
  });

  test('refuse a time that ends before it begins', async () => {
    await using place = await openTestHistory(clockAt(start));
    using history = await place.open();

    await expect(seriesOf(history, 'tool', start + hour, start)).rejects.toMatchObject({
      kind: 'invalid',
      message: 'from must be before to',
    });
  });
});

describe('names that servers and clients choose', () => {
  test('are limited in one hour, short, printable, and without secrets, and no call is lost', async () => {
    const withoutSecrets = (text: string): string => text.replaceAll('sesame', '[REDACTED]');
    await using place = await openTestHistory({ ...clockAt(start), withoutSecrets });
    using history = await place.open();
    const hostile = [
      'sesame',
      '\u001b[31mred\u202e',
      '__proto__',
      'rest',
      '',
      'x'.repeat(10_000),
      'x'.repeat(20_000),
    ];

    for (const tool of hostile) history.count(a, aCall({ tool }));
    for (let at = 0; at < 5_000; at += 1) history.count(a, aCall({ tool: `t${at}`, client: `c${at}` }));

    const tools = await seriesOf(history, 'tool', start, start + hour);
    const clients = await seriesOf(history, 'client', start, start + hour);
    expect([tools.length, clients.length]).toEqual([41, 41]);
    expect(tools.reduce((sum, { calls }) => sum + calls, 0)).toBe(5_007);
    expect(tools.find(({ is_rest: isRest }) => isRest)?.calls).toBe(5_007 - 41);
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['[REDACTED]', '\ufffd[31mred\ufffd', '__proto__', 'rest']));
    expect(tools.find(({ name }) => name === 'x'.repeat(128))?.calls).toBe(2);
    for (const file of await readdir(place.directory))
      expect(await readFile(join(place.directory, file), 'latin1')).not.toContain('sesame');
  });

  test('of a new hour are admitted again', async () => {
    await using place = await openTestHistory(clockAt(start + hour));
    using history = await place.open();
    for (let at = 0; at < 100; at += 1) history.count(a, aCall({ tool: `t${at}` }));

    history.count(a, aCall({ atMs: start + hour, tool: 'late' }));

    const tools = await seriesOf(history, 'tool', start + hour, start + 2 * hour);
    expect(tools.map(({ name }) => name)).toEqual(['late']);
  });

  test('of one workload do not displace the figures of another', async () => {
    const clock = clockAt(start);
    await using place = await openTestHistory({ ...clock, limits: { ...limits, figures: 3_000 } });
    {
      using history = await place.open();
      history.count(b, aCall());
      for (let at = 0; at < 8_000; at += 1)
        history.count(a, aCall({ atMs: start + Math.floor(at / 40) * minute, tool: `t${at % 40}` }));
    }
    using history = await place.open();

    history.prune();
    history.prune();

    const rows = new DatabaseSync(place.path).prepare('SELECT count(*) AS rows FROM minutes').get();
    expect(Number(rows?.['rows'])).toBeLessThan(3_000);
    expect(await seriesOf(history, 'tool', start, start + hour)).toContainEqual(
      expect.objectContaining({ workload: 'two', calls: 1 }),
    );
  });
});

describe('a removed workload', () => {
  test('leaves nothing, and another one with its name inherits nothing', async () => {
    await using place = await openTestHistory(clockAt(start));
    using history = await place.open();
    history.count(a, aCall());
    history.count(b, aCall());
    await history.read(both, { by: 'workload' });
    history.count(a, aCall());
    history.keep(a, callsInMemory([aStoredCall(1)]));

    history.forget(a);

    expect(history.ids()).toEqual([b]);
    const heir = new Map([[newWorkloadId(), 'one']]);
    expect((await history.read(heir, { by: 'workload' })).series).toEqual([]);
    expect((await history.read(both, { by: 'workload' })).series).toMatchObject([{ workload: 'two' }]);
  });

  test('is not counted any more', async () => {
    await using place = await openTestHistory({ ...clockAt(start), isKnown: (id) => id !== a });
    using history = await place.open();

    for (let at = 0; at < 200; at += 1) history.count(a, aCall({ atMs: start + at * minute }));
    history.keep(a, callsInMemory([aStoredCall(1)]));
    history.count(b, aCall());
    await history.read(both, { by: 'workload' });

    expect(history.ids()).toEqual([b]);
  });
});

test('sizes that clients claim cannot stop the history', async () => {
  await using place = await openTestHistory(clockAt(start));
  using history = await place.open();
  for (let at = 0; at < 3_000; at += 1) history.count(a, aCall({ bytes: Number.MAX_SAFE_INTEGER }));

  const series = await seriesOf(history, 'workload', start, start + hour);

  expect(series).toMatchObject([{ calls: 3_000, bytes: 3_000 * 2 ** 32 }]);
});

test('values that the database refuses are dropped, and do not hold up the others', async () => {
  await using place = await openTestHistory(clockAt(start));
  using history = await place.open();
  history.count(a, aCall({ durationMs: 1e300 }));
  await history.read(both, { by: 'workload' });

  history.count(b, aCall());

  expect(await seriesOf(history, 'workload', start, start + hour)).toMatchObject([
    { workload: 'two', calls: 1 },
  ]);
});

describe('a database that fails', () => {
  test('stops only the history, until it works again', async () => {
    await using place = await openTestHistory(clockAt(start));
    const lines: string[] = [];
    const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) });
    using history = await place.open({ log });
    using other = new DatabaseSync(place.path);
    other.exec('BEGIN IMMEDIATE'); // no other writer
    history.count(a, aCall());

    const during = await history.read(both, { by: 'workload' });
    await history.read(both, { by: 'workload' });
    history.forget(b);
    other.exec('COMMIT');

    const after = await history.read(both, { by: 'workload', from: iso(start), to: iso(start + hour) });
    expect(during.series).toEqual([]);
    expect(after.series).toMatchObject([{ workload: 'one', calls: 1 }]);
    expect(lines.length).toBe(1);
  }, 30_000);

  test('is set aside if it is damaged', async () => {
    await using place = await openTestHistory(clockAt(start));
    await writeFile(place.path, 'no database');

    using history = await place.open();
    history.count(a, aCall());

    expect(await seriesOf(history, 'tool', start, start + hour)).toMatchObject([{ calls: 1 }]);
    expect((await readdir(place.directory)).some((file) => file.startsWith('history.db.'))).toBe(true);
  });

  test('without its tables says so', async () => {
    await using place = await openTestHistory(clockAt(start));
    using history = await place.open();
    using other = new DatabaseSync(place.path);
    other.exec('DROP TABLE names');

    await expect(history.read(both, { by: 'tool' })).rejects.toMatchObject({ kind: 'unavailable' });
    expect(history.ids()).toEqual([]);
    expect(() => history.forget(a)).not.toThrow();
  });
});

const aStoredCall = (id: number, changes: Partial<StoredCall> = {}): StoredCall => ({
  id,
  at: iso(start + id),
  source: 'client',
  direction: 'to-server',
  client: { name: 'cursor', version: '1' },
  method: 'tools/call',
  kind: 'tool',
  name: 'add',
  duration_ms: 1.5,
  outcome: 'ok',
  is_own_read: false,
  ...changes,
});

function callsInMemory(calls: StoredCall[]) {
  let savedId = 0;
  return {
    unsaved: (most: number) => calls.filter(({ id }) => id > savedId).slice(0, most),
    saved(id: number) {
      savedId = id;
    },
  };
}

describe('calls', () => {
  const everything = { search: undefined };

  test('are found by each of their members, the newest first', async () => {
    await using place = await openTestHistory(clockAt(start));
    using history = await place.open();
    const denied = aStoredCall(2, {
      outcome: 'denied',
      reason: 'Tool CRASH not found',
      name: 'crash',
      session: '2c26b46b68ffc68f',
    });
    const own = aStoredCall(3, {
      is_own_read: true,
      source: 'ui',
      method: 'tools/list',
      kind: undefined,
      name: undefined,
    });
    const bare = aStoredCall(4, {
      client: undefined,
      direction: 'to-client',
      method: 'ping',
      name: undefined,
      kind: undefined,
      duration_ms: undefined,
    });
    history.keep(a, callsInMemory([aStoredCall(1), denied, own, bare]));
    await history.read(both, { by: 'workload' });

    const ids = (query: Parameters<History['listCalls']>[1], before = Infinity, limit = 10) =>
      history.listCalls(a, query, before, limit).map(({ id }) => id);

    expect(ids(everything)).toEqual([4, 2, 1]);
    expect(ids({ ownReads: true })).toEqual([4, 3, 2, 1]);
    expect(ids({ source: 'ui' })).toEqual([3]);
    expect(ids({ client: 'cursor', outcome: 'ok' })).toEqual([1]);
    expect(ids({ item: 'crash', session: '2c26b46b68ffc68f', method: 'tools/call' })).toEqual([2]);
    expect(ids({ search: 'crash NOT' })).toEqual([2]);
    expect(ids({ search: '%' })).toEqual([]);
    expect(ids({ sinceMs: start + 2, untilMs: start + 4 })).toEqual([2]);
    expect(ids(everything, 4, 1)).toEqual([2]);
    expect(history.getCall(a, 2)).toEqual(denied);
    expect(history.getCall(a, 4)).toEqual(JSON.parse(JSON.stringify(bare)));
    expect(history.listCalls(b, everything, Infinity, 10)).toEqual([]);
    expect(history.known(a)).toEqual({ lastId: 4, oldestMs: start + 1 });
  });

  test('are kept for a day, and continue with the next daemon', async () => {
    const clock = clockAt(start);
    await using place = await openTestHistory(clock);
    {
      using history = await place.open();
      history.keep(a, callsInMemory(Array.from({ length: 600 }, (_, id) => aStoredCall(id + 1))));
    }
    using history = await place.open();

    expect(history.known(a).lastId).toBe(600);
    expect(history.listCalls(a, everything, Infinity, 1_000).length).toBe(600);
    clock.ms += 25 * hour;
    expect(history.listCalls(a, everything, Infinity, 1_000)).toEqual([]);
    history.prune();
    expect(history.known(a).lastId).toBe(0);
  });

  test.each([
    ['number', { ...limits.calls, calls: 3_000 }, 'ok'],
    ['size', { ...limits.calls, bytes: 600_000 }, 'x'.repeat(200)],
  ])(
    'of a workload that has too many, by their %s, go, and those of others stay',
    async (_what, calls, reason) => {
      await using place = await openTestHistory({ ...clockAt(start), limits: { ...limits, calls } });
      using history = await place.open();
      history.keep(b, callsInMemory([aStoredCall(1)]));
      await history.read(both, { by: 'workload' });
      const many = Array.from({ length: 3_500 }, (_, id) => aStoredCall(id + 1, { reason }));
      for (let from = 0; from < many.length; from += 500) {
        history.keep(a, callsInMemory(many.slice(from, from + 500)));
        await history.read(both, { by: 'workload' });
      }

      history.prune();

      expect(history.listCalls(a, everything, Infinity, 10_000).length).toBe(1_500);
      expect(history.listCalls(a, everything, Infinity, 1)[0]?.id).toBe(3_500);
      expect(history.known(b).lastId).toBe(1);
    },
  );
});
