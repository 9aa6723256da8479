import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openIdProvider } from '@toolhive/access/testing/openid-provider';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { officialClients } from './testing/mcp.ts';
import { makeUser, testServer } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

// Who may use a workload, and for what, on the command line.

describe('a workload with policies', () => {
  let user: User;

  beforeAll(async () => {
    user = await openUsedHomes().take();
    await writeFile(
      join(user.home, 'policies.json'),
      JSON.stringify({
        version: '1.0',
        type: 'cedarv1',
        cedar: { policies: ['permit(principal, action == Action::"call_tool", resource == Tool::"echo");'] },
      }),
    );
    await user.mustThv(
      'run',
      testServer,
      '--name',
      'governed',
      '--authz-config',
      join(user.home, 'policies.json'),
      '--',
      'echo',
    );
  });
  afterAll(() => user?.[Symbol.asyncDispose]());

  test('shows and answers only what they allow', async () => {
    const { tools } = JSON.parse(
      await user.mustThv('mcp', 'list', 'tools', '--server', 'governed', '--format', 'json'),
    ) as { tools: { name: string }[] };
    const allowed = await user.thv('mcp', 'call', 'governed', 'echo', 'message=hello');
    const denied = await user.thv('mcp', 'call', 'governed', 'environment');

    expect(tools.map(({ name }) => name)).toEqual(['echo']);
    expect([allowed.code, allowed.stdout]).toEqual([0, 'hello\n']);
    expect(denied.code).not.toBe(0);
  });

  test.each(Object.entries(officialClients))(
    'tells the %s why, and its session continues',
    async (_name, connect) => {
      const listed = await user.mustThv('list', '--format', 'json');
      const [workload] = JSON.parse(listed) as { url: string }[];
      await using client = await connect(workload?.url ?? '');

      const denied = client.call('environment');

      await expect(denied).rejects.toThrow('no policy allows call_tool "environment"');
      expect((await client.call('echo', { message: 'still here' })).text).toBe('still here');
    },
  );

  test('explains a decision, with an exit code for scripts', async () => {
    const allowed = await user.thv('authz', 'check', 'governed', '--principal', 'ada', '--tool', 'echo');
    const denied = await user.thv('authz', 'check', 'governed', '--principal', 'ada', '--tool', 'read');

    expect([allowed.code, allowed.stdout]).toEqual([
      0,
      'allowed\npolicy0: permit(principal, action == Action::"call_tool", resource == Tool::"echo");\n',
    ]);
    expect([denied.code, denied.stdout]).toEqual([1, 'denied\nNo policy allows the request.\n']);
  });

  test('is not created with a mistake in its policies, which is named', async () => {
    await writeFile(
      join(user.home, 'mistake.yaml'),
      'version: "1.0"\ntype: cedarv1\ncedar:\n  policies:\n    - permit(principal, action == Action::"call", resource);\n',
    );

    const { code, stderr } = await user.thv(
      'run',
      testServer,
      '--name',
      'mistaken',
      '--authz-config',
      join(user.home, 'mistake.yaml'),
    );

    expect(code).toBe(2);
    expect(stderr).toContain('policy0, line 1, column 29: unrecognized action `Action::"call"`');
  });
});

test('a workload with a provider is used with its tokens only, and says so', async () => {
  await using user = await makeUser();
  await using provider = await openIdProvider();
  const words = ['--oidc-issuer', provider.issuer, '--oidc-audience', 'toolhive', '--oidc-scopes', 'mcp'];
  const ran = await user.mustThv('run', testServer, '--name', 'protected', ...words, '--', 'echo');
  const url = /protected runs at (http:\S+)/.exec(ran)?.[1] ?? '';
  const list = (token: string): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${token}`,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    });
  const claims = { iss: provider.issuer, aud: 'toolhive', sub: 'ada' };

  const poor = await list(await provider.sign(claims, '5m'));
  const good = await list(await provider.sign({ ...claims, scope: 'openid mcp' }, '5m'));
  const none = await list('nothing');

  expect([none.status, poor.status, good.status]).toEqual([401, 403, 200]);
  expect(poor.headers.get('www-authenticate')).toContain('error="insufficient_scope", scope="mcp"');
});
