import { unavailable } from '@toolhive/contract/failure';
import { describe, expect, test } from 'vitest';
import { serveRoutes } from './testing/authorization-server.ts';
import { openWorld } from './testing/remote-world.ts';
import type { World } from './testing/remote-world.ts';

const failureOf = (world: World): Promise<unknown> => world.auth.authorize().catch((error: unknown) => error);

describe('what a server says about itself', () => {
  test('is where its challenge says, and nowhere else', async () => {
    await using world = await openWorld({
      server: {
        wellKnown: '/about',
        challenge: (origin) => `Bearer realm="a, b", resource_metadata="${origin}/about"`,
      },
    });

    await world.auth.authorize();

    expect(world.remote.seen).toEqual(['POST /mcp', 'GET /about']);
    expect(await world.ask()).toBe(200);
  });

  test.each([
    ['at the path of the server', '/.well-known/oauth-protected-resource/mcp', 1],
    ['at the root of its host', '/.well-known/oauth-protected-resource', 2],
  ])('is %s when the challenge says nothing', async (_what, wellKnown, tries) => {
    await using world = await openWorld({ server: { wellKnown, challenge: () => '' } });

    await world.auth.authorize();

    expect(world.remote.seen.filter((key) => key.includes('well-known'))).toHaveLength(tries);
    expect(await world.ask()).toBe(200);
  });

  test('may be for its whole host when it is at a well-known path of the host', async () => {
    await using world = await openWorld({
      server: {
        metadata: (metadata) => ({ ...metadata, resource: new URL(String(metadata['resource'])).origin }),
      },
    });

    await world.auth.authorize();

    expect(world.authority.asked[0]?.get('resource')).toBe(world.remote.origin);
  });

  test.each([
    ['another server', () => 'https://mcp.example/mcp'],
    ['another path', (origin: string) => `${origin}/mcp2`],
    ['a part of it', (origin: string) => `${origin}/mcp/part`],
    ['nothing that could be one', () => 'mcp'],
  ])('is refused when it is for %s', async (_what, resource) => {
    await using world = await openWorld({
      server: { metadata: (metadata) => ({ ...metadata, resource: resource(world.remote.origin) }) },
    });

    expect(await failureOf(world)).toMatchObject({
      kind: 'forbidden',
      message: `the resource metadata at ${world.remote.origin}/.well-known/oauth-protected-resource/mcp is for another server`,
    });
    expect(world.authority.seen).toEqual([]);
  });

  test('is refused when one path of a host speaks for all of it', async () => {
    await using world = await openWorld({
      server: {
        wellKnown: '/tenant/about',
        challenge: (origin) => `Bearer resource_metadata="${origin}/tenant/about"`,
        metadata: (metadata) => ({ ...metadata, resource: world.remote.origin }),
      },
    });

    expect(await failureOf(world)).toMatchObject({ kind: 'forbidden' });
  });

  test.each([
    ['is relative', () => 'Bearer resource_metadata="/.well-known/oauth-protected-resource/mcp"'],
    [
      'is relative to the server',
      () => 'Bearer resource_metadata=".well-known/oauth-protected-resource/mcp"',
    ],
    ['has two kinds of quotes', (own: string) => `Bearer resource_metadata="'${own}'"`],
    ['has angle brackets', (own: string) => `Bearer resource_metadata="<${own}>"`],
    ['has no quotes', (own: string) => `Bearer resource_metadata=${own}, error=invalid_token`],
    ['does not exist', (own: string) => `Bearer resource_metadata="${own}/gone"`],
    ['is empty', () => 'Bearer resource_metadata=""'],
    ['is of another environment', () => 'Bearer resource_metadata="http://mcp.internal:8000/about"'],
    ['is no URL', () => 'Bearer resource_metadata="https://"'],
  ])('is at the well-known address when the one in its challenge %s', async (_what, challenge) => {
    await using world = await openWorld({
      server: { challenge: (origin) => challenge(`${origin}/.well-known/oauth-protected-resource/mcp`) },
    });

    await world.auth.authorize();

    expect(world.authority.asked[0]?.get('resource')).toBe(`${world.remote.origin}/mcp`);
    expect(await world.ask()).toBe(200);
  });

  test('is at the well-known address when the one in its challenge describes another server', async () => {
    await using elsewhere = await serveRoutes((origin) => ({
      'GET /about': ({ reply }) => reply(200, { resource: origin, authorization_servers: [origin] }),
    }));
    await using world = await openWorld({
      server: { challenge: () => `Bearer resource_metadata="${elsewhere.origin}/about"` },
    });

    await world.auth.authorize();

    expect(elsewhere.seen).toEqual(['GET /about']);
    expect(await world.ask()).toBe(200);
  });

  test('is its description as an authorization server when its challenge names nothing that exists', async () => {
    await using world = await openWorld();
    await world.auth.challenged({
      status: 401,
      wwwAuthenticate: `Bearer resource_metadata="${world.authority.origin}/gone"`,
    });
    await using auth = await world.open({ serverUrl: `${world.authority.origin}/mcp` });
    await auth.challenged({
      status: 401,
      wwwAuthenticate: `Bearer resource_metadata="${world.authority.origin}/gone"`,
    });

    await auth.authorize();

    expect(auth.state).toMatchObject({ kind: 'authorized' });
  });

  test.each([
    ['null for what it does not have', (all: object) => ({ ...all, scopes_supported: null, jwks_uri: null })],
    ['null in a list', (all: object) => ({ ...all, scopes_supported: [null, 'read'] })],
    ['empty texts', (all: object) => ({ ...all, resource_documentation: '', scopes_supported: [''] })],
  ])('may contain %s', async (_what, metadata) => {
    await using world = await openWorld({ server: { metadata } });

    await world.auth.authorize();

    expect(await world.ask()).toBe(200);
  });

  test.each(['text/plain', 'text/html; charset=utf-8', 'application/octet-stream'])(
    'may be JSON that is called %s',
    async (type) => {
      await using world = await openWorld({ server: { type } });

      await world.auth.authorize();

      expect(world.authority.asked[0]?.get('resource')).toBe(`${world.remote.origin}/mcp`);
      expect(world.remote.seen).toContain('GET /.well-known/oauth-protected-resource/mcp');
    },
  );

  test('is missed when the challenge names it and it does not exist', async () => {
    await using world = await openWorld({
      server: {
        metadata: () => undefined,
        challenge: (origin) => `Bearer resource_metadata="${origin}/gone"`,
      },
    });

    expect(await failureOf(world)).toMatchObject({
      message: 'the resource metadata of the server was not found',
      hint: 'configure the issuer, or its authorize_url and token_url',
    });
  });

  test.each([
    ['a server that asks for a token', 401],
    ['a server that asks for nothing', 200],
  ])('is missed, with all other metadata and the pages at fixed paths, for %s', async (_what, status) => {
    await using server = await serveRoutes(() => ({ 'POST /mcp': ({ reply }) => reply(status, {}) }));
    await using world = await openWorld({
      config: { client_id: 'by-hand' },
      options: { serverUrl: `${server.origin}/mcp` },
    });

    expect(await failureOf(world)).toMatchObject({
      message: `${server.origin} does not describe how to get a token, and has no page ${server.origin}/authorize`,
      hint: 'configure the issuer, or its authorize_url and token_url',
    });
    expect(world.states.filter((state) => 'url' in state && state.url !== undefined)).toEqual([]);
  });

  test('is not taken from where it redirects', async () => {
    await using world = await openWorld({ server: { wellKnown: '/moved' } });
    const location = `${world.remote.origin}/moved`;
    await using redirecting = await serveRoutes(() => ({
      'GET /about': ({ reply }) => reply(302, '', { location }),
    }));
    await world.auth.challenged({
      status: 401,
      wwwAuthenticate: `Bearer resource_metadata="${redirecting.origin}/about"`,
    });

    expect(await failureOf(world)).toMatchObject({
      message: expect.stringContaining('the resource metadata of the server was not found'),
    });
    expect(world.remote.seen).not.toContain('GET /moved');
  });

  test('may be missing, with all other metadata: then its host has endpoints at fixed paths, as in 2025-03-26', async () => {
    await using server = await serveRoutes(() => ({
      'POST /mcp': ({ reply }) => reply(401, {}),
      'GET /authorize': ({ reply }) => reply(400, 'client_id is missing'),
    }));
    await using world = await openWorld({ options: { serverUrl: `${server.origin}/mcp` } });

    expect(await failureOf(world)).toMatchObject({
      message: `${server.origin} does not register this client: not_found`,
    });
    expect(server.seen.slice(-4)).toEqual([
      'GET /.well-known/oauth-authorization-server',
      'GET /.well-known/openid-configuration',
      'GET /authorize',
      'POST /register',
    ]);
  });

  test.each([
    ['is no JSON', () => '<html>', 'its JSON'],
    ['has no resource', () => ({ authorization_servers: [] }), 'resource'],
  ])('is refused when it %s', async (_what, metadata, field) => {
    await using world = await openWorld({ server: { metadata } });

    expect(await failureOf(world)).toMatchObject({
      message: expect.stringMatching(new RegExp(`^invalid metadata at .*: ${field}$`)),
    });
  });
});

describe('an address that a server names', () => {
  /** A server elsewhere, whose names lead nowhere. */
  async function openFar(resourceMetadata: string) {
    const world = await openWorld({
      options: {
        serverUrl: 'https://mcp.example/mcp',
        network: { lookup: (host, _options, done) => done(unavailable(`${host} was looked up`), []) },
      },
    });
    await world.auth.challenged({
      status: 401,
      wwwAuthenticate: `Bearer resource_metadata="${resourceMetadata}"`,
    });
    return world;
  }

  test.each([
    [
      'this machine',
      'https://127.0.0.1:1/about',
      'the resource metadata is on this machine, and the server is not',
    ],
    ['this machine by its name', 'https://localhost:1/about', 'is on this machine'],
    ['the network here', 'https://192.168.1.1/about', 'the resource metadata is a private address'],
    [
      'the metadata of a cloud',
      'https://169.254.169.254/about',
      'the resource metadata is a link-local address',
    ],
    ['plain http', 'http://mcp.example/about', 'the resource metadata is not https'],
    ['a file', 'file:///etc/passwd', 'the resource metadata is not https'],
    ['nothing', 'https://', 'the resource metadata is not a usable URL'],
    ['someone with a password', 'https://a:b@mcp.example/about', 'is not a usable URL'],
    [
      'anywhere else, which is looked up with care',
      'https://other.example/about',
      'other.example was looked up',
    ],
  ])('may not lead to %s', async (_what, address, message) => {
    await using world = await openFar(address);

    expect(await failureOf(world)).toMatchObject({ message: expect.stringContaining(message) });
  });

  test.each([
    ['its issuer', (issuer: string) => ({ issuer })],
    [
      'its authorize_url and token_url',
      (issuer: string) => ({
        client_id: 'us',
        authorize_url: `${issuer}/authorize`,
        token_url: `${issuer}/token`,
      }),
    ],
  ])('may not lead to this machine when a registry entry named it as %s', async (_what, configOf) => {
    const opened: string[] = [];
    await using world = await openWorld();
    const { issuer } = world.authority;
    await using auth = await world.open({
      serverUrl: 'https://mcp.example/mcp',
      config: configOf(issuer),
      registryHosts: ['mcp.example', new URL(issuer).host],
      openBrowser: async (url) => void opened.push(url),
      network: { lookup: (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]) },
    });

    const failure = await auth.authorize(AbortSignal.timeout(10_000)).catch((error: unknown) => error);

    expect(failure).toMatchObject({
      kind: 'forbidden',
      message: expect.stringContaining('is on this machine'),
    });
    expect(opened).toEqual([]);
    expect(world.authority.asked).toEqual([]);
  });

  test('may not lead to a private address when a registry entry named it as the issuer', async () => {
    await using world = await openWorld({
      config: { issuer: 'https://id.example' },
      options: {
        serverUrl: 'https://mcp.example/mcp',
        registryHosts: ['id.example'],
        network: { lookup: (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]) },
      },
    });
    await world.auth.challenged({ status: 401, wwwAuthenticate: 'Bearer' });

    expect(await failureOf(world)).toMatchObject({
      kind: 'forbidden',
      message: 'id.example is a loopback address',
    });
  });

  test('may not lead to a name with a private address', async () => {
    await using world = await openWorld({
      options: {
        serverUrl: 'https://mcp.example/mcp',
        network: { lookup: (_host, _options, done) => done(null, [{ address: '10.0.0.1', family: 4 }]) },
      },
    });
    await world.auth.challenged({
      status: 401,
      wwwAuthenticate: 'Bearer resource_metadata="https://inside.example/about"',
    });

    expect(await failureOf(world)).toMatchObject({
      kind: 'forbidden',
      message: 'inside.example is a private address',
      hint: 'if that is right, configure the issuer, or its authorize_url and token_url',
    });
  });

  test.each([
    [
      'authorization_endpoint',
      'https://192.168.1.1/',
      'the authorization endpoint is a private address: https://192.168.1.1/',
    ],
    ['authorization_endpoint', 'javascript:alert(1)', 'the authorization endpoint is not https'],
    [
      'token_endpoint',
      'http://issuer.example/token',
      'the token endpoint is not https: http://issuer.example/token',
    ],
    ['token_endpoint', 'https://10.0.0.1/token', 'the token endpoint is a private address'],
    [
      'registration_endpoint',
      'https://10.0.0.1/',
      'an endpoint of the authorization server is a private address',
    ],
  ])('may not be a %s that is %s', async (field, address, message) => {
    const opened: string[] = [];
    await using world = await openWorld({
      authority: { metadata: (metadata) => ({ ...metadata, [field]: address }) },
      options: { openBrowser: async (url) => void opened.push(url) },
    });

    expect(await failureOf(world)).toMatchObject({ message: expect.stringContaining(message) });
    expect(opened).toEqual([]);
  });
});

describe('an authorization server', () => {
  test.each([
    ['of OAuth', '', '/.well-known/oauth-authorization-server', 1],
    ['of OpenID Connect', '', '/.well-known/openid-configuration', 2],
    ['of OAuth at a path', '/tenant', '/.well-known/oauth-authorization-server/tenant', 1],
    ['of OpenID Connect at a path', '/tenant', '/.well-known/openid-configuration/tenant', 2],
    ['of OpenID Connect as it was first', '/tenant', '/tenant/.well-known/openid-configuration', 3],
  ])('%s is found where it says what it is', async (_what, path, wellKnown, tries) => {
    await using world = await openWorld({ authority: { path, wellKnown } });

    await world.auth.authorize();

    expect(world.authority.seen.filter((key) => key.includes('well-known'))).toHaveLength(tries);
    expect(await world.ask()).toBe(200);
  });

  test.each([
    [
      'null for what it does not have',
      { scopes_supported: null, jwks_uri: null, service_documentation: null },
    ],
    ['null for its flags', { client_id_metadata_document_supported: null }],
    ['null for the methods of the token endpoint', { token_endpoint_auth_methods_supported: null }],
  ])('may write %s', async (_what, nulls) => {
    await using world = await openWorld({
      authority: { metadata: (metadata) => ({ ...metadata, ...nulls }) },
    });

    await world.auth.authorize();

    expect(await world.ask()).toBe(200);
  });

  test('that says it is another is not used, unless the other one confirms it', async () => {
    await using honest = await serveRoutes(() => ({}));
    await using world = await openWorld({
      authority: { metadata: (metadata) => ({ ...metadata, issuer: honest.origin }) },
    });

    expect(await failureOf(world)).toMatchObject({
      message: expect.stringMatching(/cannot be used: .*"issuer" property does not match/),
    });
    const documents = [
      'GET /.well-known/oauth-authorization-server',
      'GET /.well-known/openid-configuration',
    ];
    expect(world.authority.seen).toEqual(documents);
    expect(honest.seen).toEqual(documents);
  });

  test('that names another is replaced by what the other one says about itself', async () => {
    await using world = await openWorld({
      server: {
        metadata: (metadata) => ({ ...metadata, authorization_servers: [alias.origin] }),
      },
    });
    await using alias = await serveRoutes((origin) => ({
      'GET /.well-known/oauth-authorization-server': ({ reply }) =>
        reply(200, {
          issuer: world.authority.issuer,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          code_challenge_methods_supported: ['S256'],
        }),
    }));

    await world.auth.authorize();

    expect(alias.seen).toEqual([
      'GET /.well-known/oauth-authorization-server',
      'GET /.well-known/openid-configuration',
    ]);
    expect(await world.ask()).toBe(200);
  });

  test('may have a slash at the end that its metadata does not have', async () => {
    await using world = await openWorld({
      authority: { path: '/tenant' },
      server: {
        metadata: (metadata) => ({ ...metadata, authorization_servers: [`${world.authority.issuer}/`] }),
      },
    });

    await world.auth.authorize();

    expect(await world.ask()).toBe(200);
  });

  test.each([
    ['does not say that it supports PKCE', undefined],
    ['supports only plain', ['plain']],
  ])('that %s is not used', async (_what, methods) => {
    await using world = await openWorld({
      authority: { metadata: (metadata) => ({ ...metadata, code_challenge_methods_supported: methods }) },
    });

    expect(await failureOf(world)).toMatchObject({
      message: expect.stringContaining('does not announce support for PKCE with S256'),
      hint: expect.stringContaining('if it supports PKCE anyway'),
    });
    expect(world.authority.registrations).toEqual([]);
  });

  test('is the next one when the first does not say how to get a token', async () => {
    await using nobody = await serveRoutes(() => ({}));
    await using world = await openWorld({
      server: {
        metadata: (metadata) => ({
          ...metadata,
          authorization_servers: [nobody.origin, world.authority.issuer],
        }),
      },
    });

    await world.auth.authorize();

    expect(nobody.seen).toHaveLength(2);
    expect(await world.ask()).toBe(200);
  });

  test('is the configured one, whatever the server says', async () => {
    await using other = await openWorld();
    await using world = await openWorld({
      server: { metadata: (metadata) => ({ ...metadata, authorization_servers: [other.authority.issuer] }) },
    });
    await using auth = await world.open({ config: { issuer: world.authority.issuer } });

    await auth.authorize();

    expect(other.authority.seen).toEqual([]);
    expect(await world.ask(await auth.headers())).toBe(200);
  });

  test('is the configured one also when the server says nothing, or something wrong', async () => {
    await using world = await openWorld({
      server: { metadata: () => ({ resource: 'https://evil.example/' }) },
    });
    await using auth = await world.open({ config: { issuer: world.authority.issuer } });

    await auth.authorize();

    expect(world.authority.asked[0]?.get('resource')).toBe(world.remote.url);
  });

  test('with configured endpoints is not asked about them', async () => {
    await using world = await openWorld({ authority: { clients: { mine: 'hush' } } });
    world.secrets['client'] = 'hush';
    const { issuer, origin } = world.authority;
    await using auth = await world.open({
      config: {
        issuer,
        authorize_url: `${origin}/authorize?tenant=a`,
        token_url: `${origin}/token`,
        client_id: 'mine',
        client_secret: 'client,target=X',
        oauth_params: { audience: 'notes' },
      },
    });

    await auth.authorize();

    expect(world.authority.countOf('GET /.well-known/oauth-authorization-server')).toBe(0);
    expect(Object.fromEntries(world.authority.asked[0] ?? [])).toMatchObject({
      tenant: 'a',
      audience: 'notes',
    });
    expect(await world.ask(await auth.headers())).toBe(200);
  });
});
