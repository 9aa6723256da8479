import { alwaysListening } from '../egress.ts';
import { EgressNamespace, type EgressTools } from './egress-namespace.ts';

/**
 * Makes namespaces for servers with network rules. From the first one on, another is made in advance, so that a further
 * server starts as fast as one without a network.
 */
export class EgressNamespaces {
  #spare: Promise<EgressNamespace> | undefined;

  /** One with a listener for each of the ports. The caller owns it. */
  async take(tools: EgressTools, ports: readonly number[]): Promise<EgressNamespace> {
    if (!ports.every((port) => alwaysListening.has(port))) return EgressNamespace.open(tools, ports);
    const spare = this.#spare; // nobody else may have it, so it is taken before anything is awaited
    this.#spare = EgressNamespace.open(tools, []);
    this.#spare.catch(() => {}); // told to whoever takes it
    return spare?.catch(() => EgressNamespace.open(tools, [])) ?? EgressNamespace.open(tools, []);
  }
}
