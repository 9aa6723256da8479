import { unauthorized, unavailable } from '@toolhive/contract/failure';
import { describe, expect, test } from 'vitest';
import { RawSession, openTestProxy } from '../testing/test-proxy.ts';
import type { Principal } from './middleware.ts';

const bearer = { authorization: 'Bearer good' };
const resource = {
  resource: 'https://mcp.example/mcp',
  authorization_servers: ['https://id.example'],
};

async function check(authorization: string | undefined): Promise<Principal> {
  if (authorization === 'Bearer lost') throw unavailable('the issuer cannot be asked');
  if (authorization === 'Bearer bug') throw new Error('a bug');
  if (authorization !== 'Bearer good') throw unauthorized('nobody knows you');
  return { id: 'good' };
}

test('lets only those use a server who have shown who they are', async () => {
  await using proxy = await openTestProxy({ access: { check } });
  await proxy.connect();
  const session = new RawSession(proxy.url);
  const list = { id: 1, method: 'tools/list' };

  const without = await session.post(list);
  const wrong = await session.post(list, { authorization: 'Bearer bad' });
  const right = await session.post(list, bearer);

  expect([without.status, wrong.status, right.status]).toEqual([401, 401, 200]);
  expect(await without.text()).toBe('nobody knows you\n');
  expect(without.headers.get('www-authenticate')).toBe('Bearer realm="toolhive"');
  expect(wrong.headers.get('www-authenticate')).toBe('Bearer realm="toolhive", error="invalid_token"');
});

test('tells a refused caller when the caller is not at fault', async () => {
  await using proxy = await openTestProxy({ access: { check } });
  await proxy.connect();

  const lost = await fetch(`${proxy.url}/mcp`, { headers: { authorization: 'Bearer lost' } });
  const bug = await fetch(`${proxy.url}/mcp`, { headers: { authorization: 'Bearer bug' } });

  expect([lost.status, bug.status]).toEqual([503, 500]);
  expect(await bug.text()).toBe('internal server error\n');
  expect(proxy.faults).toEqual([expect.objectContaining({ message: 'a bug' })]);
});

test('a known caller is admitted at once, until the check refuses or fails', async () => {
  let answer = (): Principal => ({ id: 'ada' });
  await using proxy = await openTestProxy({ access: { check: () => answer() } });
  await proxy.connect();
  const session = new RawSession(proxy.url);
  const list = { id: 1, method: 'tools/list' };

  const known = await session.post(list);
  answer = () => {
    throw unauthorized('the token has expired');
  };
  const expired = await session.post(list);
  answer = () => {
    throw new Error('a bug');
  };
  const bug = await session.post(list);

  expect([known.status, expired.status, bug.status]).toEqual([200, 401, 500]);
  expect([await expired.text(), await bug.text()]).toEqual([
    'the token has expired\n',
    'internal server error\n',
  ]);
  expect(proxy.faults).toEqual([expect.objectContaining({ message: 'a bug' })]);
});

test('says where to get a token, to all callers', async () => {
  await using proxy = await openTestProxy({ access: { check, resource } });
  const metadataPath = '/.well-known/oauth-protected-resource/mcp';

  const refused = await fetch(`${proxy.url}/health`);
  const described = await fetch(`${proxy.url}${metadataPath}`);

  expect(refused.headers.get('www-authenticate')).toBe(
    `Bearer realm="https://id.example", resource_metadata="https://mcp.example${metadataPath}"`,
  );
  expect(await described.json()).toEqual({
    ...resource,
    bearer_methods_supported: ['header'],
    scopes_supported: ['openid'],
  });
});

test('names the resource as clients see it, also behind a reverse proxy that is trusted', async () => {
  const about = { authorization_servers: ['https://id.example'] };
  const forwarded = {
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'mcp.example',
    'x-forwarded-prefix': '/a',
  };
  const resourceAt = async (trustProxyHeaders: boolean, path: string): Promise<unknown> => {
    await using proxy = await openTestProxy({ access: { check, resource: about }, trustProxyHeaders });
    const answer = await fetch(`${proxy.url}/.well-known/oauth-protected-resource${path}`, {
      headers: forwarded,
    });
    if (answer.status !== 200) return answer.status;
    const { resource: named } = (await answer.json()) as { resource: string };
    return named.replace(new URL(proxy.url).host, 'HOST');
  };

  expect(await resourceAt(false, '/mcp')).toBe('http://HOST/mcp');
  expect(await resourceAt(true, '/mcp')).toBe('https://mcp.example/a/mcp');
  expect(await resourceAt(true, '/elsewhere')).toBe(404);
});

test('ignores headers of a reverse proxy that could end a header or a URL', async () => {
  const about = { authorization_servers: ['https://id.example'] };
  await using proxy = await openTestProxy({ access: { check, resource: about }, trustProxyHeaders: true });

  const answer = await fetch(`${proxy.url}/mcp`, {
    headers: { 'x-forwarded-host': 'evil.example", error="x', 'x-forwarded-prefix': '/a"b' },
  });

  expect(answer.headers.get('www-authenticate')).not.toContain('evil');
  expect(answer.headers.get('www-authenticate')).not.toContain('a"b');
});

describe('scopes', () => {
  const scoped = {
    resource,
    scopes: ['mcp'],
    toolScopes: { count: ['danger'] },
    check: async (authorization?: string): Promise<Principal> => ({
      id: 'ada',
      claims: { scope: authorization?.replace('Bearer ', '').replaceAll('+', ' ') },
    }),
  };

  test('that a token lacks are named, with the status 403', async () => {
    await using proxy = await openTestProxy({ access: scoped });
    await proxy.connect();

    const answer = await fetch(`${proxy.url}/mcp`, { headers: { authorization: 'Bearer other' } });

    expect(answer.status).toBe(403);
    expect(answer.headers.get('www-authenticate')).toBe(
      'Bearer error="insufficient_scope", scope="mcp", resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp"',
    );
  });

  test('that a tool needs are asked for when it is called, and the next token has them', async () => {
    await using proxy = await openTestProxy({ access: scoped });
    await proxy.connect();
    const session = new RawSession(proxy.url);
    const call = (name: string, scope: string): Promise<Response> =>
      session.post(
        { id: 1, method: 'tools/call', params: { name, arguments: {} } },
        { authorization: `Bearer ${scope}` },
      );

    const echo = await call('echo', 'mcp');
    const refused = await call('count', 'mcp');
    const granted = await call('count', 'mcp+danger');

    expect([echo.status, refused.status, granted.status]).toEqual([200, 403, 200]);
    expect(refused.headers.get('www-authenticate')).toContain(
      'error="insufficient_scope", scope="mcp danger"',
    );
    expect(await refused.json()).toMatchObject({ id: 1, error: { data: { scopes: ['mcp', 'danger'] } } });
  });
});

test('a session uses the claims of the latest token', async () => {
  const seen: unknown[] = [];
  const authorizer = {
    isAllowed({ principal }: { principal: Principal }): boolean {
      seen.push(principal.claims?.['level']);
      return true;
    },
  };
  const access = {
    check: async (authorization?: string): Promise<Principal> => ({
      id: 'ada',
      claims: { level: authorization },
    }),
  };
  await using proxy = await openTestProxy({ access, authorizer });
  await proxy.connect();
  const session = new RawSession(proxy.url);
  const begun = await session.post(
    {
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    },
    { authorization: 'first' },
  );
  session.id = begun.headers.get('mcp-session-id') ?? '';

  await session.post({ id: 1, method: 'tools/call', params: { name: 'echo' } }, { authorization: 'second' });

  expect(seen).toEqual(['second']);
});

test('says nothing of tokens where nothing is known of them', async () => {
  await using proxy = await openTestProxy({ access: { check } });

  const described = await fetch(`${proxy.url}/.well-known/oauth-protected-resource`);

  expect(described.status).toBe(404);
});
