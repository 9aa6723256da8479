import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT, exportJWK } from 'jose';
import type { CryptoKey, JWTPayload } from 'jose';
import { rsaKeys } from './rsa-keys.ts';

export type OpenIdProvider = Awaited<ReturnType<typeof openIdProvider>>;

/** A provider on this machine: discovery, keys, and a place to look up tokens. */
export async function openIdProvider() {
  const { publicKey, privateKey } = await rsaKeys('a provider');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256' };
  const state: {
    isDown: boolean;
    introspectionUrl?: string;
    /** How many requests there were. */
    requests: number;
    /** Makes the key set larger. */
    padding: string;
    hasDuplicateKeys: boolean;
  } = { isDown: false, requests: 0, padding: '', hasDuplicateKeys: false };
  const server = createServer((request, response) => {
    void respond(request, response);
  });
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    state.requests++;
    const form = new URLSearchParams(await body(request));
    const answer = state.isDown ? undefined : answerTo(request.url ?? '', form);
    response.writeHead(answer === undefined ? 503 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? {}));
  };
  const issuer = `http://127.0.0.1:${await listen(server)}`;
  const answerTo = (path: string, form: URLSearchParams): object | undefined => {
    if (path === '/.well-known/openid-configuration') {
      const introspection_endpoint = state.introspectionUrl ?? `${issuer}/introspect`;
      return { issuer, jwks_uri: `${issuer}/keys`, introspection_endpoint };
    }
    if (path === '/keys') {
      const keys = state.hasDuplicateKeys ? [jwk, { ...jwk, e: 'AQAC' }] : [jwk];
      return { keys, padding: state.padding };
    }
    const now = Math.floor(Date.now() / 1000);
    const good = { active: true, aud: 'toolhive', exp: now + 300, iss: issuer };
    const known: Record<string, object> = {
      'opaque-good': good,
      'opaque-expired': { ...good, exp: now - 300 },
      'opaque-other': { ...good, aud: 'other' },
    };
    return known[form.get('token') ?? ''] ?? { active: false };
  };
  const sign = (
    claims: JWTPayload,
    expires: string,
    key: CryptoKey | Uint8Array = privateKey,
    alg = 'RS256',
  ) => new SignJWT(claims).setProtectedHeader({ alg, kid: 'one' }).setExpirationTime(expires).sign(key);
  return Object.assign(state, {
    issuer,
    sign,
    signWithHeader: (claims: JWTPayload, header: object, key: CryptoKey = privateKey) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', ...header })
        .setExpirationTime('5m')
        .sign(key),
    signWithPublicKey: (claims: JWTPayload) =>
      sign(claims, '5m', new TextEncoder().encode(JSON.stringify(jwk)), 'HS256'),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function body(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}
