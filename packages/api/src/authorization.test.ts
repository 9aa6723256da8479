import { openAccess } from '@toolhive/access/access';
import { ApiPolicies } from '@toolhive/access/api-policies';
import { testServer } from '@toolhive/core/testing';
import type { Operation } from '@toolhive/contract/operation';
import { operations } from '@toolhive/contract/operations';
import { describe, expect, test } from 'vitest';
import { apiActions } from './authorization.ts';
import { openTestApi } from './testing/test-api.ts';
import type { TestApi } from './testing/test-api.ts';

// What callers of the API may do, with tokens that may only read, or only act in one group.

const base = '/api/v1beta';
const tokens = {
  admin: 'a-token-for-everything',
  reader: 'a-token-for-reading-only',
  auditor: 'a-token-for-recorded-bodies',
  red: 'a-token-for-the-group-red',
  nothing: 'a-token-for-nothing-at-all',
};
type Holder = keyof typeof tokens;

const policies = [
  'permit(principal == Client::"token:admin", action, resource);',
  'permit(principal == Client::"token:reader", action in Action::"read", resource);',
  'permit(principal == Client::"token:auditor", action in Action::"bodies", resource);',
  'permit(principal == Client::"token:red", action, resource in Group::"red");',
];

interface GovernedApi extends AsyncDisposable {
  api: TestApi;
  /** Sends a request as a holder of a token. Returns the status, or the JSON of an answer with status 200. */
  as: (holder: Holder, method: string, path: string, body?: object) => Promise<number>;
  namesFor: (holder: Holder, path: string, member: string) => Promise<string[]>;
}

/** An API with the policies above, and a workload in each of the groups `red` and `default`. */
async function openGovernedApi(): Promise<GovernedApi> {
  await using opened = new AsyncDisposableStack();
  const prepared = opened.use(await ApiPolicies.open({ cedar: { policies } }, apiActions));
  const api = opened.use(await openTestApi({}, { access: openAccess({ tokens }), policies: prepared }));
  const headersOf = (holder: Holder) => ({
    authorization: `Bearer ${tokens[holder]}`,
    'content-type': 'application/json',
  });
  const as: GovernedApi['as'] = async (holder, method, path, body) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return (await api.send(method, `${base}${path}`, headersOf(holder), text)).status;
  };
  await as('admin', 'POST', '/groups', { name: 'red' });
  for (const [name, group] of [
    ['mine', 'red'],
    ['other', 'default'],
  ]) {
    const created = await as('admin', 'POST', '/workloads', {
      name,
      group,
      image: testServer,
      cmd_arguments: ['echo'],
    });
    expect(created).toBe(201);
    await api.core.workloads.require(name ?? '').follow(() => {});
  }
  const everything = opened.move();
  return {
    api,
    as,
    async namesFor(holder, path, member) {
      const { json } = await api.send('GET', `${base}${path}`, headersOf(holder));
      const found = (json as Record<string, { name: string }[]>)[member] ?? [];
      return found.map(({ name }) => name).toSorted();
    },
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

describe('policies of the API', () => {
  test('are decided for thousands of names while other requests are answered', async () => {
    await using governed = await openGovernedApi();
    const names = Array.from({ length: 2_000 }, (_, index) => `workload-${index}`);
    const bulk = { isDecided: false };
    let answered = 0;

    const stopped = governed
      .as('admin', 'POST', '/workloads/stop', { names })
      .finally(() => (bulk.isDecided = true));
    while (!bulk.isDecided) {
      await governed.as('reader', 'GET', '/version');
      answered += 1;
    }

    expect(await stopped).toBe(404); // the policies allow it, and there are no such workloads
    expect(answered).toBeGreaterThan(1);
  });

  test('let a token read and change nothing', async () => {
    await using governed = await openGovernedApi();
    const { as, namesFor, api } = governed;

    expect(await namesFor('reader', '/workloads', 'workloads')).toEqual(['mine', 'other']);
    expect(await as('reader', 'GET', '/workloads/mine')).toBe(200);
    expect(await as('reader', 'POST', '/workloads/mine/stop')).toBe(403);
    expect(await as('reader', 'DELETE', '/workloads/mine')).toBe(403);
    expect(await as('reader', 'POST', '/workloads', { image: testServer })).toBe(403);
    expect(await as('reader', 'PUT', '/settings/otel-endpoint', { value: 'collector.example:4318' })).toBe(
      403,
    );
    expect(api.core.workloads.all().length).toBe(2);
  });

  test('let a token that only reads see calls, but neither make nor record any', async () => {
    await using governed = await openGovernedApi();
    const { as } = governed;
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const id = '0123456789abcdef';
    const reads = ['traffic', 'sessions', 'usage', 'capabilities'];

    for (const path of reads) expect(await as('reader', 'GET', `/workloads/mine/${path}`)).toBe(200);
    for (const path of reads) expect(await as('red', 'GET', `/workloads/other/${path}`)).toBe(403);
    expect(await as('reader', 'POST', '/workloads/mine/mcp', ping)).toBe(403);
    expect(await as('reader', 'GET', '/workloads/mine/mcp')).toBe(403);
    expect(await as('reader', 'DELETE', '/workloads/mine/mcp')).toBe(403);
    expect(await as('reader', 'DELETE', `/workloads/mine/sessions/${id}`)).toBe(403);
    expect(await as('reader', 'PUT', '/workloads/mine/traffic/recording', { bodies: true })).toBe(403);
    expect(await as('reader', 'POST', '/groups/red/edit', { description: 'mine' })).toBe(403);
    expect(await as('red', 'POST', '/workloads/other/mcp', ping)).toBe(403);
    expect(await as('red', 'POST', '/workloads/mine/mcp', ping)).toBe(200);
    expect(await as('red', 'POST', '/groups/red/edit', { name: 'default' })).toBe(403);
    expect(await governed.namesFor('red', '/usage', 'usage')).toEqual(['mine']);
    expect(await as('red', 'GET', '/history?workload=mine')).toBe(200);
    expect(await as('red', 'GET', '/history?workload=other')).toBe(404);
  });

  test('let a token read recorded bodies only if a policy names them', async () => {
    await using governed = await openGovernedApi();
    const { as, api } = governed;
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    await as('admin', 'PUT', '/workloads/mine/traffic/recording', { bodies: true });
    await as('red', 'POST', '/workloads/mine/mcp', ping);
    const calls = () =>
      api.core.traffic.of(api.core.workloads.require('mine').id).list({ ownReads: true }, { limit: 1 })
        .entries;
    await expect.poll(() => calls().length).toBe(1);

    const path = `/workloads/mine/traffic/${calls()[0]?.id}`;
    const statuses = await Promise.all(
      (['reader', 'auditor', 'red', 'nothing'] as const).map((holder) => as(holder, 'GET', path)),
    );

    expect(await as('reader', 'GET', '/workloads/mine/traffic')).toBe(200);
    expect(statuses).toEqual([403, 200, 200, 403]);
  });

  test('let a token read audit records, but bodies only if a policy names them', async () => {
    await using governed = await openGovernedApi();
    const { api, as } = governed;
    await as('admin', 'POST', '/workloads', {
      name: 'audited',
      group: 'red',
      image: testServer,
      cmd_arguments: ['echo'],
      audit_config: { include_request_data: true, max_data_size: 1_000 },
    });
    await api.core.workloads.require('audited').follow(() => {});
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    await as('admin', 'POST', '/workloads/audited/mcp', ping);
    const ofPing = async (holder: Holder): Promise<object | undefined> => {
      const headers = { authorization: `Bearer ${tokens[holder]}` };
      const { json } = await api.send('GET', `${base}/audit?workload=audited&type=mcp_ping`, headers);
      return (json as { records: { record: object }[] }).records[0]?.record;
    };

    await expect.poll(() => ofPing('admin')).toHaveProperty('data.request.method', 'ping');
    const forReader = await ofPing('reader');

    expect(forReader).toHaveProperty('outcome', 'success');
    expect(forReader).not.toHaveProperty('data');
  });

  test('let a token act in one group, and see nothing of others', async () => {
    await using governed = await openGovernedApi();
    const { as, namesFor, api } = governed;
    const stop = (body: object): Promise<number> => as('red', 'POST', '/workloads/stop', body);

    expect(await namesFor('red', '/workloads', 'workloads')).toEqual(['mine']);
    expect(await namesFor('red', '/groups', 'groups')).toEqual(['red']);
    expect(await as('red', 'GET', '/workloads/other')).toBe(403);
    expect(await as('red', 'GET', '/workloads/nobody')).toBe(403); // also of what does not exist
    expect(await as('red', 'GET', '/workloads/other/logs')).toBe(403);
    expect([await stop({ names: ['mine', 'other'] }), await stop({ group: 'default' })]).toEqual([403, 403]);
    expect([await stop({ names: ['mine'] }), await stop({ group: 'red' })]).toEqual([202, 202]);
    expect(api.core.workloads.require('other').condition.status).toBe('running');
  });

  test('let a token neither move a workload into its group nor create one in another group', async () => {
    await using governed = await openGovernedApi();
    const { as } = governed;
    const echo = { image: testServer, cmd_arguments: ['echo'] };

    expect(await as('red', 'POST', '/workloads/other/edit', { ...echo, group: 'red' })).toBe(403);
    expect(await as('red', 'POST', '/workloads/mine/edit', { ...echo, group: 'default' })).toBe(403);
    expect(await as('red', 'POST', '/workloads', { ...echo, name: 'third' })).toBe(403);
    expect(await as('red', 'POST', '/workloads', { ...echo, name: 'third', group: 'default' })).toBe(403);
    expect(await as('red', 'POST', '/workloads', { ...echo, name: 'third', group: 'red' })).toBe(201);
  });

  test('deny what no policy names, with every path', async () => {
    await using governed = await openGovernedApi();
    const { as, namesFor } = governed;
    const paths = [
      '/secrets/default/keys',
      '/settings',
      '/events',
      '/audit',
      '/clients',
      '/registry',
      '/diagnosis',
    ];

    expect(await Promise.all(paths.map((path) => as('red', 'GET', path)))).toEqual(paths.map(() => 403));
    expect(await Promise.all(paths.map((path) => as('nothing', 'GET', path)))).toEqual(paths.map(() => 403));
    expect(await namesFor('nothing', '/workloads', 'workloads')).toEqual([]);
  });

  test.each(Object.values<Operation>(operations).filter(({ access }) => access === 'read-items'))(
    'hide every item of $path, which no policy decides about as a whole',
    async ({ path }) => {
      await using governed = await openGovernedApi();
      const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: {} } };
      await governed.as('red', 'POST', '/workloads/mine/mcp', call);

      const answers = await Promise.all(
        (['admin', 'nothing'] as const).map(async (holder) => {
          const headers = { authorization: `Bearer ${tokens[holder]}` };
          return JSON.parse((await governed.api.send('GET', base + path, headers)).text) as object;
        }),
      );

      const items = answers.map((answer) => Object.values(answer).filter(Array.isArray).flat());
      expect(items).toEqual([expect.arrayContaining([expect.anything()]), []]);
    },
  );

  test('are recorded when they deny', async () => {
    await using governed = await openGovernedApi();
    await governed.as('reader', 'DELETE', '/workloads/mine');

    const { json } = await governed.api.get(`${base}/audit?type=api_call`, {
      authorization: `Bearer ${tokens.admin}`,
    });
    const { records } = json as { records: { record: { outcome: string; subjects: object } }[] };

    expect(records.map(({ record }) => record)).toContainEqual(
      expect.objectContaining({
        outcome: 'denied',
        subjects: expect.objectContaining({ user_id: 'token:reader' }),
      }),
    );
  });

  test('do not apply to the values of secrets, which no listener on a network has', async () => {
    await using governed = await openGovernedApi();

    expect(await governed.as('admin', 'GET', '/secrets/default/keys/token/value')).toBe(404);
  });

  test('with an operation that does not exist are refused', async () => {
    const config = {
      cedar: { policies: ['permit(principal, action == Action::"listWorkload", resource);'] },
    };

    await expect(ApiPolicies.open(config, apiActions)).rejects.toThrow(/unrecognized action/);
  });
});
