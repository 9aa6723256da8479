import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** One exchange with a server of a test. */
export interface Exchange {
  url: URL;
  body: URLSearchParams;
  json: Record<string, unknown>;
  headers: IncomingMessage['headers'];
  response: ServerResponse;
  reply: (status: number, body: unknown, headers?: Record<string, string>) => void;
}

export type Route = (exchange: Exchange) => void;

/** Serves routes by method and path on loopback, and counts what is asked. */
export async function serveRoutes(routes: (origin: string) => Record<string, Route>) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    void text(request).then((raw) => {
      const url = new URL(request.url ?? '/', origin);
      const key = `${request.method} ${url.pathname}`;
      seen.push(key);
      const reply: Exchange['reply'] = (status, body, headers = {}) => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        response.end(typeof body === 'string' ? body : JSON.stringify(body));
      };
      const isJson = request.headers['content-type']?.startsWith('application/json') === true;
      const json = isJson ? (JSON.parse(raw) as Record<string, unknown>) : {};
      const body = new URLSearchParams(isJson ? '' : raw);
      const route = table[key];
      if (route === undefined) return reply(404, { error: 'not_found' });
      return route({ url, body, json, headers: request.headers, response, reply });
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const table = routes(origin);
  return {
    origin,
    seen,
    /** Adds a route, or changes one. */
    also(key: string, route: Route) {
      table[key] = route;
    },
    /** What a route does at present. */
    routeOf: (key: string): Route => table[key] ?? (({ reply }) => reply(404, {})),
    countOf: (key: string) => seen.filter((each) => each === key).length,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

export interface AuthorizationServerChanges {
  /** Changes what it says about itself. */
  metadata?: (metadata: Record<string, unknown>) => Record<string, unknown>;
  /** Where its issuer is, below its origin. */
  path?: string;
  /** Where it says what it says. */
  wellKnown?: string;
  /** Changes the answer that the browser brings. */
  answer?: (parameters: URLSearchParams) => void;
  /** What the page for the sign-in says about a client that is not known. */
  unknownClient?: (exchange: Exchange, back: URL) => void;
  /** Takes the place of the token endpoint. */
  token?: Route;
  /** Takes the place of the registration endpoint. */
  register?: Route;
  /** Clients that were registered by hand, with their secrets. */
  clients?: Record<string, string>;
  /** Changes what a token endpoint gives. */
  given?: (tokens: Record<string, unknown>) => Record<string, unknown>;
  /** Writes tokens as a form, as GitHub does. */
  writesForms?: boolean;
  /** Leaves refresh tokens valid when they are used. */
  keepsRefresh?: boolean;
  /** How long a token lives. */
  expiresIn?: number;
}

interface Code {
  challenge: string;
  clientId: string;
  redirectUri: string;
  resource: string;
  scope: string;
}

/**
 * A small authorization server that checks what OAuth 2.1 wants checked: registration, redirect URI, PKCE, resource,
 * client authentication, one use of each code and refresh token. Everybody agrees to everything there.
 */
export async function openAuthorizationServer(initial: AuthorizationServerChanges = {}) {
  const changes = { ...initial };
  const clients = new Map<string, { redirectUris?: unknown; secret?: string }>();
  for (const [id, secret] of Object.entries(changes.clients ?? {})) clients.set(id, { secret });
  const codes = new Map<string, Code>();
  const refreshTokens = new Map<string, Code>();
  const valid = new Set<string>();
  const registrations: Record<string, unknown>[] = [];
  const asked: URLSearchParams[] = [];
  const redeemed: URLSearchParams[] = [];
  const { path = '' } = changes;
  const wellKnown = changes.wellKnown ?? `/.well-known/oauth-authorization-server${path}`;

  const server = await serveRoutes((origin) => ({
    [`GET ${wellKnown}`]: ({ reply }) => {
      const metadata = {
        issuer: `${origin}${path}`,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        code_challenge_methods_supported: ['S256'],
        response_types_supported: ['code'],
        token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
        authorization_response_iss_parameter_supported: true,
      };
      reply(200, changes.metadata?.(metadata) ?? metadata);
    },
    'POST /register': (exchange) => {
      if (changes.register) return changes.register(exchange);
      registrations.push(exchange.json);
      const id = `client-${registrations.length}`;
      clients.set(id, { redirectUris: exchange.json['redirect_uris'] });
      return exchange.reply(201, { ...exchange.json, client_id: id });
    },
    'GET /authorize': (exchange) => {
      const { url, reply } = exchange;
      const query = url.searchParams;
      asked.push(query);
      const redirectUri = query.get('redirect_uri') ?? '';
      const known = clients.get(query.get('client_id') ?? '');
      if (known === undefined && changes.unknownClient) {
        const back = new URL(redirectUri);
        back.searchParams.set('state', query.get('state') ?? '');
        back.searchParams.set('iss', `${origin}${path}`);
        return changes.unknownClient(exchange, back);
      }
      const registered = known?.redirectUris;
      if (Array.isArray(registered) && !registered.includes(redirectUri)) {
        return reply(400, { error: 'invalid_request' });
      }
      const code = randomBytes(16).toString('hex');
      codes.set(code, {
        challenge: query.get('code_challenge') ?? '',
        clientId: query.get('client_id') ?? '',
        redirectUri,
        resource: query.get('resource') ?? '',
        scope: query.get('scope') ?? '',
      });
      const back = new URL(redirectUri);
      const parameters = { code, state: query.get('state') ?? '', iss: `${origin}${path}` };
      for (const [name, value] of Object.entries(parameters)) back.searchParams.set(name, value);
      changes.answer?.(back.searchParams);
      return reply(302, '', { location: back.href });
    },
    'POST /token': (exchange) => {
      if (changes.token) return changes.token(exchange);
      const { body, headers, reply } = exchange;
      redeemed.push(body);
      const refused = refusalOf(body, headers.authorization);
      if (refused !== undefined) return reply(400, { error: refused });
      return give(take(body), reply);
    },
  }));

  function refusalOf(body: URLSearchParams, authorization: string | undefined): string | undefined {
    const [id, secret] = Buffer.from(authorization?.replace('Basic ', '') ?? '', 'base64')
      .toString()
      .split(':');
    const clientId = body.get('client_id') ?? id ?? '';
    const client = clients.get(clientId);
    if (client === undefined && !clientId.startsWith('https://')) return 'invalid_client';
    if (client?.secret !== undefined && client.secret !== secret) return 'invalid_client';
    const isRefresh = body.get('grant_type') === 'refresh_token';
    const code = isRefresh
      ? refreshTokens.get(body.get('refresh_token') ?? '')
      : codes.get(body.get('code') ?? '');
    if (code === undefined || code.clientId !== clientId) return 'invalid_grant';
    if (code.resource !== (body.get('resource') ?? '')) return 'invalid_target';
    if (isRefresh) return undefined;
    const challenge = createHash('sha256')
      .update(body.get('code_verifier') ?? '')
      .digest('base64url');
    const isOurs = challenge === code.challenge && code.redirectUri === body.get('redirect_uri');
    return isOurs ? undefined : 'invalid_grant';
  }

  /** A code or a refresh token is good for one use. */
  function take(body: URLSearchParams): Code {
    const [from, key] =
      body.get('grant_type') === 'refresh_token'
        ? [refreshTokens, body.get('refresh_token')]
        : [codes, body.get('code')];
    const code = from.get(key ?? '') as Code; // it was checked
    if (from === codes || !changes.keepsRefresh) from.delete(key ?? '');
    return code;
  }

  function give(code: Code, reply: Exchange['reply']): void {
    const access = `access-${randomBytes(8).toString('hex')}`;
    const refresh = `refresh-${randomBytes(8).toString('hex')}`;
    valid.clear();
    valid.add(access);
    refreshTokens.set(refresh, code);
    const tokens = {
      access_token: access,
      token_type: 'Bearer',
      refresh_token: refresh,
      expires_in: changes.expiresIn ?? 3600,
      scope: code.scope,
    };
    const said = changes.given?.(tokens) ?? tokens;
    if (changes.writesForms !== true) return reply(200, said);
    const body = new URLSearchParams(said as Record<string, string>).toString();
    reply(200, body, { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' });
  }

  return {
    ...server,
    issuer: `${server.origin}${path}`,
    changes,
    registrations,
    /** What came to the page on which the user agrees. */
    asked,
    /** What came to the token endpoint. */
    redeemed,
    isValid: (authorization: string | undefined) => valid.has(authorization?.replace('Bearer ', '') ?? ''),
    refusesRefresh: () => refreshTokens.clear(),
    revokeAccess: () => valid.clear(),
    /** As after the loss of a database. Clients that were registered by hand stay. */
    forgetsClients() {
      for (const id of clients.keys()) if (id.startsWith('client-')) clients.delete(id);
      for (const given of [codes, refreshTokens, valid]) given.clear();
    },
  };
}

export type AuthorizationServer = Awaited<ReturnType<typeof openAuthorizationServer>>;
