import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { aRunConfig } from '../testing/run-config.ts';
import { makeHome } from '../testing/test-core.ts';
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

  const env = await trustedEnvironment({ ...home.env, PATH }, workloads, log);

  expect(env['PATH']).toBe([`${read}/bin`, bin, '/usr/bin'].join(':'));
  expect(warnings).toEqual([{ directories: [`${project}/.venv/bin`] }]);
});
