import { isRecent } from '@toolhive/contract/clock';
import { ThvError, cancelled, conflict, forbidden, invalid, timedOut } from '@toolhive/contract/failure';
import { AuthStatus } from './auth-status.ts';
import type { RemoteAuthState } from './auth-status.ts';
import { challengeIn, readChallenge } from './challenge.ts';
import type { Challenge } from './challenge.ts';
import { findServer } from './discovery.ts';
import type { AuthorizationServer, DiscoveryOptions } from './discovery.ts';
import type { Client, Grant, Kept, TokenStore } from './kept.ts';
import { probeRemote } from './probe.ts';
import type { ProbeOptions } from './probe.ts';
import { Requests, withFix } from './requests.ts';
import type { Network } from './requests.ts';
import { readSettings } from './settings.ts';
import type { AuthSettings, RemoteAuthConfig } from './settings.ts';
import { signIn } from './sign-in.ts';
import type { SignInPace } from './sign-in-pace.ts';
import { bearerOf, staticHeaders } from './static-headers.ts';
import { hasExpired, isDue, refreshTokens } from './tokens.ts';
import { isSafe, nameOf, parseUrl } from './urls.ts';

export interface RemoteAuthOptions {
  serverUrl: string;
  /** From the run config. Without it, the server's metadata decides. */
  config?: RemoteAuthConfig | undefined;
  /** Where tokens outlive the daemon. */
  store: TokenStore;
  /** The value of a stored secret, by its name. */
  resolveSecret: (name: string) => Promise<string>;
  /** Shows a page to the user. When that fails the state still has the URL. */
  openBrowser: (url: string) => Promise<void>;
  onChange?: (state: RemoteAuthState) => void;
  /** Where the document about this product is (OAuth Client ID Metadata Documents), if there is one. */
  clientDocument?: string | undefined;
  network?: Network;
  /** The hosts that a registry entry named instead of the user. */
  registryHosts?: readonly string[] | undefined;
  now?: () => number;
}

/** A response that refuses a request for lack of authorization. */
export interface Refusal {
  status: number;
  wwwAuthenticate?: string | undefined;
  /** The `authorization` that was sent, so that a token which was replaced meanwhile is not blamed. */
  sent?: string | undefined;
  /** The response body, if it is text. */
  body?: string | undefined;
}

/** `not ours` is a refusal that no token would change. */
export type RefusalAnswer = 'retry' | 'needs authorization' | 'not ours';

/** A server that refuses a token younger than this will refuse the next one too. */
const freshMs = 10_000;
/** After an authorization server could not be reached. */
const nextTryMs = 5_000;

/** Reads the settings, the secrets in headers, and the stored tokens. Makes no requests. */
export async function openRemoteAuth(options: RemoteAuthOptions): Promise<RemoteAuth> {
  const serverUrl = parseUrl(options.serverUrl);
  if (serverUrl === undefined) throw invalid('the URL of the remote server is invalid');
  const settings = readSettings(options.config ?? {});
  const fixed = await staticHeaders(options.config?.headers, options.resolveSecret);
  if (settings.bearerToken !== undefined) {
    if (fixed['authorization'] !== undefined)
      throw invalid('bearer_token and the header Authorization exclude each other', {
        hint: 'omit one of them',
      });
    fixed['authorization'] = bearerOf(await options.resolveSecret(settings.bearerToken));
  }
  const auth = new RemoteAuth(options, { serverUrl, settings, fixed });
  await auth.load();
  return auth;
}

/**
 * The authorization for a remote server: the headers of every request, the acquisition, renewal, and storage of
 * tokens, and whether the user must act.
 */
export class RemoteAuth implements AsyncDisposable {
  readonly #options: RemoteAuthOptions;
  readonly #serverUrl: URL;
  readonly #settings: AuthSettings;
  readonly #fixed: Readonly<Record<string, string>>;
  readonly #requests: Requests;
  readonly #closing = new AbortController();
  readonly #now: () => number;
  #client: Client | undefined;
  #grant: Grant | undefined;
  /** The last requested scopes, even after the tokens are gone. */
  #scopes: readonly string[] = [];
  #server: AuthorizationServer | undefined;
  #challenge: Challenge | undefined;
  #isLoaded = false;
  readonly #status: AuthStatus;
  #signingIn: Promise<void> | undefined;
  #shown = Promise.withResolvers<string>();
  #refreshing: Promise<void> | undefined;
  #failed: { error: unknown; atMs: number } | undefined;

  constructor(
    options: RemoteAuthOptions,
    parts: { serverUrl: URL; settings: AuthSettings; fixed: Record<string, string> },
  ) {
    this.#options = options;
    this.#serverUrl = parts.serverUrl;
    this.#settings = parts.settings;
    this.#fixed = parts.fixed;
    this.#requests = new Requests(parts.serverUrl, parts.settings, options);
    this.#now = options.now ?? Date.now;
    this.#status = new AuthStatus(options.onChange);
  }

  /** The URL of the remote server, with the values of its secrets. */
  get url(): string {
    return this.#serverUrl.href;
  }

  /** Opens connections to the remote server. */
  get open(): Requests['open'] {
    return this.#requests.open;
  }

  get state(): RemoteAuthState {
    return this.#status.published;
  }

  /**
   * The headers for the next request, by lowercase names. Without a token, the server may refuse the request, and
   * `challenged` continues from there. Throws if a token has expired and its issuer is unreachable.
   */
  async headers(): Promise<Record<string, string>> {
    const grant = this.#grant;
    if (grant !== undefined && isDue(grant.tokens, this.#now())) {
      await this.#refresh().catch((error: unknown) => {
        if (hasExpired(grant.tokens, this.#now())) throw error;
      });
    }
    const current = this.#grant;
    return { ...this.#fixed, ...(current && { authorization: bearer(current) }) };
  }

  /** What to do about a 401 or 403. Throws when only an issuer that cannot be reached could tell. */
  async challenged({ status, wwwAuthenticate, sent, body }: Refusal): Promise<RefusalAnswer> {
    const inHeader = await readChallenge(wwwAuthenticate);
    const challenge = inHeader && { ...challengeIn(body), ...inHeader };
    const isAboutScopes = status === 403 && challenge?.error === 'insufficient_scope';
    // Some servers refuse a request without a token with 403, and say where to get one.
    const isWithoutToken = status === 403 && sent === undefined && challenge?.resourceMetadata !== undefined;
    if (challenge === undefined || (status !== 401 && !isAboutScopes && !isWithoutToken)) return 'not ours';
    if (this.#hasOwnAuthorization)
      return this.#need('the server refuses the configured Authorization header');
    if (!this.#isLoaded) await this.load();
    this.#challenge = challenge;
    if (this.#grant !== undefined && sent !== bearer(this.#grant)) return 'retry';
    if (isAboutScopes) return this.#need(whyScopes(challenge, this.#settings), scopeIn(challenge));
    return this.#grant === undefined
      ? this.#need('the server requires a sign-in')
      : this.#replace(this.#grant);
  }

  /**
   * Asks for the user's consent in the browser. Concurrent callers wait for the same result, and the first caller's
   * signal cancels it. With a pace, throws if asking again is too early.
   */
  authorize(signal?: AbortSignal, pace?: SignInPace): Promise<void> {
    this.#signingIn ??= this.#authorize(signal, pace).finally(() => {
      this.#signingIn = undefined;
      this.#shown = Promise.withResolvers();
      this.#status.url = undefined;
      this.#publish();
    });
    return this.#signingIn;
  }

  /** Returns the page on which the user can agree, as soon as there is one. */
  get page(): Promise<string> {
    return this.#shown.promise;
  }

  /** Loads an earlier daemon's tokens, if they are for this server and these settings. */
  async load(): Promise<void> {
    try {
      const kept = await this.#options.store.load();
      if (this.#isLoaded) return; // another caller was faster
      this.#isLoaded = true;
      // Tokens that arrived while the store was unreadable are newer than its content.
      if (this.#grant !== undefined) return await this.#save();
      if (kept?.purpose !== this.#purpose) return;
      this.#client = kept.client;
      this.#grant = this.#hasOwnAuthorization ? undefined : kept.grant;
      this.#scopes = kept.grant?.scopes ?? [];
      if (this.#options.store.isUnstored) await this.#save(); // secrets may have been set up in the meantime
      this.#publish();
    } catch (error) {
      if (!(error instanceof ThvError)) throw error;
      this.#status.onlyInMemory = error.message; // tried again when the server asks for a token
    }
  }

  /** Completes a sign-in. Waits for a refresh, because the refreshed tokens are obsolete. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(cancelled('the workload is stopping'));
    await Promise.allSettled([this.#signingIn, this.#refreshing]);
  }

  /** The user has configured the Authorization header. */
  get #hasOwnAuthorization(): boolean {
    return this.#fixed['authorization'] !== undefined;
  }

  get #purpose(): string {
    const { issuer, endpoints, clientId, scopes, resource } = this.#settings;
    const own = resource === undefined ? [] : [resource]; // earlier versions stored none
    return JSON.stringify([this.#serverUrl.href, issuer, endpoints, clientId, scopes, ...own]);
  }

  async #authorize(signal: AbortSignal = this.#closing.signal, pace?: SignInPace): Promise<void> {
    pace?.take(this.#now());
    const configured = 'an Authorization header is configured, so there is nothing to sign in for';
    if (this.#hasOwnAuthorization) throw conflict(configured);
    requireSafe(this.#serverUrl);
    if (!this.#isLoaded) await this.load();
    const limit = AbortSignal.timeout(this.#settings.limitMs);
    const either = AbortSignal.any([limit, signal, this.#closing.signal]);
    try {
      await this.#signIn(either);
    } catch (error) {
      if (either.aborted && this.#status.url !== undefined) await this.#doubtClient();
      throw this.#notSignedIn(error, { limit, stopped: either.aborted });
    }
  }

  async #signIn(signal: AbortSignal): Promise<void> {
    this.#challenge ??= await firstChallenge(this.#serverUrl, {
      headers: this.#fixed,
      signal,
      open: this.open,
    });
    const { server, client, grant } = await signIn({
      ...this.#discovery(signal),
      challenge: this.#challenge,
      clientDocument: this.#options.clientDocument,
      known: this.#client,
      earlierScopes: this.#scopes,
      secretOf: (client) => this.#secretOf(client),
      show: (url, { isInBrowser }) => this.#show(url, isInBrowser),
      now: this.#now,
    });
    this.#server = server;
    this.#client = client;
    this.#scopes = grant.scopes;
    await this.#adopt(grant);
  }

  /** The page may have been an error that only the user has seen. The next sign-in registers another client. */
  async #doubtClient(): Promise<void> {
    if (this.#client?.kind !== 'dynamic') return;
    this.#client = { ...this.#client, isDoubtful: true };
    await this.#save();
  }

  #notSignedIn(error: unknown, ends: { limit: AbortSignal; stopped: boolean }): unknown {
    const failure = signInFailure(error, { ...ends, limitMs: this.#settings.limitMs });
    const isAsBefore = this.#grant !== undefined && this.#status.why === undefined;
    if (failure instanceof ThvError && !isAsBefore && failure.kind !== 'cancelled')
      this.#need(failure.message);
    return failure;
  }

  #show(url: string, isInBrowser: boolean): void {
    this.#status.url = url;
    this.#shown.resolve(url);
    this.#publish();
    if (this.#settings.skipBrowser || isInBrowser) return;
    this.#options.openBrowser(url).catch(() => {}); // the user has the URL in the state
  }

  /** Gets another token for one that the server does not take. */
  async #replace({ tokens }: Grant): Promise<RefusalAnswer> {
    if (isRecent(tokens.issuedAtMs, freshMs, this.#now()))
      return this.#need('the server refuses a token that is new');
    await this.#refresh('the server refuses the token');
    return this.#grant === undefined ? 'needs authorization' : 'retry';
  }

  /** All callers that need a new token wait for the same one, because most servers accept a refresh token only once. */
  #refresh(why = 'the token has expired'): Promise<void> {
    if (this.#failed !== undefined && isRecent(this.#failed.atMs, nextTryMs, this.#now()))
      return Promise.reject(this.#failed.error);
    this.#refreshing ??= this.#refreshOnce(why).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #refreshOnce(why: string): Promise<void> {
    const [client, grant] = [this.#client, this.#grant];
    if (client === undefined || grant === undefined) return;
    if (grant.tokens.refresh === undefined) return this.#lose(grant, why);
    try {
      const { signal } = new AbortController(); // requests have a time limit, and giving up earlier could lose the new tokens
      this.#server ??= await findServer(this.#discovery(signal), client.issuer);
      const outcome = await refreshTokens({
        server: this.#server,
        client,
        grant,
        refreshToken: grant.tokens.refresh,
        secret: await this.#secretOf(client),
        requests: this.#requests,
        signal,
        now: this.#now,
      });
      this.#failed = undefined;
      if (this.#grant !== grant) return; // the user has signed in again meanwhile
      if (!('refusal' in outcome)) return await this.#adopt({ ...grant, tokens: outcome });
      if (outcome.isClientUnknown && client.kind === 'dynamic') this.#client = undefined;
      await this.#lose(
        grant,
        `${why}, and ${client.issuer} does not issue another${withFix(outcome.refusal)}`,
      );
    } catch (error) {
      this.#failed = { error, atMs: this.#now() };
      throw error;
    }
  }

  async #adopt(grant: Grant): Promise<void> {
    this.#grant = grant;
    this.#status.why = undefined;
    this.#failed = undefined;
    await this.#save();
    this.#publish();
  }

  async #lose(grant: Grant, why: string): Promise<void> {
    if (this.#grant !== grant) return;
    this.#grant = undefined;
    this.#need(why);
    await this.#save();
  }

  async #save(): Promise<void> {
    const kept: Kept = { version: 1, purpose: this.#purpose, client: this.#client, grant: this.#grant };
    this.#status.onlyInMemory = await this.#options.store.save(kept);
  }

  #need(why: string, scope?: string): 'needs authorization' {
    this.#status.why = why;
    this.#status.scope = scope;
    this.#publish();
    return 'needs authorization';
  }

  #publish(): void {
    this.#status.isAuthorized = this.#grant !== undefined;
    this.#status.publish();
  }

  async #secretOf({ kind, secret }: Client): Promise<string | undefined> {
    const { clientSecret } = this.#settings;
    if (kind !== 'configured' || clientSecret === undefined) return secret;
    return this.#options.resolveSecret(clientSecret);
  }

  #discovery(signal: AbortSignal): DiscoveryOptions {
    return { serverUrl: this.#serverUrl, settings: this.#settings, requests: this.#requests, signal };
  }
}

function bearer({ tokens }: Grant): string {
  return `Bearer ${tokens.access}`;
}

/** The scopes that a server asks for, if they can be shown. */
function scopeIn({ scope = '' }: Challenge): string | undefined {
  return /^[\x20-\x7e]{1,200}$/.test(scope) ? scope : undefined;
}

function whyScopes(challenge: Challenge, { scopes }: AuthSettings): string {
  const asked = scopeIn(challenge) ?? 'more than was agreed to';
  const limit = scopes === undefined ? '' : ', which is more than the configured scopes';
  return `the server asks for ${asked}${limit}`;
}

function requireSafe(url: URL): void {
  if (!isSafe(url)) throw forbidden(`no token is sent to ${nameOf(url)}, because the URL is not https`);
}

/** The server's requirements before its first use. Some servers publish them only at well-known URLs. */
async function firstChallenge(url: URL, options: ProbeOptions): Promise<Challenge> {
  const probed = await probeRemote(url.href, options);
  return (probed.kind === 'oauth' && (await readChallenge(probed.wwwAuthenticate))) || {};
}

/** Why a sign-in ended: by itself, after its time limit, or by cancellation. */
function signInFailure(
  error: unknown,
  { limit, stopped, limitMs }: { limit: AbortSignal; stopped: boolean; limitMs: number },
): unknown {
  if (!stopped) return error;
  if (!limit.aborted) return cancelled('signing in was cancelled');
  return timedOut(`the sign-in was not completed within ${Number((limitMs / 60_000).toFixed(2))} minutes`);
}
