import { unavailable } from '@toolhive/contract/failure';
import { ResponseBodyError, processRefreshTokenResponse, refreshTokenGrantRequest } from 'oauth4webapi';
import type { TokenEndpointResponse } from 'oauth4webapi';
import type { AuthorizationServer } from './discovery.ts';
import type { Client, Grant, Tokens } from './kept.ts';
import { authenticationOf } from './registration.ts';
import { explain } from './requests.ts';
import type { Requests } from './requests.ts';

/** Tokens are renewed this long before they expire, or after three quarters of a short life. */
const earlyMs = 30_000;
/** Longer than any reasonable lifetime. */
const maxLifeSeconds = 10 * 365 * 86_400;

/** The tokens from a token endpoint. Throws if a token cannot be a header value. */
export function tokensFrom(answer: TokenEndpointResponse, issuedAtMs: number): Tokens {
  const { access_token: access, refresh_token: refresh, token_type: type, expires_in: seconds } = answer;
  if (type !== 'bearer' || !/^[\x21-\x7e]+$/.test(access)) {
    throw unavailable('the authorization server returned a token that is not a bearer token');
  }
  return {
    access,
    issuedAtMs,
    ...(refresh !== undefined && { refresh }),
    ...(seconds !== undefined && { expiresAtMs: issuedAtMs + Math.min(seconds, maxLifeSeconds) * 1000 }),
  };
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

/**
 * ToolHive needs access and not the user's identity, so it ignores ID tokens, which must not be used as access
 * tokens.
 */
export async function withoutIdToken(answer: Response): Promise<Response> {
  if (answer.status !== 200) return answer;
  const body: unknown = await answer
    .clone()
    .json()
    .catch(() => undefined);
  if (typeof body !== 'object' || body === null || !('id_token' in body)) return answer;
  const { id_token: _, ...rest } = body;
  return new Response(JSON.stringify(rest), { status: answer.status, headers: answer.headers });
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

/** New tokens for a refresh token, or the fact that the server refuses. Throws if the server could not be asked. */
export async function refreshTokens(options: RefreshOptions): Promise<Tokens | { refusal: string }> {
  const { server, client, grant, refreshToken, secret, requests, signal, now } = options;
  const them = { client_id: client.id };
  const issuedAtMs = now();
  try {
    const answer = await refreshTokenGrantRequest(
      server,
      them,
      authenticationOf(server, client, secret),
      refreshToken,
      { ...requests.options(signal), additionalParameters: { resource: grant.resource } },
    );
    const response = await processRefreshTokenResponse(server, them, await withoutIdToken(answer));
    return { refresh: refreshToken, ...tokensFrom(response, issuedAtMs) };
  } catch (error) {
    if (error instanceof ResponseBodyError && !passing.has(error.error) && error.status !== 429) {
      return { refusal: error.error };
    }
    throw explain(error, `${server.issuer} did not return a new token`);
  }
}

/** What a server says that means to be asked again later. */
const passing = new Set(['temporarily_unavailable', 'server_error', 'slow_down']);
