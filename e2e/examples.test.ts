import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openTestApi } from '@toolhive/api/testing';
import type { TestApi } from '@toolhive/api/testing';
import { PermissionProfile } from '@toolhive/contract/permission-profile';
import type { ImportPreview } from '@toolhive/contract/preview';
import { testServer } from '@toolhive/core/testing';
import { resources } from '@toolhive/operator/crds';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { root } from './testing/thv.ts';

const folder = join(root, 'examples');
const textOf = (name: string): Promise<string> => readFile(join(folder, name), 'utf8');

/** The field of a request for a workload that contains an example, its value, and a mistake in the example. */
const settings = [
  ['permission-profile.json', 'permission_profile', JSON.parse, ['443', '"443"', 'allow_port']],
  ['policies.json', 'authz_config', String, ['call_tool', 'call_tol', 'unrecognized action']],
  ['audit.json', 'audit_config', JSON.parse, ['4096', '-1', 'max_data_size']],
] as const;

interface Manifest {
  apiVersion: string;
  kind: string;
  spec?: { authzConfig?: { inline: { policies: string[] } } };
  data?: Record<string, string>;
}

describe('the examples', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await openTestApi();
  });
  afterAll(() => api?.[Symbol.asyncDispose]());

  let count = 0;
  const create = async (field: string, value: unknown): Promise<[number, string]> => {
    const body = JSON.stringify({
      name: `example-${(count += 1)}`,
      image: testServer,
      cmd_arguments: ['echo'],
      [field]: value,
    });
    const headers = { 'content-type': 'application/json' };
    const { status, text } = await api.send('POST', '/api/v1beta/workloads', headers, body);
    return [status, text];
  };

  test('are all listed and tested', async () => {
    const files = await readdir(folder, { recursive: true, withFileTypes: true });
    const names = files.filter((file) => file.isFile()).map(({ name }) => name);

    expect(names.toSorted()).toEqual([
      'README.md',
      ...['client.json', 'replicas.yaml', 'server.yaml', ...settings.map(([name]) => name)].toSorted(),
    ]);
    for (const name of names.slice(1)) expect(await textOf('README.md')).toContain(name);
  });

  test.each(settings)(
    'contain settings that a workload can have: %s',
    async (name, field, valueOf, [right, wrong, mistake]) => {
      const text = await textOf(name);

      expect(await create(field, valueOf(text))).toEqual([201, expect.stringContaining('example')]);
      expect(await create(field, valueOf(text.replace(right, wrong)))).toEqual([
        400,
        expect.stringContaining(mistake),
      ]);
    },
  );

  test('contain a client configuration whose servers can all be imported', async () => {
    const body = JSON.stringify({ document: await textOf('client.json') });
    const headers = { 'content-type': 'application/json' };

    const { status, text } = await api.send('POST', '/api/v1beta/import/preview', headers, body);

    const { servers } = JSON.parse(text) as ImportPreview;
    expect(status).toBe(200);
    expect(servers.map(({ name }) => name)).toEqual(['everything', 'weather', 'remote']);
    expect(servers.filter(({ problem }) => problem !== undefined)).toEqual([]);
  });

  test('contain a manifest with only known fields, valid policies, and a valid permission profile', async () => {
    const documents = parseAllDocuments(await textOf('kubernetes/server.yaml'));

    const [configMap, server] = documents.map((document) => document.toJS() as Manifest);

    const { spec } = resources.find(({ kind }) => kind === server?.kind) ?? {};
    const profile: unknown = JSON.parse(configMap?.data?.['profile.json'] ?? '');
    const policies = server?.spec?.authzConfig?.inline.policies;
    expect(spec?.parse(server?.spec)).toMatchObject(server?.spec ?? {});
    expect(PermissionProfile.parse(profile)).toEqual(profile);
    expect(
      await create('authz_config', JSON.stringify({ version: '1.0', type: 'cedarv1', cedar: { policies } })),
    ).toEqual([201, expect.stringContaining('example')]);
  });
});
