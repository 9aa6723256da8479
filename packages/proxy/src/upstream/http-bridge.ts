import { messageOf } from '@toolhive/contract/failure';
import { Bridge } from '../bridge/bridge.ts';
import { defaultLimits } from '../bridge/limits.ts';
import { serveEndpoint } from '../endpoint/endpoint.ts';
import type { Exchange } from '../middleware/middleware.ts';
import type { ProtocolGeneration } from '../protocol/protocol.ts';
import { HttpTransport } from '../transport/http-transport.ts';
import type { Examined, HttpTransportKind } from '../transport/readiness.ts';
import { SseTransport } from '../transport/sse-transport.ts';
import type { EarlierSession, Transport } from '../transport/transport.ts';
import type { UpstreamClient } from '../transport/upstream-client.ts';
import type { UpstreamOptions } from './upstream.ts';

/** How long the handshake for them may take. */
const handshakeMs = 30_000;

export interface HttpUpstreamOptions extends UpstreamOptions {
  transport: HttpTransportKind;
}

/** A running server, until `over` aborts. */
export interface BridgedServer extends Partial<Examined> {
  endpoint: UpstreamClient;
  over: AbortController;
}

/** A bridge to a server that speaks HTTP. Connects when the first client needs the bridge. */
export class HttpBridge implements AsyncDisposable {
  readonly bridge: Bridge;
  readonly #transport: HttpTransportKind;
  /** Settles when the bridge is connected. Absent until a client needs the bridge. */
  #connected: Promise<void> | undefined;

  constructor(options: HttpUpstreamOptions) {
    this.#transport = options.transport;
    this.bridge = new Bridge({
      ...options,
      // A conversation costs no process.
      sessions: options.sessions === 'auto' ? 'own' : options.sessions,
      limits: {
        ...defaultLimits,
        maxOwn: options.files.budgets.conversations,
        maxStarting: Number.POSITIVE_INFINITY,
        ...options.limits,
      },
      isSlowToStart: false,
      onLost: () => (this.#connected = undefined), // the next client opens another one
    });
  }

  /** Answers a request. Requests wait for the handshake. */
  serve(exchange: Exchange, server: BridgedServer): void {
    if (this.#connected === undefined) this.#connected = this.#connect(server);
    serveEndpoint(this.bridge, exchange);
  }

  disconnect(reason: string, final: boolean): void {
    this.#connected = undefined;
    this.bridge.disconnect(reason, final);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.bridge[Symbol.asyncDispose]();
  }

  async #connect({ endpoint, over, generation, legacy }: BridgedServer): Promise<void> {
    const signal = AbortSignal.any([over.signal, AbortSignal.timeout(handshakeMs)]);
    const server = {
      transport: this.open(endpoint, generation),
      openTransport: async (_over: AbortSignal, earlier?: EarlierSession) =>
        this.open(endpoint, 'legacy', earlier),
      generation,
      legacy: legacy ?? 'unsupported',
    } as const;
    try {
      await this.bridge.connect(server, signal);
    } catch (error) {
      if (over.signal.aborted) return; // the next server has a connection of its own
      this.#connected = undefined; // the next client tries again
      this.bridge.disconnect(messageOf(error), true);
    }
  }

  /** Opens a conversation with the server. */
  open(
    endpoint: UpstreamClient,
    generation: ProtocolGeneration = 'legacy',
    earlier?: EarlierSession,
  ): Transport {
    if (this.#transport === 'sse') return new SseTransport(endpoint);
    const mirrored = (tool: string) => this.bridge.mirrored(tool);
    return new HttpTransport({ endpoint, generation, mirrored, earlier });
  }
}
