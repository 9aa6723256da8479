import { exportJWK } from 'jose';
import type { JWTPayload } from 'jose';
import { describe, expect, test } from 'vitest';
import { openIdProvider } from './testing/openid-provider.ts';
import { rsaKeys } from './testing/rsa-keys.ts';
import type { OpenIdProvider } from './testing/openid-provider.ts';
import { openAccess } from './access.ts';
import type { Access, OidcOptions } from './access.ts';
import type { Principal } from '@toolhive/proxy/principal';
import { proves } from '@toolhive/testing/promises';

describe('a fixed token', () => {
  test.each(['short', 'with a blank in the middle of it'])('is refused when it is %s', (poor) => {
    expect(() => openAccess({ token: poor })).toThrow(/a token has at least 16/);
  });

  test('is none when nothing is asked for', () => {
    expect(openAccess({})).toBeUndefined();
  });
});

describe('an OpenID provider', () => {
  test('has its valid tokens accepted', async () => {
    await using provider = await openIdProvider();
    const { issuer } = provider;
    const token = await provider.sign({ iss: issuer, aud: ['other', 'toolhive'], sub: 'ada' }, '5m');

    await expect(accessOf(provider)(`Bearer ${token}`)).resolves.toMatchObject({
      id: JSON.stringify([issuer, 'ada']),
      claims: { sub: 'ada' },
    });
  });

  test('looks up tokens that say nothing by themselves', async () => {
    await using provider = await openIdProvider();
    const access = accessOf(provider);

    await expect(access('Bearer opaque-good')).resolves.toMatchObject({ claims: { active: true } });
    for (const kind of ['revoked', 'expired', 'other']) {
      await expect(access(`Bearer opaque-${kind}`)).rejects.toMatchObject({ kind: 'unauthorized' });
    }
  });

  test('that wants to look up tokens in the clear is not sent any', async () => {
    await using provider = await openIdProvider();
    provider.introspectionUrl = 'http://id.invalid/introspect';
    // Hosts that the owner has named may be inside, and plain http is fetched from those.
    const access = accessOf(provider, { jwksUrl: 'https://id.invalid/keys' });

    await expect(access('Bearer opaque-good')).rejects.toThrow(/is not https/);
  });

  test('that is down is no fault of the caller, and is asked again some time later', async () => {
    await using provider = await openIdProvider();
    let now = Date.now();
    const access = accessOf(provider, { now: () => now });
    const presented = await provider.sign({ iss: provider.issuer, aud: 'toolhive' }, '5m');
    provider.isDown = true;

    await expect(access(`Bearer ${presented}`)).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(access(`Bearer ${presented}`)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(provider.requests).toBe(1);
    provider.isDown = false;
    now += 10_000;

    await expect(access(`Bearer ${presented}`)).resolves.toHaveProperty('id');
  });

  test.each<[string, OidcOptions, RegExp]>([
    ['no audience', { issuer: 'https://id.example', audience: '' }, /an audience is required/],
    ['no issuer', { audience: 'toolhive' }, /the token issuer is missing/],
    ['plain http', { issuer: 'http://id.example', audience: 'toolhive' }, /is not https/],
    ['no URL', { issuer: 'id.example', audience: 'toolhive' }, /is not a URL/],
  ])('is refused with %s', (_title, oidc, message) => {
    expect(() => openAccess({ oidc })).toThrow(message);
  });
});

describe('attacks on tokens:', () => {
  test.for<[string, (provider: OpenIdProvider, good: JWTPayload) => string | Promise<string>]>([
    ['a token for another audience', (provider, good) => provider.sign({ ...good, aud: 'other' }, '5m')],
    ['a token without an audience', (provider, { iss }) => provider.sign({ iss: String(iss) }, '5m')],
    [
      'a token of another issuer',
      (provider, good) => provider.sign({ ...good, iss: 'https://evil.example' }, '5m'),
    ],
    ['an expired token', (provider, good) => provider.sign(good, '-10m')],
    [
      'a token signed with another key',
      async (provider, good) => provider.sign(good, '5m', (await rsaKeys('nobody')).privateKey),
    ],
    ['an unsigned token (alg: none)', (_provider, good) => unsigned(good)],
    [
      'a token signed with the public key as a secret (key confusion)',
      (provider, good) => provider.signWithPublicKey(good),
    ],
    ['text that is not a token', () => 'a.b.c'],
  ])('%s is refused', async ([, make]) => {
    proves('security.access.tokens');
    await using provider = await openIdProvider();
    const good = { iss: provider.issuer, aud: 'toolhive', sub: 'ada' };

    const token = await make(provider, good);

    await expect(accessOf(provider)(`Bearer ${token}`)).rejects.toMatchObject({ kind: 'unauthorized' });
  });

  test('a token that is not valid yet is refused', async () => {
    await using provider = await openIdProvider();
    const nbf = Math.floor(Date.now() / 1000) + 3600;

    await expect(present(provider, { nbf })).rejects.toMatchObject({ kind: 'unauthorized' });
  });

  test('a token that names a key by a path, a URL, or a key of its own is refused', async () => {
    await using provider = await openIdProvider();
    const own = await rsaKeys('nobody');
    const forged = {
      jwk: await exportJWK(own.publicKey),
      jku: 'https://evil.example/keys',
      x5u: 'https://evil.example',
    };

    for (const header of [
      { kid: '../../etc/passwd' },
      { kid: 'one', ...forged },
      { kid: "' OR 1=1 --", ...forged },
    ]) {
      const token = await provider.signWithHeader(claimsOf(provider), header, own.privateKey);
      await expect(accessOf(provider)(`Bearer ${token}`)).rejects.toMatchObject({ kind: 'unauthorized' });
    }
    expect(provider.requests).toBeLessThan(10);
  });

  test('a token with unknown critical extensions is refused', async () => {
    await using provider = await openIdProvider();
    const token = unsigned(claimsOf(provider)).replace(
      /^[^.]+/,
      encoded({ alg: 'RS256', kid: 'one', crit: ['x'], x: 1 }),
    );

    await expect(accessOf(provider)(`Bearer ${token}x`)).rejects.toMatchObject({ kind: 'unauthorized' });
  });

  test('a key set that is too large is not read', async () => {
    await using provider = await openIdProvider();
    provider.padding = 'x'.repeat(300_000);

    await expect(present(provider)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('a key set with several keys of the same name accepts no token', async () => {
    await using provider = await openIdProvider();
    provider.hasDuplicateKeys = true;

    await expect(present(provider)).rejects.toMatchObject({ kind: 'unauthorized' });
  });

  test('many tokens with unknown keys cause few requests', async () => {
    await using provider = await openIdProvider();
    const access = accessOf(provider);
    const strangers = Array.from({ length: 50 }, (_, index) =>
      provider.signWithHeader(claimsOf(provider), { kid: `stranger ${index}` }),
    );

    for (const token of strangers) await access(`Bearer ${await token}`).catch(() => {});

    expect(provider.requests).toBeLessThanOrEqual(3);
  });

  test('a token that was accepted once is refused when it has expired', async () => {
    await using provider = await openIdProvider();
    let now = Date.now();
    const access = accessOf(provider, { now: () => now });
    const token = await provider.sign(claimsOf(provider), '1m');

    await access(`Bearer ${token}`);
    now += 2 * 60_000;

    await expect(access(`Bearer ${token}`)).rejects.toThrow('the token has expired');
  });

  test('a token that was accepted a short time ago is accepted at once', async () => {
    await using provider = await openIdProvider();
    let now = Date.now();
    const access = rawAccessOf(provider, { now: () => now });
    const token = await provider.sign(claimsOf(provider), '5m');

    const first = await access(`Bearer ${token}`);
    expect(access(`Bearer ${token}`)).toBe(first);
    now += 31_000; // a withdrawn key is noticed
    expect(access(`Bearer ${token}`)).toBeInstanceOf(Promise);
  });

  test('a token is checked again when the clock was set back', async () => {
    await using provider = await openIdProvider();
    let now = Date.now();
    const access = rawAccessOf(provider, { now: () => now });
    const connection = {};
    const token = await provider.sign(claimsOf(provider), '5m');

    const first = await access(`Bearer ${token}`, connection);
    expect(access(`Bearer ${token}`, connection)).toBe(first);
    now -= 1_000;

    expect(access(`Bearer ${token}`, connection)).toBeInstanceOf(Promise);
    expect(access(`Bearer ${token}`)).toBeInstanceOf(Promise);
  });

  test('a header that a connection repeats is accepted only as long as its token, and only unchanged', async () => {
    await using provider = await openIdProvider();
    let now = Date.now();
    const access = rawAccessOf(provider, { now: () => now });
    const connection = {};
    const ada = `Bearer ${await provider.sign(claimsOf(provider), '20s')}`;
    const bob = `Bearer ${await provider.sign({ ...claimsOf(provider), sub: 'bob' }, '5m')}`;
    const changed = ada.slice(0, -8) + (ada.endsWith('AAAAAAAA') ? 'BBBBBBBB' : 'AAAAAAAA');

    const first = await access(ada, connection);
    for (let time = 0; time < 3; time++) expect(access(ada, connection)).toBe(first);
    await expect(access(changed, connection)).rejects.toMatchObject({ kind: 'unauthorized' });
    expect(() => access(undefined, connection)).toThrow('a bearer token is required');
    expect(await access(bob, connection)).toMatchObject({ claims: { sub: 'bob' } });
    for (const header of [ada, bob, ada, bob])
      expect(await access(header, connection)).toMatchObject({
        claims: { sub: header === ada ? 'ada' : 'bob' },
      });
    expect(access(ada, connection)).toBe(first);
    now += 60_000;

    await expect(access(ada, connection)).rejects.toThrow('the token has expired');
  });

  test('a withdrawn key is noticed over a connection that repeats a token', async () => {
    await using provider = await openIdProvider();
    let now = Date.now();
    const access = rawAccessOf(provider, { now: () => now });
    const connection = {};
    const header = `Bearer ${await provider.sign(claimsOf(provider), '5m')}`;
    await access(header, connection);
    for (let second = 0; second < 30; second++) {
      expect(access(header, connection)).toMatchObject({ claims: { sub: 'ada' } });
      now += 1_000;
    }

    const later = access(header, connection);

    expect(later).toBeInstanceOf(Promise);
    expect(await later).toMatchObject({ claims: { sub: 'ada' } });
  });

  test('a token that one workload has accepted is refused by a workload with another audience', async () => {
    await using provider = await openIdProvider();
    const [access, other] = [accessOf(provider), accessOf(provider, { audience: 'another' })];
    const token = await provider.sign(claimsOf(provider), '5m');

    for (let time = 0; time < 2; time++) {
      await expect(access(`Bearer ${token}`)).resolves.toMatchObject({ claims: { sub: 'ada' } });
      await expect(other(`Bearer ${token}`)).rejects.toThrow('the token is for another audience');
    }
  });

  test('a provider at a private address is refused unless that is allowed', async () => {
    const refused = openAccess({ oidc: { issuer: 'https://10.1.2.3', audience: 'x', allowPrivate: false } });

    await expect(refused?.(`Bearer ${unsigned({ iss: 'https://10.1.2.3' })}x`)).rejects.toThrow(/private/);
  });

  function claimsOf({ issuer }: OpenIdProvider): JWTPayload {
    return { iss: issuer, aud: 'toolhive', sub: 'ada' };
  }

  async function present(provider: OpenIdProvider, claims: JWTPayload = {}): Promise<unknown> {
    return accessOf(provider)(`Bearer ${await provider.sign({ ...claimsOf(provider), ...claims }, '5m')}`);
  }
});

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function unsigned(claims: JWTPayload): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part({ ...claims, exp: 9_999_999_999 })}.`;
}

function accessOf(
  provider: OpenIdProvider,
  more: Partial<OidcOptions> = {},
): (authorization: string) => Promise<Principal> {
  const access = rawAccessOf(provider, more);
  return async (authorization) => access(authorization);
}

function rawAccessOf({ issuer }: OpenIdProvider, more: Partial<OidcOptions> = {}): Access {
  const access = openAccess({ oidc: { issuer, audience: 'toolhive', ...more } });
  if (access === undefined) throw new Error('there is a provider, so there is a rule');
  return access;
}
