import type { Server, Socket } from 'node:net';
import { type ConnectionLimits, Entrance } from './entrance.ts';
import { type EgressGateway, takeConnections } from './gateway.ts';

/** The listeners in the network namespace that all sandboxes share, and which gateway each connection is for. */
export class SharedListeners {
  readonly #listeners = new Map<number, Server>();
  readonly #entrances = new Map<string, Entrance>();
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
    const entrance = new Entrance(gateway, setUp, this.#limits);
    this.#entrances.set(source, entrance);
    return {
      [Symbol.dispose]: () => {
        entrance[Symbol.dispose]();
        if (this.#entrances.get(source) === entrance) this.#entrances.delete(source);
      },
    };
  }

  /** The remote address identifies the sandbox, because the kernel has checked each packet's source. */
  #accept(inner: Socket): void {
    const entrance = this.#entrances.get(inner.remoteAddress ?? '');
    if (entrance === undefined) inner.on('error', () => {}).resetAndDestroy();
    else entrance.admit(inner);
  }
}
