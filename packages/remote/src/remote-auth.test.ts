import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import type { Vault } from '@toolhive/secrets/encrypted';
import { unavailable } from '@toolhive/contract/failure';
import { describe, expect, test } from 'vitest';
import { SignIns, TokenStore } from './kept.ts';
import { describeRemoteAuth } from './auth-status.ts';
import { openVault, openWorld, notes } from './testing/remote-world.ts';
import { adoptedWorkloadId, newWorkloadId } from '@toolhive/state/workload-id';
import type { World } from './testing/remote-world.ts';
import { serveRoutes } from './testing/authorization-server.ts';

const memory = 'no encrypted secrets are set up';
const wantsWho = { kind: 'needs authorization', why: 'the server requires a sign-in' };

/** A world in which the user has agreed, long enough ago. */
async function openSignedIn(...changes: Parameters<typeof openWorld>) {
  const world = await openWorld(...changes);
  await world.signIn();
  world.clock.ms += 60_000;
  return world;
}

/** Asks with the stored token, and tells how to handle a refusal. */
async function askAndTell(world: World) {
  const headers = await world.auth.headers();
  const status = await world.ask(headers);
  if (status !== 401) return status;
  return world.auth.challenged({ status, wwwAuthenticate: 'Bearer', sent: headers['authorization'] });
}

describe('a server before the first request', () => {
  test('gets no token, and its refusal says that one is needed', async () => {
    await using world = await openWorld();

    expect(world.auth.state).toEqual({ kind: 'not needed' });
    expect(await world.auth.headers()).toEqual({});
    expect(await askAndTell(world)).toBe('needs authorization');
    expect(world.auth.state).toEqual(wantsWho);
  });

  test('is not asked by opening, and neither is anybody else', async () => {
    await using world = await openWorld();

    expect([...world.remote.seen, ...world.authority.seen]).toEqual([]);
  });

  test.each([
    ['another scheme', 401, 'Basic realm="a"'],
    ['a plain refusal', 403, undefined],
    ['a refusal of a token that is good enough', 403, 'Bearer error="invalid_token"'],
    ['an error', 500, 'Bearer'],
  ])('may refuse for reasons that no token changes: %s', async (_what, status, wwwAuthenticate) => {
    await using world = await openWorld();

    expect(await world.auth.challenged({ status, wwwAuthenticate })).toBe('not ours');
    expect(world.auth.state).toEqual({ kind: 'not needed' });
  });
});

describe('signing in', () => {
  test('lets the user agree and then sends the token', async () => {
    await using world = await openWorld();

    await world.auth.authorize();

    expect(await world.ask()).toBe(200);
    expect(world.auth.state).toEqual({ kind: 'authorized', onlyInMemory: memory });
  });

  test('asks for a code with PKCE, for this server, bound to this flow', async () => {
    await using world = await openWorld();

    await world.auth.authorize();

    const [query] = world.authority.asked;
    expect(Object.fromEntries(query ?? [])).toEqual({
      response_type: 'code',
      client_id: 'client-1',
      redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
      state: expect.stringMatching(/^[\w-]{43}$/),
      resource: world.remote.url,
    });
    expect(world.authority.redeemed[0]?.get('resource')).toBe(world.remote.url);
  });

  test('tells where the user can agree, while it waits', async () => {
    await using world = await openWorld();
    await askAndTell(world);

    await world.auth.authorize();

    const waiting = world.states.find((state) => state.kind === 'needs authorization' && state.url);
    expect(waiting).toMatchObject({
      ...wantsWho,
      url: expect.stringContaining(`${world.authority.origin}/authorize?`),
    });
    expect(describeRemoteAuth(waiting ?? world.auth.state)).toMatch(/^needs authorization: sign in at http/);
  });

  test('leaves the browser alone when it is told so', async () => {
    const opened: string[] = [];
    await using world = await openWorld({
      config: { skip_browser: true },
      options: {
        openBrowser: async (url) => void opened.push(url),
        onChange: (state) => {
          if (state.kind === 'needs authorization' && state.url) void world.browser.open(state.url);
        },
      },
    });

    await world.auth.authorize();

    expect(opened).toEqual([]);
    expect(await world.ask()).toBe(200);
  });

  test('continues when the browser cannot be opened', async () => {
    await using world = await openWorld({
      options: {
        openBrowser: () => Promise.reject(new Error('no display')),
        onChange: (state) => {
          if (state.kind === 'needs authorization' && state.url) void world.browser.open(state.url);
        },
      },
    });

    await world.auth.authorize();

    expect(await world.ask()).toBe(200);
  });

  test('is one flow, however many want it', async () => {
    await using world = await openWorld();

    await Promise.all([world.auth.authorize(), world.auth.authorize(), world.auth.authorize()]);

    expect(world.authority.asked).toHaveLength(1);
  });

  test('ends with its signal, and its port is free again', async () => {
    const stop = new AbortController();
    await using world = await openWorld({
      options: { openBrowser: async () => stop.abort() },
    });

    await expect(world.auth.authorize(stop.signal)).rejects.toMatchObject({
      kind: 'cancelled',
      message: 'signing in was cancelled',
    });

    await expect(fetch(portOf(world))).rejects.toThrow();
    expect(world.auth.state).toEqual({ kind: 'not needed' });
  });

  test('ends with the workload', async () => {
    await using world = await openWorld({
      options: { openBrowser: () => world.auth[Symbol.asyncDispose]() },
    });

    await expect(world.auth.authorize()).rejects.toMatchObject({ kind: 'cancelled' });
  });

  test('ends when the user takes too long, and the state says so', async () => {
    await using world = await openWorld({
      config: { timeout: '300ms' },
      options: { openBrowser: async () => {} },
    });

    await expect(world.auth.authorize()).rejects.toMatchObject({
      kind: 'timeout',
      message: 'the sign-in was not completed within 0.01 minutes',
    });

    expect(world.auth.state).toEqual({
      kind: 'needs authorization',
      why: 'the sign-in was not completed within 0.01 minutes',
    });
  });

  test('is refused for a server over plain http elsewhere', async () => {
    await using world = await openWorld({ options: { serverUrl: 'http://mcp.example/mcp' } });

    await expect(world.auth.authorize()).rejects.toMatchObject({
      kind: 'forbidden',
      message: 'no token is sent to http://mcp.example/mcp, because the URL is not https',
    });
  });
});

/** Where the browser was to come back to. */
function portOf(world: World): string {
  const waiting = world.states.find(
    (state) => state.kind === 'needs authorization' && state.url !== undefined,
  );
  const url = new URL(waiting?.kind === 'needs authorization' ? (waiting.url ?? '') : '');
  return url.searchParams.get('redirect_uri') ?? '';
}

describe('scopes', () => {
  const described = (metadata: Record<string, unknown>) => ({ ...metadata, scopes_supported: ['described'] });

  test.each([
    ['what is configured', { scopes: ['mine'] }, 'Bearer scope="asked"', 'mine'],
    ['what the server asks for', {}, 'Bearer scope="asked more"', 'asked more'],
    ['what the server says it needs', {}, 'Bearer', 'described'],
  ])('are %s', async (_what, config, challenge, expected) => {
    await using world = await openWorld({
      config,
      server: { metadata: described, challenge: () => challenge },
    });

    await world.auth.authorize();

    expect(world.authority.asked[0]?.get('scope')).toBe(expected);
    expect(world.authority.registrations[0]?.['scope']).toBe(expected);
  });

  test.each([
    ['with a scope', 'asked', (scope: unknown) => scope === undefined, ['asked', undefined]],
    ['without a scope', '', (scope: unknown) => scope === 'known', [undefined, 'known']],
  ])(
    'that keep a server from registering %s do not end the sign-in',
    async (_title, asked, isFine, expected) => {
      const seen: unknown[] = [];
      await using world = await openWorld({
        server: { challenge: () => (asked === '' ? 'Bearer' : `Bearer scope="${asked}"`) },
        authority: {
          metadata: (metadata) => ({ ...metadata, scopes_supported: ['known'] }),
          register: ({ json, reply }) => {
            seen.push(json['scope']);
            if (isFine(json['scope'])) reply(201, { client_id: 'https://chosen.example' });
            else
              reply(400, { error: 'invalid_client_metadata', error_description: 'Only known is supported.' });
          },
        },
      });

      await world.auth.authorize();

      expect(seen).toEqual(expected);
      expect(world.authority.asked.map((request) => request.get('client_id'))).toEqual([
        'https://chosen.example',
      ]);
    },
  );

  test('have the one that brings refresh tokens where it is known, and the user is asked', async () => {
    await using world = await openWorld({
      authority: { metadata: (metadata) => ({ ...metadata, scopes_supported: ['offline_access'] }) },
      server: { metadata: described },
    });

    await world.auth.authorize();

    expect(world.authority.asked[0]?.get('scope')).toBe('described offline_access');
    expect(world.authority.asked[0]?.get('prompt')).toBe('consent');
  });

  test('are added to what was agreed to before when the server wants more', async () => {
    await using world = await openSignedIn({ server: { challenge: () => 'Bearer scope="read"' } });
    const wwwAuthenticate = 'Bearer error="insufficient_scope", scope="write"';
    const sent = (await world.auth.headers())['authorization'];

    const answer = await world.auth.challenged({ status: 403, wwwAuthenticate, sent });

    expect(answer).toBe('needs authorization');
    expect(world.auth.state).toMatchObject({ why: 'the server asks for write', scope: 'write' });
    expect(await world.ask()).toBe(200);
    await world.auth.authorize();
    expect(world.authority.asked[1]?.get('scope')).toBe('read write');
    expect(world.auth.state).toMatchObject({ kind: 'authorized' });
  });
});

describe('a client', () => {
  test('learns of scopes from the body of a refusal too', async () => {
    await using world = await openSignedIn();
    const sent = (await world.auth.headers())['authorization'];
    const body = JSON.stringify({ error: 'insufficient_scope', scope: 'write' });

    const answer = await world.auth.challenged({ status: 403, body, sent });

    expect(answer).toBe('needs authorization');
    expect(world.auth.state).toMatchObject({ scope: 'write' });
  });

  test('is registered as a native one', async () => {
    await using world = await openWorld();

    await world.auth.authorize();

    expect(world.authority.registrations).toEqual([
      {
        client_name: 'ToolHive MCP Client',
        application_type: 'native',
        redirect_uris: [expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/)],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
    ]);
  });

  test('is registered by a server that does not say when the secret expires, and sends the secret as it is', async () => {
    const secret = 'a-secret_with.signs+and spaces';
    let authorization: string | undefined;
    let named: string | null = null;
    await using world = await openWorld({
      authority: {
        register: ({ json, reply }) =>
          reply(201, {
            ...json,
            client_id: 'a-client_id',
            client_secret: secret,
            token_endpoint_auth_method: 'client_secret_basic',
          }),
        token: ({ headers, body, reply }) => {
          ({ authorization } = headers);
          named = body.get('client_id');
          reply(200, { access_token: 'a', token_type: 'Bearer' });
        },
      },
    });

    await world.auth.authorize();

    expect(named).toBe('a-client_id'); // the Python SDK requires that
    const sent = Buffer.from(authorization?.replace('Basic ', '') ?? '', 'base64').toString();
    expect(sent).toBe('a-client_id:a-secret_with.signs%2Band+spaces');
    expect(world.auth.state).toMatchObject({ kind: 'authorized' });
  });

  test('stays registered, at the same port', async () => {
    await using world = await openSignedIn();

    await world.auth.authorize();

    const [first, second] = world.authority.asked;
    expect(world.authority.registrations).toHaveLength(1);
    expect(second?.get('redirect_uri')).toBe(first?.get('redirect_uri'));
  });

  test('is registered again when its port is taken', async () => {
    await using world = await openSignedIn();
    const taken = Number(new URL(world.authority.asked[0]?.get('redirect_uri') ?? '').port);
    await using _other = await listenOn(taken);

    await world.auth.authorize();

    expect(world.authority.registrations).toHaveLength(2);
    expect(await world.ask()).toBe(200);
  });

  test('is registered again with another authorization server, and not shown to it before', async () => {
    await using other = await openWorld();
    await using world = await openSignedIn();
    world.remote.changes.metadata = (metadata) => ({
      ...metadata,
      authorization_servers: [other.authority.issuer],
    });

    await world.auth.authorize();

    expect(other.authority.registrations).toHaveLength(1);
    expect(other.authority.redeemed[0]?.get('refresh_token')).toBe(null);
  });

  test('that was configured shows its secret, which is looked up when it is needed', async () => {
    await using world = await openWorld({
      authority: { clients: { mine: 'hush' } },
      config: { client_id: 'mine', client_secret: 'remote-secret,target=CLIENT_SECRET' },
    });
    world.secrets['remote-secret'] = 'hush';

    await world.auth.authorize();

    expect(world.authority.registrations).toEqual([]);
    expect(world.authority.asked[0]?.get('redirect_uri')).toMatch(/^http:\/\/localhost:\d+\/callback$/);
    expect(await world.ask()).toBe(200);
  });

  test('that was configured is not shown to another authorization server', async () => {
    await using other = await openWorld({ authority: { clients: { mine: 'hush' } } });
    await using world = await openWorld({
      authority: { clients: { mine: 'hush' } },
      config: { client_id: 'mine', client_secret: 'remote-secret,target=CLIENT_SECRET' },
    });
    world.secrets['remote-secret'] = 'hush';
    await world.auth.authorize();
    world.remote.changes.metadata = (metadata) => ({
      ...metadata,
      authorization_servers: [other.authority.issuer],
    });

    const again = world.auth.authorize();

    await expect(again).rejects.toMatchObject({
      kind: 'forbidden',
      message: `the client_id belongs to ${world.authority.issuer}, and the server now names ${other.authority.issuer}`,
    });
    expect(other.authority.redeemed).toEqual([]);
  });

  test('is a document where the server reads those', async () => {
    const clientDocument = 'https://toolhive.example/client.json';
    await using world = await openWorld({
      authority: {
        metadata: (metadata) => ({ ...metadata, client_id_metadata_document_supported: true }),
      },
      options: { clientDocument },
    });

    await world.auth.authorize();

    expect(world.authority.asked[0]?.get('client_id')).toBe(clientDocument);
    expect(world.authority.registrations).toEqual([]);
    expect(await world.ask()).toBe(200);
  });

  test('is registered where the server does not read documents', async () => {
    await using world = await openWorld({
      options: { clientDocument: 'https://toolhive.example/client.json' },
    });

    await world.auth.authorize();

    expect(world.authority.asked[0]?.get('client_id')).toBe('client-1');
  });

  test('has to be configured where the server registers none', async () => {
    await using world = await openWorld({
      authority: { metadata: (metadata) => ({ ...metadata, registration_endpoint: undefined }) },
    });

    await expect(world.auth.authorize()).rejects.toMatchObject({
      kind: 'invalid',
      message: `${world.authority.issuer} does not support dynamic client registration`,
      hint: expect.stringContaining('--remote-auth-client-id'),
    });
  });

  test('that a server does not register is told what the server says', async () => {
    await using world = await openWorld({
      authority: {
        register: ({ reply }) =>
          reply(400, { error: 'invalid_redirect_uri', error_description: 'no\u0007 loopback\nplease' }),
      },
    });

    await expect(world.auth.authorize()).rejects.toMatchObject({
      message: `${world.authority.issuer} does not register this client: invalid_redirect_uri (no loopback please)`,
      hint: expect.stringContaining('--remote-auth-client-id'),
    });
  });

  test.each<[string, object]>([
    ['null for its secret', { client_secret: null }],
    ['null for when its secret expires', { client_secret: null, client_secret_expires_at: null }],
    ['an empty secret', { client_secret: '', client_secret_expires_at: '' }],
    ['null for its method', { token_endpoint_auth_method: null, scope: null, logo_uri: null }],
    ['null in lists', { contacts: [null], redirect_uris: null }],
  ])('may be registered with %s', async (_what, nulls) => {
    await using world = await openWorld({
      authority: {
        register: ({ json, reply }) => reply(201, { ...json, ...nulls, client_id: 'https://given.example' }),
      },
    });

    await world.auth.authorize();

    expect(await world.ask()).toBe(200);
  });

  test.each<[string, object]>([
    ['null scopes', { scope: null }],
    ['null for all it does not have', { refresh_token: null, id_token: null, scope: null, expires_in: null }],
    ['empty texts', { refresh_token: '', id_token: '', scope: '' }],
    ['null as its type, which can only be Bearer', { token_type: null }],
    ['a list of scopes', { scope: ['read', null] }],
  ])('may get a token with %s', async (_what, nulls) => {
    await using world = await openWorld({ authority: { given: (tokens) => ({ ...tokens, ...nulls }) } });

    await world.auth.authorize();

    expect(await world.ask()).toBe(200);
    expect(world.auth.state).toMatchObject({ kind: 'authorized' });
  });

  test('may be registered with 200 and a secret, which it then shows', async () => {
    await using world = await openWorld({
      authority: {
        clients: { given: 'hush' },
        register: ({ reply }) =>
          reply(200, {
            client_id: 'given',
            client_secret: 'hush',
            client_secret_expires_at: 0,
            token_endpoint_auth_method: 'client_secret_basic',
          }),
      },
    });

    await world.auth.authorize();

    expect(await world.ask()).toBe(200);
  });
});

async function listenOn(port: number): Promise<AsyncDisposable & { port: number }> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => new Promise((done) => server.close(() => done())),
  };
}

describe('the callback port', () => {
  test('is the configured one', async () => {
    const { port } = await (async () => {
      await using free = await listenOn(0);
      return free;
    })();
    await using world = await openWorld({ config: { callback_port: port } });

    await world.auth.authorize();

    expect(world.authority.asked[0]?.get('redirect_uri')).toBe(`http://127.0.0.1:${port}/callback`);
  });

  test('is missed clearly when it is taken', async () => {
    await using taken = await listenOn(0);
    await using world = await openWorld({ config: { callback_port: taken.port } });

    await expect(world.auth.authorize()).rejects.toMatchObject({
      kind: 'conflict',
      message: `port ${taken.port} for the sign-in callback is in use`,
    });
    expect(world.authority.registrations).toEqual([]);
  });
});

describe('an answer of the browser', () => {
  const refusedWith = async (answer: (parameters: URLSearchParams) => void) => {
    await using world = await openWorld({ authority: { answer } });
    const failure = await world.auth.authorize().catch((error: unknown) => error);
    expect(world.authority.redeemed).toEqual([]);
    expect((await world.pages())[0]?.status).toBe(400);
    return failure;
  };

  test('of another issuer is refused before its code goes anywhere', async () => {
    expect(await refusedWith((parameters) => parameters.set('iss', 'https://evil.example'))).toMatchObject({
      kind: 'unavailable',
      message: 'the answer of the browser is refused: unexpected "iss" (issuer) response parameter value',
    });
  });

  test('without the issuer that was promised is refused', async () => {
    expect(await refusedWith((parameters) => parameters.delete('iss'))).toMatchObject({
      message: 'the answer of the browser is refused: response parameter "iss" (issuer) missing',
    });
  });

  test('that is an error is told', async () => {
    const failure = await refusedWith((parameters) => {
      parameters.delete('code');
      parameters.set('error', 'access_denied');
      parameters.set('error_description', 'you said no');
    });

    expect(failure).toMatchObject({
      kind: 'forbidden',
      message: 'the answer of the browser is refused: access_denied (you said no)',
    });
  });

  test('that is an error of another issuer is not repeated', async () => {
    const failure = await refusedWith((parameters) => {
      parameters.set('iss', 'https://evil.example');
      parameters.set('error', 'access_denied');
      parameters.set('error_description', 'call 555 0100');
    });

    expect(inspect(failure)).not.toMatch(/access_denied|555/);
  });

  test('without a code is refused', async () => {
    expect(await refusedWith((parameters) => parameters.delete('code'))).toMatchObject({
      message: expect.stringContaining('no authorization code'),
    });
  });

  test('with another state is ignored, and the right one still counts', async () => {
    await using world = await openWorld({
      options: {
        openBrowser: async (url) => {
          const callback = new URL(url).searchParams.get('redirect_uri');
          await world.browser.comeBack(`${callback}?code=stolen&state=guessed`);
          await world.browser.open(url);
        },
      },
    });

    await world.auth.authorize();

    expect((await world.pages()).map(({ status }) => status)).toEqual([400, 200]);
    expect(world.authority.redeemed).toHaveLength(1);
    expect(await world.ask()).toBe(200);
  });

  test('counts once', async () => {
    let answered = '';
    await using world = await openWorld({
      authority: { answer: (parameters) => void (answered = parameters.toString()) },
      options: {
        openBrowser: async (url) => {
          const callback = new URL(url).searchParams.get('redirect_uri');
          const agreed = world.browser.open(url);
          await expect.poll(() => world.authority.redeemed.length).toBe(1);
          await world.browser.comeBack(`${callback}?${answered}`).catch(() => {}); // it may have closed
          await agreed;
        },
      },
    });

    await world.auth.authorize();

    expect(world.authority.redeemed).toHaveLength(1);
  });

  test('is checked without an issuer where the user has configured none', async () => {
    await using world = await openWorld();
    const { origin } = world.authority;
    await using auth = await world.open({
      config: {
        authorize_url: `${origin}/authorize`,
        token_url: `${origin}/token`,
        client_id: 'https://mine',
      },
    });

    await auth.authorize();

    expect(await world.ask(await auth.headers())).toBe(200);
    expect(world.authority.countOf('GET /.well-known/oauth-authorization-server')).toBe(0);
  });
});

describe('a registry entry that names both endpoints', () => {
  /** Signs in at one authorization server, and redeems the code at a token endpoint of another one. */
  async function signInWith(entry: 'names' | 'does not name', token: 'its own' | 'that of the page') {
    await using world = await openWorld();
    await using evil = await serveRoutes(() => ({}));
    const { origin } = token === 'its own' ? evil : world.authority;
    await using auth = await world.open({
      config: {
        authorize_url: `${world.authority.origin}/authorize`,
        token_url: `${origin}/token`,
        client_id: 'https://mine',
        issuer: world.authority.origin,
      },
      registryHosts: entry === 'names' ? [new URL(origin).host] : [],
    });
    const failure = await auth.authorize().catch((error: unknown) => error);
    return { failure, seen: evil.seen, redeemed: world.authority.redeemed.length };
  }

  test('gets no code of an authorization server whose tokens come from elsewhere', async () => {
    const { failure, seen } = await signInWith('names', 'its own');

    expect(failure).toMatchObject({
      kind: 'forbidden',
      message: expect.stringMatching(
        /^the sign-in page belongs to .*, and the token endpoint .*\/token does not$/,
      ),
    });
    expect(seen).not.toContain('POST /token');
  });

  test('is used if they belong together, and the user may name others', async () => {
    expect(await signInWith('names', 'that of the page')).toMatchObject({ failure: undefined, redeemed: 1 });
    expect((await signInWith('does not name', 'its own')).seen).toContain('POST /token');
  });
});

describe('a token endpoint', () => {
  test.each([
    [
      'that refuses',
      'did not return a token: invalid_grant',
      (reply: Reply) => reply(400, { error: 'invalid_grant', error_description: 'echo-of-secret' }),
    ],
    [
      'that fails',
      'did not return a token: status 500 without JSON',
      (reply: Reply) => reply(500, 'echo-of-secret'),
    ],
    [
      'that redirects',
      'redirects a request with a body',
      (reply: Reply) => reply(307, '', { location: 'https://evil.example/' }),
    ],
    ['with an answer that is no JSON', 'JSON', (reply: Reply) => reply(200, 'echo-of-secret')],
    [
      'with another kind of token',
      'token_type',
      (reply: Reply) => reply(200, { access_token: 'echo-of-secret', token_type: 'mac' }),
    ],
    [
      'with a token that breaks the header',
      'not a bearer token',
      (reply: Reply) => reply(200, { access_token: 'echo-of-secret\r\nhost: a', token_type: 'bearer' }),
    ],
    [
      'with a wrong refresh token',
      'refresh_token',
      (reply: Reply) =>
        reply(200, { access_token: 'echo-of-secret', token_type: 'bearer', refresh_token: 1 }),
    ],
  ])('%s is told, and nothing that it said', async (_what, message, answer) => {
    await using world = await openWorld({ authority: { token: ({ reply }) => answer(reply) } });

    const failure = await world.auth.authorize().catch((error: unknown) => error);

    expect(failure).toMatchObject({ name: 'ThvError', message: expect.stringContaining(message) });
    expect(inspect(failure, { depth: 9 })).not.toContain('echo-of-secret');
    expect((await world.pages())[0]?.body).toContain('Not signed in');
    expect(await world.auth.headers()).toEqual({});
  });

  test('that does not answer is given up', async () => {
    await using world = await openWorld({
      authority: { token: () => {} },
      options: { network: { timeoutMs: 200 } },
    });

    await expect(world.auth.authorize()).rejects.toMatchObject({ kind: 'timeout' });
  });

  test('that answers without end is cut off', async () => {
    let sent = 0;
    await using world = await openWorld({
      authority: {
        token: ({ response }) => {
          const chunk = Buffer.alloc(64 * 1024, ' ');
          response.writeHead(200, { 'content-type': 'application/json' });
          const more = (): void => {
            while (!response.destroyed && sent < 100 * 1024 * 1024) {
              sent += chunk.length;
              if (!response.write(chunk)) return;
            }
          };
          response.on('drain', more);
          more();
        },
      },
    });

    await expect(world.auth.authorize()).rejects.toMatchObject({ kind: 'too-large' });
    expect(sent).toBeLessThan(50 * 1024 * 1024);
  });

  test('may add an ID token, which is not looked at', async () => {
    await using world = await openWorld({
      authority: {
        token: ({ reply }) =>
          reply(200, { access_token: 'a', token_type: 'Bearer', id_token: 'no.jwt.here' }),
      },
    });

    await world.auth.authorize();

    expect(await world.auth.headers()).toEqual({ authorization: 'Bearer a' });
  });
});

type Reply = (status: number, body: unknown, headers?: Record<string, string>) => void;

describe('a token that expires', () => {
  test('is renewed before that, for all who need it at once', async () => {
    await using world = await openSignedIn({ authority: { expiresIn: 3600 } });
    const before = await world.auth.headers();
    world.clock.ms += 3_520_000;

    const headers = await Promise.all(Array.from({ length: 20 }, () => world.auth.headers()));

    expect(world.authority.redeemed).toHaveLength(2);
    expect(new Set(headers.map(({ authorization }) => authorization)).size).toBe(1);
    expect(headers[0]).not.toEqual(before);
    expect(await world.ask(headers[0])).toBe(200);
  });

  test('is renewed again and again, with the refresh token of the last time', async () => {
    await using world = await openSignedIn({ authority: { expiresIn: 3600 } });
    for (let turn = 0; turn < 3; turn++) {
      world.clock.ms += 3_600_000;
      await world.auth.headers();
    }

    const used = world.authority.redeemed.slice(1).map((body) => body.get('refresh_token'));
    expect(new Set(used).size).toBe(3);
    expect(world.authority.redeemed.at(-1)?.get('resource')).toBe(world.remote.url);
    expect(await world.ask()).toBe(200);
  });

  test('is renewed with the same refresh token where that stays valid, whatever else is given', async () => {
    await using world = await openSignedIn({ authority: { keepsRefresh: true } });
    world.authority.changes.given = (tokens) => ({
      ...tokens,
      refresh_token: undefined,
      id_token: 'no.jwt.here',
    });
    for (let turn = 0; turn < 2; turn++) {
      world.clock.ms += 3_600_000;
      await world.auth.headers();
    }

    const [first, second] = world.authority.redeemed.slice(1).map((body) => body.get('refresh_token'));
    expect(second).toBe(first);
    expect(await world.ask()).toBe(200);
  });

  test('does not come back when the user has signed in again while it was renewed', async () => {
    await using world = await openSignedIn();
    const renewal = Promise.withResolvers<Reply>();
    world.authority.changes.token = ({ reply }) => renewal.resolve(reply);
    world.clock.ms += 3_590_000;
    const headers = world.auth.headers();
    const reply = await renewal.promise;
    delete world.authority.changes.token;
    await world.auth.authorize();

    reply(200, { access_token: 'of-before', token_type: 'Bearer' });

    expect(await headers).toEqual(await world.auth.headers());
    expect(await world.ask()).toBe(200);
  });

  test('and lives shortly is not renewed at every turn', async () => {
    await using world = await openWorld({ authority: { expiresIn: 20 } });
    await world.auth.authorize();
    world.clock.ms += 10_000;

    await world.auth.headers();

    expect(world.authority.redeemed).toHaveLength(1);
  });

  test.each<[string, object]>([
    ['a lifetime of 0', { expires_in: 0 }],
    ['a lifetime of 0 as text', { expires_in: '0' }],
    ['a negative lifetime', { expires_in: -1 }],
    ['a short lifetime as text', { expires_in: '30' }],
  ])('soon, because it has %s, is renewed soon', async (_what, given) => {
    await using world = await openWorld({ authority: { given: (tokens) => ({ ...tokens, ...given }) } });
    await world.signIn();
    await world.auth.headers();
    const atOnce = world.authority.redeemed.length;
    world.clock.ms += 25_000;

    const headers = await world.auth.headers();

    expect(atOnce).toBe(1);
    expect(world.authority.redeemed).toHaveLength(2);
    expect(await world.ask(headers)).toBe(200);
  });

  test.each<[string, object]>([
    ['0 and cannot be renewed', { expires_in: 0, refresh_token: null }],
    ['null', { expires_in: null }],
    ['an empty text', { expires_in: '' }],
    ['a word', { expires_in: 'never' }],
  ])('after %s is used until the server refuses it', async (_what, given) => {
    await using world = await openWorld({ authority: { given: (tokens) => ({ ...tokens, ...given }) } });
    await world.signIn();
    world.clock.ms += 86_400_000;

    const headers = await world.auth.headers();

    expect(world.authority.redeemed).toHaveLength(1);
    expect(await world.ask(headers)).toBe(200);
  });

  test.each<[string, (reply: Reply) => void]>([
    ['an error', (reply) => reply(400, { error: 'invalid_request', error_description: 'scope is required' })],
    ['a wrong error', (reply) => reply(400, { error: 'invalid_grant' })],
    ['invalid_scope and 401', (reply) => reply(401, { error: 'invalid_scope' })],
    ['a text', (reply) => reply(400, 'scope is missing', { 'content-type': 'text/plain' })],
  ])('is renewed with its scopes where a request without them gets %s', async (_what, refuse) => {
    await using world = await openSignedIn({
      authority: { expiresIn: 3600 },
      server: { metadata: (metadata) => ({ ...metadata, scopes_supported: ['api://example/.default'] }) },
    });
    const scopes: (string | null)[] = [];
    world.authority.changes.token = ({ body, reply }) => {
      scopes.push(body.get('scope'));
      if (body.get('scope') === null) return refuse(reply);
      return reply(200, { access_token: 'next', token_type: 'Bearer', expires_in: 3600 });
    };
    world.clock.ms += 3_600_000;

    expect(await world.auth.headers()).toEqual({ authorization: 'Bearer next' });

    expect(scopes).toEqual([null, 'api://example/.default']);
    expect(world.auth.state).toMatchObject({ kind: 'authorized' });
  });

  test('is renewed with the scopes that were granted instead of those that were asked for', async () => {
    await using world = await openSignedIn({
      authority: { expiresIn: 3600, given: (tokens) => ({ ...tokens, scope: ['read'] }) },
      config: { scopes: ['read', 'write'] },
    });
    const scopes: (string | null)[] = [];
    world.authority.changes.token = ({ body, reply }) => {
      scopes.push(body.get('scope'));
      return reply(400, { error: 'invalid_scope' });
    };
    world.clock.ms += 3_600_000;

    await world.auth.headers();

    expect(scopes).toEqual([null, 'read']);
  });

  test('and cannot be renewed needs the user', async () => {
    await using world = await openSignedIn({ authority: { expiresIn: 3600 } });
    world.authority.refusesRefresh();
    world.clock.ms += 3_600_000;

    expect(await world.auth.headers()).toEqual({});

    const why = `the token has expired, and ${world.authority.issuer} does not issue another`;
    expect(world.auth.state).toEqual({ kind: 'needs authorization', why });
    expect(describeRemoteAuth(world.auth.state)).toBe(`needs authorization: ${why}`);
    expect(world.authority.redeemed).toHaveLength(2);
  });

  test('and cannot be renewed for its resource needs the user, who gets the fix', async () => {
    await using world = await openSignedIn({ authority: { expiresIn: 3600 } });
    world.authority.changes.token = ({ reply }) => reply(400, { error: 'invalid_target' });
    world.clock.ms += 3_600_000;

    expect(await world.auth.headers()).toEqual({});

    expect(world.auth.state).toMatchObject({
      kind: 'needs authorization',
      why: expect.stringMatching(/does not issue another: invalid_target; .*--remote-auth-resource/),
    });
  });

  test('is used for as long as it lasts while its issuer is away', async () => {
    await using world = await openSignedIn({ authority: { expiresIn: 3600 } });
    const before = await world.auth.headers();
    world.authority.changes.token = ({ reply }) => reply(503, {});
    world.clock.ms += 3_520_000;

    expect(await world.auth.headers()).toEqual(before);

    world.clock.ms += 60_000;
    await expect(world.auth.headers()).rejects.toMatchObject({ kind: 'unavailable' });
    expect(world.auth.state).toMatchObject({ kind: 'authorized' });
  });

  test('is not asked for again at once when its issuer is away, and is when that is back', async () => {
    await using world = await openSignedIn({ authority: { expiresIn: 3600 } });
    world.authority.changes.token = ({ reply }) => reply(503, {});
    world.clock.ms += 3_600_000;
    await world.auth.headers().catch(() => {});
    await world.auth.headers().catch(() => {});
    const tries = world.authority.countOf('POST /token');
    delete world.authority.changes.token;
    world.clock.ms += 5_000;

    const headers = await world.auth.headers();

    expect(tries).toBe(2);
    expect(await world.ask(headers)).toBe(200);
  });

  test('is asked for again at once when the clock was set back after a failure', async () => {
    await using world = await openSignedIn({ authority: { expiresIn: 3600 } });
    world.clock.ms += 24 * 3_600_000; // a wrong clock
    world.authority.changes.token = ({ reply }) => reply(503, {});
    await world.auth.headers().catch(() => {});
    delete world.authority.changes.token;
    world.clock.ms -= 22 * 3_600_000;

    const headers = await world.auth.headers();

    expect(await world.ask(headers)).toBe(200);
  });
});

describe('a token that the server refuses', () => {
  test('is replaced once, however many were refused with it', async () => {
    await using world = await openSignedIn();
    const { authorization: sent } = await world.auth.headers();
    world.authority.revokeAccess();

    const refusal = { status: 401, wwwAuthenticate: 'Bearer error="invalid_token"', sent };
    const answers = await Promise.all(Array.from({ length: 20 }, () => world.auth.challenged(refusal)));
    const late = await world.auth.challenged(refusal);

    expect(new Set([...answers, late])).toEqual(new Set(['retry']));
    expect(world.authority.redeemed).toHaveLength(2);
    expect(await world.ask()).toBe(200);
  });

  test('right after it was given needs the user, and no loop', async () => {
    await using world = await openSignedIn();
    world.authority.revokeAccess();
    expect(await askAndTell(world)).toBe('retry');
    world.authority.revokeAccess();

    expect(await askAndTell(world)).toBe('needs authorization');

    expect(world.auth.state).toMatchObject({ why: 'the server refuses a token that is new' });
    expect(world.authority.redeemed).toHaveLength(2);
  });

  test('and that was given before the clock was set back is replaced without the user', async () => {
    await using world = await openSignedIn();
    world.clock.ms -= 3_600_000;
    world.authority.revokeAccess();

    expect(await askAndTell(world)).toBe('retry');
    expect(await world.ask()).toBe(200);
  });

  test('and that cannot be replaced is not sent again', async () => {
    await using world = await openSignedIn();
    world.authority.revokeAccess();
    world.authority.refusesRefresh();

    expect(await askAndTell(world)).toBe('needs authorization');

    expect(await world.auth.headers()).toEqual({});
    await world.auth.authorize();
    expect(await world.ask()).toBe(200);
  });
});

describe('what outlives the daemon', () => {
  const openKeeping = async (...[changes]: Parameters<typeof openWorld>) => {
    await using stack = new AsyncDisposableStack();
    const home = stack.use(await mkdtempDisposable(join(tmpdir(), 'thv-remote-')));
    const vault = await openVault(home.path);
    const world = stack.use(await openSignedIn({ vault, ...changes }));
    const moved = stack.move();
    return { ...world, vault, path: home.path, [Symbol.asyncDispose]: () => moved.disposeAsync() };
  };

  test('is the token: the next daemon needs no sign-in', async () => {
    await using world = await openKeeping();
    const asked = world.authority.seen.length;

    await using next = await world.open();

    expect(next.state).toEqual({ kind: 'authorized' });
    expect(describeRemoteAuth(next.state)).toBe(undefined);
    expect(await world.ask(await next.headers())).toBe(200);
    expect(world.authority.seen.length).toBe(asked);
  });

  test('is the newest refresh token, which the next daemon uses', async () => {
    await using world = await openKeeping();
    world.clock.ms += 3_600_000;
    await world.auth.headers();
    await using next = await world.open();
    world.clock.ms += 3_600_000;

    const headers = await next.headers();

    expect(await world.ask(headers)).toBe(200);
    expect(world.authority.registrations).toHaveLength(1);
  });

  test('is in no file in the clear', async () => {
    await using world = await openKeeping();
    const token = (await world.auth.headers())['authorization']?.replace('Bearer ', '') ?? '';

    const bytes = await readFile(join(world.path, 'secrets_encrypted'));

    expect(bytes.includes(token)).toBe(false);
    expect(bytes.includes('sign-in')).toBe(false);
  });

  test.each([
    ['another server', (world: World) => ({ serverUrl: `${world.remote.origin}/other` })],
    ['other scopes', () => ({ config: { scopes: ['more'] } })],
    ['another client', () => ({ config: { client_id: 'mine' } })],
    ['an issuer of its own', () => ({ config: { issuer: 'https://issuer.example' } })],
  ])('is of no use for %s', async (_what, change) => {
    await using world = await openKeeping();

    await using next = await world.open(change(world));

    expect(await next.headers()).toEqual({});
  });

  test('is not what was given up', async () => {
    await using world = await openKeeping();
    world.authority.refusesRefresh();
    world.clock.ms += 3_600_000;
    await world.auth.headers();

    await using next = await world.open();

    expect(next.state).toEqual({ kind: 'not needed' });
    expect(await next.headers()).toEqual({});
  });

  test('goes with the workload', async () => {
    await using world = await openKeeping();

    const signIns = new SignIns(() => world.vault);
    const before = await signIns.ids();
    await signIns.forget(notes.id);

    expect(before).toEqual([notes.id]);
    expect(await world.vault.names()).toEqual([]);
    await using next = await world.open();
    expect(await next.headers()).toEqual({});
  });

  test('that cannot be stored lasts until the daemon ends, or until secrets are set up', async () => {
    let vault: Vault | undefined;
    const signIns = new SignIns(() => vault);
    await using world = await openKeeping();
    await world.vault.delete(`sign-in/${notes.id}`);
    await using first = await world.open({ store: signIns.of(notes) });
    await first.authorize();
    const headers = await first.headers();

    await using restarted = await world.open({ store: signIns.of(notes) });
    await using another = await world.open({ store: signIns.of({ ...notes, id: newWorkloadId() }) });
    const before = restarted.state;
    ({ vault } = world);
    await using stored = await world.open({ store: signIns.of(notes) });
    await using later = await world.open({ store: new SignIns(() => vault).of(notes) });

    expect(await restarted.headers()).toEqual(headers);
    expect(describeRemoteAuth(before)).toContain('until the daemon ends: no encrypted secrets are set up');
    expect(await another.headers()).toEqual({});
    expect(stored.state).toEqual({ kind: 'authorized' });
    expect(await later.headers()).toEqual(headers);
    vault = undefined;
    await signIns.forget(notes.id);
    await using removed = await world.open({ store: signIns.of(notes) });
    expect(await removed.headers()).toEqual({});
  });

  test('of an earlier version is adopted by the workload that had its name, and by no later one', async () => {
    await using world = await openKeeping();
    const kept = (await world.vault.get(`sign-in/${notes.id}`)) ?? '';
    const earlier = { id: adoptedWorkloadId('notes'), name: 'notes' };
    const store = (workload: typeof earlier) => new TokenStore(workload, () => world.vault);
    await world.vault.set('remote-auth/notes', kept);

    const ofLater = await store({ id: newWorkloadId(), name: 'notes' }).load();
    const ofEarlier = await store(earlier).load();

    expect(ofLater).toBe(undefined);
    expect(ofEarlier).toEqual(JSON.parse(kept));
    expect((await world.vault.names()).toSorted()).toEqual(
      [`sign-in/${notes.id}`, `sign-in/${earlier.id}`].toSorted(),
    );
  });

  test('is ignored when it is not understood', async () => {
    await using world = await openKeeping();
    await world.vault.set(`sign-in/${notes.id}`, '{"version":2}');

    await using next = await world.open();

    expect(next.state).toEqual({ kind: 'not needed' });
  });

  test('is read later when the secrets were locked first', async () => {
    await using world = await openKeeping();
    const locked = { ...world.vault, get: () => Promise.reject(unavailable('the secrets are locked')) };
    let vault = locked;
    await using next = await world.open({ store: new TokenStore(notes, () => vault) });
    expect(await next.headers()).toEqual({});
    vault = world.vault as typeof locked;

    expect(await next.challenged({ status: 401 })).toBe('retry');

    expect(await world.ask(await next.headers())).toBe(200);
  });

  test('never takes the place of a newer one that was got while the file could not be read', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'thv-vault-'));
    const vault = await openVault(directory.path);
    await using world = await openSignedIn({ vault });
    let isLocked = true;
    const lockable = {
      ...vault,
      get: (name: string) =>
        isLocked ? Promise.reject(unavailable('the secrets are locked')) : vault.get(name),
      set: (name: string, value: string) =>
        isLocked ? Promise.reject(unavailable('the secrets are locked')) : vault.set(name, value),
    };
    await using next = await world.open({ store: new TokenStore(notes, () => lockable) });
    await next.authorize();
    const newer = await next.headers();

    isLocked = false;
    await next.challenged({ status: 401, wwwAuthenticate: 'Bearer', sent: undefined });

    expect(await next.headers()).toEqual(newer);
    await using later = await world.open();
    expect(await later.headers()).toEqual(newer);
  });

  test('is nothing while the secrets are locked, which the state says', async () => {
    const locked = () => Promise.reject(unavailable('the secrets are locked'));
    await using world = await openSignedIn({
      vault: { get: locked, set: locked, delete: locked, names: locked },
    });

    expect(await world.ask()).toBe(200);

    expect(describeRemoteAuth(world.auth.state)).toBe(
      'authorized until the daemon ends: the secrets are locked',
    );
  });

  test('waits for a refresh that is under way when the daemon ends', async () => {
    await using world = await openKeeping();
    world.clock.ms += 3_600_000;
    const renewed = world.auth.headers();

    await world.auth[Symbol.asyncDispose]();

    await using next = await world.open();
    expect(await next.headers()).toEqual(await renewed);
  });
});

describe('headers that are configured', () => {
  const header = { description: '', required: false, secret: false };

  test('go with every request, secrets among them', async () => {
    await using world = await openWorld();
    world.secrets['api-key'] = 'hush';
    await using auth = await world.open({
      resolveSecret: async (name) => world.secrets[name] ?? '',
      config: {
        headers: [
          { ...header, name: 'X-Team', default: 'blue' },
          { ...header, name: 'X-Key', default: 'api-key,target=X-Key', secret: true },
          { ...header, name: 'X-Optional' },
        ],
      },
    });

    expect(await auth.headers()).toEqual({ 'x-team': 'blue', 'x-key': 'hush' });
    await auth.authorize();
    expect(await auth.headers()).toMatchObject({
      'x-team': 'blue',
      authorization: expect.stringMatching(/^Bearer access/),
    });
  });

  test('may say who uses the server, so no sign-in is needed', async () => {
    await using world = await openWorld({
      config: { headers: [{ ...header, name: 'Authorization', default: 'Bearer mine' }] },
    });

    expect(await askAndTell(world)).toBe('needs authorization');

    expect(world.auth.state).toMatchObject({ why: 'the server refuses the configured Authorization header' });
    expect(await world.auth.headers()).toEqual({ authorization: 'Bearer mine' });
    await expect(world.auth.authorize()).rejects.toMatchObject({ kind: 'conflict' });
  });

  test.each(['mine', 'Bearer mine', ' bearer  mine\n'])(
    'may contain a stored token, with or without its scheme: %j',
    async (stored) => {
      await using world = await openWorld();
      await using auth = await world.open({
        config: { bearer_token: 'token,target=bearer_token' },
        resolveSecret: async () => stored,
      });

      expect(await auth.headers()).toEqual({ authorization: 'Bearer mine' });
      await expect(auth.authorize()).rejects.toMatchObject({ kind: 'conflict' });
    },
  );

  test.each([
    ['is empty', 'Bearer ', {}],
    ['is not a token', 'two words', {}],
    ['is not a token', 'a\r\nHost: b', {}],
    ['exclude each other', 'mine', { headers: [{ ...header, name: 'authorization', default: 'Basic abc' }] }],
  ])('%s: a stored token %j is refused without a word of it', async (why, stored, others) => {
    await using world = await openWorld();
    const opening = world.open({
      config: { bearer_token: 'token,target=bearer_token', ...others },
      resolveSecret: async () => stored,
    });

    await expect(opening).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(new RegExp(`${why}$`)),
    });
  });

  test.each([
    [
      'a name that the proxy decides about',
      { name: 'Host', default: 'a' },
      'the header Host cannot be configured',
    ],
    ['no value where one is needed', { name: 'X-A', required: true }, 'the header X-A needs a value'],
    [
      'a value that would be two',
      { name: 'X-A', default: 'a\r\nHost: b' },
      'the value of the header X-A contains a line break',
    ],
    [
      'a secret instead of its name',
      { name: 'X-A', default: 'hush', secret: true },
      'a secret must have the form NAME,target=VARIABLE',
    ],
  ])('are refused with %s', async (_what, given, message) => {
    const opening = openWorld({ config: { headers: [{ ...header, ...given }] } });

    await expect(opening).rejects.toMatchObject({ kind: 'invalid', message });
  });
});
