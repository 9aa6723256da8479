import { createHash, timingSafeEqual } from 'node:crypto';
import { invalid, unauthorized } from '@toolhive/contract/failure';
import type { Principal } from '@toolhive/proxy/principal';
import { oidcRule } from './oidc.ts';
import type { OidcOptions } from './oidc.ts';
import { RepeatedHeaders } from './recent-tokens.ts';

export type { OidcOptions } from './oidc.ts';

/** The rules for callers. Each rule applies only if it is given, and a caller must satisfy one of them. */
export interface AccessOptions {
  /** A fixed bearer token. Its holder is `token`. */
  token?: string | undefined;
  /** Further tokens by the names of their holders, who are `token:NAME`. */
  tokens?: Readonly<Record<string, string>> | undefined;
  /** An OpenID provider whose tokens are accepted. */
  oidc?: OidcOptions | undefined;
}

/**
 * Returns the caller with this `Authorization` header, or throws or rejects with `unauthorized`. Returns a promise only if
 * it must wait: a promise for each request would cost more than the rest of the check. `connection` is any object that lives
 * as long as the client's connection.
 */
export type Access = (
  authorization: string | undefined,
  connection?: object,
) => Principal | Promise<Principal>;

/** The minimum length of a token, which makes guessing impossible. */
const minTokenLength = 16;

/**
 * Validates the options and returns the check for callers. Returns undefined if every caller is accepted. Makes no
 * requests.
 */
export function openAccess({ token, tokens = {}, oidc }: AccessOptions): Access | undefined {
  const fixed = [
    ...(token === undefined ? [] : [tokenRule('token', token)]),
    ...Object.entries(tokens).map(([name, value]) => tokenRule(`token:${name}`, value)),
  ];
  if (fixed.length === 0 && oidc === undefined) return undefined;
  if (oidc === undefined) {
    return (authorization) => {
      const holder = holderOf(tokenIn(authorization), fixed);
      if (holder === undefined) throw unauthorized('the token is not valid');
      return holder;
    };
  }
  const rule = oidcRule(oidc);
  const repeated = new RepeatedHeaders<Principal>(oidc.now ?? Date.now);
  return (authorization, connection) => {
    const known =
      authorization === undefined || connection === undefined
        ? undefined
        : repeated.find(connection, authorization);
    if (known !== undefined) return known;
    const presented = tokenIn(authorization);
    const holder = holderOf(presented, fixed);
    if (holder !== undefined) return holder;
    const recent = rule.recent(presented);
    if (recent === undefined) return rule.check(presented);
    if (authorization !== undefined && connection !== undefined)
      repeated.set(connection, authorization, recent);
    return recent.value;
  };
}

/** Returns the token of a header. Throws `unauthorized`. */
function tokenIn(authorization = ''): string {
  const [, presented] = /^bearer +([A-Za-z0-9._~+/=-]+) *$/i.exec(authorization) ?? [];
  if (presented !== undefined) return presented;
  throw unauthorized('a bearer token is required', { hint: 'send Authorization: Bearer TOKEN' });
}

type TokenRule = (presented: string) => Principal | undefined;

/** Compares with every token, so that the time does not reveal the matching one. */
function holderOf(presented: string, rules: readonly TokenRule[]): Principal | undefined {
  const holders = rules.map((rule) => rule(presented));
  return holders.find((found) => found !== undefined);
}

/** Returns a function that compares a presented token with a holder's token. */
function tokenRule(holder: string, token: string): TokenRule {
  if (token.length < minTokenLength || !/^[A-Za-z0-9._~+/=-]+$/.test(token)) {
    throw invalid(`a token has at least ${minTokenLength} letters, digits or any of ._~+/=-`, {
      hint: 'generate a token with openssl rand -hex 32',
    });
  }
  const expected = digest(token);
  // Digests are of one length, so the comparison tells nothing about the token.
  const principal: Principal = { id: holder, claims: { sub: holder } };
  return (presented) => (timingSafeEqual(digest(presented), expected) ? principal : undefined);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
