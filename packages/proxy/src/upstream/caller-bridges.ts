import type { ConnectionCount } from '@toolhive/runtime/open-files';
import type { OpenSession } from '../bridge/bridge.ts';
import type { WorkloadInput } from '../input/workload-input.ts';
import type { Exchange, Principal } from '../middleware/middleware.ts';
import { UpstreamClient } from '../transport/upstream-client.ts';
import type { ServerAddress } from '../transport/upstream-client.ts';
import { HttpBridge } from './http-bridge.ts';
import type { HttpUpstreamOptions } from './http-bridge.ts';

/** How many callers may have a bridge at once. */
const maxCallers = 1000;
/** How long the bridge of a caller without sessions is kept. */
const keepMs = 10 * 60_000;

/** Claims that differ between two tokens that allow the same (RFC 7519, section 4.1). */
const fleetingClaims = ['exp', 'iat', 'nbf', 'jti', 'auth_time', 'nonce'];

/** The connections of one caller to the server. */
export interface CallerConnection {
  endpoint: UpstreamClient;
  bridge: HttpBridge;
}

interface OpenCaller extends CallerConnection {
  credentials: Readonly<Record<string, string>>;
  usedMs: number;
}

/**
 * Bridges for callers that have separate credentials at the server (RFC 8693). The connections of a bridge carry
 * credentials, so no two callers share a bridge, and neither do two tokens of one caller that allow different things.
 */
export class CallerBridges {
  readonly #options: HttpUpstreamOptions;
  readonly #count: ConnectionCount;
  readonly #now: () => number;
  readonly #callers = new Map<string, OpenCaller>();
  readonly #sweeping: NodeJS.Timeout;

  /** `count` limits the connections of all callers. */
  constructor(options: HttpUpstreamOptions, count: ConnectionCount) {
    this.#options = options;
    this.#count = count;
    this.#now = options.now ?? Date.now;
    this.#sweeping = setInterval(() => this.#sweep(this.#now() - keepMs), keepMs / 10).unref();
  }

  /** Returns the connections of an exchange's caller, with the newest credentials. Returns undefined if too many callers are connected. */
  of(
    { principal }: Exchange,
    credentials: Readonly<Record<string, string>>,
    address: ServerAddress,
    path: string,
  ): CallerConnection | undefined {
    const key = keyOf(principal);
    const known = this.#callers.get(key);
    if (known !== undefined) {
      known.credentials = credentials;
      known.usedMs = this.#now();
      return known;
    }
    if (this.#callers.size >= maxCallers) this.#sweep(this.#now());
    if (this.#callers.size >= maxCallers) return undefined;
    const { input }: { input: WorkloadInput } = this.#options;
    const endpoint = new UpstreamClient(address, path, {
      input,
      count: this.#count,
      callerHeaders: () => caller.credentials,
    });
    const bridge = new HttpBridge(this.#options);
    const caller: OpenCaller = { endpoint, bridge, credentials, usedMs: this.#now() };
    this.#callers.set(key, caller);
    return caller;
  }

  openSessions(): OpenSession[] {
    return [...this.#callers.values()].flatMap(({ bridge }) => bridge.bridge.openSessions());
  }

  endSession(id: string): boolean {
    return [...this.#callers.values()].some(({ bridge }) => bridge.bridge.endSession(id));
  }

  /** Closes all bridges, because the server is gone. */
  disconnect(reason: string): void {
    for (const [key, caller] of this.#callers) this.#close(key, caller, reason);
  }

  close(): void {
    clearInterval(this.#sweeping);
    this.disconnect('the workload was stopped');
  }

  #sweep(unusedSinceMs: number): void {
    for (const [key, caller] of this.#callers) {
      const { bridge } = caller.bridge;
      const isIdle = bridge.openSessions().length === 0 && bridge.pending.size === 0;
      if (isIdle && caller.usedMs <= unusedSinceMs) this.#close(key, caller, 'the caller has disconnected');
    }
  }

  #close(key: string, { bridge, endpoint }: OpenCaller, reason: string): void {
    const { onFault } = this.#options;
    this.#callers.delete(key);
    bridge.disconnect(reason, true);
    void bridge[Symbol.asyncDispose]()
      .then(() => endpoint[Symbol.asyncDispose]())
      .catch(onFault);
  }
}

function keyOf({ id, claims = {} }: Principal): string {
  const lasting = Object.entries(claims).filter(([name]) => !fleetingClaims.includes(name));
  return JSON.stringify([id, lasting.toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}
