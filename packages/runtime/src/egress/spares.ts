import { alwaysListening } from '../egress.ts';

/** How long a server that is being started has the machine to itself. */
const SPARE_DELAY_MS = 300;

/**
 * Networks with a gateway, made in advance: after each start another one is made, so that a further server starts as
 * fast as one without a network.
 */
export class Spares<Network> {
  #spare: Promise<Network> | undefined;

  /**
   * Returns a network with a listener for each of the ports, which the caller owns. `make` makes one with listeners for
   * these ports and those where gateways always listen. A spare that `isUsable` rejects is dropped.
   */
  async take(
    ports: readonly number[],
    make: (ports: readonly number[]) => Promise<Network>,
    isUsable: (spare: Network) => boolean = () => true,
  ): Promise<Network> {
    if (!ports.every((port) => alwaysListening.has(port))) return make(ports);
    const spare = this.#spare; // nobody else may have it, so it is taken before anything is awaited
    this.#spare = undefined;
    const found = await spare?.catch(() => undefined); // that it failed shows again below
    try {
      return found !== undefined && isUsable(found) ? found : await make([]);
    } finally {
      setTimeout(() => this.#prepare(make), SPARE_DELAY_MS).unref();
    }
  }

  #prepare(make: (ports: readonly number[]) => Promise<Network>): void {
    this.#spare ??= make([]);
    this.#spare.catch(() => {}); // told to whoever takes it
  }
}
