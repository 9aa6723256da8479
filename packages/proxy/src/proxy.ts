import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { AddressInfo } from 'node:net';
import { messageOf, conflict, invalid } from '@toolhive/contract/failure';
import { openFiles } from '@toolhive/runtime/open-files';
import type { OpenFiles } from '@toolhive/runtime/open-files';
import type { Limits } from './bridge/limits.ts';
import type { KnownState } from './bridge/sharing.ts';
import type { SealKeys } from './sealing/seal.ts';
import type { ToolRules } from './middleware/tool-filter.ts';
import type { Pins } from './middleware/tool-pinning.ts';
import type { Upstream, RunningServer, StartInstance } from './upstream/upstream.ts';
import { HttpUpstream } from './upstream/http-upstream.ts';
import { StdioUpstream } from './upstream/stdio-upstream.ts';
import { OwnConnections } from './client/own-connections.ts';
import { keepContext, serveConnections } from './http/connections.ts';
import { ReplyQueue } from './http/reply-queue.ts';
import { OpenExchanges } from './http/open-exchanges.ts';
import type { ConnectionLimits } from './http/connections.ts';
import { onceClosed } from './http/closing.ts';
import { replyJson, replyText } from './http/reply.ts';
import type { Authorizer } from './middleware/authorization.ts';
import { Audit } from './middleware/audit.ts';
import type { AuditOptions } from './middleware/audit.ts';
import type { ProxyAccess } from './middleware/authentication.ts';
import { WorkloadInput } from './input/workload-input.ts';
import { describeTolerances } from './jsonrpc/tolerances.ts';
import { openMetrics } from './middleware/metrics.ts';
import type { Metrics } from './middleware/metrics.ts';
import type { Telemetry, TelemetryOptions } from './middleware/telemetry.ts';
import type { RateLimitOptions } from './middleware/rate-limit.ts';
import { Traffic } from './middleware/traffic.ts';
import type { CallSink } from './middleware/traffic.ts';
import type { ListingSink } from './middleware/listing-capture.ts';
import { addressToWorkload } from './http/relay.ts';
import type { OpenSession } from './bridge/bridge.ts';
import { MessagePipeline } from './middleware/message-pipeline.ts';
import { anonymous } from './middleware/middleware.ts';
import type { Exchange, Middleware, Principal } from './middleware/middleware.ts';
import type { PeerRequest } from './replicas/peers.ts';
import { Replicas } from './replicas/replicas.ts';
import type { ReplicaOptions } from './replicas/replicas.ts';
import { compose, createMiddleware } from './pipeline.ts';
import type { ProtocolGeneration } from './protocol/protocol.ts';

export interface ProxyOptions {
  /** The workload that the proxy belongs to, if any. */
  workload?: string;
  /** The address to bind to. */
  host: string;
  port: number;
  /** The transport of the server. */
  transport: 'stdio' | 'sse' | 'streamable-http';
  /**
   * Whether each legacy client session has a separate server process or all sessions share one. Sharing suits servers
   * that keep no connection state and send no requests to clients. `auto` decides that by the lists and the messages of the server.
   */
  sessions: 'auto' | 'own' | 'shared';
  /** The memory for `auto`. By default, earlier runs are unknown. */
  knownState?: KnownState | undefined;
  /** The tools that clients see. By default, all of them. */
  tools?: ToolRules;
  /** What was recorded of the server's tools. By default, nothing is. */
  pins?: Pins | undefined;
  /** How many tools callers may call in a time. By default, any number. */
  rateLimits?: RateLimitOptions | undefined;
  /** What is recorded of requests, and who takes the records. By default, nothing. */
  audit?: AuditOptions | undefined;
  /** Receives calls. By default, no sink. */
  traffic?: CallSink | undefined;
  /** Receives the server's lists. By default, no sink. */
  listings?: ListingSink | undefined;
  /** Whether `/metrics` reports figures about requests, for Prometheus. */
  metrics?: boolean;
  /** What is sent over OTLP, and where to. By default, nothing. */
  telemetry?: TelemetryOptions | undefined;
  /** Whether results that clients refuse are made readable. Messages are read then. By default, they are not. */
  repairsResults?: boolean;
  version: string;
  /** Who may use the proxy. By default, anyone who can reach it. */
  access?: ProxyAccess | undefined;
  /** Names other than the loopback ones that clients may use for the proxy, such as that of a reverse proxy in front. */
  publicHosts?: readonly string[];
  /** Believe the `X-Forwarded-*` headers of requests. Only a reverse proxy in front may reach the proxy then. */
  trustProxyHeaders?: boolean | undefined;
  /** Who all callers are without authentication. */
  localUser?: Principal | undefined;
  /** Whether requests may name a host. By default, they name this machine. */
  listsHost?: ((host: string) => boolean) | undefined;
  /**
   * Whether `/health` and `/livez` need neither authentication nor a known host, for probes of a container platform.
   * `/livez` is 200 while this process can answer, also while the server is not ready. By default, false.
   */
  answersProbes?: boolean;
  /** The origins of web pages that can use the proxy from a browser (CORS). By default, none. */
  allowedOrigins?: readonly string[];
  /** Accept only web pages from this very address, not all that come from this machine. */
  ownOriginOnly?: boolean;
  /** Decides which requests callers may send. By default, all. */
  authorizer?: Authorizer | undefined;
  /**
   * How the proxy shares the sessions of a server that speaks HTTP with other proxies of the workload. By default, there
   * are none.
   */
  replicas?: ReplicaOptions | undefined;
  /** The keys for the IDs of tasks, so that these stay valid after a restart. By default, they do not. */
  taskKeys?: SealKeys | undefined;
  /** Further middleware, inside of all other. */
  middleware?: readonly Middleware[];
  /** Limits that differ from the default ones. */
  limits?: Partial<Limits>;
  connections?: Partial<ConnectionLimits>;
  /** How many files may be open. By default, as many as this process may open. */
  files?: OpenFiles;
  now?: () => number;
  /** Receives server output that is not a message. */
  onInvalidOutput: (line: string) => void;
  /** Told once of each deviation from the protocol that the proxy understands anyway. */
  onTolerance?: (deviation: string) => void;
  /** Told that the server has exceeded a limit and must be stopped. The reason continues "the server". */
  onExcess: (reason: string) => void;
  /** Told of bugs in the proxy. */
  onFault: (error: unknown) => void;
}

export type { RateLimitOptions, RateLimits } from './middleware/rate-limit.ts';
export type { ReplicaOptions } from './replicas/replicas.ts';
export type { RunningServer, ServerPod, ServerPods, StartInstance } from './upstream/upstream.ts';
export type { ProtectedResource, ProxyAccess } from './middleware/authentication.ts';
export type { ProtocolGeneration } from './protocol/protocol.ts';
export type { OpenWay, RemoteServer } from './transport/upstream-client.ts';

/** Answers have no time limit. */
const timeLimits: Omit<ConnectionLimits, 'connections'> = {
  headersMs: 10_000,
  requestMs: 60_000,
  stalledMs: 60_000,
};
/** Java clients offer HTTP/2 with every first request, and servers may ignore that (RFC 9110, section 7.8). */
const shouldUpgradeCallback = ({ headers }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() !== 'h2c';
/** How often slow connections are looked for. */
const checkingMs = 5_000;

/** The proxy of one workload. Its port stays open as long as the workload exists, including during server restarts. */
export class WorkloadProxy implements AsyncDisposable {
  /** How ToolHive connects for its own reads, which do not count as calls of clients. */
  readonly ownConnections = new OwnConnections();
  readonly #options: ProxyOptions;
  readonly #metrics: Metrics | undefined;
  readonly #telemetry: Telemetry | undefined;
  readonly #audit: Audit | undefined;
  readonly #traffic: Traffic | undefined;
  readonly #upstream: Upstream;
  readonly #input: WorkloadInput;
  readonly #server: Server;
  /** Open responses to relayed requests. */
  readonly #relayed = new Set<ServerResponse>();
  readonly #handle: (exchange: Exchange) => void;
  /** Runs work in the asynchronous context of the workload. */
  readonly #inContext = AsyncLocalStorage.snapshot();
  readonly #replies = new ReplyQueue();
  readonly #readsMessages: boolean;
  readonly #replicas: Replicas | undefined;
  readonly #connections: ConnectionLimits;
  readonly #open = new OpenExchanges();
  #health: 'healthy' | 'unhealthy' = 'unhealthy';
  #reason = 'the server has not started yet';

  private constructor(
    options: ProxyOptions,
    { metrics, telemetry }: { metrics: Metrics | undefined; telemetry: Telemetry | undefined },
  ) {
    this.#options = options;
    this.#metrics = metrics;
    this.#telemetry = telemetry;
    const { transport, files = openFiles } = options;
    const { workload = '', middleware: more = [], publicHosts = [], onFault } = options;
    const input = new WorkloadInput({
      onInvalid: options.onInvalidOutput,
      onTolerance(...tolerated) {
        for (const deviation of describeTolerances([tolerated])) options.onTolerance?.(deviation);
      },
    });
    this.#input = input;
    const configured = {
      ...options,
      input,
      metrics,
      telemetry,
      readsMessages: transport === 'stdio',
      allowedHosts: [...namesOf(options.host), ...publicHosts],
    };
    const middlewares = [...createMiddleware(configured), ...more];
    this.#audit = middlewares.find((one) => one instanceof Audit);
    this.#traffic = middlewares.find((one) => one instanceof Traffic);
    const messages = new MessagePipeline(middlewares, onFault);
    this.#replicas =
      options.replicas === undefined || transport === 'stdio'
        ? undefined
        : new Replicas(workload, options.replicas);
    const { shared } = this.#replicas ?? {};
    const settings = { ...options, files, workload, input, messages, shared };
    const openUpstream = (): Upstream =>
      transport === 'stdio' ? new StdioUpstream(settings) : new HttpUpstream({ ...settings, transport });
    this.#upstream = this.#replicas?.upstream(openUpstream, onFault) ?? openUpstream();
    this.#readsMessages = transport === 'stdio' || !messages.isEmpty || options.access !== undefined;
    this.#handle = compose(middlewares, (exchange) => this.#dispatch(exchange));
    const { clients } = files.budgets;
    const counted = { connections: clients, together: files.count(clients) };
    const connections = (this.#connections = { ...timeLimits, ...counted, ...options.connections });
    this.#server = createServer({
      shouldUpgradeCallback,
      headersTimeout: connections.headersMs,
      requestTimeout: connections.requestMs,
      connectionsCheckingInterval: Math.min(connections.headersMs, connections.requestMs, checkingMs),
      keepAliveTimeout: 65_000,
    });
    keepContext(this.#server);
    const answer = this.#answer.bind(this);
    serveConnections(this.#server, connections, { answer });
    this.#server.on('upgrade', (_request, socket) => socket.destroy()); // MCP uses no upgrades
  }

  /**
   * Opens the port. Throws `conflict` if the port is in use, and `invalid` if the address does not belong to this
   * machine.
   */
  static async open(options: ProxyOptions): Promise<WorkloadProxy> {
    const { metrics, telemetry, workload = '', transport } = options;
    const proxy = new WorkloadProxy(options, {
      metrics: metrics ? await openMetrics(workload, transport) : undefined,
      telemetry: telemetry === undefined ? undefined : await startTelemetry(workload, telemetry),
    });
    try {
      await listen(proxy.#server, options);
      await proxy.#replicas?.open(proxy.#connections, (request, response, peer) =>
        proxy.#answer(request, response, peer),
      );
    } catch (error) {
      await proxy.#telemetry?.close();
      throw error;
    }
    return proxy;
  }

  /**
   * Connects a started server, and returns when the server has answered. `startAnother` starts further processes for
   * clients that need one.
   */
  async connect(server: RunningServer, startAnother: StartInstance, signal: AbortSignal): Promise<void> {
    await this.#upstream.connect(server, startAnother, signal);
    this.#health = 'healthy';
  }

  /**
   * Begins a session with the connected server and reads a list, as a client would. Returns how the server refuses the list, if
   * it does. Throws if no session works.
   */
  checkSession(signal: AbortSignal): Promise<string | undefined> {
    return this.#upstream.checkSession(signal);
  }

  /**
   * Takes a request to the API for this workload, through the same middleware as those of other clients. `principal` is
   * its caller there.
   */
  relay(request: IncomingMessage, response: ServerResponse, principal: Principal | undefined): void {
    this.#admit(request, response, { principal });
  }

  /** Takes a request from another part of ToolHive, through the same middleware as those of other clients. */
  accept(request: IncomingMessage, response: ServerResponse): void {
    this.#admit(request, response, undefined);
  }

  #admit(request: IncomingMessage, response: ServerResponse, relayed: Exchange['relayed']): void {
    const { host, localUser = anonymous } = this.#options;
    addressToWorkload(request, `${namesOf(host)[0] ?? '127.0.0.1'}:${this.port}`);
    this.#replies.take(response);
    request.socket.setMaxListeners(0); // every workload may listen for the end of a connection to the API
    this.#relayed.add(response);
    onceClosed(response, () => this.#relayed.delete(response));
    const exchange = { request, response, path: '/mcp', query: '', principal: localUser, relayed };
    this.#inContext(() => this.#handle(exchange));
  }

  /** The protocol version that the server speaks, if that is known. Clients may speak another one. */
  get serverVersion(): string | undefined {
    return this.#upstream.serverVersion;
  }

  /** Which sessions share processes, and why. Undefined if clients cause no processes. */
  get sharing(): string | undefined {
    return this.#upstream.sharing;
  }

  /** How the server deviates from the protocol, as far as the proxy understands it anyway. */
  get deviations(): string[] {
    return describeTolerances(this.#input.tolerated);
  }

  /** Whether messages are read on their way. Otherwise, little is known of calls, and nothing of sessions. */
  get readsMessages(): boolean {
    return this.#readsMessages;
  }

  /** The sessions of clients, with the number of their requests that are not answered yet. */
  sessions(): (OpenSession & { inFlight: number })[] {
    return this.#upstream
      .openSessions()
      .map((session) => ({ ...session, inFlight: this.#traffic?.inFlight(session.id) ?? 0 }));
  }

  /** Ends a session. Returns whether there was one. Throws `unsupported` if the server refuses. */
  endSession(id: string): Promise<boolean> {
    return this.#upstream.endSession(id);
  }

  /** The port that the proxy listens on. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port; // the server listens on TCP
  }

  /** The protocol versions that the server supports, once that is known. */
  get generation(): ProtocolGeneration | undefined {
    return this.#upstream.generation;
  }

  /** Answers clients that the server is gone. With `final`, none will start soon. */
  disconnect(reason: string, final: boolean): void {
    this.#health = 'unhealthy';
    this.#reason = reason;
    this.#upstream.disconnect(reason, final);
  }

  /**
   * Reports the proxy as unhealthy, so that clients are sent to others, and returns when the open calls have been
   * answered or the time is over. Requests that still arrive are served. A platform needs `settleMs` until it sends no
   * more of them.
   */
  async drain({ settleMs, maxMs }: { settleMs: number; maxMs: number }): Promise<void> {
    this.#health = 'unhealthy';
    this.#reason = 'the proxy is shutting down';
    await this.#open.drain(settleMs, maxMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#replicas?.[Symbol.asyncDispose]();
    await this.#upstream.close();
    this.#replies.flush();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeAllConnections();
    for (const response of this.#relayed) response.destroy(); // their connections are not those of this port
    await promise;
    this.#audit?.close();
    this.#traffic?.close();
    await this.#telemetry?.close();
  }

  /** Takes a request of a client, or one that another proxy of the workload relays. */
  #answer(request: IncomingMessage, response: ServerResponse, peer?: PeerRequest): void {
    const { localUser = anonymous, answersProbes, onFault } = this.#options;
    const { path, query } = placeOf(request);
    this.#replies.take(response);
    const isOwnRead = this.ownConnections.has(request.socket);
    const exchange: Exchange = { request, response, path, query, principal: localUser, isOwnRead };
    if (answersProbes === true && path === '/health') return this.#answerHealth(exchange);
    if (answersProbes === true && path === '/livez') return replyText(response, 200, 'ok');
    this.#open.add(request, response);
    if (peer !== undefined) Object.assign(exchange, peer, { isRelayedByPeer: true });
    if (this.#replicas === undefined) this.#handle(exchange);
    else this.#replicas.pass(exchange, this.#handle, onFault);
  }

  #dispatch(exchange: Exchange): void {
    if (exchange.path === '/health') this.#answerHealth(exchange);
    else if (exchange.path === '/metrics' && this.#metrics !== undefined) this.#metrics.serve(exchange);
    else this.#upstream.handle(exchange);
  }

  #answerHealth({ request, response }: Exchange): void {
    if (request.method !== 'GET') return replyText(response, 405, 'use GET', { allow: 'GET' });
    const isHealthy = this.#health === 'healthy';
    const body = {
      status: this.#health,
      timestamp: new Date().toISOString(),
      version: { version: this.#options.version, platform: `${process.platform}/${process.arch}` },
      transport: this.#options.transport,
      mcp: { available: isHealthy, ...(isHealthy ? {} : { error: this.#reason }) },
    };
    replyJson(response, isHealthy ? 200 : 503, JSON.stringify(body));
  }
}

/** Returns the parts of the URL. The endpoints may have a slash at the end, which servers would not see as the same path. */
function placeOf(request: IncomingMessage): { path: string; query: string } {
  const { url: written = '/' } = request;
  if (written === '/mcp') return { path: written, query: '' };
  const url = (request.url = written.replace(/^(\/(?:mcp|sse))\/(?=\?|$)/, '$1'));
  const mark = url.indexOf('?');
  return mark === -1 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

/** Loads OpenTelemetry only if a workload uses it. */
async function startTelemetry(workload: string, options: TelemetryOptions): Promise<Telemetry> {
  const { openTelemetry } = await import('./middleware/telemetry.ts');
  return openTelemetry(workload, options);
}

/** Returns the names, other than the loopback ones, that clients may use for a listener on `host`. */
function namesOf(host: string): string[] {
  if (host === '0.0.0.0' || host === '::') return [];
  return [isIP(host) === 6 ? `[${host}]` : host];
}

async function listen(server: Server, options: ProxyOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  const { host, port } = options;
  server.listen({ host, port, exclusive: true }, resolve);
  try {
    await promise;
  } catch (error) {
    throw portFailure(error, options);
  }
  server.off('error', reject);
  server.on('error', () => {}); // one connection could not be accepted (too many open files), and the next client can try again
}

function portFailure(error: unknown, { host, port, workload }: ProxyOptions): unknown {
  const whose = workload === undefined ? '' : ` of workload ${workload}`;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return conflict(`port ${port}${whose} is in use by another program`, {
      hint:
        workload === undefined
          ? 'end that program, or choose another port'
          : 'stop that program, or remove the workload and run it with another port',
      cause: error,
    });
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EACCES') {
    return invalid(`the proxy${whose} cannot listen on ${host} port ${port}: ${messageOf(error)}`, {
      hint: 'omit the host to listen on the loopback address',
      cause: error,
    });
  }
  return error;
}
