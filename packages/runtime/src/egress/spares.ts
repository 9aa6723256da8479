import { alwaysListening } from '../egress.ts';

/** How long a server that is being started has the machine to itself. */
const SPARE_DELAY_MS = 300;

interface SpareRules<Network> {
  isUsable: (spare: Network) => boolean;
  drop: (spare: Network) => void;
}

/**
 * Networks with a gateway, made in advance: after each start another one is made, so that a further server starts as
 * fast as one without a network.
 */
export class Spares<Network> {
  #spare: Promise<Network> | undefined;

  /**
   * Returns a network with a listener for each of the ports, which the caller owns. `make` makes one with listeners for
   * these ports and those where gateways always listen. A spare that `isUsable` rejects is passed to `drop`.
   */
  async take(
    ports: readonly number[],
    make: (ports: readonly number[]) => Promise<Network>,
    { isUsable, drop }: SpareRules<Network> = { isUsable: () => true, drop: () => {} },
  ): Promise<Network> {
    if (!ports.every((port) => alwaysListening.has(port))) return make(ports);
    const spare = this.#spare; // taken before the first await, so that no other caller can take the same one
    this.#spare = undefined;
    const found = await spare?.catch(() => undefined); // the failure appears again below
    try {
      if (found === undefined) return await make([]);
      if (isUsable(found)) return found;
      drop(found);
      return await make([]);
    } finally {
      setTimeout(() => this.#prepare(make), SPARE_DELAY_MS).unref();
    }
  }

  #prepare(make: (ports: readonly number[]) => Promise<Network>): void {
    this.#spare ??= make([]);
    this.#spare.catch(() => {}); // the next taker receives the error
  }
}
