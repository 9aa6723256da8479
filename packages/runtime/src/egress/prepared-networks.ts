import { alwaysListening } from '../egress.ts';

/** How long a server that is being started has the machine to itself. */
const PREPARATION_DELAY_MS = 300;

interface Rules<Network> {
  isUsable: (network: Network) => boolean;
  drop: (network: Network) => void;
}

/**
 * Networks with a gateway, made in advance: after each start another one is made, so that a further server starts as
 * fast as one without a network.
 */
export class PreparedNetworks<Network> {
  #prepared: Promise<Network> | undefined;

  /**
   * Returns a network with a listener for each of the ports, which the caller owns. `make` makes one with listeners for
   * these ports and those where gateways always listen. A prepared network that `isUsable` rejects is passed to `drop`.
   */
  async take(
    ports: readonly number[],
    make: (ports: readonly number[]) => Promise<Network>,
    { isUsable, drop }: Rules<Network> = { isUsable: () => true, drop: () => {} },
  ): Promise<Network> {
    if (!ports.every((port) => alwaysListening.has(port))) return make(ports);
    const prepared = this.#prepared; // taken before the first await, so that no other caller can take the same one
    this.#prepared = undefined;
    const found = await prepared?.catch(() => undefined); // the failure appears again below
    try {
      if (found === undefined) return await make([]);
      if (isUsable(found)) return found;
      drop(found);
      return await make([]);
    } finally {
      setTimeout(() => this.#prepare(make), PREPARATION_DELAY_MS).unref();
    }
  }

  /** Keeps a network for the next taker, unless there is one already. Returns whether it did. */
  offer(network: Network): boolean {
    if (this.#prepared !== undefined) return false;
    this.#prepared = Promise.resolve(network);
    return true;
  }

  #prepare(make: (ports: readonly number[]) => Promise<Network>): void {
    this.#prepared ??= make([]);
    this.#prepared.catch(() => {}); // the next taker receives the error
  }
}
