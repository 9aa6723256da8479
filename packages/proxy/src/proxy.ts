import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { AddressInfo } from 'node:net';
import { messageOf, conflict, invalid } from '@toolhive/contract/failure';
import type { Limits } from './bridge/limits.ts';
import type { ToolRules } from './middleware/tool-filter.ts';
import type { Upstream, RunningServer, StartInstance } from './upstream/upstream.ts';
import { HttpUpstream } from './upstream/http-upstream.ts';
import { StdioUpstream } from './upstream/stdio-upstream.ts';
import { serveConnections } from './http/connections.ts';
import type { ConnectionLimits } from './http/connections.ts';
import { replyJson, replyText } from './http/reply.ts';
import type { ProxyAccess } from './middleware/authentication.ts';
import { WorkloadInput } from './input/workload-input.ts';
import { openMetrics } from './middleware/metrics.ts';
import type { Metrics } from './middleware/metrics.ts';
import { MessagePipeline } from './middleware/message-pipeline.ts';
import { anonymous } from './middleware/middleware.ts';
import type { Exchange, Middleware } from './middleware/middleware.ts';
import { compose, createMiddleware } from './pipeline.ts';
import type { ProtocolGeneration } from './protocol/protocol.ts';

export interface ProxyOptions {
  /** Whose it is, if any workload's. */
  workload?: string;
  /** The address to bind to. */
  host: string;
  port: number;
  /** How the server behind it talks. */
  transport: 'stdio' | 'sse' | 'streamable-http';
  /**
   * Whether a legacy client's session has a server process of its own, or shares one with all others. Shared is
   * right for servers that keep nothing of a connection and ask nothing of a client.
   */
  sessions: 'own' | 'shared';
  /** Which tools clients see; all of them when nothing is said. */
  tools?: ToolRules;
  /** Whether figures about its requests are at `/metrics`, for Prometheus to read. */
  metrics?: boolean;
  version: string;
  /** Who may use it; everybody who reaches it when nothing is said. */
  access?: ProxyAccess | undefined;
  /** No web page but one from this very address, rather than all that come from this machine. */
  ownOriginOnly?: boolean;
  /** Further middleware, inside of all other. */
  middleware?: readonly Middleware[];
  /** Limits that differ from the default ones. */
  limits?: Partial<Limits>;
  connections?: Partial<ConnectionLimits>;
  now?: () => number;
  /** Told what the server printed that is no protocol. */
  onInvalidOutput: (line: string) => void;
  /** Told that the server has exceeded a limit and has to be stopped. The reason goes on from "the server". */
  onExcess: (reason: string) => void;
  /** Told of bugs in the proxy. */
  onFault: (error: unknown) => void;
}

export type { RunningServer, StartInstance } from './upstream/upstream.ts';
export type { ProtectedResource, ProxyAccess } from './middleware/authentication.ts';
export type { ProtocolGeneration } from './protocol/protocol.ts';
export type { RemoteServer } from './transport/upstream-client.ts';

/** Every session may have a stream and some requests under way. Answers may take as long as they take. */
const connectionLimits: ConnectionLimits = {
  headersMs: 10_000,
  requestMs: 60_000,
  stalledMs: 60_000,
  connections: 4_000,
};
/** How often it is looked for connections that are too slow. */
const checkingMs = 5_000;

/**
 * What stands in front of one workload, for as long as the workload exists: the port stays the same and open
 * while servers come and go behind it.
 */
export class WorkloadProxy implements AsyncDisposable {
  readonly #options: ProxyOptions;
  readonly #metrics: Metrics | undefined;
  readonly #upstream: Upstream;
  readonly #server: Server;
  #health: 'healthy' | 'unhealthy' = 'unhealthy';
  #reason = 'the server has not started yet';

  private constructor(options: ProxyOptions, metrics: Metrics | undefined) {
    this.#options = options;
    this.#metrics = metrics;
    const { transport } = options;
    const { workload = '', middleware: more = [], onFault } = options;
    const configured = { ...options, metrics, allowedHosts: namesOf(options.host) };
    const middlewares = [...createMiddleware(configured), ...more];
    const input = new WorkloadInput({ onInvalid: options.onInvalidOutput });
    const messages = new MessagePipeline(middlewares, onFault);
    const settings = { ...options, workload, input, messages };
    this.#upstream =
      transport === 'stdio' ? new StdioUpstream(settings) : new HttpUpstream({ ...settings, transport });
    const handle = compose(middlewares, (exchange) => this.#dispatch(exchange));
    const connections = { ...connectionLimits, ...options.connections };
    this.#server = createServer({
      headersTimeout: connections.headersMs,
      requestTimeout: connections.requestMs,
      connectionsCheckingInterval: Math.min(connections.headersMs, connections.requestMs, checkingMs),
      keepAliveTimeout: 65_000,
    });
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      const url = request.url ?? '/';
      const mark = url.indexOf('?');
      const path = mark === -1 ? url : url.slice(0, mark);
      response.on('error', () => {}); // the client went away; nothing is owed to it
      const query = mark === -1 ? '' : url.slice(mark + 1);
      handle({ request, response, path, query, principal: anonymous });
    };
    serveConnections(this.#server, connections, { answer });
    this.#server.on('upgrade', (_request, socket) => socket.destroy()); // MCP has no use for upgrades
  }

  /** Opens the port. A port that someone else has is a `conflict`, an address that is not ours is `invalid`. */
  static async open(options: ProxyOptions): Promise<WorkloadProxy> {
    const { metrics, workload = '', transport } = options;
    const proxy = new WorkloadProxy(options, metrics ? await openMetrics(workload, transport) : undefined);
    await listen(proxy.#server, options);
    return proxy;
  }

  /**
   * Puts a started server behind the proxy, and returns when it has been seen to answer. `startAnother` starts
   * further ones, for clients that need one of their own.
   */
  async connect(server: RunningServer, startAnother: StartInstance, signal: AbortSignal): Promise<void> {
    await this.#upstream.connect(server, startAnother, signal);
    this.#health = 'healthy';
  }

  /** The port it listens on. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port; // it listens on TCP
  }

  /** How the server talks, once that is known. */
  get generation(): ProtocolGeneration | undefined {
    return this.#upstream.generation;
  }

  /** Tells clients that the server is gone; with `final`, that none will come soon. */
  disconnect(reason: string, final: boolean): void {
    this.#health = 'unhealthy';
    this.#reason = reason;
    this.#upstream.disconnect(reason, final);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#upstream.close();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeAllConnections();
    await promise;
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

/** The names that clients may use for a listener on `host`, beside the loopback ones. */
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
  server.on('error', () => {}); // accepting failed once (too many open files); the next client tries again
}

function portFailure(error: unknown, { host, port, workload }: ProxyOptions): unknown {
  const whose = workload === undefined ? '' : ` of workload ${workload}`;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return conflict(`port ${port}${whose} is in use by another program`, {
      hint:
        workload === undefined
          ? 'end that program, or choose another port'
          : 'end that program, or remove the workload and run it with another port',
      cause: error,
    });
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EACCES') {
    return invalid(`the proxy${whose} cannot listen on ${host} port ${port}: ${messageOf(error)}`, {
      hint: 'leave the host out to listen on loopback',
      cause: error,
    });
  }
  return error;
}
