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
import { guardedConnect, guardedFetch } from '../fetch/guarded-fetch.ts';
import type { GuardedRequest } from '../fetch/guarded-fetch.ts';
import type { AuthSettings } from './settings.ts';
import { isSafe, nameOf, parseUrl } from './urls.ts';

/** How long one request may take, and how names are resolved; for tests. */
export type Network = Pick<GuardedRequest, 'lookup' | 'ca' | 'timeoutMs'>;

interface RequestsOptions {
  network?: Network | undefined;
  /** The hosts that a registry entry named instead of the user. */
  registryHosts?: readonly string[] | undefined;
}

/** Metadata and tokens are small. */
const maxBytes = 256 * 1024;
const defaultTimeoutMs = 10_000;

/**
 * Requests to addresses that a remote server has named. None goes inside: to a private address only if the user has
 * named that very host, to this machine only if the remote server is there too.
 */
export class Requests {
  readonly #named: ReadonlySet<string>;
  readonly #isHere: boolean;
  readonly #network: Network;
  /** Opens connections to the remote server itself; undefined if the user has named it. */
  readonly connect: buildConnector.connector | undefined;

  constructor(serverUrl: URL, { issuer, endpoints }: AuthSettings, options: RequestsOptions = {}) {
    const { network = {}, registryHosts = [] } = options;
    const named = [serverUrl.href, issuer, endpoints?.authorize, endpoints?.token];
    const hosts = named.flatMap((url) => (url === undefined ? [] : [new URL(url).host]));
    this.#named = new Set(hosts).difference(new Set(registryHosts));
    this.#isHere = isLoopback(serverUrl.hostname) && this.#named.has(serverUrl.host);
    this.#network = network;
    this.connect = this.#named.has(serverUrl.host) ? undefined : connectToEntry(serverUrl, network);
  }

  /** An address that may be used or shown, or throws. `what` names it. */
  check(address: string, what: string): URL {
    const url = parseUrl(address);
    if (url === undefined) throw unavailable(`${what} is no address that can be used`);
    if (!isSafe(url)) throw forbidden(`${what} is not https: ${nameOf(url)}`);
    if (this.#mayBeInside(url)) return url;
    if (isLoopback(url.hostname))
      throw inside(`${what} is on this machine, and the server is not: ${nameOf(url)}`);
    // A name is checked when it is dialled; a browser may go there without us.
    const refused = refusalOf(url.hostname.replace(/^\[|\]$/g, ''), false);
    if (refused !== undefined && refused !== 'no address')
      throw inside(`${what} is ${refused}: ${nameOf(url)}`);
    return url;
  }

  /** The JSON at an address; undefined where there is none, also where something redirects. */
  async metadata(address: string, what: string, signal: AbortSignal): Promise<Response | undefined> {
    const url = this.check(address, what);
    const answer = await this.#send(url, { headers: { accept: 'application/json' }, signal });
    const isJson = /^application\/([\w.-]+\+)?json\b/i.test(answer.type);
    return answer.status === 200 && isJson && answer.url === url.href ? answer.response : undefined;
  }

  /** For functions of the library: they use the rules of here instead of their own. */
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
      [allowInsecureRequests]: true, // here it is loopback only; the library knows no such difference
    };
  }

  async #fetch(address: string, request: GuardedRequest): Promise<Response> {
    return (await this.#send(this.check(address, 'an endpoint of the authorization server'), request))
      .response;
  }

  async #send(url: URL, request: GuardedRequest) {
    const answer = await guardedFetch(url.href, {
      timeoutMs: defaultTimeoutMs,
      ...this.#network,
      ...request,
      maxBytes,
      followRedirects: false,
      allowPrivate: this.#mayBeInside(url),
    }).catch((error: unknown) => {
      throw error instanceof ThvError && error.kind === 'forbidden' ? inside(error.message, error) : error;
    });
    const type = String(answer.headers['content-type'] ?? '');
    const isEmpty = [204, 205, 304].includes(answer.status);
    const response = new Response(isEmpty ? null : answer.text, {
      status: answer.status,
      headers: { 'content-type': type },
    });
    return { response, status: answer.status, url: answer.url, type };
  }

  #mayBeInside(url: URL): boolean {
    return this.#named.has(url.host) || (this.#isHere && isLoopback(url.hostname));
  }
}

/** Refuses private addresses when it connects: a name may lead elsewhere than when the workload was created. */
function connectToEntry({ href }: URL, network: Network): buildConnector.connector {
  const dial = guardedConnect(network);
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
 * What went wrong with an authorization server, in our words. The causes of the library's errors hold what the
 * server answered, tokens among it, so they are not passed on. `quote` adds what the server says for people, which
 * is for answers to what is no secret only.
 */
export function explain(error: unknown, what: string, { quote = false } = {}): unknown {
  if (error instanceof ThvError) return error;
  if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError) {
    const code = /^[a-z_]{1,40}$/.test(error.error) ? error.error : 'an error without a name';
    const words = quote ? plainText(error.error_description ?? '') : '';
    return forbidden(`${what}: ${code}${words && ` (${words})`}`);
  }
  const isTheirs =
    error instanceof OperationProcessingError ||
    error instanceof UnsupportedOperationError ||
    error instanceof WWWAuthenticateChallengeError;
  return isTheirs ? unavailable(`${what}: ${error.message}`) : error;
}

const maxWords = 200;

function plainText(text: string): string {
  return text.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').slice(0, maxWords);
}
