import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeHome, openTestCore, testServer } from '@toolhive/core/testing';
import { createWorkload } from '@toolhive/core/create';
import { expect, test } from 'vitest';
import { exportProject } from './export.ts';
import { parseFile } from './file.ts';

const call = { report: () => {}, signal: new AbortController().signal };

test('an exported file is valid, and contains no credential and no path of this machine', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);
  const args = ['echo', '--token', 'CaNaRyabcdefghij', '--url=https://user:CaNaRypass@api.example/'];
  const env_vars = { API_KEY: 'CaNaRykeykeykey', MODE: 'fast' };
  const directory = join(home.path, 'project');
  await mkdir(join(directory, 'data'), { recursive: true });
  const volumes = [`${directory}/data:/data:ro`];
  await createWorkload(
    core,
    {
      name: 'echo',
      image: testServer,
      cmd_arguments: args,
      env_vars,
      volumes,
      permission_profile: { network: { outbound: { allow_host: ['api.example'], allow_port: [443] } } },
    },
    call,
  );

  const { document, notes } = await exportProject(core, { names: ['echo'], directory });

  expect(document).not.toContain('CaNaRy');
  expect(document).not.toContain(home.path);
  expect(parseFile(document, '/x/toolhive.yaml').servers).toMatchObject([
    {
      name: 'echo',
      server: {
        source: testServer,
        env: { API_KEY: '${API_KEY}', MODE: 'fast' },
        volumes: ['./data:/data:ro'],
        permissions: { network: { outbound: { allow_host: ['api.example'] } } },
      },
    },
  ]);
  expect(notes.join()).toContain('Set API_KEY before thv up');
});

test('a missing workload is named', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);

  await expect(exportProject(core, { names: ['unknown'] })).rejects.toThrow('workload unknown not found');
  await expect(exportProject(core, {})).rejects.toThrow('no workload to export');
});
