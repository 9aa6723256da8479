import { alwaysListening } from '../egress.ts';

/** How long a server that is being started has the machine to itself. */
const PREPARATION_DELAY_MS = 300;

interface Rules<Network> {
  isUsable: (network: Network) => boolean;
  drop: (network: Network) => void;
}

/**
 * Networks with a gateway, made in advance: after each start others are made, so that a further server starts as fast as
 * one without a network.
 */
export class PreparedNetworks<Network> {
  /** How many are kept. */
  readonly #wanted: number;
  readonly #prepared: Promise<Network>[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(wanted = 1) {
    this.#wanted = wanted;
  }

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
    const prepared = this.#prepared.shift(); // taken before the first await, so that no other caller can take the same one
    const found = await prepared?.catch(() => undefined); // the failure appears again below
    try {
      if (found === undefined) return await make([]);
      if (isUsable(found)) return found;
      drop(found);
      return await make([]);
    } finally {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#prepare(make), PREPARATION_DELAY_MS).unref();
    }
  }

  /** Keeps a network for the next taker, unless there are enough already. Returns whether it did. */
  offer(network: Network): boolean {
    if (this.#prepared.length >= this.#wanted) return false;
    this.#prepared.push(Promise.resolve(network));
    return true;
  }

  /** Makes one after the other, as long as no server starts. */
  #prepare(make: (ports: readonly number[]) => Promise<Network>): void {
    if (this.#prepared.length >= this.#wanted) return;
    const made = make([]);
    this.#prepared.push(made);
    made.then(
      () => this.#prepare(make),
      () => {}, // the next taker receives the error
    );
  }
}
