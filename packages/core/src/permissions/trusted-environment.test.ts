import { mkdir, rmdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { newWorkloadId } from '@toolhive/state/workload-id';
import { expect, test } from 'vitest';
import { aRunConfig } from '../testing/run-config.ts';
import { makeHome } from '../testing/test-core.ts';
import { GrantedMounts } from './granted-mounts.ts';
import { trustedEnvironment } from './trusted-environment.ts';

test('programs in a directory that a server can change are not used, unless any PATH requires consent to it', async () => {
  await using home = await makeHome();
  const [project, read, bin] = ['project', 'read', '.local/bin'].map((name) => join(home.path, name));
  for (const path of [project, read, bin]) await mkdir(path ?? '', { recursive: true });
  const PATH = [`${project}/.venv/bin`, `${read}/bin`, bin, '/usr/bin'].join(':');
  const volumes = [`${project}:/project`, `${read}:/read:ro`, `${bin}:/bin`, 'not a volume'];
  const workloads = volumes.map((volume) => ({ runConfig: aRunConfig({ volumes: [volume] }) }));
  const warnings: unknown[] = [];
  const log = { warn: (fields: object) => warnings.push(fields) };

  const mounts = { places: async () => ({}) };
  const env = await trustedEnvironment({ ...home.env, PATH }, workloads, { log, mounts });

  expect(env['PATH']).toBe([`${read}/bin`, bin, '/usr/bin'].join(':'));
  expect(warnings).toEqual([{ directories: [`${project}/.venv/bin`] }]);
});

test('a link to everything in place of a granted directory takes no programs away', async () => {
  await using home = await makeHome();
  const [out, state] = [join(home.path, 'out'), join(home.path, 'mounts')];
  await mkdir(out);
  await mkdir(state);
  const log = { warn: () => {}, error: () => {} };
  const mounts = new GrantedMounts({ directory: state, ownDirectories: [], log });
  const id = newWorkloadId();
  await mounts.store(id, await mounts.pin([{ source: out, target: '/out', readOnly: false }]));
  await rmdir(out);
  await symlink('/', out);
  const workloads = [{ id, runConfig: aRunConfig({ volumes: [`${out}:/out`] }) }];

  const env = await trustedEnvironment({ ...home.env, PATH: `/usr/bin:${out}/bin` }, workloads, {
    log,
    mounts,
  });

  expect(env['PATH']).toBe('/usr/bin');
});
