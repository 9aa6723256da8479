import type { ThvError } from '@toolhive/contract/failure';
import { generateKeyPair } from 'jose';
import type { JWTPayload } from 'jose';
import { describe, expect, test } from 'vitest';
import { openIdProvider } from '../testing/openid-provider.ts';
import type { OpenIdProvider } from '../testing/openid-provider.ts';
import { openAccess } from './access.ts';
import type { Access, OidcOptions } from './access.ts';

describe('a fixed token', () => {
  test.each(['short', 'with a blank in the middle of it'])('is refused when it is %s', (poor) => {
    expect(() => openAccess({ token: poor })).toThrow(/a token has at least 16/);
  });

  test('is none when nothing is asked for', () => {
    expect(openAccess({})).toBeUndefined();
  });
});

describe('an OpenID provider', () => {
  test('has its tokens accepted, and only those that are for this use and valid', async () => {
    await using provider = await openIdProvider();
    const access = accessOf(provider);
    const sign = (claims: JWTPayload, expires = '5m') => provider.sign(claims, expires);
    const good = { iss: provider.issuer, aud: ['other', 'toolhive'], sub: 'ada' };

    const { issuer } = provider;
    await expect(access(`Bearer ${await sign(good)}`)).resolves.toMatchObject({
      id: JSON.stringify([issuer, 'ada']),
      claims: { sub: 'ada' },
    });

    const bad: [string, Promise<string>][] = [
      ['another audience', sign({ ...good, aud: 'other' })],
      ['no audience', sign({ iss: provider.issuer })],
      ['another issuer', sign({ ...good, iss: 'https://evil.example' })],
      ['expired', sign(good, '-10m')],
      ['another key', provider.sign(good, '5m', (await generateKeyPair('RS256')).privateKey)],
      ['no signature', Promise.resolve(unsigned(good))],
      ['signed with the public key as a secret', provider.signWithPublicKey(good)],
      ['three words', Promise.resolve('a.b.c')],
    ];
    const outcomes = await Promise.all(
      bad.map(async ([what, presented]) => {
        const accepted = access(`Bearer ${await presented}`).then(() => 'accepted');
        return `${what}: ${await accepted.catch((error: ThvError) => error.kind)}`;
      }),
    );
    expect(outcomes).toEqual(bad.map(([what]) => `${what}: unauthorized`));
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

  test('that is down is no fault of the caller, and is asked again', async () => {
    await using provider = await openIdProvider();
    const access = accessOf(provider);
    const presented = await provider.sign({ iss: provider.issuer, aud: 'toolhive' }, '5m');
    provider.isDown = true;

    await expect(access(`Bearer ${presented}`)).rejects.toMatchObject({ kind: 'unavailable' });
    provider.isDown = false;

    await expect(access(`Bearer ${presented}`)).resolves.toHaveProperty('id');
  });

  test.each<[string, OidcOptions, RegExp]>([
    ['no audience', { issuer: 'https://id.example', audience: '' }, /need an audience/],
    ['no issuer', { audience: 'toolhive' }, /who issues the tokens/],
    ['plain http', { issuer: 'http://id.example', audience: 'toolhive' }, /is not https/],
    ['no URL', { issuer: 'id.example', audience: 'toolhive' }, /is not a URL/],
  ])('is refused with %s', (_title, oidc, message) => {
    expect(() => openAccess({ oidc })).toThrow(message);
  });
});

function unsigned(claims: JWTPayload): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part({ ...claims, exp: 9_999_999_999 })}.`;
}

function accessOf({ issuer }: OpenIdProvider, more: Partial<OidcOptions> = {}): Access {
  const access = openAccess({ oidc: { issuer, audience: 'toolhive', ...more } });
  if (access === undefined) throw new Error('there is a provider, so there is a rule');
  return access;
}
