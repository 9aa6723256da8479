import { link, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { AuditEntry } from '@toolhive/proxy/audit';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AuditFile, requireLogFile } from './audit-file.ts';
import { AuditLog } from './audit-log.ts';
import { AuditStore } from './audit-store.ts';
import type { StoredRecord } from './audit-store.ts';

const log = pino({ level: 'silent' });
const never = new AbortController().signal;

let directory: string;
let paths: { audit: string; auditFile: string; auditAnchor: string };
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'thv-audit-'));
  paths = {
    audit: join(directory, 'audit.db'),
    auditFile: join(directory, 'audit.log'),
    auditAnchor: join(directory, 'anchor.json'),
  };
});
afterEach(() => rm(directory, { recursive: true, force: true }));

function anEntry(changes: Partial<AuditEntry> = {}): AuditEntry {
  return {
    type: 'mcp_tool_call',
    outcome: 'success',
    component: 'c',
    source: { type: 'network', value: '127.0.0.1' },
    subjects: { user: 'Local User: ada', user_id: 'ada' },
    target: { type: 'tool', method: 'tools/call', endpoint: '/mcp', name: 'echo' },
    metadata: { extra: { transport: 'http', duration_ms: 3 } },
    workload: 'w',
    ...changes,
  };
}

/** Records these names in a new daemon, which then ends. */
async function recordAll(...names: string[]): Promise<void> {
  await using audit = await AuditLog.open(paths, log);
  for (const name of names) audit.record(anEntry({ target: { name } }));
}

async function verified() {
  await using audit = await AuditLog.open(paths, log);
  return await audit.verify(never);
}

const linesOf = async (path: string): Promise<string[]> =>
  (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');

/** Changes the database as another program would. */
function tamper(sql: string): void {
  const database = new DatabaseSync(paths.audit);
  database.exec(sql);
  database.close();
}

describe('records', () => {
  test('have the keys and the order of the original', async () => {
    await using audit = await AuditLog.open(paths, log);
    audit.record(anEntry());
    await audit.flush();

    const [line = ''] = await linesOf(paths.auditFile);

    const stable = line
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replace(/"audit_id":"[0-9a-f-]{36}"/, '"audit_id":"ID"');
    expect(stable).toBe(
      '{"time":"TIME","level":"INFO+2","msg":"audit_event","audit_id":"ID","type":"mcp_tool_call",' +
        '"logged_at":"TIME","outcome":"success","component":"c",' +
        '"source":{"type":"network","value":"127.0.0.1"},' +
        '"subjects":{"user":"Local User: ada","user_id":"ada"},' +
        '"target":{"endpoint":"/mcp","method":"tools/call","name":"echo","type":"tool"},' +
        '"metadata":{"extra":{"duration_ms":3,"transport":"http"}},"workload":"w",' +
        `"previous":"${'0'.repeat(64)}"}`,
    );
    expect((await stat(paths.auditFile)).mode & 0o777).toBe(0o600);
  });

  test('cannot forge further lines', async () => {
    const name = 'echo"}\n{"time":"x","msg":"audit_event"}\r\u2028\u001b[2J\u0000';
    await recordAll(name);

    const lines = await linesOf(paths.auditFile);

    expect(lines).toHaveLength(1);
    // eslint-disable-next-line no-control-regex
    expect(lines[0]).not.toMatch(/[\0-\x1f]/);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ target: { name } });
  });

  test('are found by each filter', async () => {
    await using audit = await AuditLog.open(paths, log);
    audit.record(anEntry({ workload: 'a', type: 'mcp_ping' }));
    audit.record(anEntry({ workload: 'b', outcome: 'denied' }));
    audit.record(anEntry({ workload: 'b', subjects: { user: 'eve' } }));

    const found = async (query: object, limit?: number): Promise<number[]> =>
      (await audit.list(query, limit)).map(({ id }) => id);

    expect(await found({})).toEqual([1, 2, 3]);
    expect(await found({}, 2)).toEqual([2, 3]);
    expect(await found({ workload: 'a' })).toEqual([1]);
    expect(await found({ outcome: 'denied' })).toEqual([2]);
    expect(await found({ user: 'eve' })).toEqual([3]);
    expect(await found({ user: 'ada' })).toEqual([1, 2]);
    expect(await found({ type: 'mcp_ping' })).toEqual([1]);
    expect(await found({ since: Date.now() + 60_000 })).toEqual([]);
    expect(await found({ until: Date.now() + 60_000 })).toEqual([1, 2, 3]);
    expect(await found({ workload: "x' OR 1=1 --" })).toEqual([]);
  });

  test('are found by a text, but not by one in bodies or that is a pattern', async () => {
    await using audit = await AuditLog.open(paths, log);
    audit.record(anEntry({ workload: 'a', subjects: { user: 'Eve "the boss"' } }));
    audit.record(
      anEntry({ workload: 'b', bodies: { request: '{"text":"canary-0815"}', response: undefined } }),
    );
    audit.record(anEntry({ workload: 'c', metadata: { extra: { reason: 'Needle 100%' } } }));

    const found = async (search: string): Promise<number[]> =>
      (await audit.list({ search })).map(({ id }) => id);

    expect(await found('eve "THE')).toEqual([1]);
    expect(await found('needle 100%')).toEqual([3]);
    expect(await found('%')).toEqual([3]);
    for (const text of ['canary', '0_15', 'previous', '\\']) expect(await found(text)).toEqual([]);
    expect(JSON.stringify(await audit.list({}))).toContain('canary');
  });

  test('are searched without reading any record that does not match', async () => {
    await using audit = await AuditLog.open(paths, log);
    for (let count = 0; count < 1_000; count += 1) audit.record(anEntry());
    await audit.flush();
    using database = new DatabaseSync(paths.audit);

    const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
    await audit.list({ search: 'subjects', since: 1, outcome: 'success' });
    const sql = prepare.mock.calls.map(([text]) => text).findLast((text) => text.includes('LIKE')) ?? '';
    prepare.mockRestore();
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(0, 9, 'success', 1, '%subjects%', 100);

    // The texts of members, such as "subjects", are in every record.
    expect(plan.map(({ detail }) => detail)).toEqual([
      'SEARCH searched USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
    ]);
  });

  test('continue after a restart, and a watcher continues where it was', async () => {
    await recordAll('one', 'two');
    await using audit = await AuditLog.open(paths, log);
    const stop = new AbortController();
    const watched = await audit.watch({}, '1', stop.signal);
    const first = await watched.next();
    const next = watched.next();

    audit.record(anEntry({ target: { name: 'three' } }));

    expect(first.value).toMatchObject({ id: '2', event: { record: { target: { name: 'two' } } } });
    expect((await next).value).toMatchObject({ id: '3', event: { record: { target: { name: 'three' } } } });
    stop.abort();
    expect(await watched.next()).toMatchObject({ done: true });
  });

  test('that come faster than they can be written are counted', async () => {
    await using audit = await AuditLog.open(paths, log);
    for (let count = 0; count < 21_000; count += 1) audit.record(anEntry());

    await audit.flush();
    const [last] = await audit.list({}, 1);

    expect(last?.record).toMatchObject({ type: 'audit_gap', metadata: { extra: { lost_records: 1_000 } } });
    expect(await audit.verify(never)).toMatchObject({ intact: true });
  });

  test('denials that anyone can cause are limited', async () => {
    await using audit = await AuditLog.open(paths, log);
    for (let count = 0; count < 5_000; count += 1) audit.recordDenial(anEntry({ outcome: 'denied' }));

    const records = await audit.list({}, 1_000);

    expect(records.length).toBeLessThan(200);
  });

  test('a flood of denials hides none of another workload', async () => {
    await using audit = await AuditLog.open(paths, log);
    for (let count = 0; count < 5_000; count += 1)
      audit.recordDenial(anEntry({ outcome: 'denied', component: 'toolhive-api', workload: `w${count}` }));
    audit.recordDenial(anEntry({ outcome: 'denied', component: 'other', workload: 'other' }));

    expect(await audit.list({ workload: 'other' })).toHaveLength(1);
    expect((await audit.list({}, 1_000)).length).toBeLessThan(200);
  });

  test('a day of denials displaces a small part of the other records, and each is counted', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      await using audit = await AuditLog.open(paths, log);
      const all = 24 * 3_600;
      for (let second = 0; second < all; second += 1) {
        audit.recordDenial(anEntry({ outcome: 'denied' }));
        vi.advanceTimersByTime(1_000);
      }

      const records = await audit.list({}, 100_000);

      const similar = records.map(({ record }) =>
        Number(record.metadata?.extra['similar_denials_before'] ?? 0),
      );
      expect(records.length).toBeLessThan(3_100);
      expect(records.length + similar.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(all - 60);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('redaction', () => {
  const secret = 's3cr3t/+ "\\ü-value';

  const bodyOf = async (value: object): Promise<string> => {
    await using audit = await AuditLog.open(paths, log);
    audit.redaction.add(secret);
    audit.record(anEntry({ bodies: { request: JSON.stringify(value) }, target: { name: secret } }));
    await audit.flush();
    return readFile(paths.auditFile, 'utf8');
  };

  test.each(
    Object.entries({
      plain: secret,
      'in JSON text': JSON.stringify({ deep: secret }),
      'in JSON text in JSON text': JSON.stringify(JSON.stringify({ deep: secret })),
      'in a URL': `https://x.example/?q=${encodeURIComponent(secret)}`,
      'in a URL, in lower case': encodeURIComponent(secret).toLowerCase().replace('s3cr3t', 's3cr3t'),
      hexadecimal: Buffer.from(secret).toString('hex'),
      Base64: Buffer.from(secret).toString('base64'),
      'Base64 of more': Buffer.from(`user:${secret}!`).toString('base64'),
      'Base64 of one byte more': Buffer.from(`a${secret}`).toString('base64'),
      base64url: Buffer.from(`ab${secret}`).toString('base64url'),
    }),
  )('removes a known secret: %s', async (_form, value) => {
    const line = await bodyOf({ text: `before ${value} after`, [secret]: [value] });

    const inner = Buffer.from(secret).toString('base64').slice(2, -4);
    expect(line).toContain('[REDACTED]');
    expect(line).not.toContain('s3cr3t');
    expect(line.replaceAll('-', '+').replaceAll('_', '/')).not.toContain(inner);
    expect(line).not.toContain(Buffer.from(secret).toString('hex'));
  });

  test('removes the values of keys that name a secret', async () => {
    const line = await bodyOf({
      password: 'p1',
      apiKey: 'p2',
      nested: { Authorization: 'Bearer p3', key: ['p4'], tokens: { page: 'kept' }, keyboard: 'kept too' },
    });

    expect(line).not.toMatch(/p[1-4]/);
    expect(line).toContain('kept too');
    expect(line).toContain('"page":"kept"');
  });

  test('does not record a body that is no JSON, and says how large a giant one is', async () => {
    await using audit = await AuditLog.open(paths, log);
    audit.record(anEntry({ bodies: { request: 'password=p1', response: 5_000_000 } }));

    const [found] = await audit.list({});

    expect(found?.record.data).toEqual({
      request: { omitted: 'not JSON', size_bytes: 11 },
      response: { omitted: 'larger than max_data_size', size_bytes: 5_000_000 },
    });
  });
});

describe('verification', () => {
  test('finds nothing wrong with records of several daemons', async () => {
    await recordAll('one', 'two');
    await recordAll('three');

    const result = await verified();

    expect(result).toEqual({
      intact: true,
      chains: [{ place: paths.audit, records: 3 }],
    });
  });

  test.each([
    ['a changed record', `UPDATE records SET line = replace(line, 'two', 'TWO') WHERE id = 2`, 3],
    ['a changed last record', `UPDATE records SET line = replace(line, 'four', 'FOUR') WHERE id = 4`, 4],
    ['a changed column', `UPDATE records SET workload = 'other' WHERE id = 2`, 2],
    ['a removed record', `DELETE FROM records WHERE id = 2`, 3],
    ['a removed first record', `DELETE FROM records WHERE id = 1`, 2],
    ['removed last records', `DELETE FROM records WHERE id >= 3`, 3],
    ['all records removed', `DELETE FROM records`, 1],
    [
      'exchanged records',
      `UPDATE records SET id = 9 WHERE id = 2; UPDATE records SET id = 2 WHERE id = 3; UPDATE records SET id = 3 WHERE id = 9`,
      2,
    ],
  ])('finds %s in the database', async (_what, sql, position) => {
    await recordAll('one', 'two', 'three', 'four');
    tamper(sql);

    const { intact, chains } = await verified();

    expect(intact).toBe(false);
    expect(chains[0]?.broken?.position).toBe(position);
  });

  test('still finds removed records after others were added', async () => {
    await recordAll('one', 'two', 'three');
    tamper('DELETE FROM records WHERE id = 3');
    await recordAll('four', 'five');

    const { intact, chains } = await verified();

    expect(intact).toBe(false);
    expect(chains[0]?.broken?.position).toBe(4);
  });

  test('covers the lines of all files, because they are those of the database', async () => {
    const own = join(directory, 'own.log');
    {
      await using audit = await AuditLog.open(paths, log);
      audit.record(anEntry(), own);
      audit.record(anEntry({ workload: 'other' }));
    }
    const database = new DatabaseSync(paths.audit);

    const stored = database.prepare('SELECT line FROM records ORDER BY id').all();

    database.close();
    expect([...(await linesOf(own)), ...(await linesOf(paths.auditFile))]).toEqual(
      stored.map(({ line }) => line),
    );
  });
});

describe('limits', () => {
  const aRecord = (index: number, now = new Date()): StoredRecord => ({
    atMs: now.getTime(),
    text: JSON.stringify({
      type: 't',
      logged_at: now.toISOString(),
      outcome: 'success',
      subjects: { user: 'u', user_id: 'i' },
      index,
    }),
    workload: undefined,
    type: 't',
    outcome: 'success',
    user: 'u',
    userId: 'i',
  });

  test('that do not fit on the disk are refused with the reason', async () => {
    const store = await AuditStore.open(paths, log);
    const database = new DatabaseSync(paths.audit);
    // As SQLite does itself on a full disk, the trigger also ends the transaction.
    database.exec(
      "CREATE TRIGGER full BEFORE INSERT ON records BEGIN SELECT RAISE(ROLLBACK, 'disk is full'); END",
    );

    expect(() => store.add([aRecord(1)])).toThrow('disk is full');
    database.exec('DROP TRIGGER full');
    store.add([aRecord(1)]);

    expect(store.lastId).toBe(1);
    database.close();
    await store.close();
  });

  test('the oldest records are removed, which is not mistaken for tampering', async () => {
    const limits = { records: 100, bytes: 1e9, days: 90 };
    const store = await AuditStore.open(paths, log, limits);
    for (let index = 0; index < 2_500; index += 100)
      store.add(Array.from({ length: 100 }, (_, more) => ({ ...aRecord(index + more) })));

    const { records, broken } = await store.verify('database', never);

    expect(broken).toBeUndefined();
    expect(records).toBeLessThanOrEqual(1_600);
    await store.close();
    tamper('DELETE FROM records WHERE id = (SELECT min(id) FROM records)');
    const again = await AuditStore.open(paths, log, limits);
    expect((await again.verify('database', never)).broken).toBeDefined();
    await again.close();
  });

  test('the oldest records are removed from a database that is too large', async () => {
    const store = await AuditStore.open(paths, log, { records: 1e9, bytes: 200_000, days: 90 });
    const large = (): StoredRecord => {
      const small = aRecord(0);
      const text = small.text.replace('"u"', `"${'x'.repeat(900)}"`);
      return { ...small, text, user: 'x'.repeat(900) };
    };
    for (let index = 0; index < 3_000; index += 100) store.add(Array.from({ length: 100 }, large));

    const { records, broken } = await store.verify('database', never);

    expect(broken).toBeUndefined();
    expect(records).toBeLessThan(2_000);
    await store.close();
  });

  test('files are rotated, and the oldest file is removed', async () => {
    const file = new AuditFile(paths.auditFile, { bytes: 1_000, older: 2 });
    for (let index = 0; index < 60; index += 1) await file.append([`{"index":${index},${'x'.repeat(50)}`]);
    await file.close();

    expect((await stat(`${paths.auditFile}.2`)).isFile()).toBe(true);
    await expect(stat(`${paths.auditFile}.3`)).rejects.toThrow('ENOENT');
  });
});

describe('a log file of the user', () => {
  const record = `{"time":"2026-01-01T00:00:00.000Z","level":"INFO+2","msg":"audit_event","previous":"${'0'.repeat(64)}"}`;

  test.each([
    ['half a record', `${record}\n${record.slice(0, 90)}`],
    ['half of the first record', record.slice(0, 90)],
    ['a record without its line end', record],
    ['zeros behind a record', `${record}\n${'\0'.repeat(5_000)}`],
    ['zeros behind half a record', `${record}\n${record.slice(0, 90)}${'\0'.repeat(5_000)}`],
    ['only zeros', '\0'.repeat(5_000)],
  ])('continues in a new line after a power cut has left %s', async (_left, before) => {
    const path = join(directory, 'audit.log');
    await writeFile(path, before);
    const file = new AuditFile(path);

    await file.append([record]);
    await file.append([record]);
    await file.close();

    expect(await readFile(path, 'utf8')).toBe(`${before}\n${record}\n${record}\n`);
  });

  test.each([
    ['text behind a record', `${record}\nexport A=1\n`],
    ['zeros behind other text', `export A=1\n${'\0'.repeat(5_000)}`],
    [
      'one unfinished line of another log',
      '{"time":"2026-01-01T00:00:00.000Z","level":"INFO","msg":"started',
    ],
  ])('must not contain %s', async (_content, text) => {
    const path = join(directory, 'other');
    await writeFile(path, text);

    await expect(requireLogFile(path)).rejects.toMatchObject({ kind: 'invalid' });
    expect(await readFile(path, 'utf8')).toBe(text);
  });

  test('must not be a file of another program', async () => {
    const path = join(directory, '.bashrc');
    await writeFile(path, 'export A=1\n');

    await expect(requireLogFile(path)).rejects.toMatchObject({ kind: 'invalid' });
    expect(await readFile(path, 'utf8')).toBe('export A=1\n');
  });

  test('must not be a link, and have no second name', async () => {
    const target = join(directory, 'target');
    await writeFile(target, '');
    await symlink(target, join(directory, 'soft'));
    await link(target, join(directory, 'hard'));

    await expect(requireLogFile(join(directory, 'soft'))).rejects.toThrow('symbolic link');
    await expect(requireLogFile(join(directory, 'hard'))).rejects.toMatchObject({ kind: 'invalid' });
  });

  test('receives the records of its workload instead of the file of the daemon', async () => {
    const own = join(directory, 'own.log');
    {
      await using audit = await AuditLog.open(paths, log);
      audit.record(anEntry(), own);
      audit.record(anEntry({ workload: 'other' }));
    }

    expect(await linesOf(own)).toHaveLength(1);
    expect(await linesOf(paths.auditFile)).toHaveLength(1);
    expect((await verified()).chains).toEqual([{ place: paths.audit, records: 2 }]);
  });
});
