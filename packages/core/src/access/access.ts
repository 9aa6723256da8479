import { createHash, timingSafeEqual } from 'node:crypto';
import { ThvError, invalid, messageOf, unauthorized, unavailable } from '@toolhive/contract/failure';
import { isLoopback } from '@toolhive/contract/loopback';
import { createRemoteJWKSet, customFetch as joseFetch, errors, jwtVerify } from 'jose';
import type { JWTPayload, JWTVerifyGetKey } from 'jose';
import {
  ClientSecretBasic,
  None,
  allowInsecureRequests,
  customFetch as oauthFetch,
  discoveryRequest,
  introspectionRequest,
  processDiscoveryResponse,
  processIntrospectionResponse,
} from 'oauth4webapi';
import type { AuthorizationServer, IntrospectionResponse } from 'oauth4webapi';
import type { Principal } from '@toolhive/proxy/principal';
import { guardedFetch } from '../fetch/guarded-fetch.ts';

/** Who may call. Each part is asked for only if it is given; several of them are alternatives. */
export interface AccessOptions {
  /** A fixed bearer token. */
  token?: string | undefined;
  /** An OpenID provider whose tokens are accepted. */
  oidc?: OidcOptions | undefined;
}

export interface OidcOptions {
  issuer?: string | undefined;
  /** What tokens must be meant for. Without it every token of the provider would be accepted. */
  audience: string;
  /** Where the keys are; else the issuer says so. */
  jwksUrl?: string | undefined;
  /** Where tokens are looked up that are no JWTs (RFC 7662). */
  introspectionUrl?: string | undefined;
  clientId?: string | undefined;
  clientSecret?: string | undefined;
}

/** Returns who a caller with this `Authorization` header is, or throws `unauthorized`. */
export type Access = (authorization: string | undefined) => Promise<Principal>;

/** Everyone who presents the fixed token. */
const tokenHolder: Principal = { id: 'token' };

/** The shortest token that nobody guesses. */
const minTokenLength = 16;
const clockToleranceSeconds = 30;
/** Everything but HMAC, whose keys would be public here, and `none`. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/** Checks the options, and makes the rule out of them; undefined when everybody may call. Contacts nobody yet. */
export function openAccess({ token, oidc }: AccessOptions): Access | undefined {
  if (token === undefined && oidc === undefined) return undefined;
  const isToken = token === undefined ? () => false : tokenRule(token);
  const checkOidc = oidc === undefined ? undefined : oidcRule(oidc);
  return async (authorization) => {
    const [, presented] = /^bearer +([A-Za-z0-9._~+/=-]+) *$/i.exec(authorization ?? '') ?? [];
    if (presented === undefined) {
      throw unauthorized('a bearer token is asked for here', { hint: 'send Authorization: Bearer TOKEN' });
    }
    if (isToken(presented)) return tokenHolder;
    if (checkOidc === undefined) throw unauthorized('the token is not the one that is asked for');
    return checkOidc(presented);
  };
}

function tokenRule(token: string): (presented: string) => boolean {
  if (token.length < minTokenLength || !/^[A-Za-z0-9._~+/=-]+$/.test(token)) {
    throw invalid(`a token has at least ${minTokenLength} letters, digits or any of ._~+/=-`, {
      hint: 'make one with openssl rand -hex 32',
    });
  }
  const expected = digest(token);
  // Digests are of one length, so the comparison tells nothing about the token.
  return (presented) => timingSafeEqual(digest(presented), expected);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function oidcRule(options: OidcOptions): (token: string) => Promise<Principal> {
  const { issuer, jwksUrl, introspectionUrl, audience } = options;
  if (issuer === undefined && jwksUrl === undefined && introspectionUrl === undefined) {
    throw invalid('nothing says who issues the tokens', { hint: 'give the issuer' });
  }
  if (audience === '') {
    throw invalid('tokens need an audience: without one every token of the issuer would be accepted', {
      hint: 'give the audience that the provider puts into tokens for this use',
    });
  }
  for (const url of [issuer, jwksUrl, introspectionUrl]) if (url !== undefined) requireSecure(url);
  const provider = new Provider(options);
  return async (token) => {
    try {
      const isJwt = token.split('.').length === 3;
      const claims = await (isJwt ? checkJwt : checkOpaque)(token, provider, options);
      return principalFrom(claims, options);
    } catch (error) {
      throw asFailure(error);
    }
  };
}

/** Tokens and keys cross the network in the clear otherwise; on loopback there is no network. */
function requireSecure(url: string): void {
  const parsed = URL.parse(url);
  if (parsed === null) throw invalid(`${JSON.stringify(url)} is not a URL`);
  if (parsed.protocol === 'https:' || (parsed.protocol === 'http:' && isLoopback(parsed.hostname))) return;
  throw invalid(`${url} is not https`, { hint: 'plain http is possible on this machine only' });
}

async function checkJwt(
  token: string,
  provider: Provider,
  { issuer, audience }: OidcOptions,
): Promise<JWTPayload> {
  const { payload } = await jwtVerify(token, await provider.keys(), {
    audience,
    algorithms,
    requiredClaims: ['exp'],
    clockTolerance: clockToleranceSeconds,
    ...(issuer === undefined ? {} : { issuer }),
  });
  return payload;
}

/** Asks the provider about a token that says nothing by itself (RFC 7662). */
async function checkOpaque(
  token: string,
  provider: Provider,
  options: OidcOptions,
): Promise<IntrospectionResponse> {
  const { introspectionUrl, clientId = 'toolhive', clientSecret, audience, issuer } = options;
  const server: AuthorizationServer =
    introspectionUrl === undefined
      ? await provider.lookingUp()
      : { issuer: issuer ?? introspectionUrl, introspection_endpoint: introspectionUrl };
  if (server.introspection_endpoint === undefined) {
    throw unauthorized('the token is no JWT, and the issuer does not look up others');
  }
  const client = { client_id: clientId };
  const authentication = clientSecret === undefined ? None() : ClientSecretBasic(clientSecret);
  const answer = await introspectionRequest(server, client, authentication, token, provider.requests);
  const claims = await processIntrospectionResponse(server, client, answer);
  const { active, aud, exp, iss } = claims;
  const now = Date.now() / 1000;
  if (!active) throw unauthorized('the token is not valid any more');
  if (exp === undefined || exp + clockToleranceSeconds < now) throw unauthorized('the token has expired');
  if (![aud].flat().includes(audience)) throw unauthorized('the token is meant for somebody else');
  if (issuer !== undefined && iss !== undefined && iss !== issuer) {
    throw unauthorized('the token is of another issuer');
  }
  return claims;
}

/**
 * The issuer and the subject together identify a user (OpenID Connect Core 1.0, section 5.7). A token without a subject
 * identifies the client that it was issued to (RFC 9068, section 2.2).
 */
function principalFrom(claims: Readonly<Record<string, unknown>>, { issuer = '' }: OidcOptions): Principal {
  const { iss = issuer, sub, client_id: client } = claims;
  return { id: JSON.stringify([iss, sub ?? client ?? null]), claims };
}

/** The provider: what it says about itself is read when it is first needed, and again after a failure. */
class Provider {
  readonly #options: OidcOptions;
  /** Hosts that the owner of the daemon has named; those may be inside. */
  readonly #named: ReadonlySet<string>;
  #server: Promise<AuthorizationServer> | undefined;
  #keys: JWTVerifyGetKey | undefined;

  constructor(options: OidcOptions) {
    this.#options = options;
    const urls = [options.issuer, options.jwksUrl, options.introspectionUrl];
    this.#named = new Set(urls.flatMap((url) => (url === undefined ? [] : [new URL(url).host])));
  }

  async keys(): Promise<JWTVerifyGetKey> {
    if (this.#keys !== undefined) return this.#keys;
    const url = this.#options.jwksUrl ?? (await this.server()).jwks_uri;
    if (url === undefined) throw unavailable('the issuer does not say where its keys are');
    requireSecure(url);
    const fetchKeys = (address: string): Promise<Response> => this.#fetch(address, { method: 'GET' });
    this.#keys = createRemoteJWKSet(new URL(url), { [joseFetch]: fetchKeys });
    return this.#keys;
  }

  /** Where tokens can be looked up, if it says so. It is sent them, and so must not hear them in the clear. */
  async lookingUp(): Promise<AuthorizationServer> {
    const server = await this.server();
    if (server.introspection_endpoint !== undefined) requireSecure(server.introspection_endpoint);
    return server;
  }

  server(): Promise<AuthorizationServer> {
    this.#server ??= this.#discover().catch((error: unknown) => {
      this.#server = undefined;
      throw error;
    });
    return this.#server;
  }

  get requests() {
    // Plain http was allowed above, where it is on this machine; the library knows no such difference.
    return { [oauthFetch]: this.#fetch.bind(this), [allowInsecureRequests]: true };
  }

  async #discover(): Promise<AuthorizationServer> {
    if (this.#options.issuer === undefined)
      throw unauthorized('only tokens that can be looked up are accepted');
    const issuer = new URL(this.#options.issuer);
    return processDiscoveryResponse(issuer, await discoveryRequest(issuer, this.requests));
  }

  async #fetch(
    address: string,
    { method = 'GET', headers, body }: { method?: string; headers?: unknown; body?: unknown }, // of two libraries
  ): Promise<Response> {
    const answer = await guardedFetch(address, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers: Object.fromEntries(new Headers(headers as Record<string, string> | undefined)),
      allowPrivate: this.#named.has(new URL(address).host),
      ...(body instanceof URLSearchParams ? { body: body.toString() } : {}),
    });
    const type = String(answer.headers['content-type'] ?? '');
    return new Response(answer.text, { status: answer.status, headers: { 'content-type': type } });
  }
}

/** What is wrong with a token is told in our words; what is wrong with the provider is no fault of the caller. */
function asFailure(error: unknown): ThvError {
  if (error instanceof ThvError) return error;
  if (error instanceof errors.JWTExpired) return unauthorized('the token has expired');
  if (error instanceof errors.JWTClaimValidationFailed) {
    return unauthorized(`the token does not have the ${error.claim} that is asked for`);
  }
  if (error instanceof errors.JWKSTimeout)
    return unavailable('the keys of the issuer cannot be read right now');
  if (error instanceof errors.JOSEError) return unauthorized('the token is not valid', { cause: error });
  return unavailable(`the issuer of the tokens cannot be asked: ${messageOf(error)}`, { cause: error });
}
