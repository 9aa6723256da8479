import { hash } from 'node:crypto';
import { ThvError, invalidField, messageOf, unauthorized } from '@toolhive/contract/failure';
import { isLoopback } from '@toolhive/contract/loopback';
import {
  ClientSecretBasic,
  None,
  allowInsecureRequests,
  customFetch,
  genericTokenEndpointRequest,
  processGenericTokenEndpointResponse,
} from 'oauth4webapi';
import { guardedFetch } from '@toolhive/outgoing/guarded-fetch';
import { requireSecure } from './oidc.ts';
import { RecentTokens } from './recent-tokens.ts';

export interface TokenExchangeOptions {
  tokenUrl: string;
  clientId?: string | undefined;
  clientSecret?: string | undefined;
  audience?: string | undefined;
  scopes?: readonly string[] | undefined;
  /** `access_token` by default. */
  subjectTokenType?: string | undefined;
  /** The header that carries the new token. `authorization` by default. */
  header?: string | undefined;
}

/** Returns the headers that a server gets for a caller with this token. */
export type TokenExchange = (token: string) => Promise<Readonly<Record<string, string>>>;

const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange';
const tokenType = 'urn:ietf:params:oauth:token-type:';
/** The short names of the original. */
const shortTypes = ['access_token', 'id_token', 'jwt'];
const timeoutMs = 30_000;
/** How long an exchanged token is used if the authorization server does not report its lifetime. */
const unknownLifeMs = 60_000;

/** Checks the options and returns a function that exchanges tokens (RFC 8693). Throws `invalid`. */
export function tokenExchange(options: TokenExchangeOptions, now: () => number = Date.now): TokenExchange {
  const { tokenUrl, clientId, clientSecret, audience, scopes = [], header = 'authorization' } = options;
  if (tokenUrl === '') throw invalidField('/token_exchange/token_url', 'token exchange needs a token_url');
  requireSecure(tokenUrl, { field: '/token_exchange/token_url' });
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(header))
    throw invalidField('/token_exchange/header_name', `${JSON.stringify(header)} is not a header name`);
  const { hostname, origin } = new URL(tokenUrl);
  const server = { issuer: origin, token_endpoint: tokenUrl };
  const client = { client_id: clientId ?? 'toolhive' };
  const authentication = clientSecret === undefined ? None() : ClientSecretBasic(clientSecret);
  const exchanged = new RecentTokens<Readonly<Record<string, string>>>(24 * 60 * 60_000, now);
  const type = options.subjectTokenType ?? 'access_token';
  const parameters = new URLSearchParams({
    subject_token_type: shortTypes.includes(type) ? `${tokenType}${type}` : type,
    requested_token_type: `${tokenType}access_token`,
    ...(audience ? { audience } : {}),
    ...(scopes.length > 0 ? { scope: scopes.join(' ') } : {}),
  });
  const requests = {
    [allowInsecureRequests]: true, // only to this machine, as was checked above
    [customFetch]: async (url: string, { headers, body }: { headers?: unknown; body?: unknown }) => {
      const answer = await guardedFetch(url, {
        method: 'POST',
        headers: Object.fromEntries(new Headers(headers as Record<string, string>)),
        body: String(body),
        allowPrivate: isLoopback(hostname),
        timeoutMs,
      });
      const contentType = String(answer.headers['content-type'] ?? '');
      return new Response(answer.text, { status: answer.status, headers: { 'content-type': contentType } });
    },
  };
  return async (token) => {
    const key = hash('sha256', token);
    const before = exchanged.find(key);
    if (before !== undefined) return before;
    try {
      const form = new URLSearchParams([...parameters, ['subject_token', token]]);
      const answer = await genericTokenEndpointRequest(
        server,
        client,
        authentication,
        grantType,
        form,
        requests,
      );
      const { access_token: own, expires_in: seconds } = await processGenericTokenEndpointResponse(
        server,
        client,
        answer,
      );
      if (!/^[\w.~+/=-]+$/.test(own)) throw unauthorized('the new token has characters that no token has');
      const headers = { [header.toLowerCase()]: `Bearer ${own}` };
      exchanged.add(key, headers, now() + (seconds === undefined ? unknownLifeMs : seconds * 900));
      return headers;
    } catch (error) {
      const why = error instanceof ThvError ? error.message : messageOf(error);
      throw unauthorized(`the token could not be exchanged for one that the server accepts: ${why}`, {
        cause: error,
      });
    }
  };
}
