import { beginsEventSession } from '../endpoint/endpoint.ts';
import { raiseFault } from '@toolhive/contract/fault';
import type { ConnectionCount } from '@toolhive/runtime/open-files';
import { replyText } from '../http/reply.ts';
import type { OpenSession } from '../bridge/bridge.ts';
import { CallerBridges } from './caller-bridges.ts';
import type { CallerConnection } from './caller-bridges.ts';
import { HttpForwarder } from './forwarder.ts';
import { GuardedForwarder } from './guarded-forwarder.ts';
import { HttpBridge } from './http-bridge.ts';
import type { BridgedServer, HttpUpstreamOptions } from './http-bridge.ts';
import { checkSession } from '../connection/session-check.ts';
import { isForeign, isMetadata, wayOf } from './request-way.ts';
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
    this.#forwarder = new HttpForwarder(options.input, this.#count);
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
    return this.#shared.bridge.connection?.identity.protocolVersion;
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
    if (!isRemote || callersAuthenticate) this.#forwarder.connect(address, () => endpoint.path);
  }

  async checkSession(signal: AbortSignal): Promise<string | undefined> {
    const up = this.#up;
    if (up === undefined || up.callersAuthenticate) return undefined; // only a caller has credentials
    const { version, input } = this.#options;
    const { generation } = up;
    const either = AbortSignal.any([signal, up.over.signal]);
    return checkSession(this.#shared.open(up.endpoint, generation), {
      version,
      generation,
      input,
      signal: either,
    });
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
    const up = this.#up;
    if (this.#options.transport === 'sse' && beginsEventSession(exchange)) leadTo(exchange, '/sse');
    if (up === undefined) return this.#forwarder.forward(exchange.request, exchange.response);
    this.#route(exchange, up, up.generation !== undefined);
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

  #route(exchange: Exchange, up: Up, isExamined: boolean): void {
    const { messages, access, transport } = this.#options;
    const { credentials } = exchange;
    const way = wayOf({
      transport,
      isRemote: up.isRemote,
      isReplicated: exchange.sealing !== undefined,
      callersAuthenticate: up.callersAuthenticate,
      hasCredentials: credentials !== undefined,
      isExamined,
      isForeign: isForeign(exchange, transport, up),
      isMcp: exchange.path === '/mcp',
      isMetadata: isMetadata(exchange),
      hasMiddleware: !messages.isEmpty,
      onlyObserves: messages.onlyObserves,
      hasAccess: access !== undefined,
    });
    switch (way) {
      case 'bytes':
        return this.#forwarder.forward(exchange.request, exchange.response);
      case 'messages':
        return this.#guarded.handle(exchange);
      case 'shared bridge':
        return this.#shared.serve(exchange, up);
      case 'caller bridge':
        return this.#serveCaller(exchange, credentials ?? {}, up, isExamined);
    }
  }

  /** Serves a request through the bridge of its caller, as soon as the server has described itself to a caller. */
  #serveCaller(
    exchange: Exchange,
    credentials: NonNullable<Exchange['credentials']>,
    up: Up,
    isExamined: boolean,
  ): void {
    const caller = this.#callers.of(exchange, credentials, up.address, up.path);
    if (caller === undefined)
      return replyText(exchange.response, 503, 'too many callers use the server at once', {
        'retry-after': '60',
      });
    if (isExamined || !up.callersAuthenticate)
      return caller.bridge.serve(exchange, { ...up, endpoint: caller.endpoint });
    up.examination ??= this.#examine(caller, up).finally(() => (up.examination = undefined));
    up.examination.then(() => this.#serveExamined(exchange, up)).catch(raiseFault);
  }

  #serveExamined(exchange: Exchange, up: Up): void {
    if (exchange.response.destroyed) return; // its client is gone
    if (this.#up === up) this.#route(exchange, up, true);
    else this.handle(exchange); // the server was stopped or started again in the meantime
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
}

/** Continues with a request as if it were for another path. */
function leadTo(exchange: Exchange, path: string): void {
  exchange.path = path;
  exchange.request.url = exchange.query === '' ? path : `${path}?${exchange.query}`;
}
