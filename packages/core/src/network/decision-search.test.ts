import { openTestApi } from '@toolhive/api/testing';
import { expect, test } from 'vitest';

test('decisions are found by a text and by the time between the first and the last of them', async () => {
  await using api = await openTestApi();
  await api.run('echo');
  const { id } = api.core.workloads.require('echo');
  const { decisions } = api.core;
  decisions.record(id, { host: 'api.Example', port: 443, verdict: 'allowed', rule: 'the list' }, undefined);
  decisions.record(
    id,
    { host: 'evil.test', verdict: 'denied', reason: 'No rule allows this host' },
    undefined,
  );
  const hostsOf = async (query: Record<string, string>) =>
    (await api.client.listNetworkDecisions({ params: { name: 'echo' }, query })).decisions.map(
      ({ host }) => host,
    );
  const [before, after] = [-60_000, 60_000].map((ms) => new Date(Date.now() + ms).toISOString());

  expect(await hostsOf({ search: 'EXAMPLE:443' })).toEqual(['api.Example']);
  expect(await hostsOf({ search: 'no RULE' })).toEqual(['evil.test']);
  expect(await hostsOf({ search: 'undefined' })).toEqual([]);
  expect(await hostsOf({ since: before ?? '', until: after ?? '' })).toEqual(['evil.test', 'api.Example']);
  expect(await hostsOf({ since: after ?? '' })).toEqual([]);
  expect(await hostsOf({ until: before ?? '' })).toEqual([]);
});
