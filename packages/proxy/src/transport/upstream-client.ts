import { setTimeout as delay } from 'node:timers/promises';
import type { ConnectionCount } from '@toolhive/runtime/open-files';
import type { InstanceAddress } from '@toolhive/runtime/runtime';
import { isLoopback } from '@toolhive/contract/loopback';
import { userAgent } from '@toolhive/contract/user-agent';
import { Agent, Pool, buildConnector } from 'undici';
import type { Dispatcher } from 'undici';
import { WorkloadInput } from '../input/workload-input.ts';
import { abortedBy, answerTo } from './answer.ts';
import type { Answer } from './answer.ts';
import { LiveConnections } from './live-connections.ts';
import { ownPath } from './own-address.ts';
import { pauseBefore } from './pause.ts';
import { refusesSessionOnly, sessionState } from './session-end.ts';

/** Opens connections to one origin. `wrap` changes how each of them is opened. */
export type OpenWay = (wrap?: (connect: buildConnector.connector) => buildConnector.connector) => Dispatcher;

/** A server that someone else runs. */
export interface RemoteServer {
  kind: 'remote';
  /** The URL of its endpoint. */
  url: string;
  /** Opens connections to the server. By default, directly, and to any address. */
  open?: OpenWay | undefined;
  /**
   * Whether each caller has credentials of its own at the server, which the proxy gets by token exchange. Requests
   * without a caller have none then, and the server may refuse them.
   */
  callersAuthenticate?: boolean;
  /** Returns the headers that every request needs, such as credentials. */
  headers(): Promise<Record<string, string>>;
  /**
   * Takes a refusal. Returns true if the request should be sent again, with new headers. Throws an error for the client
   * if only the user can change anything.
   */
  refused(refusal: Refusal): Promise<boolean>;
}

/** A response with status 401 or 403, and the `authorization` of the request. */
interface Refusal {
  status: number;
  wwwAuthenticate: string | undefined;
  body: string | undefined;
  sent: string | undefined;
}

export type ServerAddress = InstanceAddress | RemoteServer;

export interface UpstreamRequest {
  method: Dispatcher.HttpMethod;
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
  /** Another path than that of the endpoint. */
  path?: string;
  /** Whether the server does something for the request, so that only a server that has not begun gets it again. */
  executes?: boolean;
  /** Whether everything works without this request, so that its refusal does not ask for a sign-in. */
  isOptional?: boolean;
  /** Called if the request may wait: for a sign-in, or because the server asks for a pause. */
  onRefused?: () => void;
}

/**
 * Opens connections to a server on this machine. Many servers accept only requests that name the port that they listen
 * on, against DNS rebinding.
 */
export function openPool(
  address: InstanceAddress,
  count?: ConnectionCount,
): { origin: string; pool: LiveConnections; host: string } {
  if (address.kind === 'socket') {
    const host = address.targetPort === undefined ? 'localhost' : `localhost:${address.targetPort}`;
    const origin = `http://${host}`;
    const connect = counted(buildConnector({ socketPath: address.path }), count);
    return {
      origin,
      pool: new LiveConnections(() => new Pool(origin, { connect }), { isElsewhere: false }),
      host,
    };
  }
  const origin = `http://${address.host}:${address.port}`;
  const connect = counted(buildConnector({}), count);
  const pool = new LiveConnections(() => new Pool(origin, { connect }), { isElsewhere: false });
  return { origin, pool, host: `localhost:${address.targetPort ?? address.port}` };
}

/** Opens connections to a server that someone else runs. */
export function openAgent(
  { url, open = openDirectly }: RemoteServer,
  count?: ConnectionCount,
): LiveConnections {
  const isElsewhere = !isLoopback(new URL(url).hostname);
  return new LiveConnections(() => open((connect) => counted(connect, count)), { isElsewhere });
}

const openDirectly: OpenWay = (wrap = (connect) => connect) =>
  new Agent({ connect: wrap(buildConnector({})) });

/** Opens no more connections than allowed. Requests share connections, so only requests at the same time are refused. */
function counted(
  connect: buildConnector.connector,
  count: ConnectionCount | undefined,
): buildConnector.connector {
  if (count === undefined) return connect;
  return (options, done) => {
    const refusal = new Error('too many connections to the server are open, try again later');
    // undici waits forever if a connector calls back before it returns.
    if (count.isFull) return queueMicrotask(() => done(refusal, null));
    const ended = count.add();
    connect(options, (...[error, socket]) => {
      if (error !== null) {
        ended();
        return done(error, null);
      }
      socket.once('close', ended);
      done(null, socket);
    });
  };
}

export interface UpstreamClientOptions {
  /** The limits on server responses. */
  input?: WorkloadInput;
  /** Returns the credentials of the only caller that uses this client. */
  callerHeaders?: () => Readonly<Record<string, string>>;
  /** Counts the connections. By default, there may be any number. */
  count?: ConnectionCount;
}

/** How many redirects of one request are followed. */
const maxRedirects = 3;
/** How often a request is sent that executes nothing. */
const maxAttempts = 3;
/** Redirects that keep the method. Servers also send the older ones for an address with or without a slash. */
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Sends requests to one HTTP server with the server's credentials and without client headers. Follows redirects on the same
 * host only, so no other server gets a message or a token.
 */
export class UpstreamClient implements AsyncDisposable {
  #origin: string;
  #path: string;
  /** The limits on server responses. */
  readonly input: WorkloadInput;
  readonly #connections: LiveConnections;
  /** What a server on this machine is called in `Host`. */
  readonly #host: string | undefined;
  readonly #remote: RemoteServer | undefined;
  readonly #callerHeaders: () => Readonly<Record<string, string>>;

  get origin(): string {
    return this.#origin;
  }

  /** The path of the endpoint, with its query. */
  get path(): string {
    return this.#path;
  }

  /** Whether the server runs on this machine, in a sandbox or a container. */
  get isLocal(): boolean {
    return this.#remote === undefined;
  }

  /** `path` is the endpoint of a server on this machine. The URL of a remote server contains its own. */
  constructor(
    address: ServerAddress,
    path: string,
    { input = new WorkloadInput(), callerHeaders = () => ({}), count }: UpstreamClientOptions = {},
  ) {
    this.input = input;
    this.#callerHeaders = callerHeaders;
    if (address.kind === 'remote') {
      const url = new URL(address.url);
      this.#origin = url.origin;
      this.#path = `${url.pathname}${url.search}`;
      this.#connections = openAgent(address, count);
      this.#remote = address;
      return;
    }
    ({ origin: this.#origin, pool: this.#connections, host: this.#host } = openPool(address, count));
    this.#path = path;
    this.#remote = undefined;
  }

  /** Sends a request. Repeats a refused request if new credentials may help. */
  async request(request: UpstreamRequest): Promise<Answer> {
    let answer = await this.#ask(request);
    let path = request.path ?? this.#path;
    for (let followed = 0; followed < maxRedirects; followed++) {
      const next = this.#redirected(answer, path);
      if (next === undefined) return answer;
      discard(answer);
      this.input.tolerate('redirect');
      const isPermanent = answer.statusCode === 301 || answer.statusCode === 308;
      const isOnlySlash = isSlash(path, next);
      answer = await this.#ask({ ...request, path: next });
      const { statusCode } = answer;
      // A server may refuse this request and still have its endpoint there.
      const isThere = statusCode < 300 || (isOnlySlash && statusCode >= 400 && statusCode !== 404);
      if ((isPermanent || isOnlySlash) && path === this.#path && isThere) this.#path = next;
      path = next;
    }
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connections.destroy();
  }

  /** A server elsewhere may ask for a pause, as many do that limit requests by their sender. */
  async #ask(request: UpstreamRequest): Promise<Answer> {
    if (this.#remote === undefined) return this.#send(request);
    const { executes = false, signal, onRefused } = request;
    for (let attempt = 0; ; attempt++) {
      const answer = await this.#requestFrom(this.#remote, request);
      const pauseMs = pauseBefore(answer, { attempt, executes, nowMs: Date.now() });
      if (pauseMs === undefined) return answer;
      discard(answer);
      onRefused?.();
      await delay(pauseMs, undefined, { signal });
    }
  }

  /** Where a redirect leads to, if that is on the same host. Undefined for any other answer. */
  #redirected({ statusCode, headers }: Answer, path: string): string | undefined {
    const { location } = headers;
    if (!redirects.has(statusCode) || typeof location !== 'string') return undefined;
    const next = ownPath(location, path, this);
    const target = URL.parse(location, new URL(path, this.#origin).href);
    if (next === undefined || target === null) return undefined;
    const own = new URL(this.#origin);
    if (this.isLocal) return next;
    // Another port of this machine is another server.
    if (isLoopback(own.hostname) && isLoopback(target.hostname) && own.port !== target.port) return undefined;
    // The host is the same, and encryption protects the requests better than before.
    const isUpgrade = own.protocol === 'http:' && target.protocol === 'https:';
    if (isUpgrade && target.hostname === own.hostname && own.port === '' && target.port === '')
      this.#origin = target.origin;
    return next;
  }

  async #requestFrom(remote: RemoteServer, request: UpstreamRequest): Promise<Answer> {
    const own = await remote.headers();
    const answer = await this.#send(request, own);
    if (answer.statusCode !== 401 && answer.statusCode !== 403) return answer;
    const { 'www-authenticate': challenge } = answer.headers;
    // Some servers refuse a session that they do not know like a missing token. Another session shows which one it is.
    if ('mcp-session-id' in request.headers && isAboutSession(answer, challenge !== undefined)) return answer;
    // A server that has taken requests without a token needs none, even if it always refuses the stream.
    if (request.isOptional === true && own['authorization'] === undefined) return answer;
    const wwwAuthenticate = Array.isArray(challenge) ? challenge.join(', ') : challenge;
    const body = typeof answer.body === 'string' ? answer.body : undefined;
    const refusal = { status: answer.statusCode, wwwAuthenticate, body, sent: own['authorization'] };
    request.onRefused?.();
    if (!(await remote.refused(refusal))) return answer;
    discard(answer);
    const later = await remote.headers();
    const again = await this.#send(request, later);
    if (again.statusCode !== 401) return again;
    // The second token can expire on its way, too. A server that refuses a token that is still good is believed.
    const newest = await remote.headers().catch((error: unknown) => {
      discard(again);
      throw error;
    });
    if (newest['authorization'] === later['authorization']) return again;
    discard(again);
    return this.#send(request, newest);
  }

  /**
   * A server may close a connection while the next request is on its way (RFC 9112, section 9.5). A request that executes
   * nothing is then sent again, and once more if that was over a connection that was closed, too.
   */
  async #send(request: UpstreamRequest, own?: Record<string, string>): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#sendOnce(request, own);
      } catch (error) {
        const isFinal = attempt === maxAttempts || request.executes === true || request.signal.aborted;
        if (isFinal || !isClosed(error)) throw error;
      }
    }
  }

  #sendOnce(
    { method, headers, body, signal, path = this.#path }: UpstreamRequest,
    own: Record<string, string> = {},
  ): Promise<Answer> {
    const credentials = { ...own, ...this.#callerHeaders() };
    const isNamed = Object.keys(credentials).some((name) => name.toLowerCase() === 'user-agent');
    const request = {
      origin: this.#origin,
      path,
      method,
      headers: {
        ...(isNamed ? {} : { 'user-agent': userAgent }),
        ...withoutCookie(headers, credentials),
        ...credentials,
        ...(this.#host === undefined ? {} : { host: this.#host }),
      },
      body,
      // Calls have no time limit, and a stream may be quiet for hours.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    return answerTo(this.#connections, request, { aborter: abortedBy(signal), budget: this.input.output });
  }
}

/** The cookies that the user has configured replace those of the conversation. */
function withoutCookie(
  headers: Record<string, string>,
  credentials: Record<string, string>,
): Record<string, string> {
  if (headers['cookie'] === undefined) return headers;
  if (!Object.keys(credentials).some((name) => name.toLowerCase() === 'cookie')) return headers;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'cookie'));
}

/** Whether the server closed the connection before the end of its response. */
function isClosed(error: unknown): boolean {
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(String((error as NodeJS.ErrnoException).code));
}

/** Ends a response whose body is not read. */
function discard({ body }: Answer): void {
  if (typeof body !== 'string') body.on('error', () => {}).destroy();
}

/** With a challenge, which is about a token, only clear words are about a session. */
function isAboutSession({ statusCode, body }: Answer, isChallenged: boolean): boolean {
  if (typeof body !== 'string') return false;
  return isChallenged
    ? refusesSessionOnly(body)
    : sessionState({ statusCode, text: body }, false) === 'ended';
}

/** Whether two paths differ in nothing but the slash at the end. */
function isSlash(one: string, other: string): boolean {
  const [shorter, longer] = one.length < other.length ? [one, other] : [other, one];
  return longer === `${shorter}/`;
}
