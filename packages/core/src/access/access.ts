import { createHash, timingSafeEqual } from 'node:crypto';
import { invalid, unauthorized } from '@toolhive/contract/failure';
import type { Principal } from '@toolhive/proxy/principal';
import { oidcRule } from './oidc.ts';
import type { OidcOptions } from './oidc.ts';

export type { OidcOptions } from './oidc.ts';

/** Who may call. Each part is asked for only if it is given; several of them are alternatives. */
export interface AccessOptions {
  /** A fixed bearer token. */
  token?: string | undefined;
  /** An OpenID provider whose tokens are accepted. */
  oidc?: OidcOptions | undefined;
}

/** Returns the caller with this `Authorization` header, or throws `unauthorized`. */
export type Access = (authorization: string | undefined) => Promise<Principal>;

/** Everyone who presents the fixed token. */
const tokenHolder: Principal = { id: 'token' };

/** The shortest token that nobody guesses. */
const minTokenLength = 16;

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
