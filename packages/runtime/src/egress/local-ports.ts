import { AsyncLocalStorage } from 'node:async_hooks';
import type { Server, Socket } from 'node:net';
import type { Egress } from '../egress.ts';
import type { Connections } from './connection-places.ts';
import { Budget, type ConnectionLimits } from './connection-limiter.ts';
import { Refused, isOfNetwork, join, reach, takeConnections } from './outbound.ts';

interface LocalPortsOptions {
  /** On loopback addresses in the network namespace of the server. */
  listeners: readonly Server[];
  egress: Pick<Egress, 'rules' | 'record'>;
  connections: Connections;
  limits: ConnectionLimits;
  /** Whether a connection may go to a local port, as its listeners are at the moment. */
  mayReach: (port: number) => Promise<boolean>;
  onFault: (error: unknown) => void;
}

/** The name that appears in the record. */
const HOST = 'localhost';

/**
 * Joins connections to a server's own loopback address with the same port of this machine's loopback address. The port is
 * that of the listener, so nothing that the server sends decides where a connection leads.
 */
export class LocalPorts implements Disposable {
  readonly #options: LocalPortsOptions;
  readonly #budget: Budget;
  readonly #open = new Map<Socket, number>();

  constructor(options: LocalPortsOptions) {
    this.#options = options;
    this.#budget = new Budget(options.limits);
    const accept = AsyncLocalStorage.bind((inner: Socket) => this.#accept(inner));
    for (const listener of options.listeners) {
      listener.on('error', () => {}); // one connection could not be accepted
      takeConnections(listener, accept);
    }
  }

  /** Ends the connections that the rules do not allow any more. */
  applyRules(): void {
    for (const [inner, port] of this.#open) if (!this.#isGranted(port)) inner.resetAndDestroy();
  }

  [Symbol.dispose](): void {
    for (const listener of this.#options.listeners) listener.close();
  }

  #isGranted(port: number): boolean {
    return this.#options.egress.rules.localPorts.includes(port);
  }

  #accept(inner: Socket): void {
    inner.on('error', () => {});
    const port = inner.localPort ?? 0;
    if (!this.#budget.take()) {
      inner.resetAndDestroy();
      // Each connection of a flood would keep this process busy, which serves other servers, too.
      this[Symbol.dispose]();
      this.#refuse(
        port,
        'the server opened too many connections at once, so it has no local ports until it restarts',
      );
    } else if (this.#options.connections.take(inner)) {
      this.#open.set(inner, port);
      inner.on('close', () => this.#open.delete(inner));
      this.#forward(inner, port).catch((error: unknown) => {
        inner.destroy();
        this.#options.onFault(error);
      });
    } else {
      inner.resetAndDestroy();
    }
  }

  async #forward(inner: Socket, port: number): Promise<void> {
    try {
      if (!this.#isGranted(port)) throw new Refused(`the local port ${port} is not allowed`, 'nothing');
      const destination = { name: HOST };
      const outer = await reach(inner, { destination, port, addresses: ['127.0.0.1', '::1'] });
      outer.pause(); // before anything is read
      // Ports move, so the decision is about the listener that has accepted the connection.
      const mayReach = await this.#options.mayReach(port);
      if (inner.destroyed || outer.destroyed) return;
      if (!mayReach || !this.#isGranted(port)) {
        outer.destroy();
        throw new Refused('the port belongs to ToolHive, or is not allowed any more', 'nothing');
      }
      const rule = `local port ${port}`;
      const ended = this.#options.egress.record({ host: HOST, port, verdict: 'allowed', rule });
      join(inner, outer, (traffic) => ended?.(traffic));
      outer.resume();
    } catch (error) {
      const isGone = inner.destroyed;
      inner.resetAndDestroy();
      if (error instanceof Refused) this.#refuse(port, error.message);
      else if (!isOfNetwork(error)) throw error;
      else if (!isGone) this.#refuse(port, 'no program accepts connections to this port of this machine');
    }
  }

  #refuse(port: number, reason: string): void {
    this.#options.egress.record({ host: HOST, port, verdict: 'denied', reason, missing: 'nothing' });
  }
}
