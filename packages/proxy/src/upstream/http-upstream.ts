import { messageOf } from '@toolhive/contract/failure';
import { replyText } from '../http/reply.ts';
import { Bridge } from '../bridge/bridge.ts';
import type { OpenSession } from '../bridge/bridge.ts';
import { defaultLimits } from '../bridge/limits.ts';
import { isModernRequest } from '../endpoint/modern-headers.ts';
import { serveEndpoint } from '../endpoint/endpoint.ts';
import { messagesPath } from '../endpoint/sse.ts';
import { HttpForwarder } from './forwarder.ts';
import { GuardedForwarder } from './guarded-forwarder.ts';
import { examineForCallers, examineRemote, waitUntilServing } from '../transport/readiness.ts';
import type { Exchange } from '../middleware/middleware.ts';
import type { ProtocolGeneration, ServerIdentity } from '../protocol/protocol.ts';
import { UpstreamClient } from '../transport/upstream-client.ts';
import { HttpTransport } from '../transport/http-transport.ts';
import { SseTransport } from '../transport/sse-transport.ts';
import type { Transport } from '../transport/transport.ts';
import type { Upstream, UpstreamOptions, RunningServer, StartInstance } from './upstream.ts';

/** How many connections to the server clients of the other generation may have. Each costs a little memory. */
const maxConversations = 1000;
/** How long the handshake for them may take. */
const handshakeMs = 30_000;

export interface HttpUpstreamOptions extends UpstreamOptions {
  transport: 'sse' | 'streamable-http';
}

interface Up {
  endpoint: UpstreamClient;
  isRemote: boolean;
  /** Whether the requests of callers go to the server with credentials of the callers. */
  callersAuthenticate: boolean;
  over: AbortController;
  /** Settles when the bridge is connected. Absent until a client needs the bridge. */
  bridged?: Promise<void>;
}

/**
 * A server that speaks HTTP. Requests of clients that support the same protocol versions are passed through byte for
 * byte, or message by message if there is middleware for messages. The first client that does not opens a bridge.
 */
export class HttpUpstream implements Upstream {
  readonly #options: HttpUpstreamOptions;
  readonly #forwarder: HttpForwarder;
  readonly #bridge: Bridge;
  readonly #guarded: GuardedForwarder;
  #generation: ProtocolGeneration | undefined;
  /** The description that a modern server gives in a legacy client's session, if the server has such sessions. */
  #legacy: ServerIdentity | undefined;
  #up: Up | undefined;

  constructor(options: HttpUpstreamOptions) {
    this.#options = options;
    this.#forwarder = new HttpForwarder(options.input.requests);
    this.#bridge = new Bridge({
      ...options,
      limits: { ...defaultLimits, maxOwn: maxConversations, ...options.limits },
      isSlowToStart: false,
      onLost: () => {
        if (this.#up !== undefined) this.#up.bridged = undefined; // the next client opens another one
      },
    });
    this.#guarded = new GuardedForwarder({
      ...options,
      forwarder: this.#forwarder,
      isAuthenticated: options.access !== undefined,
      pending: this.#bridge.pending,
    });
  }

  get serverVersion(): string | undefined {
    return this.#bridge.identity?.protocolVersion;
  }

  get generation(): ProtocolGeneration | undefined {
    return this.#generation;
  }

  async connect(
    { address }: RunningServer,
    _startAnother: StartInstance,
    signal: AbortSignal,
  ): Promise<void> {
    if (address === undefined) throw new Error('a forwarder needs an instance that speaks HTTP');
    const { transport } = this.#options;
    const isRemote = address.kind === 'remote';
    const callersAuthenticate = isRemote && address.callersAuthenticate === true;
    const endpoint = new UpstreamClient(address, transport === 'sse' ? '/sse' : '/mcp', this.#options.input);
    try {
      const found = callersAuthenticate
        ? await examineForCallers(endpoint, signal)
        : await (isRemote ? examineRemote : waitUntilServing)(endpoint, transport, signal);
      this.#generation = found.generation;
      this.#legacy = found.legacy;
    } catch (error) {
      await endpoint[Symbol.asyncDispose]();
      throw error;
    }
    if (!isRemote || callersAuthenticate) this.#forwarder.connect(address);
    this.#up = { endpoint, isRemote, callersAuthenticate, over: new AbortController() };
  }

  disconnect(reason: string, final: boolean): void {
    const up = this.#up;
    this.#up = undefined;
    this.#forwarder.disconnect(reason);
    this.#guarded.disconnect();
    this.#bridge.disconnect(reason, final);
    up?.over.abort(new Error(reason));
    void up?.endpoint[Symbol.asyncDispose]().catch(this.#options.onFault);
  }

  handle(exchange: Exchange): void {
    const { messages, access, transport } = this.#options;
    if (this.#up === undefined) return this.#forwarder.forward(exchange.request, exchange.response);
    // Remote servers get no headers of clients.
    if (!this.#up.isRemote && !this.#isForeign(exchange)) {
      // Middleware must see every message, and sessions belong to principals.
      const isGuarded = !messages.isEmpty || access !== undefined;
      // What is not MCP can be passed through unless that would be a way around a rule.
      const mayPass = access === undefined && messages.onlyObserves;
      const isOther = transport === 'streamable-http' && exchange.path !== '/mcp';
      if (!isGuarded || (isOther && mayPass))
        return this.#forwarder.forward(exchange.request, exchange.response);
      if (transport === 'streamable-http') return this.#guarded.handle(exchange);
    }
    if (this.#up.callersAuthenticate && exchange.credentials !== undefined && !this.#isForeign(exchange))
      return this.#guarded.handle(exchange);
    // Several principals use the bridge's connections, so no principal's token may be used on them.
    if (exchange.credentials !== undefined)
      return replyText(
        exchange.response,
        501,
        'tokens are exchanged only for clients that use the same protocol version as the server',
      );
    this.#openBridge();
    serveEndpoint(this.#bridge, exchange);
  }

  openSessions(): OpenSession[] {
    return [...this.#bridge.openSessions(), ...this.#guarded.openSessions()];
  }

  async endSession(id: string): Promise<boolean> {
    return this.#bridge.endSession(id) || (await this.#guarded.endSession(id));
  }

  async close(): Promise<void> {
    this.disconnect('the workload was stopped', true);
    await this.#bridge[Symbol.asyncDispose]();
    await this.#forwarder[Symbol.asyncDispose]();
  }

  /** Whether the client uses another transport or other protocol versions than the server. */
  #isForeign({ request, path, query }: Exchange): boolean {
    const { transport } = this.#options;
    const isStreamable = path === '/mcp' || (path === '/sse' && request.method === 'POST');
    if (transport === 'sse') return isStreamable;
    if (path === '/sse' || (path === messagesPath && query.includes('session_id='))) return true;
    // A server that tells its generation to authenticated callers only answers each of them for itself.
    if (path !== '/mcp' || this.#generation === undefined) return false;
    const isModern = isModernRequest(request.headers, undefined);
    return isModern
      ? this.#generation !== 'modern'
      : this.#generation === 'modern' && this.#legacy === undefined;
  }

  /** Performs the handshake for clients that need the bridge. Their requests wait for that. */
  #openBridge(): void {
    const up = this.#up;
    if (up === undefined || up.bridged !== undefined) return;
    const signal = AbortSignal.any([up.over.signal, AbortSignal.timeout(handshakeMs)]);
    const server = {
      transport: this.#transport(up, this.#generation),
      openTransport: async () => this.#transport(up, 'legacy'),
      generation: this.#generation,
      legacy: this.#legacy ?? 'unsupported',
    } as const;
    up.bridged = this.#bridge.connect(server, signal).catch((error: unknown) => {
      up.bridged = undefined; // the next one tries again
      this.#bridge.disconnect(messageOf(error), true);
    });
  }

  #transport({ endpoint }: Up, generation: ProtocolGeneration = 'legacy'): Transport {
    const { transport } = this.#options;
    if (transport === 'sse') return new SseTransport(endpoint);
    return new HttpTransport({
      endpoint,
      generation,
      mirrored: (tool) => this.#bridge.mirrored(tool),
    });
  }
}
