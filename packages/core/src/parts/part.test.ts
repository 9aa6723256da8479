import type { ProxyOptions } from '@toolhive/proxy/proxy';
import type { StoredRunConfig } from '@toolhive/state/run-configs';
import type { WorkloadDatabase, WorkloadRows } from '@toolhive/state/workload-database';
import type { WorkloadId } from '@toolhive/state/workload-id';
import { expect, test } from 'vitest';
import { makeHome, openTestCore, testServer } from '../testing/test-core.ts';
import { createWorkload } from '../workloads/creation/create.ts';
import { deleteWorkload } from '../workloads/operate.ts';
import type { Part } from './part.ts';

/** A feature with state for each workload and a part in its proxy. All of it is in this file. */
class OpenedProxies {
  readonly title = 'the opened proxies';
  readonly #rows: WorkloadRows;
  isBroken = false;

  constructor(database: WorkloadDatabase) {
    this.#rows = database.rows({
      names: ['opened'],
      schema: 'CREATE TABLE IF NOT EXISTS opened (workload TEXT PRIMARY KEY) STRICT;',
      earlier: '/nothing',
    });
  }

  proxyOptions({ id }: StoredRunConfig): Partial<ProxyOptions> {
    this.#rows.prepare('INSERT OR REPLACE INTO opened VALUES (?)').run(id);
    return { trustProxyHeaders: true };
  }

  ids(): WorkloadId[] {
    return this.#rows.ids();
  }

  forget(id: WorkloadId): void {
    if (this.isBroken) throw new Error('no space left');
    this.#rows.forget(id);
  }
}

async function openWithPart(home: Awaited<ReturnType<typeof makeHome>>) {
  const parts: OpenedProxies[] = [];
  const core = await openTestCore(home, {
    moreParts(database): Part[] {
      parts.push(new OpenedProxies(database));
      return parts;
    },
  });
  const [part] = parts;
  if (part === undefined) throw new Error('the part was not opened');
  return { core, part };
}

const call = { report: () => {}, signal: new AbortController().signal };

test('a part is asked when a proxy opens, and forgets a removed workload', async () => {
  await using home = await makeHome();
  const { core, part } = await openWithPart(home);
  await using _core = core;
  await createWorkload(core, { name: 'math', image: testServer }, call);
  await core.workloads.require('math').follow(() => {});
  const { id } = core.workloads.require('math');

  const before = part.ids();
  await (await deleteWorkload(core, 'math')).follow(() => {}, call.signal);

  expect([before, part.ids()]).toEqual([[id], []]);
});

test('what a part could not forget is swept at the next start', async () => {
  await using home = await makeHome();
  const told: string[] = [];
  {
    const { core, part } = await openWithPart(home);
    await using _core = core;
    await createWorkload(core, { name: 'math', image: testServer }, call);
    await core.workloads.require('math').follow(() => {});
    part.isBroken = true;
    await (await deleteWorkload(core, 'math')).follow((message) => void told.push(message), call.signal);
    expect(part.ids()).toHaveLength(1);
  }

  const { core, part } = await openWithPart(home);
  await using _core = core;

  expect(part.ids()).toEqual([]);
  expect(told.join()).toContain('cannot remove the opened proxies of math: no space left');
});
