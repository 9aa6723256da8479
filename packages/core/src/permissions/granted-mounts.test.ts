import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunConfig } from '@toolhive/contract/run-config';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { makeHome } from '../testing/test-core.ts';
import { GrantedMounts, refuseReplaceable } from './granted-mounts.ts';
import { newWorkloadId } from '@toolhive/state/workload-id';
import type { WorkloadId } from '@toolhive/state/workload-id';

async function makeWorld() {
  const home = await makeHome();
  onTestFinished(() => home[Symbol.asyncDispose]());
  const own = join(home.path, 'state');
  const project = join(home.path, 'project');
  const output = join(project, 'out');
  await mkdir(join(own, 'runconfigs'), { recursive: true });
  await mkdir(output, { recursive: true });
  const open = () => new GrantedMounts({ directory: join(own, 'mounts'), ownDirectories: [own], log });
  return { home: home.path, own, project, output, open, mounts: open() };
}

const log = pino({ level: 'silent' });

const mount = (source: string, readOnly = false) => ({ source, target: '/x', readOnly });

const server = newWorkloadId();

async function grant(mounts: GrantedMounts, id: WorkloadId, source: string) {
  await mounts.store(id, await mounts.pin([mount(source)]));
}

test('refuses a source that does not exist', async () => {
  const { mounts } = await makeWorld();

  await expect(mounts.pin([mount('/no/such')])).rejects.toThrow('/no/such does not exist');
});

test.each([
  ['the directory itself', 'state'],
  ['a directory above it', '.'],
  ['a directory in it', 'state/runconfigs'],
  ['a link to it', 'link'],
])('never mounts files of ToolHive: %s', async (_title, path) => {
  proves('run.own-state');
  const { home, own, mounts } = await makeWorld();
  await symlink(own, join(home, 'link'));

  const pinning = mounts.pin([mount(join(home, path))]);

  await expect(pinning).rejects.toThrow('contains files of ToolHive itself');
});

test('mounts a directory beside the files of ToolHive', async () => {
  const { home, mounts } = await makeWorld();
  await writeFile(join(home, 'state-of-the-art'), '');

  const pinned = await mounts.pin([mount(join(home, 'state-of-the-art'))]);

  expect(pinned).toHaveLength(1);
});

test('keeps what was granted when a link takes its place, also for the next daemon', async () => {
  const { output, open, mounts } = await makeWorld();
  const [before] = await mounts.pin([mount(output)]);
  await grant(mounts, server, output);
  await rename(output, `${output}-moved`);
  await symlink('/', output);

  const [after] = await open().of(server, [mount(output)]);

  expect(after?.pin).toEqual(before?.pin);
});

test('checks a source that was granted before for files of ToolHive at each start', async () => {
  const { home, own, output, mounts } = await makeWorld();
  await grant(mounts, server, output);
  const later = new GrantedMounts({
    directory: join(own, 'mounts'),
    ownDirectories: [join(home, 'project')],
    log,
  });

  await expect(later.of(server, [mount(output)])).rejects.toThrow('contains files of ToolHive itself');
});

test('accepts a directory that the user created again, but no link', async () => {
  const { output, mounts } = await makeWorld();
  await grant(mounts, server, output);
  await rename(output, `${output}-moved`);
  await mkdir(output);
  await mounts.renew(server);
  const [renewed] = await mounts.of(server, [mount(output)]);
  await rm(output, { recursive: true });
  await symlink('/', output);
  await mounts.renew(server);
  const [kept] = await mounts.of(server, [mount(output)]);

  expect(renewed?.pin.path).toBe(output);
  expect(kept?.pin).toEqual(renewed?.pin);
});

test('pins the sources of a run config that has none', async () => {
  const { output, mounts } = await makeWorld();

  await mounts.of(server, [mount(output)]);

  expect(await mounts.ids()).toEqual([server]);
});

const aWorkload = (name: string, ...volumes: string[]) =>
  ({ name, volumes }) as Partial<RunConfig> as RunConfig; // only these are looked at

test('finds a source that the same server could replace', async () => {
  const { project, output, mounts } = await makeWorld();
  const pinned = await mounts.pin([mount(project), { ...mount(output), target: '/y' }]);

  await expect(refuseReplaceable('server', pinned, [])).rejects.toThrow(
    `${output} is inside ${project}, which the workload server can write to`,
  );
});

test('finds a source that another server could replace', async () => {
  const { project, output, mounts } = await makeWorld();
  const pinned = await mounts.pin([mount(output, true)]);

  const refusing = refuseReplaceable('server', pinned, [aWorkload('other', `${project}:/project`)]);

  await expect(refusing).rejects.toThrow('which the workload other can write to');
});

test('lets servers share a directory, and mount directories inside a directory without writers', async () => {
  const { project, output, mounts } = await makeWorld();
  const pinned = await mounts.pin([mount(output)]);
  const others = [aWorkload('reader', `${project}:/project:ro`), aWorkload('writer', `${output}:/out`)];

  await expect(refuseReplaceable('server', pinned, others)).resolves.toBeUndefined();
});
