import { ThvError, unauthorized } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import { failureStatus } from '@toolhive/contract/wire';
import { publicOrigin } from '../http/public-origin.ts';
import { replyJson, replyText } from '../http/reply.ts';
import { relayAuthorization } from '../http/relay.ts';
import { refusal } from './message-pipeline.ts';
import type { CallContext, Exchange, Middleware, Outcome, Principal } from './middleware.ts';

/** Who may use a proxy, and how others can get access. */
export interface ProxyAccess {
  /**
   * Returns the caller with this `Authorization` header, or a promise if it must wait. Throws or rejects with `unauthorized`.
   * `connection` lives as long as the connection that the header came over.
   */
  check: (authorization: string | undefined, connection: object) => Principal | Promise<Principal>;
  /** What the proxy tells clients that look for an authorization server (RFC 9728). */
  resource?: ProtectedResource | undefined;
  /** The scopes that every token must have (RFC 6749, section 3.3). */
  scopes?: readonly string[] | undefined;
  /** The further scopes that calls of a tool need, by the name of the tool that clients see. */
  toolScopes?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Returns the headers that the server gets instead of the caller's token (RFC 8693), or throws `unauthorized`. */
  exchange?: ((token: string) => Promise<Readonly<Record<string, string>>>) | undefined;
}

/** Protected resource metadata (RFC 9728, section 2). */
export interface ProtectedResource {
  /** The URL that clients use. By default, the URL that a client has used. */
  resource?: string | undefined;
  authorization_servers: readonly string[];
  jwks_uri?: string | undefined;
  scopes_supported?: readonly string[] | undefined;
}

export interface AuthenticationOptions {
  access?: ProxyAccess | undefined;
  trustProxyHeaders?: boolean | undefined;
}

const metadataPath = '/.well-known/oauth-protected-resource';
/** The paths of a proxy that are resources. */
const resourcePaths = ['', '/mcp', '/sse'];
const insufficientScope = -32_003;

/** Admits only callers that have proved who they are. The metadata that says how to do that is public. */
export function authentication({ access, trustProxyHeaders }: AuthenticationOptions): Middleware | undefined {
  return access === undefined ? undefined : new Authentication(access, trustProxyHeaders === true);
}

class Authentication implements Middleware {
  readonly #access: ProxyAccess;
  readonly #trustProxyHeaders: boolean;
  /** Absent unless individual tools need scopes. Without it, messages stay unread. */
  readonly message: Middleware['message'];

  constructor(access: ProxyAccess, trustProxyHeaders: boolean) {
    this.#access = access;
    this.#trustProxyHeaders = trustProxyHeaders;
    const check: Middleware['message'] = (context) => this.#checkCall(context);
    if (Object.keys(access.toolScopes ?? {}).length > 0) this.message = check;
  }

  readonly request = (exchange: Exchange, next: () => void): void => {
    const { path } = exchange;
    if (path === metadataPath || path.startsWith(`${metadataPath}/`)) this.#describe(exchange);
    else this.#admit(exchange, next);
  };

  /** Without a promise if the caller is known, because that is so for nearly every request. */
  #admit(exchange: Exchange, next: () => void): void {
    const { headers, socket } = exchange.request;
    const { authorization } = headers;
    let checked: Principal | Promise<Principal>;
    try {
      if (exchange.relayed !== undefined && authorization === undefined) throw withoutCredentials();
      checked = this.#access.check(authorization, socket);
    } catch (error) {
      return this.#refuse(exchange, error);
    }
    if (checked instanceof Promise) this.#admitLater(exchange, checked, next).catch(raiseFault);
    else if (this.#access.exchange !== undefined)
      this.#admitLater(exchange, Promise.resolve(checked), next).catch(raiseFault);
    else if (this.#isAdmitted(exchange, checked)) next();
  }

  async #admitLater(exchange: Exchange, checked: Promise<Principal>, next: () => void): Promise<void> {
    try {
      if (await this.#isAdmittedLater(exchange, checked)) next();
    } catch (fault) {
      exchange.request.emit('fault', fault); // to the recovery middleware: this runs outside of its call
    }
  }

  async #isAdmittedLater(exchange: Exchange, checked: Promise<Principal>): Promise<boolean> {
    const { exchange: exchangeToken } = this.#access;
    const { request, response } = exchange;
    try {
      if (!this.#isAdmitted(exchange, await checked)) return false;
      if (exchangeToken !== undefined)
        exchange.credentials = await exchangeToken(tokenOf(request.headers.authorization));
      return !response.destroyed;
    } catch (error) {
      this.#refuse(exchange, error);
      return false;
    }
  }

  /** Whether the client still waits, and its token has the scopes that every token needs. */
  #isAdmitted(exchange: Exchange, principal: Principal): boolean {
    const { response } = exchange;
    const { scopes = [] } = this.#access;
    exchange.principal = new Admitted(principal, exchange, this);
    if (response.destroyed) return false;
    if (hasScopes(principal, scopes)) return true;
    const headers = { 'www-authenticate': this.insufficient(exchange, scopes) };
    replyText(response, 403, `the token needs the scopes ${scopes.join(' ')}`, headers);
    return false;
  }

  #refuse(exchange: Exchange, error: unknown): void {
    if (!(error instanceof ThvError)) throw error;
    const { status } = failureStatus[error.kind];
    const wasShown = exchange.request.headers.authorization !== undefined;
    const headers = { 'www-authenticate': this.#unauthorized(exchange, wasShown) };
    replyText(exchange.response, status, error.message, error.kind === 'unauthorized' ? headers : undefined);
  }

  /** Refuses a call whose token lacks a scope that the tool needs, and names all scopes to ask for (MCP 2025-11-25, Authorization, Scope Challenge Handling). */
  #checkCall({ direction, message, principal }: CallContext): Outcome {
    const { method, params } = message.value;
    if (direction !== 'to server' || method !== 'tools/call') return message;
    const { scopes = [], toolScopes = {} } = this.#access;
    const name = params?.['name'];
    const needed = typeof name === 'string' && Object.hasOwn(toolScopes, name) ? toolScopes[name] : undefined;
    if (needed === undefined || hasScopes(principal, needed)) return message;
    const all = [...new Set([...scopes, ...needed])];
    const challenge = principal.challenge?.(all);
    return {
      ...refusal(
        insufficientScope,
        `the tool ${String(name)} needs a token with the scopes ${all.join(' ')}`,
        {
          scopes: all,
        },
      ),
      http: { status: 403, headers: challenge === undefined ? {} : { 'www-authenticate': challenge } },
    };
  }

  #describe(exchange: Exchange): void {
    const { request, response } = exchange;
    const headers = crossOriginHeaders(request.headers.origin);
    if (request.method === 'OPTIONS') {
      response.writeHead(204, headers).end();
      return;
    }
    if (request.method !== 'GET')
      return replyText(response, 405, 'use GET, or OPTIONS', { allow: 'GET, OPTIONS' });
    const { resource: about } = this.#access;
    const resource = about?.resource ?? this.#resourceAt(exchange, exchange.path.slice(metadataPath.length));
    if (about === undefined || resource === undefined)
      return replyText(response, 404, 'no information about how to get a token is available', headers);
    const { scopes = [] } = this.#access;
    const scopes_supported = about.scopes_supported ?? (scopes.length > 0 ? scopes : ['openid']);
    const body = { ...about, resource, bearer_methods_supported: ['header'], scopes_supported };
    replyJson(response, 200, JSON.stringify(body), headers);
  }

  /** Returns the resource at a path as the client sees it. Returns undefined if the path has no resource. */
  #resourceAt({ request }: Exchange, path: string): string | undefined {
    const { origin, prefix } = publicOrigin(request, this.#trustProxyHeaders);
    return resourcePaths.includes(path) ? `${origin}${prefix}${path}` : undefined;
  }

  /** RFC 6750, section 3, and RFC 9728, section 5.1. */
  #unauthorized(exchange: Exchange, wasShown: boolean): string {
    const { scopes = [] } = this.#access;
    return bearer({
      realm: this.#access.resource?.authorization_servers[0] ?? 'toolhive',
      ...(wasShown ? { error: 'invalid_token' } : {}),
      ...this.#metadata(exchange),
      ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
    });
  }

  /** Returns the challenge for a token that lacks scopes (RFC 6750, section 3.1). */
  insufficient(exchange: Exchange, scopes: readonly string[]): string {
    return bearer({ error: 'insufficient_scope', scope: scopes.join(' '), ...this.#metadata(exchange) });
  }

  #metadata(exchange: Exchange): { resource_metadata?: string } {
    const { resource: about } = this.#access;
    if (about === undefined) return {};
    const path = resourcePaths.includes(exchange.path) ? exchange.path : '';
    const resource = about.resource ?? this.#resourceAt(exchange, path);
    const url = URL.parse(resource ?? '');
    if (url === null) return {};
    return { resource_metadata: `${url.origin}${metadataPath}${url.pathname === '/' ? '' : url.pathname}` };
  }
}

/** The caller of one request. A class, because a spread and a function for each request cost more than this object. */
class Admitted implements Principal {
  readonly id: string;
  readonly claims?: NonNullable<Principal['claims']>;
  readonly #exchange: Exchange;
  readonly #authentication: Authentication;

  constructor({ id, claims }: Principal, exchange: Exchange, authentication: Authentication) {
    this.id = id;
    if (claims !== undefined) this.claims = claims;
    this.#exchange = exchange;
    this.#authentication = authentication;
  }

  challenge(scopes: readonly string[]): string {
    return this.#authentication.insufficient(this.#exchange, scopes);
  }
}

/** The API has authenticated its caller, which says nothing about who may use the workload. */
function withoutCredentials(): ThvError {
  return unauthorized(
    `the workload authenticates its callers, but the request contains no credentials for the workload. Send the credentials in the header ${relayAuthorization}`,
  );
}

/** Returns the token of a header that was accepted. */
function tokenOf(authorization = ''): string {
  return authorization.replace(/^bearer +/i, '').trim();
}

/** Returns the scopes of a token (RFC 9068, section 2.2.3, or the `scp` claim of some providers). */
function scopesOf({ claims = {} }: Principal): string[] {
  return [claims['scope'], claims['scp']]
    .flat()
    .flatMap((scope) => (typeof scope === 'string' ? scope.split(' ') : []));
}

function hasScopes(principal: Principal, needed: readonly string[]): boolean {
  if (needed.length === 0) return true;
  const granted = new Set(scopesOf(principal));
  return needed.every((scope) => granted.has(scope));
}

/** Returns a challenge. The values contain neither quotes nor control characters: they come from the configuration. */
function bearer(parameters: Record<string, string>): string {
  const written = Object.entries(parameters).map(([name, value]) => `${name}="${value}"`);
  return `Bearer ${written.join(', ')}`;
}

/** Web clients read the public metadata across origins. */
function crossOriginHeaders(origin: string | undefined): Record<string, string> {
  if (origin === undefined) return {};
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET, OPTIONS',
    'access-control-allow-headers': 'mcp-protocol-version, Content-Type, Authorization',
    'access-control-max-age': '86400',
    vary: 'Origin',
  };
}
