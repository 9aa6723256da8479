import { unauthorized, unavailable } from '@toolhive/contract/failure';
import { expect, test } from 'vitest';
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

test('tells a caller when it is no fault of theirs that they are not let in', async () => {
  await using proxy = await openTestProxy({ access: { check } });
  await proxy.connect();

  const lost = await fetch(`${proxy.url}/mcp`, { headers: { authorization: 'Bearer lost' } });
  const bug = await fetch(`${proxy.url}/mcp`, { headers: { authorization: 'Bearer bug' } });

  expect([lost.status, bug.status]).toEqual([503, 500]);
  expect(await bug.text()).toBe('internal server error\n');
  expect(proxy.faults).toEqual([expect.objectContaining({ message: 'a bug' })]);
});

test('says where to get a token, to everybody', async () => {
  await using proxy = await openTestProxy({ access: { check, resource } });
  const metadataPath = '/.well-known/oauth-protected-resource/mcp';

  const refused = await fetch(`${proxy.url}/health`);
  const described = await fetch(`${proxy.url}${metadataPath}`);

  expect(refused.headers.get('www-authenticate')).toBe(
    `Bearer realm="toolhive", resource_metadata="https://mcp.example${metadataPath}"`,
  );
  expect(await described.json()).toEqual({ ...resource, bearer_methods_supported: ['header'] });
});

test('says nothing of tokens where nothing is known of them', async () => {
  await using proxy = await openTestProxy({ access: { check } });

  const described = await fetch(`${proxy.url}/.well-known/oauth-protected-resource`);

  expect(described.status).toBe(404);
});
