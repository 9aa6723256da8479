import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Hono } from 'hono';
import type { ThvError } from '@toolhive/contract/failure';
import { SignJWT, exportJWK, generateKeyPair } from 'jose';
import type { CryptoKey, JWTPayload } from 'jose';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { openAccess } from './access.ts';
import type { OidcOptions } from './access.ts';
import { failureResponse } from './failures.ts';
import { rateLimit } from './guards.ts';
import { openTestApi } from './testing/test-api.ts';

const token = 'a-token-of-enough-letters';

describe('a fixed token', () => {
  test('opens everything, and nothing opens without it', async () => {
    await using api = await openTestApi({}, { access: openAccess({ token }) });

    const paths = ['/health', '/api/v1beta/health', '/api/v1beta/workloads', '/api/openapi.json', '/nowhere'];
    const without = await Promise.all(paths.map((path) => api.get(path)));
    const wrong = await api.get('/api/v1beta/workloads', { authorization: `Bearer ${token}x` });
    const right = await api.get('/api/v1beta/workloads', { authorization: `bearer ${token}` });

    expect(without.map(({ status }) => status)).toEqual(paths.map(() => 401));
    expect(without[0]?.headers['www-authenticate']).toBe('Bearer realm="toolhive"');
    expect([wrong.status, right.status]).toEqual([401, 200]);
  });

  test.each(['short', 'with a blank in the middle of it'])('is refused when it is %s', (poor) => {
    expect(() => openAccess({ token: poor })).toThrow(/a token has at least 16/);
  });

  test('is none when nothing is asked for', () => {
    expect(openAccess({})).toBeUndefined();
  });
});

describe('an OpenID provider', () => {
  test('has its tokens accepted, and only those that are for this hive and valid', async () => {
    await using provider = await openProvider();
    const access = provider.access();
    const sign = (claims: JWTPayload, expires = '5m') => provider.sign(claims, expires);
    const good = { iss: provider.issuer, aud: ['other', 'toolhive'], sub: 'ada' };

    await expect(access(`Bearer ${await sign(good)}`)).resolves.toBeUndefined();

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
        const kind = await access(`Bearer ${await presented}`).catch((error: ThvError) => error.kind);
        return `${what}: ${kind ?? 'accepted'}`;
      }),
    );
    expect(outcomes).toEqual(bad.map(([what]) => `${what}: unauthorized`));
  });

  test('looks up tokens that say nothing by themselves', async () => {
    await using provider = await openProvider();
    const access = provider.access();

    await expect(access('Bearer opaque-good')).resolves.toBeUndefined();
    for (const kind of ['revoked', 'expired', 'other']) {
      await expect(access(`Bearer opaque-${kind}`)).rejects.toMatchObject({ kind: 'unauthorized' });
    }
  });

  test('that is down is no fault of the caller, and is asked again', async () => {
    await using provider = await openProvider();
    const access = provider.access();
    const presented = await provider.sign({ iss: provider.issuer, aud: 'toolhive' }, '5m');
    provider.isDown = true;

    await expect(access(`Bearer ${presented}`)).rejects.toMatchObject({ kind: 'unavailable' });
    provider.isDown = false;

    await expect(access(`Bearer ${presented}`)).resolves.toBeUndefined();
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

test('more requests than any honest client sends are refused, until some time has passed', async () => {
  let now = 0;
  const app = new Hono();
  app.onError((error) => failureResponse(error, pino({ level: 'silent' })));
  app.use(rateLimit(() => now));
  app.get('/', (context) => context.body(null, 204));
  const ask = async (): Promise<Response> => app.request('/');

  for (let n = 0; n < 2_000; n++) expect((await ask()).status).toBe(204);
  const refused = await ask();
  now = 10;
  const later = await Promise.all(Array.from({ length: 11 }, ask));

  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  expect(later.map(({ status }) => status)).toEqual([...Array.from({ length: 10 }, () => 204), 429]);
});

function unsigned(claims: JWTPayload): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part({ ...claims, exp: 9_999_999_999 })}.`;
}

/** A provider on this machine: discovery, keys, and a place to look up tokens. */
async function openProvider() {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256' };
  const state = { isDown: false };
  const server = createServer((request, response) => {
    void respond(request, response);
  });
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const form = new URLSearchParams(await body(request));
    const answer = state.isDown ? undefined : answerTo(request.url ?? '', form);
    response.writeHead(answer === undefined ? 503 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? {}));
  };
  const issuer = `http://127.0.0.1:${await listen(server)}`;
  const answerTo = (path: string, form: URLSearchParams): object | undefined => {
    if (path === '/.well-known/openid-configuration') {
      return { issuer, jwks_uri: `${issuer}/keys`, introspection_endpoint: `${issuer}/introspect` };
    }
    if (path === '/keys') return { keys: [jwk] };
    const now = Math.floor(Date.now() / 1000);
    const good = { active: true, aud: 'toolhive', exp: now + 300, iss: issuer };
    const known: Record<string, object> = {
      'opaque-good': good,
      'opaque-expired': { ...good, exp: now - 300 },
      'opaque-other': { ...good, aud: 'other' },
    };
    return known[form.get('token') ?? ''] ?? { active: false };
  };
  const sign = (
    claims: JWTPayload,
    expires: string,
    key: CryptoKey | Uint8Array = privateKey,
    alg = 'RS256',
  ) => new SignJWT(claims).setProtectedHeader({ alg, kid: 'one' }).setExpirationTime(expires).sign(key);
  return Object.assign(state, {
    issuer,
    sign,
    signWithPublicKey: (claims: JWTPayload) =>
      sign(claims, '5m', new TextEncoder().encode(JSON.stringify(jwk)), 'HS256'),
    access() {
      const access = openAccess({ oidc: { issuer, audience: 'toolhive' } });
      if (access === undefined) throw new Error('there is a provider, so there is a rule');
      return access;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function body(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}
