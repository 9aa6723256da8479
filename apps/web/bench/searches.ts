import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { median } from '../../../bench/statistics.ts';
import { atMost, milliseconds } from '../../../bench/tables.ts';
import type { Section } from '../../../bench/tables.ts';
import { makeUser, serve, until } from '../../../e2e/testing/thv.ts';
import { uiServer } from '../../../e2e/ui/world.ts';

const amounts = { calls: 100_000, lines: 50_000 };
const rounds = 5;
const maxMs = 300;
const hourMs = 3_600_000;

/** How long the daemon searches in many calls and log lines, within a range of time. */
export async function searches(): Promise<Section['rows']> {
  await using user = await makeUser();
  {
    await using _first = await serve(user);
    await user.mustThv('run', '--name', 'tester', '--permission-profile', 'none', uiServer);
    const { lines } = amounts;
    await user.mustThv('mcp', 'call', 'tester', 'write', `lines=${lines}`, 'perSecond=10000');
    await until(async () => (await user.mustThv('logs', 'tester', '--search', `line ${lines - 1} `)) !== '');
  }
  multiplyCalls(join(user.home, '.local/state/toolhive/history.db'));
  await using daemon = await serve(user);
  const workload = `${daemon.base}/api/v1beta/workloads/tester`;
  const read = async (path: string): Promise<string> => {
    const response = await fetch(`${workload}/${path}`);
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return text;
  };

  const since = new Date(Date.now() - 20 * hourMs).toISOString();
  const asked: readonly [what: string, path: string, found: RegExp][] = [
    ['calls, nothing is found', `traffic?since=${since}&search=nowhere&limit=1000`, /"entries":\[\]/],
    ['calls, all are found', `traffic?since=${since}&search=write&limit=1000`, /"has_more":true/],
    ['log lines, nothing is found', `logs?since=${since}&search=nowhere`, /^$/],
    ['log lines, some are found', `logs?since=${since}&search=line%20777`, /line 7779 /],
  ];
  const rows: Section['rows'][number][] = [];
  for (const [what, path, found] of asked) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const began = performance.now();
      const text = await read(path);
      times.push(performance.now() - began);
      if (!found.test(text)) throw new Error(`${what}: ${text.slice(0, 200)}`);
    }
    const amount = what.startsWith('calls') ? amounts.calls : amounts.lines;
    rows.push([`Search in ${amount} ${what}`, atMost(median(times), maxMs, milliseconds), '–']);
  }
  return rows;
}

/** Repeats the stored calls of a daemon that has ended, within the last 23 hours. */
function multiplyCalls(path: string): void {
  using database = new DatabaseSync(path);
  const columns = database
    .prepare('PRAGMA table_info(calls)')
    .all()
    .map(({ name }) => String(name));
  const values = columns.map((name) =>
    name === 'id' ? 'id + n' : name === 'at' ? 'at - (?1 - n) * ?2' : name,
  );
  database
    .prepare(
      `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1)
       INSERT INTO calls (${columns.join(', ')})
       SELECT ${values.join(', ')} FROM numbers, (SELECT * FROM calls WHERE name = 'write' ORDER BY id DESC LIMIT 1)`,
    )
    .run(amounts.calls - 100, Math.floor((23 * hourMs) / amounts.calls));
}
