import type { Server, Socket } from 'node:net';
import { type ConnectionLimits, ConnectionLimiter } from './connection-limiter.ts';
import type { EgressGateway } from './gateway.ts';
import { takeConnections } from './outbound.ts';

/** The listeners in the network namespace that all sandboxes share, and which gateway each connection is for. */
export class SharedListeners {
  readonly #listeners = new Map<number, Server>();
  readonly #limiters = new Map<string, ConnectionLimiter>();
  readonly #limits: ConnectionLimits;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  add(listener: Server): void {
    const address = listener.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    this.#listeners.get(port)?.close();
    this.#listeners.set(port, listener);
    listener.on('error', () => {}); // one connection could not be accepted
    takeConnections(listener, (inner) => this.#accept(inner));
  }

  close(port: number): void {
    this.#listeners.get(port)?.close();
    this.#listeners.delete(port);
  }

  /** Passes connections from an address to a gateway, until disposal. `setUp` takes the network device there up or down. */
  enter(source: string, gateway: EgressGateway, setUp: (isUp: boolean) => Promise<boolean>): Disposable {
    const limiter = new ConnectionLimiter(gateway, setUp, this.#limits);
    this.#limiters.set(source, limiter);
    return {
      [Symbol.dispose]: () => {
        limiter[Symbol.dispose]();
        if (this.#limiters.get(source) === limiter) this.#limiters.delete(source);
      },
    };
  }

  /** The remote address identifies the sandbox, because the kernel has checked each packet's source. */
  #accept(inner: Socket): void {
    const limiter = this.#limiters.get(inner.remoteAddress ?? '');
    if (limiter === undefined) inner.on('error', () => {}).resetAndDestroy();
    else limiter.admit(inner);
  }
}
