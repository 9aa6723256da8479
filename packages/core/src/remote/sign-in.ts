import { unavailable } from '@toolhive/contract/failure';
import {
  authorizationCodeGrantRequest,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomState,
  processAuthorizationCodeResponse,
  validateAuthResponse,
} from 'oauth4webapi';
import { CallbackListener } from './callback.ts';
import type { CallbackAnswer } from './callback.ts';
import type { Challenge } from './challenge.ts';
import { discover } from './discovery.ts';
import type { AuthorizationServer, Authority, DiscoveryOptions } from './discovery.ts';
import type { Client, Grant } from './kept.ts';
import { authenticationOf, clientKind, register, stillRegistered } from './registration.ts';
import { explain } from './requests.ts';
import { tokensFrom, withoutIdToken } from './tokens.ts';

export interface SignInOptions extends DiscoveryOptions {
  challenge: Challenge;
  clientDocument: string | undefined;
  known: Client | undefined;
  /** What was asked for before, and is not to be lost when more is wanted. */
  earlierScopes: readonly string[];
  secretOf: (client: Client) => Promise<string | undefined>;
  /** Has the user open the page on which to agree. */
  show: (url: string) => void;
  now: () => number;
}

/** What came of it. */
export interface SignedIn {
  server: AuthorizationServer;
  client: Client;
  grant: Grant;
}

/** Lets the user agree in the browser, and gets tokens for that (OAuth 2.1, as MCP profiles it). */
export async function signIn(options: SignInOptions): Promise<SignedIn> {
  const authority = await discover(options, options.challenge);
  const { server, resource } = authority;
  requirePkce(server);
  const scopes = scopesFor(authority, options);
  const state = generateRandomState();
  await using stack = new AsyncDisposableStack();
  const { client, listener } = await introduce(server, scopes, state, options);
  stack.use(listener);
  const verifier = generateRandomCodeVerifier();

  const url = requestUrl(
    { server, client, scopes, resource, state, challenge: await calculatePKCECodeChallenge(verifier) },
    options,
  );
  const answering = listener.answer(options.signal);
  options.show(url);
  const answer = await answering;
  try {
    const tokens = await redeem(answer, { server, client, resource, state, verifier }, options);
    await answer.show('signed-in');
    return { server, client, grant: { resource, scopes, tokens } };
  } catch (error) {
    await answer.show('failed');
    throw error;
  }
}

/** A server that does not know PKCE would let a stolen code pass. */
function requirePkce({ issuer, code_challenge_methods_supported: methods }: AuthorizationServer): void {
  if (methods?.includes('S256') === true) return;
  throw unavailable(
    `${issuer} does not say that it supports PKCE with S256, without which codes can be stolen`,
    {
      hint: 'if it does support that, configure its authorize_url and token_url',
    },
  );
}

/** What the user has configured, else what the server has just asked for, else what it says it needs. */
function scopesFor({ server, scopes: described }: Authority, options: SignInOptions): string[] {
  const { settings, challenge, earlierScopes } = options;
  if (settings.scopes !== undefined) return [...settings.scopes];
  const asked = challenge.scope?.split(' ').filter((scope) => scope !== '');
  const scopes = new Set([...earlierScopes, ...(asked ?? described ?? [])]);
  // Without it some never give a refresh token, and the user would have to come back every hour. Alone it would
  // take the place of what the server gives to those who ask for nothing.
  if (scopes.size > 0 && server.scopes_supported?.includes('offline_access')) scopes.add('offline_access');
  return [...scopes];
}

/** Finds the client that we are to this server, and a port that the browser may bring it back to. */
async function introduce(
  server: AuthorizationServer,
  scopes: readonly string[],
  state: string,
  options: SignInOptions,
): Promise<{ client: Client; listener: CallbackListener }> {
  const { settings, clientDocument, known, now } = options;
  const registration = { server, settings, clientDocument, known };
  const kind = clientKind(registration);
  const registered = kind === 'dynamic' ? stillRegistered(registration, now()) : undefined;
  const listener = await listen(settings.callbackPort, registered, state);
  try {
    return { client: await clientFor(listener), listener };
  } catch (error) {
    await listener[Symbol.asyncDispose]();
    throw error;
  }

  async function clientFor(listener: CallbackListener): Promise<Client> {
    const redirectUri = listener.redirectUri(kind === 'configured' ? 'localhost' : '127.0.0.1');
    if (kind === 'dynamic') {
      if (registered?.redirectUri === redirectUri) return registered;
      return register(server, { redirectUri, scopes }, options);
    }
    const id = kind === 'configured' ? settings.clientId : clientDocument;
    return { issuer: server.issuer, kind, id: id ?? '', redirectUri };
  }
}

/** On the port that was registered the last time if it is still free, because many servers compare it. */
async function listen(
  port: number,
  registered: Client | undefined,
  state: string,
): Promise<CallbackListener> {
  if (port !== 0 || registered === undefined) return CallbackListener.open(port, state);
  return CallbackListener.open(Number(new URL(registered.redirectUri).port), state).catch(() =>
    CallbackListener.open(0, state),
  );
}

interface Request {
  server: AuthorizationServer;
  client: Client;
  resource: string;
  state: string;
}

function requestUrl(
  {
    server,
    client,
    scopes,
    resource,
    state,
    challenge,
  }: Request & { scopes: readonly string[]; challenge: string },
  { settings }: SignInOptions,
): string {
  const url = new URL(server.authorization_endpoint);
  const parameters = {
    // Without being asked for anew, consent does not cover `offline_access` (OpenID Connect Core 11).
    ...(scopes.includes('offline_access') && { prompt: 'consent' }),
    ...settings.parameters,
    response_type: 'code',
    client_id: client.id,
    redirect_uri: client.redirectUri,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    state,
    resource,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/** Checks the answer of the browser and turns its code into tokens. */
async function redeem(
  { parameters }: CallbackAnswer,
  { server, client, resource, state, verifier }: Request & { verifier: string },
  { requests, signal, settings, secretOf, now }: SignInOptions,
): Promise<Grant['tokens']> {
  const them = { client_id: client.id };
  const isIssuerKnown = settings.endpoints === undefined || settings.issuer !== undefined;
  if (!isIssuerKnown) parameters.delete('iss'); // there is nothing to compare it with, and one server only
  const checked = await attempt('the answer of the browser is refused', { quote: true }, () =>
    validateAuthResponse(server, them, parameters, state),
  );
  const authentication = authenticationOf(server, client, await secretOf(client));
  return attempt(`${server.issuer} gives no token`, {}, async () => {
    const issuedAtMs = now();
    const answer = await authorizationCodeGrantRequest(
      server,
      them,
      authentication,
      checked,
      client.redirectUri,
      verifier,
      {
        ...requests.options(signal),
        additionalParameters: { resource },
      },
    );
    return tokensFrom(
      await processAuthorizationCodeResponse(server, them, await withoutIdToken(answer)),
      issuedAtMs,
    );
  });
}

async function attempt<Result>(
  what: string,
  how: { quote?: boolean },
  work: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw explain(error, what, how);
  }
}
