import { hash } from 'node:crypto';
import {
  ThvError,
  invalid,
  invalidField,
  messageOf,
  unauthorized,
  unavailable,
} from '@toolhive/contract/failure';
import { isRecent } from '@toolhive/contract/clock';
import { isLoopback } from '@toolhive/contract/loopback';
import { printable } from '@toolhive/contract/printable';
import { createRemoteJWKSet, customFetch as joseFetch, decodeProtectedHeader, errors, jwtVerify } from 'jose';
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from 'jose';
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
import type { AuthorizationServer } from 'oauth4webapi';
import type { Principal } from '@toolhive/proxy/principal';
import { trustedCertificates } from '@toolhive/runtime/system-trust';
import { guardedFetch } from '@toolhive/outgoing/guarded-fetch';
import { asKeySet } from './key-set.ts';
import { RecentTokens } from './recent-tokens.ts';
import type { Remembered } from './recent-tokens.ts';

/** An OpenID provider, and which of its tokens are accepted. */
export interface OidcOptions {
  issuer?: string | undefined;
  /** The audience that tokens must have. Without one, every token of the provider would be accepted. */
  audience: string;
  /** The URL of the signing keys, if the issuer does not publish it. */
  jwksUrl?: string | undefined;
  /** The URL for validating opaque tokens (RFC 7662). */
  introspectionUrl?: string | undefined;
  clientId?: string | undefined;
  clientSecret?: string | undefined;
  /** Certificate authorities, as PEM, to trust in addition to the usual ones. */
  certificates?: string | undefined;
  /** Returns a bearer token to send when keys and provider metadata are read. */
  readAuthToken?: (() => Promise<string>) | undefined;
  /** Whether hosts in these options may have private addresses. Loopback names always may. True by default. */
  allowPrivate?: boolean | undefined;
  /** Whether plain `http` is allowed beyond this machine. */
  allowHttp?: boolean | undefined;
  /** Replaces the clock, in tests. In milliseconds. */
  now?: () => number;
}

const clockToleranceSeconds = 30;
/** All algorithms except HMAC, whose keys would be public here, and `none`. */
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
/** A key set has a few kilobytes. A larger one only costs memory and time. */
const maxProviderBytes = 256 * 1024;
/** How long a provider that could not be reached is not asked again. Until then, callers get the same failure. */
const retryAfterMs = 5_000;
/** How long an accepted token is accepted without another check. Keys that were withdrawn are noticed after this. */
const acceptedMs = 30_000;
/** Google's endpoint uses another response format. */
const googleTokenInfo = 'https://oauth2.googleapis.com/tokeninfo';

type Claims = Readonly<Record<string, unknown>>;

/** Identifies the holders of tokens. */
export interface OidcRule {
  /** The holder, if the token was accepted a short time ago. */
  recent: (token: string) => Remembered<Principal> | undefined;
  check: (token: string) => Promise<Principal>;
}

/** Validates the options and returns their rule. Makes no requests. Throws `invalid`. */
export function oidcRule(options: OidcOptions): OidcRule {
  const { issuer, jwksUrl, introspectionUrl, audience, allowHttp, now = Date.now } = options;
  if (issuer === undefined && jwksUrl === undefined && introspectionUrl === undefined) {
    throw invalidField('/oidc/issuer', 'the token issuer is missing', {
      hint: 'set the issuer (--oidc-issuer)',
    });
  }
  if (audience === '') {
    throw invalid(
      'an audience is required, because otherwise every token from the issuer would be accepted',
      {
        hint: 'set the audience (--oidc-audience) that the provider adds to the tokens for this server',
      },
    );
  }
  for (const [field, url] of Object.entries({
    issuer,
    jwks_url: jwksUrl,
    introspection_url: introspectionUrl,
  })) {
    if (url !== undefined) requireSecure(url, { field: `/oidc/${field}`, allowHttp });
  }
  const provider = new Provider(options);
  const recent = new RecentTokens<Principal>(acceptedMs, now);
  const check = async (token: string): Promise<Principal> => {
    try {
      const isJwt = token.split('.').length === 3;
      const claims = await (isJwt ? checkJwt : checkOpaque)(token, provider, options);
      const principal = principalFrom(claims, options);
      recent.add(digest(token), principal, typeof claims['exp'] === 'number' ? claims['exp'] * 1000 : now());
      return principal;
    } catch (error) {
      throw asFailure(error, options);
    }
  };
  return { recent: (token) => recent.remembered(digest(token)), check };
}

const digest = (token: string): string => hash('sha256', token);

/**
 * Throws for a URL that would send tokens and keys over the network without encryption. Loopback is allowed. `field` is
 * the JSON pointer of the URL in the request, if the URL is in the request.
 */
export function requireSecure(
  url: string,
  { field = '', allowHttp = false }: { field?: string; allowHttp?: boolean | undefined },
): void {
  const parsed = URL.parse(url);
  if (parsed === null) throw invalidField(field, `${JSON.stringify(url)} is not a URL`);
  if (parsed.username !== '' || parsed.password !== '')
    throw invalidField(field, `the URL of ${parsed.host} contains a user name or a password`);
  if (parsed.protocol === 'https:') return;
  if (parsed.protocol === 'http:' && (allowHttp || isLoopback(parsed.hostname))) return;
  throw invalidField(field, `${url} is not https`, {
    hint: 'plain http is allowed only for addresses on this machine',
  });
}

async function checkJwt(token: string, provider: Provider, options: OidcOptions): Promise<Claims> {
  const { issuer, introspectionUrl, clientSecret, audience, now = Date.now } = options;
  const canAsk = introspectionUrl !== undefined || clientSecret !== undefined;
  try {
    return await verified(token, await provider.keys(), {
      audience,
      algorithms,
      requiredClaims: ['exp'],
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(now()),
      ...(issuer === undefined ? {} : { issuer: spellingsOf(issuer) }),
    });
  } catch (error) {
    if (!canAsk || !isForTheProvider(error)) throw error;
    return checkOpaque(token, provider, options);
  }
}

/**
 * Whether only the provider can read a JWT: its claims are missing, as in Keycloak's lightweight access tokens, or it is
 * signed with a key that the provider keeps.
 */
function isForTheProvider(error: unknown): boolean {
  if (error instanceof errors.JWTClaimValidationFailed) return error.reason === 'missing';
  return error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JWKSNoMatchingKey;
}

/** How many keys are tried for a token that does not name its key. */
const maxKeys = 20;

/** Checks a token. During a rotation of keys, several may be the key of a token that names none. */
async function verified(
  token: string,
  keys: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, keys, options)).payload;
  } catch (error) {
    const isUnnamed =
      error instanceof errors.JWKSMultipleMatchingKeys && decodeProtectedHeader(token).kid === undefined;
    if (!isUnnamed) throw error; // several keys with one name are a mistake of the provider
    let tried = 0;
    for await (const key of error) {
      if (++tried > maxKeys) break;
      try {
        return (await jwtVerify(token, key, options)).payload;
      } catch (failure) {
        if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
      }
    }
    throw error;
  }
}

/** Some providers write the slash at the end of the issuer only in their tokens, or only elsewhere. */
function spellingsOf(issuer: string): string[] {
  const bare = issuer.replace(/\/$/, '');
  return [bare, `${bare}/`];
}

/** Asks the provider about an opaque token (RFC 7662). */
async function checkOpaque(token: string, provider: Provider, options: OidcOptions): Promise<Claims> {
  const { audience, issuer, now = Date.now } = options;
  const claims = await provider.introspect(token);
  const { active, aud, nbf, iss } = claims;
  const seconds = now() / 1000;
  if (active !== true) throw unauthorized('the token is no longer valid');
  // Without a time, only the answer of the provider limits the token (RFC 7662, section 2.2).
  const exp = claims['exp'] === undefined ? Infinity : Number(claims['exp']);
  if (!(exp + clockToleranceSeconds >= seconds)) throw unauthorized('the token has expired');
  if (typeof nbf === 'number' && nbf - clockToleranceSeconds > seconds)
    throw unauthorized('the token is not valid yet');
  if (![aud].flat().includes(audience)) throw unauthorized('the token is for another audience');
  if (issuer !== undefined && iss !== undefined && !spellingsOf(issuer).some((own) => own === iss)) {
    throw unauthorized(issuerFailure(iss, issuer));
  }
  return claims;
}

/**
 * The issuer and the subject together identify a user (OpenID Connect Core 1.0, section 5.7). A token without a
 * subject identifies the client to which it was issued (RFC 9068, section 2.2).
 */
function principalFrom(claims: Claims, { issuer = '' }: OidcOptions): Principal {
  const { iss = issuer, sub, client_id: client } = claims;
  return { id: JSON.stringify([iss, sub ?? client ?? null]), claims };
}

/** The statuses for a client that may not ask (RFC 7662, section 2.3; RFC 6749, section 5.2). */
const refusedStatuses: ReadonlySet<number> = new Set([400, 401, 403]);

/** The provider's metadata, fetched on first use and again some time after a failure. */
class Provider {
  readonly #options: OidcOptions;
  /** Hosts that the user has named. Only these may have private addresses. */
  readonly #named: ReadonlySet<string>;
  #server: Promise<AuthorizationServer> | undefined;
  #keys: JWTVerifyGetKey | undefined;
  /** The failures of a short time, by URL: every token of a stranger would otherwise cause another request. */
  readonly #failed = new Map<string, { error: unknown; atMs: number }>();

  constructor(options: OidcOptions) {
    this.#options = options;
    const urls = [options.issuer, options.jwksUrl, options.introspectionUrl];
    this.#named = new Set(urls.flatMap((url) => (url === undefined ? [] : [new URL(url).host])));
  }

  async keys(): Promise<JWTVerifyGetKey> {
    if (this.#keys !== undefined) return this.#keys;
    const url = this.#options.jwksUrl ?? (await this.#discovered()).jwks_uri;
    if (url === undefined) throw unavailable('the issuer does not publish the URL of its keys');
    requireSecure(url, { allowHttp: this.#options.allowHttp });
    const fetchKeys = async (address: string): Promise<Response> => {
      const answer = await this.#read(address);
      return new Response(asKeySet(await answer.text(), address), { status: answer.status });
    };
    const keys = createRemoteJWKSet(new URL(url), { [joseFetch]: fetchKeys });
    this.#keys = async (header, token) => {
      try {
        return await keys(header, token);
      } catch (error) {
        const isUnnamed = keys.jwks()?.keys.every(({ kid }) => kid === undefined) === true;
        if (!(error instanceof errors.JWKSNoMatchingKey) || !isUnnamed) throw error;
        const { kid: _unknown, ...rest } = header; // the keys have no names to compare
        return keys(rest, token);
      }
    };
    return this.#keys;
  }

  /** Returns the provider's description of a token, with the members of RFC 7662, section 2.2. */
  async introspect(token: string): Promise<Claims> {
    const { introspectionUrl, clientId = 'toolhive', clientSecret, issuer, allowHttp } = this.#options;
    if (introspectionUrl === googleTokenInfo) return this.#askGoogle(token);
    const server: AuthorizationServer =
      introspectionUrl === undefined
        ? await this.#discovered()
        : { issuer: issuer ?? introspectionUrl, introspection_endpoint: introspectionUrl };
    if (server.introspection_endpoint === undefined) {
      throw unauthorized('the token is not a JWT, and the issuer does not validate other tokens');
    }
    // The token is sent there.
    requireSecure(server.introspection_endpoint, { allowHttp });
    const client = { client_id: clientId };
    const authentication = clientSecret === undefined ? None() : ClientSecretBasic(clientSecret);
    const answer = await introspectionRequest(server, client, authentication, token, this.#requests);
    if (refusedStatuses.has(answer.status)) throw this.#notAsked(server.issuer, answer.status);
    const claims = await processIntrospectionResponse(server, client, answer);
    return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null));
  }

  /** The failure if the provider does not validate tokens for ToolHive, which it does only for some clients. */
  #notAsked(issuer: string, status: number): Error {
    const { introspectionUrl, clientSecret } = this.#options;
    return introspectionUrl === undefined && clientSecret === undefined
      ? unauthorized('the token is not a JWT, and the issuer validates other tokens only for its clients')
      : unavailable(`${issuer} refuses to validate tokens (status ${status})`, {
          hint: 'check the client ID and the client secret for the introspection of tokens',
        });
  }

  /** Google has no endpoint of RFC 7662, but one that takes the token as a parameter and writes numbers as text. */
  async #askGoogle(token: string): Promise<Claims> {
    const query = new URLSearchParams({ access_token: token });
    const answer = await this.#fetch(`${googleTokenInfo}?${query.toString()}`, {});
    if (answer.status !== 200) return { active: false };
    const claims = (await answer.json()) as Record<string, unknown>;
    return { iss: this.#options.issuer, ...claims, exp: Number(claims['exp']), active: true };
  }

  #discovered(): Promise<AuthorizationServer> {
    this.#server ??= this.#discover().catch((error: unknown) => {
      this.#server = undefined;
      throw error;
    });
    return this.#server;
  }

  async #discover(): Promise<AuthorizationServer> {
    if (this.#options.issuer === undefined)
      throw unauthorized('only tokens that can be introspected are accepted');
    const issuer = new URL(this.#options.issuer);
    const requests = { ...this.#requests, [oauthFetch]: (address: string) => this.#read(address) };
    return processDiscoveryResponse(issuer, await discoveryRequest(issuer, requests));
  }

  get #requests() {
    // The code above allows plain HTTP only on this machine, a distinction that the library does not make.
    return { [oauthFetch]: this.#fetch.bind(this), [allowInsecureRequests]: true };
  }

  /** Fetches keys or metadata. For a short time after a failure, throws the same error again instead of fetching. */
  async #read(address: string): Promise<Response> {
    const { now = Date.now, readAuthToken } = this.#options;
    const failed = this.#failed.get(address);
    if (failed !== undefined && isRecent(failed.atMs, retryAfterMs, now())) throw failed.error;
    try {
      const own = readAuthToken !== undefined && this.#named.has(new URL(address).host);
      const headers = own ? { authorization: `Bearer ${await readAuthToken()}` } : {};
      const answer = await this.#fetch(address, { headers });
      if (answer.status >= 400) throw unavailable(`${address} returned status ${answer.status}`);
      this.#failed.delete(address);
      return answer;
    } catch (error) {
      this.#failed.set(address, { error, atMs: now() });
      throw error;
    }
  }

  async #fetch(
    address: string,
    { method = 'GET', headers, body }: { method?: string; headers?: unknown; body?: unknown }, // of two libraries
  ): Promise<Response> {
    const { allowPrivate = true, allowHttp = false, certificates } = this.#options;
    const { host, hostname } = new URL(address);
    const answer = await guardedFetch(address, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers: Object.fromEntries(new Headers(headers as Record<string, string> | undefined)),
      allowPrivate: this.#named.has(host) && (allowPrivate || isLoopback(hostname)),
      allowHttp,
      maxBytes: maxProviderBytes,
      // The list replaces the default list, so it must contain the default.
      ...(certificates === undefined ? {} : { ca: trustedCertificates(certificates) }),
      ...(body instanceof URLSearchParams ? { body: body.toString() } : {}),
    });
    const type = String(answer.headers['content-type'] ?? '');
    return new Response(answer.text, { status: answer.status, headers: { 'content-type': type } });
  }
}

/** What a claim with a wrong value means. The token is the caller's own, so its issuer can be shown. */
function claimFailure(
  { claim, reason, payload }: errors.JWTClaimValidationFailed,
  { issuer }: OidcOptions,
): string {
  if (reason === 'missing') return `the token lacks the required claim ${claim}`;
  if (claim === 'aud') return 'the token is for another audience';
  if (claim === 'nbf') return 'the token is not valid yet';
  if (claim !== 'iss') return `the claim ${claim} of the token is not valid`;
  return issuerFailure(payload.iss, issuer);
}

/** Version 1 and version 2 of Entra ID sign with the same keys, but name themselves differently. */
const entraIssuers = [/^https:\/\/sts\.windows\.net\//, /^https:\/\/login\.microsoftonline\.com\//] as const;

function issuerFailure(given: unknown, expected = ''): string {
  const found = printable(typeof given === 'string' ? given : '').slice(0, 200);
  const problem = `the token comes from another issuer: ${found} instead of ${expected}`;
  const [first, second] = entraIssuers;
  if (!first.test(found) || !second.test(expected)) return problem;
  return `${problem}. In the manifest of the app registration in Entra ID, set requestedAccessTokenVersion to 2, or set the issuer (--oidc-issuer) to ${found}`;
}

/** Describes an invalid token. Provider errors are not the caller's fault. */
function asFailure(error: unknown, options: OidcOptions): ThvError {
  if (error instanceof ThvError && error.kind === 'unauthorized') return error;
  if (error instanceof errors.JWTExpired) return unauthorized('the token has expired');
  if (error instanceof errors.JWTClaimValidationFailed) return unauthorized(claimFailure(error, options));
  if (error instanceof errors.JWKSTimeout)
    return unavailable('the signing keys of the issuer cannot be read at the moment');
  if (error instanceof errors.JWKSInvalid) return unavailable('the issuer does not publish a valid key set');
  if (error instanceof errors.JOSEError) return unauthorized('the token is not valid', { cause: error });
  const hint = error instanceof ThvError ? error.hint : undefined;
  return unavailable(`cannot reach the token issuer: ${messageOf(error)}`, { hint, cause: error });
}
