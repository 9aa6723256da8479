import { createApi } from '@toolhive/api/api';
import { aWorkload, openTestApi } from '@toolhive/api/testing';
import type { TestApi } from '@toolhive/api/testing';
import { mcpCaller } from '@toolhive/api/testing/mcp-caller';
import type { ThvError } from '@toolhive/contract/failure';
import type { HistoryGrouping } from '@toolhive/contract/history';
import { expect, test } from 'vitest';
import type { Core } from '../open-core.ts';
import { makeHome, openTestCore } from '../testing/test-core.ts';
import { getHistory, listTraffic } from './operate.ts';

const named = { params: { name: 'echo' } };
const addressOf = (core: Core): string =>
  `http://127.0.0.1:${core.workloads.require('echo').runConfig.port}/mcp`;
const relayOf = ({ port }: TestApi): string => `http://127.0.0.1:${port}/api/v1beta/workloads/echo/mcp`;
const entriesOf = async (api: TestApi, query = {}) =>
  (await api.client.listTraffic({ ...named, query })).entries;
const seriesBy = async (core: Core, by: HistoryGrouping) =>
  (await getHistory(core, { by, totals: true }, () => true)).series;

async function run(core: Core): Promise<void> {
  const app = createApi(core, { listener: { host: 'localhost', port: 80 } });
  const headers = { host: 'localhost', 'content-type': 'application/json' };
  const body = JSON.stringify(aWorkload());
  const url = 'http://localhost/api/v1beta/workloads';
  const created = await app.request(url, { method: 'POST', headers, body });
  if (created.status !== 201) throw new Error(await created.text());
  await core.workloads.require('echo').follow(() => {});
}

async function callTwice(core: Core): Promise<void> {
  const client = mcpCaller(addressOf(core), { name: 'cursor' });
  await client.ask('initialize');
  await client.ask('tools/call', { name: 'echo', arguments: {} });
  await client.ask('tools/call', { name: 'read', arguments: { path: '/no/such/file' } });
}

test('calls are counted by workload, client, and tool', async () => {
  await using api = await openTestApi();
  await api.run('echo');
  await callTwice(api.core);

  const { series, step_seconds: step } = await api.client.getHistory({ query: { workload: 'echo' } });

  expect(step).toBe(60);
  expect(series).toMatchObject([{ workload: 'echo', calls: 3, errors: 1, denied: 0 }]);
  expect(series[0]?.points?.calls.reduce((sum, calls) => sum + calls, 0)).toBe(3);
  expect(series[0]?.p50_ms).toBeGreaterThan(0);
  expect(await seriesBy(api.core, 'client')).toMatchObject([{ name: 'cursor', calls: 3 }]);
  expect(await seriesBy(api.core, 'tool')).toMatchObject([
    { name: 'echo', calls: 1, errors: 0 },
    { name: 'read', calls: 1, errors: 1 },
  ]);
  await expect(api.client.getHistory({ query: { workload: 'none' } })).rejects.toMatchObject({
    kind: 'not-found',
  });
});

test('a workload that a caller may not see looks like one that does not exist', async () => {
  await using api = await openTestApi();
  await api.run('echo');
  const failureOf = async (workload: string): Promise<unknown> =>
    (async () => getHistory(api.core, { by: 'workload', workload }, () => false))().catch(
      (thrown: ThvError) => ({
        message: thrown.message.replace(workload, 'NAME'),
        hint: thrown.hint,
        fixes: thrown.fixes,
      }),
    );

  expect(await failureOf('echo')).toEqual(await failureOf('none'));
  expect(await failureOf('echo')).toMatchObject({ message: 'workload NAME not found' });
});

test('what ToolHive and the web UI read on their own does not count, unlike what users call there', async () => {
  await using api = await openTestApi();
  await api.run('echo');
  const ui = mcpCaller(relayOf(api), { name: 'web-ui' });

  await api.client.getCapabilities({ ...named, query: { refresh: 'true' } });
  await api.client.diagnoseWorkload(named);
  await ui.ask('initialize');
  await ui.ask('tools/list');

  expect(await entriesOf(api)).toEqual([]);
  expect(await seriesBy(api.core, 'workload')).toEqual([]);
  expect((await api.client.getUsage(named)).calls).toBe(0);
  const own = await entriesOf(api, { own_reads: 'true' });
  expect(new Set(own.map(({ client, source }) => `${client?.name} ${source}`))).toEqual(
    new Set(['toolhive client', 'web-ui ui']),
  );
  expect(own.every(({ is_own_read: isOwnRead }) => isOwnRead)).toBe(true);
  await ui.ask('tools/call', { name: 'echo', arguments: {} });
  expect(await entriesOf(api)).toMatchObject([{ source: 'ui', name: 'echo', is_own_read: false }]);
  expect(await seriesBy(api.core, 'client')).toMatchObject([{ name: 'web-ui', calls: 1 }]);
});

test('a client cannot claim to be ToolHive', async () => {
  await using api = await openTestApi();
  await api.run('echo');
  const client = mcpCaller(addressOf(api.core), { name: 'toolhive' });

  await client.ask('initialize');
  await client.ask('tools/list');

  expect((await entriesOf(api)).map(({ method }) => method)).toEqual(['initialize', 'tools/list']);
  expect(await seriesBy(api.core, 'client')).toMatchObject([{ name: 'toolhive', calls: 2 }]);
});

test('calls and figures continue with the next daemon, and are found by text and time', async () => {
  await using home = await makeHome();
  {
    await using core = await openTestCore(home);
    await run(core);
    await callTwice(core);
  }
  const between = new Date().toISOString();
  await using core = await openTestCore(home);
  await core.workloads.require('echo').follow(() => {});
  await callTwice(core);

  const idsOf = (query: Parameters<typeof listTraffic>[2]) =>
    listTraffic(core, 'echo', query).entries.map(({ id }) => id);

  expect(idsOf({})).toEqual([1, 2, 3, 4, 5, 6]);
  expect(idsOf({ search: 'READ' })).toEqual([3, 6]);
  expect(idsOf({ search: 'reported an error', until: between })).toEqual([3]);
  expect(idsOf({ since: between, client: 'cursor' })).toEqual([4, 5, 6]);
  expect(listTraffic(core, 'echo', { limit: 4, before: 6 })).toMatchObject({
    entries: [{ id: 2 }, { id: 3, name: 'read', has_bodies: false }, { id: 4 }, { id: 5 }],
    has_more: true,
    oldest_at: listTraffic(core, 'echo', {}).entries[0]?.at,
  });
  expect(await seriesBy(core, 'tool')).toMatchObject([{ calls: 2 }, { calls: 2 }]);
});

test('a new workload with the name of a removed one has no history', async () => {
  await using api = await openTestApi();
  await api.run('echo');
  await callTwice(api.core);
  await seriesBy(api.core, 'workload');
  await api.client.deleteWorkload(named, { onProgress: () => {} });

  await api.run('echo');

  expect(await seriesBy(api.core, 'workload')).toEqual([]);
  expect(await entriesOf(api)).toEqual([]);
  expect([...api.core.history.ids()]).toEqual([]);
});
