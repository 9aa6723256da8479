import { mkdtempDisposable, mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoredRunConfig } from '@toolhive/state/run-configs';
import { newWorkloadId } from '@toolhive/state/workload-id';
import { expect, test } from 'vitest';
import type { PartRun } from '../parts/part.ts';
import { aRunConfig } from '../testing/run-config.ts';
import { tasksPart } from './proxy-parts.ts';

test('a workload keeps the key of its tasks, and another workload of the same name has another key', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'thv-key-'));
  const path = join(directory.path, 'task-key');
  const [one, other] = [aStored(), aStored()];

  const part = tasksPart(path);
  const [key, foreign] = await Promise.all([keyFrom(part, one), keyFrom(part, other)]);
  const afterRestart = await keyFrom(tasksPart(path), one);

  expect(key).toHaveLength(32);
  expect(afterRestart).toEqual(key);
  expect(foreign).not.toEqual(key);
});

test('a key that cannot be stored is tried again with the next start', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'thv-key-'));
  const path = join(directory.path, 'task-key');
  const part = tasksPart(path);
  await mkdir(path); // nothing can be written here

  const before = await keyFrom(part, aStored());
  await rm(path, { recursive: true });

  expect(before).toBeUndefined();
  expect(await keyFrom(part, aStored())).toHaveLength(32);
});

function aStored(): StoredRunConfig {
  return { id: newWorkloadId(), runConfig: aRunConfig() };
}

async function keyFrom(
  part: ReturnType<typeof tasksPart>,
  workload: StoredRunConfig,
): Promise<Uint8Array | undefined> {
  const run: Pick<PartRun, 'warn'> = { warn: () => {} };
  const { taskKeys } = await part.proxyOptions(workload, run as PartRun); // it uses nothing else
  return taskKeys?.()[0];
}
