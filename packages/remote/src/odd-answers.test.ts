import { describe, expect, test } from 'vitest';
import { serveRoutes } from './testing/authorization-server.ts';
import type { Exchange } from './testing/authorization-server.ts';
import { openWorld } from './testing/remote-world.ts';
import type { WorldChanges } from './testing/remote-world.ts';

type Reply = Exchange['reply'];
type Members = Record<string, unknown>;

const form = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };

/** Signs in, and asks the remote server something. */
async function signedInStatus(changes: WorldChanges): Promise<number> {
  await using world = await openWorld(changes);
  await world.auth.authorize();
  return await world.ask();
}

describe('a token answer', () => {
  test.each<[string, (tokens: Members) => Members]>([
    ['the owner instead of the type', (tokens) => ({ ...tokens, ok: true, token_type: 'user' })],
    [
      'the token in an inner object',
      ({ access_token, ...rest }) => ({
        ...rest,
        ok: true,
        authed_user: { access_token, token_type: 'user' },
      }),
    ],
    ['a type with a blank', (tokens) => ({ ...tokens, token_type: 'Bearer ' })],
    ['false for a missing refresh token', (tokens) => ({ ...tokens, refresh_token: false })],
  ])('may have %s', async (_what, given) => {
    expect(await signedInStatus({ authority: { given } })).toBe(200);
  });

  test('may be a form', async () => {
    expect(await signedInStatus({ authority: { writesForms: true } })).toBe(200);
  });

  test('may be a form when it renews a token', async () => {
    await using world = await openWorld({ authority: { writesForms: true, expiresIn: 60 } });
    await world.auth.authorize();
    world.clock.ms += 61_000;

    const headers = await world.auth.headers();

    expect(await world.ask(headers)).toBe(200);
    expect(world.authority.redeemed).toHaveLength(2);
  });

  test.each<[string, string, (reply: Reply) => void]>([
    ['with status 200', 'invalid_code', (reply) => reply(200, { ok: false, error: 'invalid_code' })],
    [
      'in a form',
      'bad_verification_code',
      (reply) => reply(200, 'error=bad_verification_code&error_description=echo-of-secret', form),
    ],
    [
      'in an inner object',
      'invalid_grant',
      (reply) => reply(400, { error: { code: 'invalid_grant', message: 'echo-of-secret' } }),
    ],
  ])('that is an error %s is told by its name', async (_what, name, answer) => {
    await using world = await openWorld({ authority: { token: ({ reply }) => answer(reply) } });

    await expect(world.auth.authorize()).rejects.toMatchObject({
      message: `${world.authority.issuer} did not return a token: ${name}`,
    });
  });

  test.each<[string, (reply: Reply) => void]>([
    ['a limit with status 200', (reply) => reply(200, { ok: false, error: 'ratelimited' })],
    ['a fault with status 200', (reply) => reply(200, { ok: false, error: 'fatal_error' })],
    ['a limit', (reply) => reply(429, { error: 'invalid_grant' })],
  ])('that is %s does not lose the grant', async (_what, answer) => {
    await using world = await openWorld({ authority: { expiresIn: 60 } });
    await world.auth.authorize();
    world.clock.ms += 61_000;
    world.authority.changes.token = ({ reply }) => answer(reply);
    await expect(world.auth.headers()).rejects.toThrow();
    delete world.authority.changes.token;
    world.clock.ms += 10_000;

    expect(await world.ask()).toBe(200);
    expect(world.auth.state).toMatchObject({ kind: 'authorized' });
  });
});

test.each<[string, (reply: Reply) => void]>([
  [
    'with an error of OAuth',
    (reply) => reply(400, { error: 'invalid_request', error_description: 'invalid' }),
  ],
  ['in a framework', (reply) => reply(401, { detail: 'Invalid or expired refresh token' })],
  ['in a list', (reply) => reply(400, { errors: [{ message: 'refresh_token has expired' }] })],
])('a refresh token that is refused %s needs the user', async (_what, answer) => {
  await using world = await openWorld({ authority: { expiresIn: 60 } });
  await world.auth.authorize();
  world.clock.ms += 61_000;
  world.authority.changes.token = ({ reply }) => answer(reply);

  await world.auth.headers();

  expect(world.auth.state).toMatchObject({ kind: 'needs authorization' });
});

test.each<[string, (reply: Reply) => void]>([
  ['about something else', (reply) => reply(400, { detail: 'Try again' })],
  ['on a page', (reply) => reply(401, '<p>Invalid grant</p>', { 'content-type': 'text/html' })],
])('a refusal %s does not lose the grant', async (_what, answer) => {
  await using world = await openWorld({ authority: { expiresIn: 60 } });
  await world.auth.authorize();
  world.clock.ms += 61_000;
  world.authority.changes.token = ({ reply }) => answer(reply);

  await expect(world.auth.headers()).rejects.toThrow('did not return a new token');

  expect(world.auth.state).toMatchObject({ kind: 'authorized' });
});

describe('the authentication of a client', () => {
  const register: NonNullable<WorldChanges['authority']>['register'] = ({ json, reply }) =>
    reply(201, { ...json, client_id: 'given', client_secret: 'hush', client_secret_expires_at: 0 });
  /** A token endpoint that accepts credentials only in its form. */
  const onlyInForm =
    (tokens: Members, refusal: Members): NonNullable<WorldChanges['authority']>['token'] =>
    ({ body, reply }) =>
      body.get('client_secret') === 'hush' ? reply(200, tokens) : reply(400, refusal);

  test.each<[string, string[], Members]>([
    ['none', ['none'], { error: 'invalid_client' }],
    [
      'client_secret_basic',
      ['client_secret_basic', 'client_secret_post'],
      { error: 'invalid_request', error_description: 'Client credentials missing in the body.' },
    ],
  ])(
    'by %s that the token endpoint refuses is replaced by another method',
    async (_what, methods, refusal) => {
      const tokens = { access_token: 'a', refresh_token: 'r', token_type: 'Bearer', expires_in: 60 };
      await using world = await openWorld({
        authority: {
          register,
          metadata: (all) => ({ ...all, token_endpoint_auth_methods_supported: methods }),
          token: onlyInForm(tokens, refusal),
        },
      });
      await world.auth.authorize();
      world.authority.changes.token = onlyInForm(
        { ...tokens, access_token: 'b' },
        { error: 'invalid_grant' },
      );
      world.clock.ms += 61_000;

      expect(await world.auth.headers()).toEqual({ authorization: 'Bearer b' });
    },
  );

  test('that no method can repair is told by the first refusal', async () => {
    const refusals = ['invalid_client', 'invalid_request', 'invalid_grant'];
    let at = 0;
    await using world = await openWorld({
      authority: { register, token: ({ reply }) => reply(400, { error: refusals[at++] }) },
    });

    await expect(world.auth.authorize()).rejects.toThrow('did not return a token: invalid_client');

    expect(at).toBe(3);
  });
});

describe('the metadata of a server', () => {
  test.each<[string, (metadata: Members) => unknown]>([
    ['has no resource', ({ resource: _resource, ...rest }) => rest],
    [
      'names one authorization server as text',
      (all) => ({ ...all, authorization_servers: [all['authorization_servers']].flat()[0] }),
    ],
    ['has scopes as text', (all) => ({ ...all, scopes_supported: 'a b' })],
    ['has scopes of another kind', (all) => ({ ...all, scopes_supported: { a: 'b' } })],
    [
      'has another scheme, as behind a proxy that ends TLS',
      (all) => ({ ...all, resource: String(all['resource']).replace('http:', 'https:') }),
    ],
  ])('is used if it %s', async (_what, metadata) => {
    expect(await signedInStatus({ server: { metadata } })).toBe(200);
  });

  test.each([
    ['a metadata address of its authorization server', '/.well-known/oauth-authorization-server'],
    ['that of the other standard', '/.well-known/openid-configuration'],
    ['its endpoint instead of its authorization server', '/mcp'],
  ])('is used if it names %s', async (_what, path) => {
    await using world = await openWorld({
      server: {
        metadata: (all) => ({ ...all, authorization_servers: [`${world.authority.issuer}${path}`] }),
      },
    });

    await world.auth.authorize();

    expect(world.auth.state).toMatchObject({ kind: 'authorized' });
  });

  test('does not use the host of an authorization server that says it is another', async () => {
    await using honest = await openWorld();
    await using world = await openWorld({
      authority: { metadata: (all) => ({ ...all, issuer: honest.authority.issuer }) },
      server: { metadata: (all) => ({ ...all, authorization_servers: [`${world.authority.issuer}/mcp`] }) },
    });

    await expect(world.auth.authorize()).rejects.toMatchObject({
      message: `${world.authority.issuer}/mcp does not describe how to get a token`,
    });
  });

  test('is found where a challenge names it without quotes', async () => {
    const wellKnown = '/.well-known/elsewhere/mcp';
    const challenge = (origin: string): string =>
      `Bearer realm="x", resource_metadata=${origin}${wellKnown}, scope="a"`;

    expect(await signedInStatus({ server: { wellKnown, challenge } })).toBe(200);
  });

  test('is refused without a resource where its owner may be another', async () => {
    await using world = await openWorld({
      server: {
        wellKnown: '/tenant/about',
        challenge: (origin) => `Bearer resource_metadata="${origin}/tenant/about"`,
        metadata: ({ resource: _resource, ...rest }) => rest,
      },
    });

    await expect(world.auth.authorize()).rejects.toMatchObject({ kind: 'forbidden' });
  });

  test('is the next document if the first one is something else', async () => {
    await using world = await openWorld({ server: { wellKnown: '/.well-known/oauth-protected-resource' } });
    const { origin: issuer } = world.authority;
    await using server = await serveRoutes((origin) => ({
      'POST /mcp': ({ reply }) => reply(401, {}, { 'www-authenticate': 'Bearer' }),
      'GET /.well-known/oauth-protected-resource/mcp': ({ reply }) => reply(200, { detail: 'Not Found' }),
      'GET /.well-known/oauth-protected-resource': ({ reply }) =>
        reply(200, { resource: origin, authorization_servers: [issuer] }),
    }));
    await using auth = await world.open({ serverUrl: `${server.origin}/mcp` });

    await auth.authorize();

    expect(auth.state).toMatchObject({ kind: 'authorized' });
  });
});

describe('the metadata of an authorization server', () => {
  test.each<[string, (metadata: Members) => Members]>([
    ['scopes as text', (all) => ({ ...all, scopes_supported: 'a b' })],
    ['the PKCE method as text', (all) => ({ ...all, code_challenge_methods_supported: 'S256' })],
    [
      'the authentication method as text',
      (all) => ({ ...all, token_endpoint_auth_methods_supported: 'none' }),
    ],
    ['a text for true', (all) => ({ ...all, authorization_response_iss_parameter_supported: 'true' })],
    ['members of another kind', (all) => ({ ...all, client_id_metadata_document_supported: {} })],
    [
      'relative endpoints',
      (all) => ({
        ...all,
        authorization_endpoint: '/authorize',
        token_endpoint: '/token',
        registration_endpoint: '/register',
      }),
    ],
  ])('may have %s', async (_what, metadata) => {
    expect(await signedInStatus({ authority: { metadata } })).toBe(200);
  });

  test('is that of OpenID Connect if the other document is incomplete', async () => {
    await using world = await openWorld({ authority: { wellKnown: '/.well-known/openid-configuration' } });
    world.authority.also('GET /.well-known/oauth-authorization-server', ({ reply }) =>
      reply(200, { issuer: world.authority.issuer, scopes_supported: [] }),
    );

    await world.auth.authorize();

    expect(await world.ask()).toBe(200);
  });
});

describe('an issuer in the settings', () => {
  test.each(['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server/tenant'])(
    'may be the address of its metadata: %s',
    async (path) => {
      const tenant = path.endsWith('/tenant') ? '/tenant' : '';
      await using world = await openWorld({ authority: { path: tenant } });
      const config = { issuer: `${new URL(world.authority.issuer).origin}${path}` };
      await using auth = await world.open({ config });

      await auth.authorize();

      expect(auth.state).toMatchObject({ kind: 'authorized' });
    },
  );
});

describe('a registration that is refused for one member', () => {
  type Registration = Record<string, unknown>;

  test.each<[string, (json: Registration) => boolean]>([
    [
      'grant_types: refresh_token is not supported',
      ({ grant_types: types }) => String(types).includes('refresh'),
    ],
    ['Public clients are not supported', ({ token_endpoint_auth_method: method }) => method === 'none'],
    [`Unrecognized key: "application_type"`, (json) => 'application_type' in json],
  ])('is repeated in another form: %s', async (error_description, refuses) => {
    await using world = await openWorld({
      authority: {
        register: ({ json, reply }) =>
          refuses(json)
            ? reply(400, { error: 'invalid_client_metadata', error_description })
            : reply(201, { ...json, client_id: 'https://given.example' }),
      },
    });

    await world.auth.authorize();

    expect(await world.ask()).toBe(200);
  });

  test('is told by the first refusal if no form helps', async () => {
    const refusals = ['no refresh_token', 'no public clients', 'no application_type', 'no scope'];
    let at = 0;
    await using world = await openWorld({
      authority: {
        register: ({ reply }) =>
          reply(400, { error: 'invalid_client_metadata', error_description: refusals[at++] ?? 'too many' }),
      },
    });

    await expect(world.auth.authorize()).rejects.toThrow('no refresh_token');

    expect(at).toBe(4);
  });
});

describe('an authorization server with a limit', () => {
  test.each(['POST /token', 'POST /register', 'GET /.well-known/oauth-authorization-server'])(
    'is asked again after a short pause at %s',
    async (key) => {
      await using world = await openWorld();
      const route = world.authority.routeOf(key);
      let isBusy = true;
      world.authority.also(key, (exchange) => {
        if (!isBusy) return route(exchange);
        isBusy = false;
        return exchange.reply(429, 'slow down', { 'retry-after': '0' });
      });

      await world.auth.authorize();

      expect(world.authority.countOf(key)).toBe(2);
      expect(await world.ask()).toBe(200);
    },
  );

  test('is left alone until the time that it names, and the grant stays', async () => {
    await using world = await openWorld({ authority: { expiresIn: 60 } });
    await world.auth.authorize();
    world.clock.ms += 61_000;
    world.authority.changes.token = ({ reply }) => reply(429, {}, { 'retry-after': '60' });
    await expect(world.auth.headers()).rejects.toThrow(
      `${world.authority.origin}/token gets too many requests, and asks to wait 60 s`,
    );
    world.clock.ms += 30_000;
    await expect(world.auth.headers()).rejects.toThrow('asks to wait 30 s');
    delete world.authority.changes.token;
    world.clock.ms += 31_000;

    expect(await world.ask()).toBe(200);
    expect(world.authority.countOf('POST /token')).toBe(3);
  });

  test('is asked again when the clock was set back since', async () => {
    await using world = await openWorld({ authority: { expiresIn: 60 } });
    await world.auth.authorize();
    world.clock.ms += 24 * 3_600_000; // a wrong clock
    world.authority.changes.token = ({ reply }) => reply(429, {}, { 'retry-after': '60' });
    await expect(world.auth.headers()).rejects.toThrow('asks to wait 60 s');
    delete world.authority.changes.token;
    world.clock.ms -= 22 * 3_600_000;

    expect(await world.ask()).toBe(200);
  });
});

describe('a resource indicator', () => {
  const entra: WorldChanges = {
    authority: {
      // As Entra ID, which refuses every request with the parameter.
      answer: (parameters) => {
        parameters.delete('code');
        parameters.set('error', 'invalid_target');
        parameters.set('error_description', 'AADSTS9010010: The resource parameter is wrong.');
      },
    },
  };

  test('that is refused is explained', async () => {
    await using world = await openWorld(entra);

    await expect(world.auth.authorize()).rejects.toMatchObject({
      message:
        'the answer of the browser is refused: invalid_target (AADSTS9010010: The resource parameter is wrong.); if the authorization server does not support resource indicators, set oauth_config.resource (--remote-auth-resource) to none',
    });
  });

  test.each([
    ['none', null],
    ['api://notes', 'api://notes'],
  ])('that is configured as %s is sent as %j, also when a token is renewed', async (resource, sent) => {
    await using world = await openWorld({ config: { resource }, authority: { expiresIn: 60 } });
    await world.auth.authorize();
    world.clock.ms += 61_000;

    expect(await world.ask()).toBe(200);

    const requests = [...world.authority.asked, ...world.authority.redeemed];
    expect(requests.map((request) => request.get('resource'))).toEqual([sent, sent, sent]);
  });
});

describe('an authorization server without a word about PKCE', () => {
  test('is refused, and the error names the endpoints to configure', async () => {
    await using world = await openWorld({
      authority: { metadata: ({ code_challenge_methods_supported: _methods, ...rest }) => rest },
    });
    const { origin } = world.authority;

    await expect(world.auth.authorize()).rejects.toMatchObject({
      kind: 'unavailable',
      hint: expect.stringContaining(
        `configure a client_id, the authorize_url ${origin}/authorize, and the token_url ${origin}/token`,
      ),
    });
  });
});

// RFC 9207, section 2.4: the issuer is compared character by character.
test.each([
  ['without the slash of its metadata', (issuer: string) => `${issuer}/`, (issuer: string) => issuer],
  ['with another slash', (issuer: string) => issuer, (issuer: string) => `${issuer}/`],
])('an answer of the browser may not name the issuer %s', async (_what, inMetadata, inAnswer) => {
  const signingIn = signedInStatus({
    authority: {
      metadata: (all) => ({ ...all, issuer: inMetadata(String(all['issuer'])) }),
      answer: (parameters) => parameters.set('iss', inAnswer(parameters.get('iss') ?? '')),
    },
  });

  await expect(signingIn).rejects.toThrow('the answer of the browser is refused');
});

describe('an issuer for all tenants', () => {
  const template = (metadata: Members): Members => ({
    ...metadata,
    issuer: String(metadata['issuer']).replace('/common/', '/{tenantid}/'),
    authorization_response_iss_parameter_supported: false,
  });

  test('may have a template in its metadata, as that of Entra ID', async () => {
    const answer = (parameters: URLSearchParams) => parameters.delete('iss');

    expect(await signedInStatus({ authority: { path: '/common/v2.0', metadata: template, answer } })).toBe(
      200,
    );
  });

  test.each([
    ['of another host', () => 'https://login.example/{tenantid}/v2.0'],
    ['of another version', (issuer: string) => issuer.replace('/common/v2.0', '/{tenantid}/v1.0')],
    ['with two tenants', (issuer: string) => issuer.replace('/common/v2.0', '/{tenantid}/{tenantid}')],
  ])('may not have a template %s', async (_what, issuer) => {
    await using world = await openWorld({
      authority: {
        path: '/common/v2.0',
        metadata: (all) => ({ ...all, issuer: issuer(String(all['issuer'])) }),
      },
    });

    await expect(world.auth.authorize()).rejects.toThrow();
  });
});

test.each([
  [
    'says where to get a token',
    (origin: string) => `Bearer resource_metadata="${origin}/about"`,
    'needs authorization',
  ],
  ['says nothing about tokens', () => 'Bearer error="access_denied"', 'not ours'],
])('a refusal with 403 of a request without a token that %s', async (_what, challenge, answer) => {
  await using world = await openWorld();
  const wwwAuthenticate = challenge(world.remote.origin);

  expect(await world.auth.challenged({ status: 403, wwwAuthenticate })).toBe(answer);
  expect(await world.auth.challenged({ status: 403, wwwAuthenticate, sent: 'Bearer mine' })).toBe('not ours');
});
