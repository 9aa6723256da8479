import { openTestApi } from '@toolhive/api/testing';
import type { TestApi } from '@toolhive/api/testing';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { expect, test } from 'vitest';
import { testServer } from '../testing/test-core.ts';

const create = (api: TestApi, body: CreateWorkload) =>
  api.client.createWorkload(
    { body: { image: testServer, cmd_arguments: ['echo'], ...body } },
    { onProgress: () => {} },
  );
const listed = async (api: TestApi) =>
  new Map(
    (await api.client.listWorkloads({ query: { all: 'true' } })).workloads.map((workload) => [
      workload.name,
      workload,
    ]),
  );
const toolsOf = async (api: TestApi, name: string) =>
  (await api.client.getCapabilities({ params: { name }, query: {} })).tools;

test('a list carries the tokens of the tools that clients get, also of stopped servers', async () => {
  await using api = await openTestApi();
  await create(api, { name: 'all' });
  await create(api, { name: 'some', tools: ['echo'] });
  const before = await listed(api);

  const all = await toolsOf(api, 'all');
  const [echo] = (await toolsOf(api, 'some')).filter(({ is_shown: isShown }) => isShown);
  await api.client.stopWorkload({ params: { name: 'all' } }, { onProgress: () => {} });
  const after = await listed(api);

  expect(before.get('all')).not.toHaveProperty('tool_tokens');
  expect(after.get('all')?.tool_tokens).toBe(all.reduce((sum, tool) => sum + tool.estimated_tokens, 0));
  expect(after.get('some')?.tool_tokens).toBe(echo?.estimated_tokens);
  expect(after.get('some')?.tool_tokens).toBeLessThan(after.get('all')?.tool_tokens ?? 0);
});

test('a list says what each server may use', async () => {
  await using api = await openTestApi();
  const profile = (profile: CreateWorkload['permission_profile']) => ({ permission_profile: profile });
  await create(api, { name: 'none', ...profile({ network: { outbound: {} } }) });
  await create(api, {
    name: 'hosts',
    ...profile({
      network: { outbound: { allow_host: ['a.example.com', 'b.example.com'], allow_port: [443] } },
    }),
  });
  await create(api, { name: 'public', ...profile({ network: { outbound: { insecure_allow_all: true } } }) });

  const { access: one } = (await listed(api)).get('none') ?? {};
  const { access: other } = (await listed(api)).get('hosts') ?? {};

  expect(one).toEqual({ files: 'none', network: 'none', secrets: 0 });
  expect(other).toEqual({ files: 'none', network: 'hosts', hosts: 2, secrets: 0 });
  expect((await listed(api)).get('public')?.access).toMatchObject({ network: 'public' });
  expect(await api.client.getWorkload({ params: { name: 'none' } })).not.toHaveProperty('access');
});

test('lists are in the order in which people count', async () => {
  await using api = await openTestApi();
  for (const name of ['w10', 'w2']) {
    await create(api, { name });
    await api.client.createGroup({ body: { name: `group-${name}` } });
  }

  const workloads = [...(await listed(api)).keys()];
  const { groups } = await api.client.listGroups({});

  expect(workloads.filter((name) => name.startsWith('w'))).toEqual(['w2', 'w10']);
  expect(groups.map(({ name }) => name)).toEqual(['default', 'group-w2', 'group-w10']);
});
