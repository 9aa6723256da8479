import { unavailable } from '@toolhive/contract/failure';
import {
  AuthorizationResponseError,
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
import { discover, requireTokensFrom } from './discovery.ts';
import type { AuthorizationServer, Authority, DiscoveryOptions } from './discovery.ts';
import {
  pageRefusesClient,
  refusesAuthentication,
  refusesClient,
  saysClientIsUnknown,
} from './forgotten-client.ts';
import type { Client, Grant } from './kept.ts';
import {
  authenticationBy,
  authenticationMethods,
  clientKind,
  register,
  stillRegistered,
} from './registration.ts';
import { explain } from './requests.ts';
import { asStandard } from './token-answer.ts';
import { named, tokensFrom } from './tokens.ts';
import { readingAnswer } from './web-page.ts';

export interface SignInOptions extends DiscoveryOptions {
  challenge: Challenge;
  clientDocument: string | undefined;
  known: Client | undefined;
  /** The scopes of the sign-in before, which are not lost when a server asks for more. */
  earlierScopes: readonly string[];
  secretOf: (client: Client) => Promise<string | undefined>;
  /** Has the user open the page on which to agree, unless the browser is already on its way there. */
  show: (url: string, how: { isInBrowser: boolean }) => void;
  now: () => number;
}

/** The result of a sign-in. */
export interface SignedIn {
  server: AuthorizationServer;
  client: Client;
  grant: Grant;
}

/** Obtains the user's consent in the browser, and tokens (OAuth 2.1, in MCP's profile). */
export async function signIn(options: SignInOptions): Promise<SignedIn> {
  const authority = await discover(options, options.challenge);
  const { server } = authority;
  requirePkce(server, options.settings);
  const scopes = scopesFor(authority, options);
  const state = generateRandomState();
  await using stack = new AsyncDisposableStack();
  const { client, isKept, listener } = await introduce(server, scopes, state, options);
  stack.use(listener);
  const request = { ...authority, scopes, listener, state };
  const register = (): Promise<Client> => registerAgain(server, { client, scopes }, options);

  const isForgotten = isKept && (await isRefused({ ...request, client }, options));
  const first = isForgotten ? await register() : client;
  const outcome = await askConsent({ ...request, client: first }, options);
  if (!('forgotten' in outcome)) return outcome;
  const { answer } = outcome;
  if (!isKept || isForgotten) return await refuse(answer, outcome.forgotten);
  const second = await register().catch((error: unknown) => refuse(answer, error));
  const next = generateRandomState();
  listener.expect(next);
  const last = await askConsent({ ...request, client: second, state: next, browser: answer }, options);
  return 'forgotten' in last ? await refuse(last.answer, last.forgotten) : last;
}

async function refuse(answer: CallbackAnswer, error: unknown): Promise<never> {
  await answer.show('failed');
  throw error;
}

interface ConsentRequest {
  server: AuthorizationServer;
  client: Client;
  resource: string;
  scopes: readonly string[];
  state: string;
  listener: CallbackListener;
  /** The browser that is still waiting after an earlier answer. */
  browser?: CallbackAnswer;
}

/** Has the user agree, once. The server may have forgotten the client, which only its answer tells. */
async function askConsent(
  request: ConsentRequest,
  options: SignInOptions,
): Promise<SignedIn | { forgotten: unknown; answer: CallbackAnswer }> {
  const { server, client, resource, scopes, state, listener, browser } = request;
  const verifier = generateRandomCodeVerifier();
  const url = requestUrl({ ...request, challenge: await calculatePKCECodeChallenge(verifier) }, options);
  const answering = listener.answer(options.signal);
  options.show(url, { isInBrowser: browser !== undefined });
  await browser?.goTo(url);
  const answer = await answering;
  try {
    const { tokens, authentication } = await redeem(
      answer,
      { server, client, resource, state, verifier },
      options,
    );
    await answer.show('signed-in');
    const known = authentication === undefined ? client : { ...client, authentication };
    return { server, client: known, grant: { resource, scopes: [...scopes], tokens } };
  } catch (error) {
    if (error instanceof ClientForgotten) return { forgotten: error.cause, answer };
    return await refuse(answer, error);
  }
}

/** Whether the server refuses a client that it registered earlier. The user's own request has another state. */
async function isRefused(request: ConsentRequest, options: SignInOptions): Promise<boolean> {
  const challenge = await calculatePKCECodeChallenge(generateRandomCodeVerifier());
  const url = requestUrl({ ...request, state: generateRandomState(), challenge }, options);
  return pageRefusesClient(url, options);
}

function registerAgain(
  server: AuthorizationServer,
  { client, scopes }: { client: Client; scopes: readonly string[] },
  options: SignInOptions,
): Promise<Client> {
  return register(server, { redirectUri: client.redirectUri, scopes }, options);
}

/** The authorization server does not know the client. The cause is the error for the user. */
class ClientForgotten extends Error {}

/** A server that does not know PKCE would let a stolen code pass. */
function requirePkce(server: AuthorizationServer, { endpoints }: DiscoveryOptions['settings']): void {
  const { issuer, code_challenge_methods_supported: methods } = server;
  if (methods?.includes('S256') === true || endpoints !== undefined) return;
  throw unavailable(
    `${issuer} does not announce support for PKCE with S256, which protects authorization codes`,
    {
      hint: `if it supports PKCE anyway, as Entra ID and Amazon Cognito do, configure a client_id, the authorize_url ${server.authorization_endpoint.slice(0, 300)}, and the token_url ${server.token_endpoint.slice(0, 300)}`,
    },
  );
}

/** The scopes from the user's configuration, or else from the server's latest request, or else from its metadata. */
function scopesFor({ server, scopes: described }: Authority, options: SignInOptions): string[] {
  const { settings, challenge, earlierScopes } = options;
  if (settings.scopes !== undefined) return [...settings.scopes];
  const asked = challenge.scope?.split(' ').filter((scope) => scope !== '');
  const scopes = new Set([...earlierScopes, ...(asked ?? described ?? [])]);
  // Without this scope, some servers give no refresh token, and the user would have to sign in every hour. Alone, it
  // would replace the server's default scopes.
  if (scopes.size > 0 && server.scopes_supported?.includes('offline_access')) scopes.add('offline_access');
  return [...scopes];
}

/** Finds ToolHive's client registration for this server, and a port for the browser's redirect. */
async function introduce(
  server: AuthorizationServer,
  scopes: readonly string[],
  state: string,
  options: SignInOptions,
): Promise<{ client: Client; isKept: boolean; listener: CallbackListener }> {
  const { settings, clientDocument, known, now } = options;
  const registration = { server, settings, clientDocument, known };
  const kind = clientKind(registration);
  const registered = kind === 'dynamic' ? stillRegistered(registration, now()) : undefined;
  const listener = await listen(settings.callbackPort, registered, state);
  try {
    const client = await clientFor(listener);
    return { client, isKept: client === registered, listener };
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

/** Prefers the last registered port, because many servers compare the port. */
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

/** Google knows no scope `offline_access`, and gives refresh tokens only for these parameters. */
const googleIssuer = 'https://accounts.google.com';

type Request = Pick<ConsentRequest, 'server' | 'client' | 'resource' | 'state'>;

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
    // Without a new prompt, earlier consent does not cover `offline_access` (OpenID Connect Core 11).
    ...(scopes.includes('offline_access') && { prompt: 'consent' }),
    ...(server.issuer === googleIssuer && { access_type: 'offline', prompt: 'consent' }),
    ...settings.parameters,
    response_type: 'code',
    client_id: client.id,
    redirect_uri: client.redirectUri,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    state,
    ...named(resource),
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/** Checks the answer of the browser and turns its code into tokens. */
async function redeem(
  { parameters }: CallbackAnswer,
  { server, client, resource, state, verifier }: Request & { verifier: string },
  options: SignInOptions,
): Promise<{ tokens: Grant['tokens']; authentication?: string }> {
  const { requests, signal, settings, secretOf, now } = options;
  const them = { client_id: client.id };
  const isOfUser = settings.endpoints === undefined || requests.isOfUser(settings.endpoints.token);
  for (const issuer of isOfUser ? [] : parameters.getAll('iss'))
    await requireTokensFrom(server.token_endpoint, issuer, options);
  const isIssuerKnown = settings.endpoints === undefined || settings.issuer !== undefined;
  if (!isIssuerKnown) parameters.delete('iss'); // the response has no issuer, and only one server was asked
  const refused = 'the answer of the browser is refused';
  const checked = await attempt(refused, { quote: true }, () =>
    validateResponse(server, them, parameters, state),
  );
  const secret = await secretOf(client);
  const [method, ...others] = authenticationMethods(server, client, secret);
  const ask = (by: string): Promise<Response> =>
    authorizationCodeGrantRequest(
      server,
      them,
      authenticationBy(by, server, secret),
      checked,
      client.redirectUri,
      verifier,
      { ...requests.options(signal), additionalParameters: named(resource) },
    ).then(asStandard);
  const what = `${server.issuer} did not return a token`;
  return attempt(what, {}, async () => {
    const issuedAtMs = now();
    const tokensIn = (response: Response): Promise<Grant['tokens']> =>
      readingAnswer(response, what, async () =>
        tokensFrom(await processAuthorizationCodeResponse(server, them, response), issuedAtMs),
      );
    const response = await ask(method);
    const isForgotten = await refusesClient(response);
    try {
      return { tokens: await tokensIn(response.clone()) };
    } catch (error) {
      for (const authentication of (await refusesAuthentication(response)) ? others : []) {
        const again = await ask(authentication);
        if (again.ok) return { tokens: await tokensIn(again), authentication };
      }
      throw isForgotten ? new ClientForgotten('', { cause: error }) : error;
    }
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
    if (!(error instanceof ClientForgotten)) throw explain(error, what, how);
    throw new ClientForgotten(error.message, { cause: explain(error.cause, what, how) });
  }
}

function validateResponse(...[server, client, parameters, state]: Parameters<typeof validateAuthResponse>) {
  try {
    return validateAuthResponse(server, client, parameters, state);
  } catch (error) {
    if (!(error instanceof AuthorizationResponseError)) throw error;
    const said = { error: error.error, text: error.error_description ?? '' };
    throw saysClientIsUnknown(said) ? new ClientForgotten('', { cause: error }) : error;
  }
}
