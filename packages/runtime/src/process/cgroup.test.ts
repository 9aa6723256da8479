import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Cgroup } from './cgroup.ts';

test('a group that a process cannot join is a failure with a reason', async () => {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'thv-cgroup-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  await using group = await Cgroup.open({ pids: { version: 1, folder } }, 'group', limits);
  await mkdir(join(folder, 'group/cgroup.procs')); // refuses to be written

  await expect(group.add(process.pid)).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringMatching(/^cannot limit the resources of the sandbox: EISDIR/),
  });
});

const limits = {
  memoryBytes: 1e9,
  processes: 10,
  openFiles: 100,
  cpus: 1,
  diskBytes: 1e9,
  temporaryBytes: 1e9,
};
