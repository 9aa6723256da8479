import { readFile } from 'node:fs/promises';
import { openAccess } from '@toolhive/access/access';
import { testServer } from '@toolhive/core/testing';
import { openRemoteServer } from '@toolhive/remote/testing/remote-server';
import { expect, test } from 'vitest';
import { openTestApi } from '@toolhive/api/testing';
import type { TestApi } from '@toolhive/api/testing';

const named = (name: string) => ({ params: { name } });
const follow = { onProgress: () => {} };

async function recordsOf(api: TestApi, query: object = {}) {
  const { records } = await api.client.listAudit({ query: { limit: 1000, ...query } });
  return records.map(({ record }) => record);
}

const done = async (api: TestApi): Promise<string[]> =>
  (await recordsOf(api, { type: 'api_call' })).map(({ outcome, target }) =>
    `${outcome} ${target?.['method']} ${target?.['name'] ?? ''}`.trim(),
  );

test('changes are recorded with who made them, also those that fail, and reading is not', async () => {
  await using api = await openTestApi();
  await api.run('echo');
  await api.client.listWorkloads({ query: {} });
  await api.client.createGroup({ body: { name: 'g' } });
  await expect(api.client.createGroup({ body: { name: 'g' } })).rejects.toThrow('exists');
  await api.post('/api/v1beta/groups', { name: 'NOT A NAME' });
  await api.client.changePermissions({ ...named('echo'), body: { allow: ['a.example'] } });
  await api.client.stopWorkload({ ...named('echo') }, follow);
  await api.client.deleteWorkload({ ...named('echo') }, follow);

  const [first] = await recordsOf(api, { type: 'api_call' });

  expect(await done(api)).toEqual([
    'success createWorkload echo',
    'success createGroup g',
    'failure createGroup g',
    'failure createGroup',
    'success changePermissions echo',
    'success stopWorkload echo',
    'success deleteWorkload echo',
  ]);
  expect(first).toMatchObject({
    component: 'toolhive-api',
    source: { type: 'network', value: '127.0.0.1' },
    subjects: { user: expect.stringMatching(/^Local User: /) as string },
    target: { endpoint: '/api/v1beta/workloads', type: 'workloads' },
    workload: 'echo',
  });
});

test('the holder of a token is recorded, and a request without one is denied', async () => {
  const token = 'a-token-of-sufficient-length';
  await using api = await openTestApi({}, { access: openAccess({ token }) });
  await api.get('/api/v1beta/workloads');

  await api.send(
    'POST',
    '/api/v1beta/groups',
    { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    JSON.stringify({ name: 'g' }),
  );

  const records = await api.core.audit.list({});
  expect(
    records.map(({ record: { outcome, subjects, target } }) => [
      outcome,
      subjects['user_id'],
      target?.['method'],
    ]),
  ).toEqual([
    ['denied', undefined, 'GET'],
    ['success', 'token', 'createGroup'],
  ]);
  expect(JSON.stringify(records)).not.toContain(token);
});

test('a secret is recorded by its name, whenever it is stored or given to a server', async () => {
  const value = 'canary-value-0815';
  await using api = await openTestApi();
  await api.client.setupSecrets({ body: { provider_type: 'encrypted', password: 'a long password' } });
  await api.client.createSecret({ body: { key: 'TOKEN', value } });
  await api.client.createWorkload(
    {
      body: {
        name: 'w',
        image: testServer,
        cmd_arguments: ['echo'],
        secrets: [{ name: 'TOKEN', target: 'T' }],
        audit_config: { include_request_data: true, max_data_size: 10_000 },
      },
    },
    follow,
  );
  const { port } = await api.client.exportWorkload(named('w'));

  await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'user-agent': value,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: value, version: Buffer.from(value).toString('base64') },
      },
    }),
  });

  await expect.poll(async () => (await recordsOf(api, { type: 'mcp_initialize' })).length).toBe(1);
  const records = await recordsOf(api);
  const about = records.map(({ type, target }) => `${type} ${target?.['name'] ?? ''}`.trim());
  expect(about).toContain('api_call TOKEN');
  expect(about).toContain('secret_access TOKEN');
  const text = JSON.stringify(records) + (await readFile(api.core.paths.auditFile, 'utf8'));
  expect(text).not.toContain(value);
  expect(text).not.toContain(Buffer.from(value).toString('base64').slice(0, -4));
});

test('secrets of a remote server and of token introspection are recorded as accessed, without their values', async () => {
  await using remote = await openRemoteServer('modern');
  await using api = await openTestApi();
  const value = 'a-client-secret-of-a-test';
  await api.client.setupSecrets({ body: { provider_type: 'encrypted', password: 'a long password' } });
  await api.client.createSecret({ body: { key: 'HEADER', value } });

  await api.client.createWorkload(
    {
      body: {
        name: 'far',
        url: remote.url,
        headers: [
          { name: 'X-Key', description: '', required: true, secret: true, default: 'HEADER,target=X-Key' },
        ],
        oidc: {
          issuer: 'https://issuer.example',
          audience: 'far',
          introspection_url: 'https://issuer.example/introspect',
          client_id: 'us',
          client_secret: value,
        },
      },
    },
    follow,
  );

  const accesses = await recordsOf(api, { type: 'secret_access' });
  const names = accesses.map(({ target }) => target?.['name']);
  expect(new Set(names)).toEqual(new Set(['HEADER', 'OIDC_CLIENT_SECRET_far']));
  expect(JSON.stringify(await recordsOf(api))).not.toContain(value);
});

test('a watcher that never reads costs nothing, and others are told', async () => {
  await using api = await openTestApi();
  const stop = new AbortController();
  await api.client.watchAudit({ query: {}, headers: {} }, { signal: stop.signal });
  const events = await api.client.watchAudit(
    { query: { type: 'api_call' }, headers: {} },
    { signal: stop.signal },
  );

  await api.client.createGroup({ body: { name: 'g' } });

  for await (const { event } of events) {
    expect(event.record.target).toMatchObject({ method: 'createGroup', name: 'g' });
    break;
  }
  stop.abort();
});

test('an audit configuration that would record nothing useful is refused', async () => {
  await using api = await openTestApi();
  const attempt = (audit_config: object) =>
    api.client.createWorkload({ body: { image: testServer, cmd_arguments: ['echo'], audit_config } }, follow);

  await expect(attempt({ event_types: ['mcp_tool'] })).rejects.toThrow('unknown audit event type "mcp_tool"');
  await expect(attempt({ exclude_event_types: ['sse_connection'] })).rejects.toThrow('sse_connection');
  await expect(attempt({ log_file: 'relative.log' })).rejects.toThrow('absolute');
  for (const name of ['.bash_profile', '.ssh/rc', 'script.sh', '.log', 'cron.d/job'])
    await expect(attempt({ log_file: `/home/ada/${name}` })).rejects.toThrow('name of a log file');
  await expect(attempt({ max_data_size: -1 })).rejects.toMatchObject({ kind: 'invalid' });
});

test('a workload whose audit log cannot be written does not start', async () => {
  await using api = await openTestApi();
  const file = `${api.home}/.profile`;

  const created = api.client.createWorkload(
    {
      body: {
        name: 'w',
        image: testServer,
        cmd_arguments: ['echo'],
        audit_config: { log_file: `${file}/x.log` },
      },
    },
    follow,
  );

  await expect(created).rejects.toThrow(`cannot write the audit log ${file}/x`);
});

test('the verification names what was changed', async () => {
  await using api = await openTestApi();
  await api.client.createGroup({ body: { name: 'g' } });

  const { intact, chains } = await api.client.verifyAudit({});

  expect(intact).toBe(true);
  expect(chains).toEqual([{ place: api.core.paths.audit, records: 1 }]);
});
