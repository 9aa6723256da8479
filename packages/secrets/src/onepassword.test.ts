import { Socket } from 'node:net';
import { inspect } from 'node:util';
import type { Item, ItemOverview, VaultOverview } from '@1password/sdk';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { onePasswordSecrets } from './onepassword.ts';
import type { OnePasswordClient } from './onepassword.ts';

const token = 'ops_canary-token';
const env = { OP_SERVICE_ACCOUNT_TOKEN: token };

type Connect = (token: string, version: string) => Promise<OnePasswordClient>;

/** 1Password as its own types describe it, with one vault, one item and two fields. */
function fakeClient(changes: { resolve?: OnePasswordClient['secrets']['resolve'] } = {}): OnePasswordClient {
  const vault = { id: 'v1', title: 'Work' } as VaultOverview;
  const item = { id: 'i1', title: 'GitHub' } as ItemOverview;
  const fields = [
    { id: 'f1', title: 'username', value: 'canary-value' },
    { id: 'f2', title: 'token', value: 'canary-value' },
  ] as Item['fields'];
  return {
    secrets: { resolve: changes.resolve ?? (async (reference) => `value of ${reference}`) },
    vaults: { list: async () => [vault] },
    items: { list: async () => [item], get: async () => ({ ...item, fields }) as unknown as Item },
  };
}

const failingWith = (message: string) => ({
  resolve: (): Promise<string> => Promise.reject(new Error(`${message} ${token}`)),
});

describe('secrets in 1Password', () => {
  test('are read by their references', async () => {
    const secrets = onePasswordSecrets({ env, version: 'v1', connect: async () => fakeClient() });

    expect(await secrets.get('op://Work/GitHub/token')).toBe('value of op://Work/GitHub/token');
    expect(await secrets.get('github-token')).toBeUndefined();
  });

  test('are listed by their ids, with their titles and without their values', async () => {
    const secrets = onePasswordSecrets({ env, version: 'v1', connect: async () => fakeClient() });

    expect(await secrets.list()).toEqual([
      { key: 'op://v1/i1/f1', description: 'Work :: GitHub :: username' },
      { key: 'op://v1/i1/f2', description: 'Work :: GitHub :: token' },
    ]);
  });

  test('are asked for through one client', async () => {
    const connect = vi.fn<Connect>(async () => fakeClient());
    const secrets = onePasswordSecrets({ env, version: 'v1', connect });

    await Promise.all([secrets.list(), secrets.get('op://a/b/c'), secrets.list()]);

    expect(connect).toHaveBeenCalledExactlyOnceWith(token, 'v1');
  });

  test('are asked for again after a client could not be made', async () => {
    let attempts = 0;
    const connect = async (): Promise<OnePasswordClient> => {
      if (attempts++ === 0) throw new Error('error sending request');
      return fakeClient();
    };
    const secrets = onePasswordSecrets({ env, version: 'v1', connect });

    await expect(secrets.list()).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await secrets.list()).toHaveLength(2);
  });

  test.each([
    'error resolving secret reference: no vault matched the secret reference query',
    'error resolving secret reference: no item matched the secret reference query',
    'the specified field cannot be found within the item',
  ])('do not exist when it says: %s', async (message) => {
    const connect = async () => fakeClient(failingWith(message));

    expect(await onePasswordSecrets({ env, version: 'v1', connect }).get('op://a/b/c')).toBeUndefined();
  });

  test.each([
    ['rate limit exceeded', 'unavailable'],
    ['you are not authenticated', 'forbidden'],
    ["you don't have the right permissions to access this resource", 'forbidden'],
    ['more than one item matched the secret reference query', 'conflict'],
    ['the secret reference could not be parsed: invalid', 'invalid'],
    ['bad service account token, please rotate it: ', 'unavailable'],
    ['something unknown', 'unavailable'],
  ])('fail without their token when it says: %s', async (message, kind) => {
    const connect = async () => fakeClient(failingWith(message));

    const failure = await onePasswordSecrets({ env, version: 'v1', connect })
      .get('op://a/b/c')
      .catch((error: unknown) => error);

    expect(failure).toMatchObject({ kind });
    expect(inspect(failure)).not.toContain('canary');
  });

  test('wait with a time limit', async () => {
    const connect = () => new Promise<never>(() => {});
    const limits = { startMs: 20, callMs: 20 };

    const listing = onePasswordSecrets({ env, version: 'v1', connect, limits }).list();

    await expect(listing).rejects.toMatchObject({ kind: 'timeout' });
  });
});

describe('the client of 1Password itself', () => {
  afterEach(() => vi.restoreAllMocks());

  test('is not even loaded without a token', async () => {
    const connect = vi.fn<Connect>(async () => fakeClient());

    const listing = onePasswordSecrets({ env: {}, version: 'v1', connect }).list();

    await expect(listing).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'OP_SERVICE_ACCOUNT_TOKEN is not set',
    });
    expect(connect).not.toHaveBeenCalled();
  });

  test.each(['canary', 'ops_canary', `ops_${Buffer.from('{"canary":1}').toString('base64url')}`])(
    'refuses %s without asking anybody',
    async (malformed) => {
      const refuse = () => {
        throw new Error('a test went to the network');
      };
      const sockets = vi.spyOn(Socket.prototype, 'connect').mockImplementation(refuse);
      const fetches = vi.spyOn(globalThis, 'fetch').mockImplementation(refuse);

      const failure = await onePasswordSecrets({
        env: { OP_SERVICE_ACCOUNT_TOKEN: malformed },
        version: 'v1',
      })
        .list()
        .catch((error: unknown) => error);

      expect(failure).toMatchObject({ message: 'OP_SERVICE_ACCOUNT_TOKEN does not contain a valid token' });
      expect(sockets).not.toHaveBeenCalled();
      expect(fetches).not.toHaveBeenCalled();
    },
  );
});
