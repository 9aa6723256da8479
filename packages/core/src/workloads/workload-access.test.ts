import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { testServer } from '../testing/test-core.ts';
import { openIdProvider } from '@toolhive/access/testing/openid-provider';
import type { OpenIdProvider } from '@toolhive/access/testing/openid-provider';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { testPort } from '@toolhive/testing/port';
import { describe, expect, test } from 'vitest';
import { openTestApi } from '@toolhive/api/testing';
import type { TestApi } from '@toolhive/api/testing';

// Who may use a workload, and for what, from the request to the proxy.

const named = { params: { name: 'echo' } };
const policy = 'permit(principal == Client::"ada", action == Action::"call_tool", resource == Tool::"echo");';
const policies = { version: '1.0', type: 'cedarv1', cedar: { policies: [policy] } };

describe('a workload that authenticates its callers', () => {
  test('answers only those with a token of its provider that is meant for it', async () => {
    await using provider = await openIdProvider();
    await using api = await openTestApi();
    const url = await run(api, { oidc: oidcOf(provider) });
    const token = await tokenOf(provider, 'ada');

    const without = await call(url, 'echo');
    const wrong = await call(
      url,
      'echo',
      await provider.sign({ iss: provider.issuer, aud: 'other', sub: 'ada' }, '5m'),
    );
    const right = await call(url, 'echo', token);

    expect([without.status, wrong.status, right.status]).toEqual([401, 401, 200]);
    const metadata =
      /resource_metadata="([^"]+)"/.exec(without.headers.get('www-authenticate') ?? '')?.[1] ?? '';
    expect(await (await fetch(metadata)).json()).toMatchObject({
      resource: url,
      authorization_servers: [provider.issuer],
    });
  });

  test('keeps the secret of its client among the secrets, and takes its description back', async () => {
    await using provider = await openIdProvider();
    await using api = await openTestApi();
    const secret = 'the secret of the client';
    await api.client.setupSecrets({ body: { provider_type: 'encrypted', password: 'a password' } });
    const url = await run(api, { oidc: { ...oidcOf(provider), client_id: 'thv', client_secret: secret } });

    const described = await api.client.getWorkload(named);
    const exported = await api.client.exportWorkload(named);
    await api.client.editWorkload({ ...named, body: described });
    await settled(api);

    expect(JSON.stringify([described, exported])).not.toContain(secret);
    expect(described.oidc).toMatchObject({
      issuer: provider.issuer,
      client_secret: 'OIDC_CLIENT_SECRET_echo,target=oidc_secret',
    });
    expect(exported.oidc_config).toMatchObject({ Issuer: provider.issuer, ClientID: 'thv' });
    expect((await call(url, 'echo')).status).toBe(401);
    expect((await call(url, 'echo', 'opaque-good')).status).toBe(200);
  });

  test('cannot be imported with a file whose contents it would send to a host', async () => {
    await using provider = await openIdProvider();
    await using api = await openTestApi();
    const file = join(api.home, 'token');
    await writeFile(file, 'the token of somebody');
    await run(api, { oidc: { ...oidcOf(provider), auth_token_file: file } });
    const exported = await api.client.exportWorkload(named);

    await api.client.editWorkload({ ...named, body: exported }); // its own
    const other = api.client.createWorkload({
      body: { ...exported, name: 'other', port: await testPort() },
    });
    const moved = api.client.editWorkload({
      ...named,
      body: {
        ...exported,
        jwks_auth_token_file: join(api.home, 'other'),
        oidc_config: { ...exported.oidc_config, AuthTokenFile: '' },
      },
    });

    await expect(other).rejects.toThrow(/cannot make ToolHive read the token file/);
    await expect(moved).rejects.toThrow(/cannot make ToolHive read the token file/);
  });

  test('may be reached from other machines', async () => {
    await using provider = await openIdProvider();
    await using api = await openTestApi();

    const url = await run(api, { oidc: oidcOf(provider), host: '0.0.0.0' });

    expect((await call(url, 'echo')).status).toBe(401);
  });

  test('does not start when its secret is gone', async () => {
    await using provider = await openIdProvider();
    await using api = await openTestApi();
    await api.client.setupSecrets({ body: { provider_type: 'encrypted', password: 'a password' } });
    const url = await run(api, { oidc: { ...oidcOf(provider), client_secret: 'secret' } });
    await api.client.deleteSecret({ params: { key: 'OIDC_CLIENT_SECRET_echo' } });

    await api.client.restartWorkload(named).catch(() => {});
    await expect
      .poll(async () => (await api.client.getWorkloadStatus(named)).status, { timeout: 20_000 })
      .not.toBe('running');

    await expect(call(url, 'echo', await tokenOf(provider, 'ada'))).rejects.toThrow();
  });

  test.each<[string, CreateWorkload['oidc'], RegExp]>([
    ['no audience', { issuer: 'https://id.example' }, /an audience is required/],
    ['no issuer', { audience: 'x' }, /the token issuer is missing/],
    ['plain http', { issuer: 'http://id.example', audience: 'x' }, /is not https/],
    ['a missing file', { issuer: 'https://id.example', audience: 'x', ca_bundle: '/nowhere' }, /\/nowhere/],
    ['a resource that is no URL', { issuer: 'https://id.example', resource_url: 'mcp"' }, /resource_url/],
  ])('is refused with %s', async (_what, oidc, message) => {
    await using api = await openTestApi();

    await expect(run(api, { oidc })).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(message),
    });
    expect(api.core.workloads.all()).toEqual([]);
  });
});

describe('a workload with policies', () => {
  test('lets callers do what they allow, and shows them nothing else', async () => {
    await using provider = await openIdProvider();
    await using api = await openTestApi();
    const url = await run(api, { oidc: oidcOf(provider), authz_config: JSON.stringify(policies) });
    const [ada, eve] = [await tokenOf(provider, 'ada'), await tokenOf(provider, 'eve')];

    const calls = [
      await call(url, 'echo', ada),
      await call(url, 'instance', ada),
      await call(url, 'echo', eve),
    ];
    const lists = [await toolsOf(url, ada), await toolsOf(url, eve)];

    expect(calls.map(({ status }) => status)).toEqual([200, 200, 200]);
    const codes = await Promise.all(
      calls.map(async (answer) => ((await answer.json()) as { error?: { code: number } }).error?.code),
    );
    expect(codes).toEqual([undefined, 403, 403]);
    expect(lists).toEqual([['echo'], []]);
  });

  test('reads them from a file, keeps them, and takes its description back', async () => {
    await using api = await openTestApi();
    const file = join(api.home, 'policies.yaml');
    await writeFile(file, `version: "1.0"\ntype: cedarv1\ncedar:\n  policies:\n    - '${policy}'\n`);
    await run(api, { authz_config: file });
    await writeFile(file, 'nothing');

    const described = await api.client.getWorkload(named);
    await api.client.editWorkload({ ...named, body: described });

    expect(JSON.parse(described.authz_config ?? '')).toEqual(policies);
    expect((await api.client.exportWorkload(named)).authz_config).toEqual(policies);
  });

  test('says which policy decides', async () => {
    await using api = await openTestApi();
    await run(api, { authz_config: JSON.stringify(policies) });
    const check = (body: { principal: string; tool?: string; prompt?: string }) =>
      api.client.checkAuthorization({ ...named, body });

    expect(await check({ principal: 'ada', tool: 'echo' })).toEqual({
      allowed: true,
      policies: [{ id: 'policy0', policy }],
      errors: [],
      warnings: [],
    });
    expect(await check({ principal: 'eve', tool: 'echo' })).toEqual({
      allowed: false,
      policies: [],
      errors: [],
      warnings: [],
    });
    await expect(check({ principal: 'ada' })).rejects.toMatchObject({ kind: 'invalid' });
    await expect(check({ principal: 'ada', tool: 'a', prompt: 'b' })).rejects.toMatchObject({
      kind: 'invalid',
    });
  });

  test.each<[string, string, RegExp]>([
    [
      'that cannot be read',
      '{"version":"1.0","type":"cedarv1","cedar":{"policies":["permit("]}}',
      /policy0, line 1, column 8/,
    ],
    ['without a type', '{"version":"1.0","cedar":{"policies":["x"]}}', /has no type/],
    ['that are no JSON', '{', /is not JSON/],
    ['in a missing file', '/nowhere/policies.json', /cannot be read/],
    ['in a file of another directory', 'policies.json', /is not the absolute path/],
    ['in a device', '/dev/zero', /is not a file/],
  ])('is refused with policies %s', async (_what, authz_config, message) => {
    await using api = await openTestApi();

    await expect(run(api, { authz_config })).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(message),
    });
  });

  test('without any is told that there are none', async () => {
    await using api = await openTestApi();
    await run(api, {});

    const check = api.client.checkAuthorization({ ...named, body: { principal: 'ada', tool: 'echo' } });

    await expect(check).rejects.toMatchObject({ kind: 'conflict' });
  });
});

const oidcOf = ({ issuer }: OpenIdProvider) => ({ issuer, audience: 'toolhive' });

const tokenOf = (provider: OpenIdProvider, sub: string): Promise<string> =>
  provider.sign({ iss: provider.issuer, aud: 'toolhive', sub }, '5m');

/** Runs the test server and returns its URL. */
async function run(api: TestApi, changes: CreateWorkload): Promise<string> {
  const { port } = await api.client.createWorkload(
    { body: { name: 'echo', image: testServer, cmd_arguments: ['echo'], ...changes } },
    { onProgress: () => {} },
  );
  await settled(api);
  return `http://127.0.0.1:${port}/mcp`;
}

async function settled(api: TestApi): Promise<void> {
  await api.core.workloads.require('echo').follow(() => {});
}

const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

function post(url: string, message: object, token?: string): Promise<Response> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return fetch(url, {
    method: 'POST',
    headers: { ...headers, ...authorization },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  });
}

const call = (url: string, name: string, token?: string): Promise<Response> =>
  post(url, { method: 'tools/call', params: { name, arguments: { message: 'hello' } } }, token);

async function toolsOf(url: string, token: string): Promise<string[]> {
  const answer = await post(url, { method: 'tools/list' }, token);
  const { result } = (await answer.json()) as { result: { tools: { name: string }[] } };
  return result.tools.map(({ name }) => name);
}
