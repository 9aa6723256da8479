import { raiseFault } from '@toolhive/contract/fault';
import type { ConnectionCount } from '@toolhive/runtime/open-files';
import { replyText } from '../http/reply.ts';
import type { OpenSession } from '../bridge/bridge.ts';
import { isModernRequest } from '../endpoint/modern-headers.ts';
import { messagesPath } from '../endpoint/sse.ts';
import { CallerBridges } from './caller-bridges.ts';
import type { CallerConnection } from './caller-bridges.ts';
import { HttpForwarder } from './forwarder.ts';
import { GuardedForwarder } from './guarded-forwarder.ts';
import { HttpBridge } from './http-bridge.ts';
import type { BridgedServer, HttpUpstreamOptions } from './http-bridge.ts';
import {
  examineForCallers,
  examineRemote,
  waitForCallers,
  waitUntilServing,
} from '../transport/readiness.ts';
import type { Exchange } from '../middleware/middleware.ts';
import type { ProtocolGeneration } from '../protocol/protocol.ts';
import { UpstreamClient } from '../transport/upstream-client.ts';
import type { ServerAddress } from '../transport/upstream-client.ts';
import type { Upstream, RunningServer, StartInstance } from './upstream.ts';

/** How long a server may take to describe itself to a caller. */
const examinationMs = 30_000;

interface Up extends BridgedServer {
  address: ServerAddress;
  path: string;
  isRemote: boolean;
  /** Whether the requests of callers go to the server with credentials of the callers. */
  callersAuthenticate: boolean;
  /** Settles when a caller's credentials have shown the generation. Absent while no caller waits for that. */
  examination?: Promise<void> | undefined;
}

/**
 * A server that speaks HTTP. Requests of clients that support the same protocol versions are passed through byte for
 * byte, or message by message if there is middleware for messages. The first client that does not opens a bridge.
 */
export class HttpUpstream implements Upstream {
  readonly #options: HttpUpstreamOptions;
  /** All connections to the server. */
  readonly #count: ConnectionCount;
  readonly #forwarder: HttpForwarder;
  readonly #shared: HttpBridge;
  readonly #callers: CallerBridges;
  readonly #guarded: GuardedForwarder;
  #up: Up | undefined;

  constructor(options: HttpUpstreamOptions) {
    this.#options = options;
    this.#count = options.files.count(options.files.budgets.upstream);
    this.#forwarder = new HttpForwarder(options.input.requests, this.#count);
    this.#shared = new HttpBridge(options);
    this.#callers = new CallerBridges(options, this.#count);
    this.#guarded = new GuardedForwarder({
      ...options,
      forwarder: this.#forwarder,
      isAuthenticated: options.access !== undefined,
      pending: this.#shared.bridge.pending,
    });
  }

  get serverVersion(): string | undefined {
    return this.#shared.bridge.identity?.protocolVersion;
  }

  get generation(): ProtocolGeneration | undefined {
    return this.#up?.generation;
  }

  async connect(
    { address }: RunningServer,
    _startAnother: StartInstance,
    signal: AbortSignal,
  ): Promise<void> {
    if (address === undefined) throw new Error('a forwarder needs an instance that speaks HTTP');
    const { transport } = this.#options;
    const isRemote = address.kind === 'remote';
    const callersAuthenticate = isRemote
      ? address.callersAuthenticate === true
      : this.#options.access?.exchange !== undefined;
    const path = transport === 'sse' ? '/sse' : '/mcp';
    const endpoint = new UpstreamClient(address, path, { input: this.#options.input, count: this.#count });
    const [forAll, forCallers] = isRemote
      ? [examineRemote, examineForCallers]
      : [waitUntilServing, waitForCallers];
    const examine = callersAuthenticate ? forCallers : forAll;
    const over = new AbortController();
    try {
      const found = await examine(endpoint, transport, signal);
      this.#up = { ...found, endpoint, over, address, path, isRemote, callersAuthenticate };
    } catch (error) {
      await endpoint[Symbol.asyncDispose]();
      throw error;
    }
    if (!isRemote || callersAuthenticate) this.#forwarder.connect(address);
  }

  disconnect(reason: string, final: boolean): void {
    const up = this.#up;
    this.#up = undefined;
    up?.over.abort(new Error(reason));
    this.#forwarder.disconnect(reason);
    this.#guarded.disconnect();
    this.#shared.disconnect(reason, final);
    this.#callers.disconnect(reason);
    void up?.endpoint[Symbol.asyncDispose]().catch(this.#options.onFault);
  }

  handle(exchange: Exchange): void {
    const { messages, access, transport } = this.#options;
    const up = this.#up;
    if (up === undefined) return this.#forwarder.forward(exchange.request, exchange.response);
    // Remote servers get no headers of clients.
    if (!up.isRemote && up.generation !== undefined && !this.#isForeign(exchange, up)) {
      // Middleware must see every message, and sessions belong to principals.
      const isGuarded = !messages.isEmpty || access !== undefined;
      // What is not MCP can be passed through unless that would be a way around a rule.
      const mayPass = access === undefined && messages.onlyObserves;
      const isOther = transport === 'streamable-http' && exchange.path !== '/mcp';
      if (!isGuarded || (isOther && mayPass))
        return this.#forwarder.forward(exchange.request, exchange.response);
      if (transport === 'streamable-http') return this.#guarded.handle(exchange);
    }
    const { credentials } = exchange;
    if (credentials === undefined) return this.#shared.serve(exchange, up);
    if (up.generation !== undefined && this.#mayForward(exchange, up)) return this.#guarded.handle(exchange);
    const caller = this.#callers.of(exchange, credentials, up.address, up.path);
    if (caller === undefined)
      return replyText(exchange.response, 503, 'too many callers use the server at once', {
        'retry-after': '60',
      });
    this.#handleFor(caller, exchange, up);
  }

  openSessions(): OpenSession[] {
    return [
      ...this.#shared.bridge.openSessions(),
      ...this.#callers.openSessions(),
      ...this.#guarded.openSessions(),
    ];
  }

  async endSession(id: string): Promise<boolean> {
    if (this.#shared.bridge.endSession(id) || this.#callers.endSession(id)) return true;
    return this.#guarded.endSession(id);
  }

  async close(): Promise<void> {
    this.disconnect('the workload was stopped', true);
    this.#callers.close();
    await this.#shared[Symbol.asyncDispose]();
    await this.#forwarder[Symbol.asyncDispose]();
  }

  /** Handles a request of a caller with credentials of its own. */
  #handleFor(caller: CallerConnection, exchange: Exchange, up: Up): void {
    if (up.callersAuthenticate && up.generation === undefined && up.examination === undefined) {
      // The server describes itself to authenticated callers only.
      up.examination = this.#examine(caller, up).finally(() => (up.examination = undefined));
    }
    if (up.generation === undefined && up.examination !== undefined) {
      up.examination.then(() => this.#route(caller, exchange, up)).catch(raiseFault);
      return;
    }
    this.#route(caller, exchange, up);
  }

  #route(caller: CallerConnection, exchange: Exchange, up: Up): void {
    if (exchange.response.destroyed) return; // its client is gone
    if (this.#up !== up) return this.handle(exchange); // the server was stopped or started again in the meantime
    if (this.#mayForward(exchange, up)) return this.#guarded.handle(exchange);
    caller.bridge.serve(exchange, { ...up, endpoint: caller.endpoint });
  }

  /** Whether a remote server gets the request itself, with the credentials of its caller. */
  #mayForward(exchange: Exchange, up: Up): boolean {
    const isStreamable = this.#options.transport === 'streamable-http';
    return up.callersAuthenticate && isStreamable && !this.#isForeign(exchange, up);
  }

  /** Learns the generation. If the server refuses the caller, the caller's own request shows that. */
  async #examine({ endpoint }: CallerConnection, up: Up): Promise<void> {
    const signal = AbortSignal.any([up.over.signal, AbortSignal.timeout(examinationMs)]);
    try {
      Object.assign(up, await examineForCallers(endpoint, this.#options.transport, signal));
    } catch {
      // The next caller tries again.
    }
  }

  /** Whether the client uses another transport or other protocol versions than the server. */
  #isForeign({ request, path, query }: Exchange, { generation, legacy }: Up): boolean {
    const { transport } = this.#options;
    const isStreamable = path === '/mcp' || (path === '/sse' && request.method === 'POST');
    if (transport === 'sse') return isStreamable;
    if (path === '/sse' || (path === messagesPath && query.includes('session_id='))) return true;
    // A server that tells its generation to authenticated callers only answers each of them for itself.
    if (path !== '/mcp' || generation === undefined) return false;
    const isModern = isModernRequest(request.headers, undefined);
    return isModern ? generation !== 'modern' : generation === 'modern' && legacy === undefined;
  }
}
