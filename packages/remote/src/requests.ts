import { ThvError, forbidden, unavailable } from '@toolhive/contract/failure';
import { isLoopback } from '@toolhive/contract/loopback';
import {
  AuthorizationResponseError,
  OperationProcessingError,
  ResponseBodyError,
  UnsupportedOperationError,
  WWWAuthenticateChallengeError,
  allowInsecureRequests,
  customFetch,
} from 'oauth4webapi';
import type { buildConnector } from 'undici';
import { refusalOf } from '@toolhive/runtime/addresses';
import { guardedFetch } from '@toolhive/outgoing/guarded-fetch';
import type { GuardedRequest } from '@toolhive/outgoing/guarded-fetch';
import { openWay } from '@toolhive/outgoing/way-out';
import { BusyServers } from './busy-servers.ts';
import type { OpenWay } from '@toolhive/proxy/proxy';
import { objectIn } from './answer-text.ts';
import type { AuthSettings } from './settings.ts';
import { isSafe, nameOf, parseUrl } from './urls.ts';
import { describePage } from './web-page.ts';

/** The time limit of one request, and the name resolution, for tests. */
export type Network = Pick<GuardedRequest, 'lookup' | 'ca' | 'timeoutMs'>;

interface RequestsOptions {
  network?: Network | undefined;
  /** The hosts that a registry entry named instead of the user. */
  registryHosts?: readonly string[] | undefined;
  now?: (() => number) | undefined;
}

/** Metadata and tokens are small. */
const maxBytes = 256 * 1024;
const defaultTimeoutMs = 10_000;

/**
 * Requests to URLs that a remote server has named. Private addresses are allowed only if the user named that host,
 * and this machine only if the remote server is on this machine too.
 */
export class Requests {
  readonly #named: ReadonlySet<string>;
  readonly #isHere: boolean;
  readonly #network: Network;
  readonly #busy: BusyServers;
  /** Opens connections to the remote server. If the user named the server, it may have a private address. */
  readonly open: OpenWay;

  constructor(serverUrl: URL, { issuer, endpoints }: AuthSettings, options: RequestsOptions = {}) {
    const { network = {}, registryHosts = [], now = Date.now } = options;
    const named = [serverUrl.href, issuer, endpoints?.authorize, endpoints?.token];
    const hosts = named.flatMap((url) => (url === undefined ? [] : [new URL(url).host]));
    this.#named = new Set(hosts).difference(new Set(registryHosts));
    this.#isHere = isLoopback(serverUrl.hostname) && this.#named.has(serverUrl.host);
    this.#network = network;
    this.#busy = new BusyServers(now);
    this.open = this.#named.has(serverUrl.host)
      ? (wrap) => openWay(serverUrl, { ...reachOf(network), allowPrivate: true, wrap })
      : (wrap = (connect) => connect) =>
          openWay(serverUrl, {
            ...reachOf(network),
            wrap: (connect) => wrap(refusingEntry(connect, serverUrl)),
          });
  }

  /** Whether the user named the host of a URL, and not a registry entry or the remote server. */
  isOfUser(address: string): boolean {
    return this.#named.has(new URL(address).host);
  }

  /** A URL that is safe to use and show. Throws for other URLs. `what` names the URL. */
  check(address: string, what: string): URL {
    const url = parseUrl(address);
    if (url === undefined) throw unavailable(`${what} is not a usable URL`);
    if (!isSafe(url)) throw forbidden(`${what} is not https: ${nameOf(url)}`);
    if (this.#mayBeInside(url)) return url;
    if (isLoopback(url.hostname))
      throw inside(`${what} is on this machine, and the server is not: ${nameOf(url)}`);
    // Names are checked when dialing, but a browser may use the URL directly.
    const refused = refusalOf(url.hostname.replace(/^\[|\]$/g, ''), false);
    if (refused !== undefined && refused !== 'no address')
      throw inside(`${what} is ${refused}: ${nameOf(url)}`);
    return url;
  }

  /** The JSON at a URL, or a description of another response. Redirects are not followed. */
  async metadata(
    address: string,
    what: string,
    signal: AbortSignal,
  ): Promise<{ response: Response } | { instead: string }> {
    const url = this.check(address, what);
    const answer = await this.#send(url, { headers: { accept: 'application/json' }, signal });
    const isJson = /^application\/([\w.-]+\+)?json\b/i.test(answer.type);
    if (answer.status === 200 && isJson && answer.url === url.href) return { response: answer.response };
    return { instead: isJson ? `status ${answer.status}` : describePage(answer.status, answer.text) };
  }

  /** Asks a page as a browser without cookies would. Undefined if there is no answer. */
  async page(
    address: string,
    what: string,
    signal: AbortSignal,
  ): Promise<{ status: number; location: URL | undefined; text: string } | undefined> {
    const url = this.check(address, what);
    try {
      const { status, location, text } = await this.#send(url, { headers: { accept: 'text/html' }, signal });
      return { status, location, text };
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  /** For library functions, which then use the rules of this module. */
  options(signal: AbortSignal) {
    return {
      [customFetch]: (
        address: string,
        { method, headers, body }: { method: string; headers: Record<string, string>; body?: unknown },
      ) =>
        this.#fetch(address, {
          method: method === 'GET' ? 'GET' : 'POST',
          headers,
          body: bodyOf(body),
          signal,
        }),
      [allowInsecureRequests]: true, // the code above allows it only on loopback, a distinction that the library does not make
    };
  }

  async #fetch(address: string, request: GuardedRequest): Promise<Response> {
    return (await this.#send(this.check(address, 'an endpoint of the authorization server'), request))
      .response;
  }

  async #send(url: URL, request: GuardedRequest) {
    const answer = await this.#busy.ask(url, request, () => this.#fetchOnce(url, request));
    const { status, text } = answer;
    const json = objectIn(text); // many servers send JSON as text/plain, and their pages of errors as application/json
    const type = json === undefined ? String(answer.headers['content-type'] ?? '') : 'application/json';
    const isEmpty = [204, 205, 304].includes(status);
    const response = new Response(isEmpty ? null : (json ?? text), {
      status,
      headers: { 'content-type': type },
    });
    const location = URL.parse(String(answer.headers['location'] ?? ''), url.href) ?? undefined;
    return { response, status, text, location, url: answer.url, type };
  }

  #fetchOnce(url: URL, request: GuardedRequest) {
    return guardedFetch(url.href, {
      timeoutMs: defaultTimeoutMs,
      ...this.#network,
      ...request,
      maxBytes,
      followRedirects: false,
      allowPrivate: this.#mayBeInside(url),
    }).catch((error: unknown) => {
      throw error instanceof ThvError && error.kind === 'forbidden' ? inside(error.message, error) : error;
    });
  }

  #mayBeInside(url: URL): boolean {
    return this.#named.has(url.host) || (this.#isHere && isLoopback(url.hostname));
  }
}

const reachOf = ({ lookup, ca }: Network): Pick<Network, 'lookup' | 'ca'> => ({ lookup, ca });

/**
 * Explains why a private address is refused when connecting, because a name may resolve differently than when the workload
 * was created.
 */
function refusingEntry(dial: buildConnector.connector, { href }: URL): buildConnector.connector {
  return (options, done) => {
    dial(options, (...[error, socket]) => {
      if (error === null) return done(null, socket);
      const isRefused = error instanceof ThvError && error.kind === 'forbidden';
      return done(isRefused ? refusedEntry(error, href) : error, null);
    });
  };
}

function refusedEntry(cause: ThvError, url: string): ThvError {
  return forbidden(`the server of a registry entry must have a public address: ${cause.message}`, {
    hint: `if you trust that server, run it by its URL: thv run ${url}`,
    cause,
  });
}

/** What the server may not lead us to, the user still may. */
function inside(message: string, cause?: ThvError): ThvError {
  return forbidden(message, {
    hint: 'if that is right, configure the issuer, or its authorize_url and token_url',
    cause,
  });
}

function bodyOf(body: unknown): string {
  return body instanceof URLSearchParams ? body.toString() : typeof body === 'string' ? body : '';
}

/**
 * Describes an authorization server's error. The library's errors contain responses with tokens, so they are not
 * passed on. `quote` adds the server's text for users, which is only safe for responses without secrets.
 */
export function explain(error: unknown, what: string, { quote = false } = {}): unknown {
  if (error instanceof ThvError) return error;
  if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError) {
    const code = /^[a-z_]{1,40}$/.test(error.error) ? error.error : 'an error without a name';
    const words = quote ? plainText(error.error_description ?? '') : '';
    return forbidden(`${what}: ${code}${words && ` (${words})`}${fixes[code] ?? ''}`);
  }
  const isTheirs =
    error instanceof OperationProcessingError ||
    error instanceof UnsupportedOperationError ||
    error instanceof WWWAuthenticateChallengeError;
  return isTheirs ? unavailable(`${what}: ${error.message}`) : error;
}

/** The name of an error with its fix, behind a colon. Empty for an error without a fix. */
export function withFix(code: string): string {
  return fixes[code] === undefined ? '' : `: ${code}${fixes[code]}`;
}

/** The fixes that the user can try, by the name of the error. */
const fixes: Readonly<Record<string, string | undefined>> = {
  invalid_scope:
    '; to request other scopes, set oauth_config.scopes (--remote-auth-scopes) to those that the server accepts',
  invalid_target:
    '; if the authorization server does not support resource indicators, set oauth_config.resource (--remote-auth-resource) to none',
};

const maxWords = 200;

function plainText(text: string): string {
  return text.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').slice(0, maxWords);
}
