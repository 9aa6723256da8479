import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ConnectionCount } from '@toolhive/runtime/open-files';
import type { Dispatcher } from 'undici';
import { abortedBy, answerTo, dispatchTo } from '../transport/answer.ts';
import type { LiveConnections } from '../transport/live-connections.ts';
import { openAgent, openPool } from '../transport/upstream-client.ts';
import type { RemoteServer, ServerAddress } from '../transport/upstream-client.ts';
import type { AnswerHeaders, AnswerListener, AnswerOptions } from '../transport/answer.ts';
import { maxMessageBytes } from '../input/byte-budget.ts';
import type { WorkloadInput } from '../input/workload-input.ts';
import { Chunks } from '../input/chunks.ts';
import { bodyTooLarge, noRoomForBody } from '../http/body.ts';
import { EndpointEvent } from './endpoint-event.ts';
import { hopHeaders } from '../http/hop-headers.ts';
import { endSoon, replyText, replyUnacceptable } from '../http/reply.ts';

/**
 * The proxy has checked the origin, and the server would compare it with its own address. Browsers send cookies to
 * every port of a host, so a server must neither receive cookies of other programs on this machine nor set cookies.
 */
const notForwarded: ReadonlySet<string> = new Set([
  ...hopHeaders,
  'origin',
  'cookie',
  'set-cookie',
  'clear-site-data', // concerns the cookies of every port, too
]);

/** Responses that no browser shows as a page. */
const noPage = /^(?:application\/json|text\/event-stream)\s*(?:;[^,]*)?$/i;

/**
 * Anyone can lead the browser of the user to a path of a server. Without this policy, the scripts of its page would have an
 * origin on this machine, which programs here trust, and could leave a service worker for the next program on the port.
 */
const pageHeaders = ['content-security-policy', 'sandbox', 'x-content-type-options', 'nosniff'];

/** A remote server gets these headers of clients, and no others. */
const forwardedToRemotes = /^(?:content-type|accept|last-event-id|mcp-[a-z-]+)$/;

/** How long a server may take to end a session. */
const endSessionMs = 10_000;

/** A body up to this size is passed on as a whole, which costs less than a stream. */
const maxGatheredBytes = 64 * 1024;

/**
 * Forwards requests to an HTTP server, byte for byte. While no server is connected, answers clients with the reason.
 */
export class HttpForwarder implements AsyncDisposable {
  readonly #input: WorkloadInput;
  readonly #count: ConnectionCount;
  #state: ({ kind: 'up'; endpointPath: () => string } & Target) | { kind: 'down'; reason: string } = {
    kind: 'down',
    reason: 'the server has not started yet',
  };

  /** `input` has the budgets for incomplete requests and answers. `count` limits the connections to the server. */
  constructor(input: WorkloadInput, count: ConnectionCount) {
    this.#input = input;
    this.#count = count;
  }

  /** `endpointPath` returns the path of `/mcp` at a server on this machine, which may redirect requests to another one. */
  connect(address: ServerAddress, endpointPath: () => string): void {
    this.#state = {
      kind: 'up',
      endpointPath,
      ...(address.kind === 'remote' ? targetOf(address, this.#count) : openPool(address, this.#count)),
    };
  }

  disconnect(reason: string): void {
    const state = this.#state;
    this.#state = { kind: 'down', reason };
    if (state.kind === 'up') void state.pool.destroy().catch(() => {}); // its server is gone
  }

  forward(request: IncomingMessage, response: ServerResponse): void {
    if (this.#state.kind === 'down') {
      replyText(response, 503, `the server is not running: ${this.#state.reason}`, { 'retry-after': '1' });
      return;
    }
    if (Number(request.headers['content-length'] ?? 0) > maxMessageBytes)
      return replyUnacceptable(response, bodyTooLarge());
    const { pool, host, origin, endpointPath } = this.#state;
    const dispatch = (body: Dispatcher.DispatchOptions['body']): void => {
      const options: Dispatcher.DispatchOptions = {
        origin,
        method: request.method as Dispatcher.HttpMethod, // node:http accepts no others than undici sends
        path: pathAt(endpointPath(), request.url),
        headers: forwardedHeaders(request, host),
        body,
        // Calls have no time limit, and an event stream may be quiet for hours.
        headersTimeout: 0,
        bodyTimeout: 0,
      };
      const isEventSession = request.method === 'GET' && request.url?.startsWith('/sse') === true;
      const endpoint = isEventSession ? new EndpointEvent(origin) : undefined;
      pool.dispatch(options, new PassThrough(response, endpoint));
    };
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    if (length === undefined) dispatch(coding === undefined ? null : request);
    else if (Number(length) <= maxGatheredBytes) this.#gather(request, response, dispatch);
    else dispatch(request);
  }

  /** Calls back with the whole body. Never, if the client disconnects before that. */
  #gather(request: IncomingMessage, response: ServerResponse, done: (body: Buffer) => void): void {
    const chunks = new Chunks(this.#input.requests);
    request.on('data', (chunk: Buffer) => {
      if (chunks.add(chunk) === undefined || response.headersSent) return;
      request.pause();
      replyUnacceptable(response, noRoomForBody());
    });
    request.on('error', () => {}); // the client has disconnected, and the server knows nothing of the request
    request.once('close', () => chunks.release());
    request.on('end', () => {
      const body = chunks.joined();
      chunks.release();
      try {
        done(body);
      } catch (fault) {
        request.emit('fault', fault); // to the recovery middleware: this runs outside of its call
      }
    });
  }

  /** Sends a request that was read and may have been changed, and reads the response. Fails while no server is connected. */
  request(
    request: IncomingMessage,
    { method = request.method, body, replaced, ...options }: ForwardedRequest,
    listener: AnswerListener,
  ): void {
    if (this.#state.kind === 'down')
      return listener.failed(new Error(`the server is not running: ${this.#state.reason}`));
    const { pool, host, origin, remote, endpointPath } = this.#state;
    const forwarded: Dispatcher.DispatchOptions = {
      origin,
      method: method as Dispatcher.HttpMethod,
      path: remote?.path ?? pathAt(endpointPath(), request.url),
      headers: forwardedHeaders(
        request,
        host,
        replaced,
        remote === undefined ? undefined : forwardedToRemotes,
      ),
      body,
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    if (remote === undefined) return dispatchTo(pool, forwarded, options, listener);
    const send = (own: Readonly<Record<string, string>>): void => {
      const common = Object.entries(own).filter(([name]) => !Object.hasOwn(replaced, name.toLowerCase()));
      const headers = [...(forwarded.headers as string[]), ...common.flat()];
      dispatchTo(pool, { ...forwarded, headers }, options, {
        failed: listener.failed,
        answered: (answer) => listener.answered({ ...answer, headers: withoutChallenge(answer.headers) }),
      });
    };
    remote.server.headers().then(send).catch(listener.failed);
  }

  /** Asks the server to end a session, and returns the status of its answer. Rejects if there is none. */
  async endSession(id: string, protocolVersion: string): Promise<number> {
    if (this.#state.kind === 'down') throw new Error(`the server is not running: ${this.#state.reason}`);
    const { pool, host, origin, remote, endpointPath } = this.#state;
    if (remote !== undefined) return 405; // only the caller has credentials for that
    const headers = { host, 'mcp-session-id': id, 'mcp-protocol-version': protocolVersion };
    const { statusCode, body } = await answerTo(
      pool,
      { origin, method: 'DELETE', path: endpointPath(), headers, headersTimeout: 0, bodyTimeout: 0 },
      { aborter: abortedBy(AbortSignal.timeout(endSessionMs)), budget: this.#input.output },
    );
    if (typeof body !== 'string') body.on('error', () => {}).destroy();
    return statusCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.disconnect('the workload was stopped');
  }
}

/** A connected server. */
interface Target {
  pool: LiveConnections;
  origin: string;
  /** The value of the header `Host`. */
  host: string;
  remote?: { server: RemoteServer; path: string };
}

function targetOf(server: RemoteServer, count: ConnectionCount): Target {
  const { origin, host, pathname, search } = new URL(server.url);
  const pool = openAgent(server, count);
  return { pool, origin, host, remote: { server, path: `${pathname}${search}` } };
}

/** A request's path at the server. */
function pathAt(endpointPath: string, url = '/'): string {
  const [path = '', query] = url.split('?', 2);
  if (path !== '/mcp' || endpointPath === path) return url;
  return query === undefined ? endpointPath : `${endpointPath}?${query}`;
}

/** A client cannot get tokens for the server, so the client must not look for the authorization server of the server. */
function withoutChallenge(headers: AnswerHeaders): AnswerHeaders {
  return { ...headers, 'www-authenticate': undefined };
}

export interface ForwardedRequest extends AnswerOptions {
  /** Another method than the client's. */
  method?: string | undefined;
  body: string | null;
  /** What the server gets instead of these headers of the client, if anything, by their names in lower case. */
  replaced: Readonly<Record<string, string | undefined>>;
}

function forwardedHeaders(
  { rawHeaders, headers }: IncomingMessage,
  host: string,
  replaced: ForwardedRequest['replaced'] = {},
  allowed?: RegExp,
): string[] {
  const forwarded = ['host', host];
  const nominated = nominatedIn(headers.connection);
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string; // both exist, because raw headers come in pairs
    const key = name.toLowerCase();
    if (allowed?.test(key) === false) continue;
    if (!notForwarded.has(key) && !Object.hasOwn(replaced, key) && nominated?.has(key) !== true)
      forwarded.push(name, rawHeaders[i + 1] as string);
  }
  for (const name in replaced) {
    const value = replaced[name];
    if (value !== undefined) forwarded.push(name, value);
  }
  return forwarded;
}

/** Returns the headers of a response that are for the client. */
export function endToEnd(headers: AnswerHeaders, hasBody = true): string[] {
  const kept: string[] = [];
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || notForwarded.has(name)) continue;
    if (typeof value === 'string') kept.push(name, value);
    else for (const one of value) kept.push(name, one);
  }
  const { 'content-type': type } = headers;
  if (hasBody && (typeof type !== 'string' || !noPage.test(type))) kept.push(...pageHeaders);
  return kept;
}

/** Returns the headers that concern this connection only according to the client (RFC 9110, section 7.6.1). */
function nominatedIn(connection = 'keep-alive'): ReadonlySet<string> | undefined {
  const value = connection.toLowerCase();
  if (value === 'keep-alive' || value === 'close') return undefined;
  return new Set(value.split(',').map((name) => name.trim()));
}

/** Writes the server's response into the client's, no faster than the client reads. */
export class PassThrough implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  /** How much of the body is still missing. `NaN` if that is not known. */
  #bytesLeft = Number.NaN;
  #last: string | undefined;

  readonly #endpoint: EndpointEvent | undefined;

  constructor(response: ServerResponse, endpoint?: EndpointEvent) {
    this.#response = response;
    this.#endpoint = endpoint;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const abort = (): void => {
      if (!this.#response.writableFinished) controller.abort(new Error('the client went away'));
    };
    if (this.#response.destroyed) abort();
    else this.#response.once('close', abort);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    this.#bytesLeft = Number(headers['content-length']);
    this.#response.writeHead(
      status,
      endToEnd(this.#endpoint === undefined ? headers : { ...headers, 'content-length': undefined }),
    );
    // An event stream may have no event for a while, so a comment tells the client that the stream is open.
    if (String(headers['content-type']).startsWith('text/event-stream')) this.#response.flushHeaders();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytesLeft -= chunk.length;
    if (this.#endpoint !== undefined) this.#write(controller, this.#endpoint.pass(chunk));
    // The last chunk is written as text together with the end, so that it shares a packet with the headers.
    else if (this.#bytesLeft === 0) this.#last = chunk.toString('latin1');
    else this.#write(controller, chunk);
  }

  #write(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#response.write(chunk)) return;
    controller.pause();
    this.#response.once('drain', () => controller.resume());
  }

  onResponseEnd(): void {
    const last = this.#last;
    if (last === undefined) this.#response.end(this.#endpoint?.rest());
    else endSoon(this.#response, last, last.length);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#response.headersSent) this.#response.destroy();
    else replyText(this.#response, 502, `the server did not answer: ${error.message}`);
  }
}
