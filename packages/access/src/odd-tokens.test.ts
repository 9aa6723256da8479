import { createPublicKey } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT, exportJWK, importPKCS8 } from 'jose';
import type { CryptoKey } from 'jose';
import { selfSigned } from '@toolhive/runtime/testing/self-signed';
import { describe, expect, test } from 'vitest';
import { oidcRule } from './oidc.ts';
import { rsaKeys } from './testing/rsa-keys.ts';
import type { OidcOptions } from './oidc.ts';

type Members = Record<string, unknown>;

interface Changes {
  /** Changes the key set. */
  keys?: (key: Members) => unknown;
  metadata?: (metadata: Members) => Members;
  introspection?: (claims: Members) => Members;
  introspectionStatus?: number;
  signingKey?: CryptoKey;
}

const nowSeconds = (): number => Math.floor(Date.now() / 1000);

/** A provider on this machine that writes its documents in its own way. */
async function openProvider({
  keys,
  metadata,
  introspection,
  introspectionStatus = 200,
  signingKey,
}: Changes) {
  const pair = await rsaKeys('a provider');
  const key: Members = { ...(await exportJWK(pair.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' };
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url === '/.well-known/openid-configuration') {
      const own = { issuer, jwks_uri: `${issuer}/keys`, introspection_endpoint: `${issuer}/introspect` };
      return response.end(JSON.stringify(metadata?.(own) ?? own));
    }
    if (request.url === '/keys') return response.end(JSON.stringify(keys?.(key) ?? { keys: [key] }));
    const claims = { active: true, aud: 'toolhive', exp: nowSeconds() + 300, iss: issuer, sub: 'ada' };
    response.statusCode = introspectionStatus;
    return response.end(JSON.stringify(introspection?.(claims) ?? claims));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on a port
  return {
    issuer,
    sign: (claims: Members = {}, header: object = {}) =>
      new SignJWT({ iss: issuer, aud: 'toolhive', sub: 'ada', exp: nowSeconds() + 300, ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: 'one', ...header })
        .sign(signingKey ?? pair.privateKey),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Provider = Awaited<ReturnType<typeof openProvider>>;

/** Whether a token of the provider is accepted, or the reason against it. */
async function judge(
  changes: Changes,
  tokenOf: (provider: Provider) => Promise<string>,
  options: Partial<OidcOptions> = {},
): Promise<string> {
  await using provider = await openProvider(changes);
  const { check } = oidcRule({ issuer: provider.issuer, audience: 'toolhive', ...options });
  return await check(await tokenOf(provider)).then(
    () => 'accepted',
    (error: Error) => error.message.replace(provider.issuer, 'ISSUER'),
  );
}

const without =
  (...names: string[]) =>
  (members: Members): Members =>
    Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));

const otherKey = async (): Promise<Members> => {
  const { publicKey } = await rsaKeys('an older key');
  return { ...(await exportJWK(publicKey)), kid: 'zero', alg: 'RS256', use: 'sig' };
};

describe('a key set', () => {
  test.each<[string, (key: Members) => unknown]>([
    ['without names, for a token that names its key', (key) => ({ keys: [without('kid')(key)] })],
    ['without algorithms', (key) => ({ keys: [without('alg', 'use')(key)] })],
    ['with null members', (key) => ({ keys: [{ ...key, x5t: null, x5c: null, key_ops: null }] })],
    ['with keys of unknown kinds', (key) => ({ keys: [{ kty: 'AKP', alg: 'ML-DSA-44' }, null, 'x', key] })],
    ['that is a list', (key) => [key]],
    ['that is a single key', (key) => key],
  ])('%s is used', async (_what, keys) => {
    expect(await judge({ keys }, (provider) => provider.sign())).toBe('accepted');
  });

  test('with several keys is tried for a token that names none, as during a rotation', async () => {
    const older = await otherKey();
    const keys = (key: Members) => ({ keys: [older, key] });

    expect(await judge({ keys }, (provider) => provider.sign({}, { kid: undefined }))).toBe('accepted');
  });

  test('with several keys accepts no token of another key', async () => {
    const { privateKey } = await rsaKeys('nobody');
    const older = await otherKey();
    const keys = (key: Members) => ({ keys: [older, key] });

    expect(
      await judge({ keys, signingKey: privateKey }, (provider) => provider.sign({}, { kid: undefined })),
    ).toBe('the token is not valid');
  });

  test('with a certificate instead of a key is used', async () => {
    const { key, certificate: cert } = selfSigned('id.example');
    const x5c = [cert.replace(/-----[A-Z ]+-----|\s/g, '')];
    const { kty = '', crv } = createPublicKey(cert).export({ format: 'jwk' });
    const alg = kty === 'EC' ? 'ES256' : 'RS256';
    const signingKey = await importPKCS8(key, alg);
    const keys = () => ({ keys: [{ kty, crv, kid: 'one', use: 'sig', x5c }] });

    expect(await judge({ keys, signingKey }, (provider) => provider.sign({}, { alg }))).toBe('accepted');
  });

  test('that is something else is the fault of the provider', async () => {
    const reason = await judge({ keys: () => ({ error: 'busy' }) }, (provider) => provider.sign());

    expect(reason).toContain('ISSUER/keys returned no key set');
  });
});

describe('a token', () => {
  test.each<[string, Members]>([
    ['several audiences', { aud: ['account', 'toolhive'] }],
    ['fractions of seconds', { exp: nowSeconds() + 300.5 }],
    ['a start shortly ahead of this clock', { nbf: nowSeconds() + 20 }],
  ])('with %s is accepted', async (_what, claims) => {
    expect(await judge({}, (provider) => provider.sign(claims))).toBe('accepted');
  });

  test('with a slash behind the issuer is accepted', async () => {
    expect(await judge({}, (provider) => provider.sign({ iss: `${provider.issuer}/` }))).toBe('accepted');
  });

  test.each<[string, Members, string]>([
    ['another audience', { aud: 'account', azp: 'toolhive' }, 'the token is for another audience'],
    [
      'another issuer',
      { iss: 'https://other.example/' },
      'the token comes from another issuer: https://other.example/ instead of ISSUER',
    ],
    ['a start far ahead', { nbf: nowSeconds() + 3600 }, 'the token is not valid yet'],
    ['no audience', { aud: undefined }, 'the token lacks the required claim aud'],
  ])('with %s is refused for that', async (_what, claims, reason) => {
    expect(await judge({}, (provider) => provider.sign(claims))).toBe(reason);
  });

  test('of version 1 of Entra ID is refused with both issuers and the fix', async () => {
    await using provider = await openProvider({});
    const issuer = 'https://login.microsoftonline.com/tenant/v2.0';
    const { check } = oidcRule({ issuer, jwksUrl: `${provider.issuer}/keys`, audience: 'toolhive' });

    const checked = check(await provider.sign({ iss: 'https://sts.windows.net/tenant/' }));

    await expect(checked).rejects.toThrow(
      'the token comes from another issuer: https://sts.windows.net/tenant/ instead of https://login.microsoftonline.com/tenant/v2.0. In the manifest of the app registration in Entra ID, set requestedAccessTokenVersion to 2, or set the issuer (--oidc-issuer) to https://sts.windows.net/tenant/',
    );
  });

  test('of version 1 of Entra ID is accepted if that is the issuer', async () => {
    await using provider = await openProvider({});
    const issuer = 'https://sts.windows.net/tenant/';
    const { check } = oidcRule({ issuer, jwksUrl: `${provider.issuer}/keys`, audience: 'toolhive' });

    expect(await check(await provider.sign({ iss: issuer }))).toMatchObject({ claims: { iss: issuer } });
  });
});

describe('a token that the provider describes', () => {
  test.each<[string, (claims: Members) => Members]>([
    ['no end', without('exp')],
    ['an end as text', (claims) => ({ ...claims, exp: String(claims['exp']) })],
    ['several audiences', (claims) => ({ ...claims, aud: ['account', 'toolhive'] })],
    ['null members', (claims) => ({ ...claims, iss: null, nbf: null, username: null })],
    ['a slash behind the issuer', (claims) => ({ ...claims, iss: `${String(claims['iss'])}/` })],
  ])('with %s is accepted', async (_what, introspection) => {
    expect(await judge({ introspection }, () => Promise.resolve('opaque'))).toBe('accepted');
  });

  test.each<[string, (claims: Members) => Members, string]>([
    ['an end in the past as text', (claims) => ({ ...claims, exp: '1' }), 'the token has expired'],
    ['an end that is no number', (claims) => ({ ...claims, exp: 'soon' }), 'the token has expired'],
    [
      'another issuer',
      (claims) => ({ ...claims, iss: 'https://other.example' }),
      'the token comes from another issuer: https://other.example instead of ISSUER',
    ],
    ['no audience', without('aud'), 'the token is for another audience'],
    ['another state', (claims) => ({ ...claims, active: false }), 'the token is no longer valid'],
  ])('with %s is refused', async (_what, introspection, reason) => {
    expect(await judge({ introspection }, () => Promise.resolve('opaque'))).toBe(reason);
  });

  test.each([400, 401, 403])('that is only for clients of the provider (status %i)', async (status) => {
    const changes: Changes = {
      introspectionStatus: status,
      introspection: () => ({ error: 'invalid_client' }),
    };
    const opaque = (): Promise<string> => Promise.resolve('opaque');

    expect(await judge(changes, opaque)).toBe(
      'the token is not a JWT, and the issuer validates other tokens only for its clients',
    );
    expect(await judge(changes, opaque, { clientId: 'me', clientSecret: 'wrong' })).toBe(
      `cannot reach the token issuer: ISSUER refuses to validate tokens (status ${status})`,
    );
  });
});

describe('a JWT that only its provider understands', () => {
  const asks = { clientId: 'me', clientSecret: 'secret' };
  const secretKey = new TextEncoder().encode('known to the provider only, and long enough');
  const ofProvider = ({ issuer }: Provider) =>
    new SignJWT({ iss: issuer, sub: 'ada', exp: nowSeconds() + 300 })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(secretKey);

  test.each<[string, (provider: Provider) => Promise<string>]>([
    ['has no audience, like the lightweight tokens of Keycloak', ({ sign }) => sign({ aud: undefined })],
    ['has no time', ({ sign }) => sign({ exp: undefined })],
    ['is signed with a secret', ofProvider],
    ['is signed with an unpublished key', ({ sign }) => sign({}, { kid: 'another' })],
  ])('and that %s, is introspected if ToolHive can ask the provider', async (_what, tokenOf) => {
    expect(await judge({}, tokenOf, asks)).toBe('accepted');
    expect(await judge({ introspection: () => ({ active: false }) }, tokenOf, asks)).toBe(
      'the token is no longer valid',
    );
    expect(await judge({}, tokenOf)).not.toBe('accepted');
  });

  test.each<[string, Members, string]>([
    ['for another audience', { aud: 'another' }, 'the token is for another audience'],
    ['that has expired', { exp: 1 }, 'the token has expired'],
    ['of another issuer', { iss: 'x' }, 'the token comes from another issuer: x instead of ISSUER'],
  ])('does not become valid %s', async (_what, claims, reason) => {
    expect(await judge({}, ({ sign }) => sign(claims), asks)).toBe(reason);
  });
});
