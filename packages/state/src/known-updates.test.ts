import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { KnownUpdates } from './known-updates.ts';
import { WorkloadDatabase } from './workload-database.ts';
import { newWorkloadId } from './workload-id.ts';

const log = pino({ level: 'silent' });
const runs = 'npx://server@1.0.0';

test('a newer version is known after a restart, until another package runs or the workload is removed', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'thv-updates-'));
  const path = join(directory.path, 'workloads.db');
  const [one, other] = [newWorkloadId(), newWorkloadId()];
  const isNew: boolean[] = [];
  {
    using database = await WorkloadDatabase.open(path, log);
    const updates = new KnownUpdates(database, log);
    for (const newest of ['2.0.0', '2.0.0', '2.1.0'])
      isNew.push(updates.remember(one, { package: runs, newest, outdated: true }));
    updates.remember(other, { package: runs, newest: '2.0.0', outdated: true });
    updates.remember(other, { package: runs, newest: '1.0.0', outdated: false });
  }

  using database = await WorkloadDatabase.open(path, log);
  const updates = new KnownUpdates(database, log);

  expect(isNew).toEqual([true, false, true]);
  expect(updates.newerThan(one, runs)).toBe('2.1.0');
  expect(updates.newerThan(one, 'npx://server@2.1.0')).toBeUndefined();
  expect(updates.newerThan(other, runs)).toBeUndefined();
  expect(updates.ids()).toEqual([one]);
  updates.forget(one);
  expect([updates.newerThan(one, runs), updates.ids()]).toEqual([undefined, []]);
});

test('a version without end, which a package registry chooses, is not remembered', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'thv-updates-'));
  using database = await WorkloadDatabase.open(join(directory.path, 'workloads.db'), log);
  const updates = new KnownUpdates(database, log);
  const id = newWorkloadId();

  const isNew = updates.remember(id, { package: runs, newest: '9'.repeat(257), outdated: true });

  expect([isNew, updates.ids()]).toEqual([false, []]);
});

test('a lookup succeeds although nothing can be stored', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'thv-updates-'));
  const database = await WorkloadDatabase.open(join(directory.path, 'workloads.db'), log);
  const updates = new KnownUpdates(database, log);
  const id = newWorkloadId();
  database[Symbol.dispose]();

  expect(updates.remember(id, { package: runs, newest: '2.0.0', outdated: true })).toBe(true);
  expect(updates.newerThan(id, runs)).toBe('2.0.0');
});
