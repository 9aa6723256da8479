import { availableParallelism } from 'node:os';
import { isLoopback } from '@toolhive/contract/loopback';
import { describeExit } from '@toolhive/runtime/runtime';
import { raiseFault } from '@toolhive/contract/fault';
import { Bridge } from '../bridge/bridge.ts';
import type { OpenSession } from '../bridge/bridge.ts';
import { checkList } from '../connection/session-check.ts';
import { defaultLimits } from '../bridge/limits.ts';
import { serveEndpoint } from '../endpoint/endpoint.ts';
import type { WorkloadInput } from '../input/workload-input.ts';
import type { Exchange } from '../middleware/middleware.ts';
import type { ProtocolGeneration } from '../protocol/protocol.ts';
import { StdioTransport } from '../transport/stdio-transport.ts';
import type { Transport } from '../transport/transport.ts';
import type { Upstream, UpstreamOptions, RunningServer, StartInstance } from './upstream.ts';

/** How long a client's process may take to exit. */
const stopMs = 2_000;

/** A stdio server. All clients use it through the bridge. */
export class StdioUpstream implements Upstream {
  readonly #bridge: Bridge;
  readonly #input: WorkloadInput;
  readonly #version: string;

  constructor(options: UpstreamOptions) {
    this.#input = options.input;
    this.#version = options.version;
    this.#bridge = new Bridge({
      ...options,
      limits: {
        ...defaultLimits,
        // The state of a session must not be lost while the session lives.
        ...(options.sessions === 'auto' ? { ownIdleMs: Number.POSITIVE_INFINITY } : {}),
        maxOwn: options.files.budgets.processes,
        maxStarting: Math.max(2, availableParallelism()),
        ...options.limits,
      },
      isPublic: isPublic(options),
      isSlowToStart: true,
    });
  }

  get serverVersion(): string | undefined {
    return this.#bridge.connection?.identity.protocolVersion;
  }

  get sharing(): string {
    return this.#bridge.legacySupport.isUnsupported
      ? 'one process for all sessions, because its protocol version has no sessions'
      : this.#bridge.sharing.description;
  }

  get generation(): ProtocolGeneration | undefined {
    return this.#bridge.generation;
  }

  connect(instance: RunningServer, startAnother: StartInstance, signal: AbortSignal): Promise<void> {
    const openTransport = async (over: AbortSignal): Promise<Transport> => {
      const another = await startAnother(over);
      const transport = this.#transportTo(another, () => another.stop(stopMs));
      another.exited.then((exit) => transport.ended(`it ${describeExit(exit)}`)).catch(raiseFault);
      return transport;
    };
    const { version, rest } = instance;
    const transport = this.#transportTo(instance);
    return this.#bridge.connect({ transport, openTransport, rest, version }, signal);
  }

  async checkSession(signal: AbortSignal): Promise<string | undefined> {
    const { connection } = this.#bridge; // the handshake of a session is over
    return connection === undefined ? undefined : checkList(connection, this.#version, signal);
  }

  disconnect(reason: string, final: boolean): void {
    this.#bridge.disconnect(reason, final);
  }

  handle(exchange: Exchange): void {
    serveEndpoint(this.#bridge, exchange);
  }

  openSessions(): OpenSession[] {
    return this.#bridge.openSessions();
  }

  async endSession(id: string): Promise<boolean> {
    return this.#bridge.endSession(id);
  }

  close(): Promise<void> {
    return this.#bridge[Symbol.asyncDispose]();
  }

  #transportTo({ stdio }: RunningServer, end?: () => Promise<void>): StdioTransport {
    if (stdio === undefined) throw new Error('a bridge needs an instance that speaks stdio');
    return new StdioTransport({ ...stdio, limits: this.#input, end });
  }
}

/** Whether people on other machines can use the proxy without authentication, or from behind another proxy. */
function isPublic({ access, host, trustProxyHeaders }: UpstreamOptions): boolean {
  return access === undefined && (!isLoopback(host) || trustProxyHeaders === true);
}
