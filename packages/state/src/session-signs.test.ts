import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RunConfig } from '@toolhive/contract/run-config';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { StoredRunConfig } from './run-configs.ts';
import { SessionSigns } from './session-signs.ts';
import { WorkloadDatabase } from './workload-database.ts';
import { newWorkloadId } from './workload-id.ts';

const log = pino({ level: 'silent' });

const version = 'npx://server@1.0.0';

function aWorkload(): StoredRunConfig {
  const names = { name: 'one', base_name: 'one', container_name: 'one' };
  const runConfig = { ...names, schema_version: 'v0.1.0', transport: 'stdio', port: 1234 };
  return { id: newWorkloadId(), runConfig: RunConfig.parse(runConfig) };
}

/** A database that can be opened again, as by the next daemon. */
async function openSigns() {
  const directory = await mkdtempDisposable(join(tmpdir(), 'thv-signs-'));
  const warnings: string[] = [];
  let database = await WorkloadDatabase.open(join(directory.path, 'workloads.db'), log);
  let signs = new SessionSigns(database);
  const known = (workload: StoredRunConfig) =>
    signs.proxyOptions(workload, { warn: (_fields, message) => void warnings.push(message) }).knownState;
  return {
    known,
    warnings,
    signs: () => signs,
    closeDatabase: () => database[Symbol.dispose](),
    async reopen() {
      database[Symbol.dispose]();
      database = await WorkloadDatabase.open(join(directory.path, 'workloads.db'), log);
      signs = new SessionSigns(database);
    },
    async [Symbol.asyncDispose]() {
      try {
        database[Symbol.dispose]();
      } catch {
        // closed by the test
      }
      await directory[Symbol.asyncDispose]();
    },
  };
}

test('what a server has shown is known to the next daemon', async () => {
  await using test = await openSigns();
  const workload = aWorkload();
  test.known(workload).seen(version, 'asked');

  await test.reopen();

  expect(test.known(workload).signOf(version)).toBe('asked');
});

test('another version of the server has shown nothing', async () => {
  await using test = await openSigns();
  const workload = aWorkload();
  test.known(workload).seen(version, 'asked');

  const { signOf } = test.known(workload);

  expect([signOf('npx://server@1.0.1'), signOf(version)]).toEqual([undefined, 'asked']);
});

test('a new workload with the name of another one has shown nothing', async () => {
  await using test = await openSigns();
  const workload = aWorkload();
  test.known(workload).seen(version, 'asked');

  expect(test.known(aWorkload()).signOf(version)).toBeUndefined();
});

test('is forgotten with the workload', async () => {
  await using test = await openSigns();
  const workload = aWorkload();
  test.known(workload).seen(version, 'asked');
  const before = test.signs().ids();

  test.signs().forget(workload.id);

  expect([before, test.signs().ids()]).toEqual([[workload.id], []]);
  expect(test.known(workload).signOf(version)).toBeUndefined();
});

test('a database that cannot be written is a warning', async () => {
  await using test = await openSigns();
  const { seen } = test.known(aWorkload());
  test.closeDatabase();

  seen(version, 'asked');

  expect(test.warnings).toEqual(['a sign of the sessions is known only until the workload is stopped']);
});

test('signs that cannot be read count as a sign, because sessions must not share a process by mistake', async () => {
  await using test = await openSigns();
  const { signOf } = test.known(aWorkload());
  test.closeDatabase();

  expect(signOf(version)).toBe('forgotten');
  expect(test.warnings).toEqual([expect.stringContaining('earlier runs are unknown')]);
});
