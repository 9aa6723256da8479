import { unavailable } from '@toolhive/contract/failure';
import { ResponseBodyError, processRefreshTokenResponse, refreshTokenGrantRequest } from 'oauth4webapi';
import type { TokenEndpointResponse } from 'oauth4webapi';
import type { AuthorizationServer } from './discovery.ts';
import { refusesClient } from './forgotten-client.ts';
import type { Client, Grant, Tokens } from './kept.ts';
import { authenticationOf } from './registration.ts';
import { explain } from './requests.ts';
import type { Requests } from './requests.ts';
import { asStandard } from './token-answer.ts';
import { readingAnswer } from './web-page.ts';

/** Tokens are renewed this long before they expire, or after three quarters of a short life. */
const earlyMs = 30_000;
const unknownLifeSeconds = 30;
/** Longer than any reasonable lifetime. */
const maxLifeSeconds = 10 * 365 * 86_400;

/** The tokens from a token endpoint. Throws if a token cannot be a header value. */
export function tokensFrom(answer: TokenEndpointResponse, issuedAtMs: number): Tokens {
  const { access_token: access, refresh_token: refresh, token_type: type, scope } = answer;
  const seconds = lifeOf(answer);
  if (type !== 'bearer' || !/^[\x21-\x7e]+$/.test(access)) {
    throw unavailable('the authorization server returned a token that is not a bearer token');
  }
  return {
    access,
    issuedAtMs,
    ...(refresh !== undefined && { refresh }),
    ...(seconds !== undefined && { expiresAtMs: issuedAtMs + Math.min(seconds, maxLifeSeconds) * 1000 }),
    ...(scope !== undefined && { scope }),
  };
}

/**
 * Servers that do not know the lifetime of a token write 0, which means that it may expire soon. A token that cannot be
 * renewed is used until the server refuses it.
 */
function lifeOf({ expires_in: seconds, refresh_token: refresh }: TokenEndpointResponse): number | undefined {
  if (seconds !== 0) return seconds;
  return refresh === undefined ? undefined : unknownLifeSeconds;
}

export function hasExpired({ expiresAtMs }: Tokens, nowMs: number): boolean {
  return expiresAtMs !== undefined && nowMs >= expiresAtMs;
}

/** Whether to renew the tokens now. */
export function isDue({ issuedAtMs, expiresAtMs, refresh }: Tokens, nowMs: number): boolean {
  if (expiresAtMs === undefined) return false;
  const early = refresh === undefined ? 0 : Math.min(earlyMs, (expiresAtMs - issuedAtMs) / 4);
  return nowMs >= expiresAtMs - early;
}

/** The parameter that names the resource of a token. */
export function named(resource: string): { resource?: string } {
  return resource === '' ? {} : { resource };
}

export interface RefreshOptions {
  server: AuthorizationServer;
  client: Client;
  grant: Grant;
  refreshToken: string;
  secret: string | undefined;
  requests: Requests;
  signal: AbortSignal;
  now: () => number;
}

/** The refusal of an authorization server to give new tokens. */
export interface RefreshRefusal {
  refusal: string;
  /** The server does not know the client. */
  isClientUnknown: boolean;
}

/**
 * New tokens for a refresh token, or the fact that the server refuses. Throws if the server could not be asked. Most
 * servers need no scope, and some refuse a request without one.
 */
export async function refreshTokens(options: RefreshOptions): Promise<Tokens | RefreshRefusal> {
  const { grant } = options;
  const scope = grant.tokens.scope ?? grant.scopes.join(' ');
  const first = await refreshOnce(options, {});
  const isAboutRequest = 'failure' in first || ('refusal' in first && !first.isClientUnknown);
  const outcome = isAboutRequest && scope !== '' ? await refreshOnce(options, { scope }) : first;
  if ('failure' in outcome) throw outcome.failure;
  return outcome;
}

/** A `failure` is a refusal of the request in an unknown form. */
async function refreshOnce(
  { server, client, grant, refreshToken, secret, requests, signal, now }: RefreshOptions,
  scope: { scope?: string },
): Promise<Tokens | RefreshRefusal | { failure: unknown }> {
  const them = { client_id: client.id };
  const what = `${server.issuer} did not return a new token`;
  const issuedAtMs = now();
  const additionalParameters = { ...named(grant.resource), ...scope };
  const answer = await refreshTokenGrantRequest(
    server,
    them,
    authenticationOf(server, client, secret),
    refreshToken,
    { ...requests.options(signal), additionalParameters },
  ).catch((error: unknown) => {
    throw explain(error, what);
  });
  const response = await asStandard(answer);
  const isClientUnknown = await refusesClient(response);
  const isGrantOver = await refusesGrant(response);
  const { status } = response;
  try {
    const tokens = await readingAnswer(response, what, async () =>
      tokensFrom(await processRefreshTokenResponse(server, them, response), issuedAtMs),
    );
    const granted = grant.tokens.scope;
    return { refresh: refreshToken, ...(granted !== undefined && { scope: granted }), ...tokens };
  } catch (error) {
    const code = error instanceof ResponseBodyError ? error.error : undefined;
    if (isClientUnknown) return { refusal: code ?? 'invalid_client', isClientUnknown };
    if (code !== undefined && !passing.has(code) && status !== 429) return { refusal: code, isClientUnknown };
    if (code === undefined && isGrantOver) return { refusal: 'invalid_grant', isClientUnknown };
    const failure = explain(error, what);
    if (status === 400 && code === undefined) return { failure };
    throw failure;
  }
}

/** Whether a refusal without an error code of OAuth says in JSON that the refresh token is over. The response can still be read. */
async function refusesGrant(answer: Response): Promise<boolean> {
  if (answer.status !== 400 && answer.status !== 401) return false;
  const text = (await answer.clone().text()).slice(0, maxWords);
  return /^\s*[{["]/.test(text) && grantWords.test(text.replaceAll('_', ' '));
}

const maxWords = 8 * 1024;
const grantWords =
  /\b(?:invalid|expired|revoked|unknown)\b[^.<>{}]{0,40}\b(?:refresh[ -]?token|grant)\b|\b(?:refresh[ -]?token|grant)\b[^.<>{}]{0,40}\b(?:invalid|expired|revoked|not found|not valid|unknown)\b/i;

/** Errors that ask for a later attempt. */
const passing = new Set([
  'temporarily_unavailable',
  'server_error',
  'slow_down',
  // Not in a standard, as Slack and others write them.
  'fatal_error',
  'internal_error',
  'internal_server_error',
  'rate_limit_exceeded',
  'rate_limited',
  'ratelimited',
  'request_timeout',
  'service_unavailable',
  'too_many_requests',
]);
