import { type HostPattern, parseHostPattern } from './host-patterns.ts';

/** What a permission profile allows outbound. Both lists must allow a connection. */
export interface OutboundRules {
  /** Patterns of hosts. Absent means every public host. */
  hosts?: readonly string[];
  /** Allows every public host beside `hosts`. */
  everyPublicHost?: boolean;
  ports: readonly number[];
  /** Ports of this machine's loopback address, which the server reaches at its own loopback address. */
  localPorts?: readonly number[];
}

/** The target of a connection: a resolved name, or an address that the server uses directly. */
export type Destination = { name: string } | { address: string };

/** The rule that a denied connection lacks. `nothing` if no rule could allow it. */
export type MissingRule = 'host' | 'port' | 'address' | 'nothing';

export type Verdict =
  | { isAllowed: true; rule: string; mayBePrivate: boolean }
  | { isAllowed: false; reason: string; missing: MissingRule };

/** The outbound rules of one workload, ready to be asked. */
export class Rules {
  /** The rules as data. */
  readonly outbound: OutboundRules;
  readonly ports: readonly number[];
  readonly localPorts: readonly number[];
  readonly #patterns: readonly HostPattern[] | undefined;
  readonly #everyPublicHost: boolean;

  /** Throws `invalid` for a host that is none. */
  constructor(outbound: OutboundRules) {
    const { hosts, everyPublicHost = hosts === undefined, ports, localPorts = [] } = outbound;
    this.outbound = outbound;
    this.ports = ports;
    this.localPorts = localPorts;
    this.#patterns = hosts?.map(parseHostPattern);
    this.#everyPublicHost = everyPublicHost;
  }

  /** Whether a lookup of the name is allowed, because some connection to it is allowed. */
  forName(name: string): Verdict {
    if (this.ports.length === 0) return noPort;
    return this.#forHost({ name });
  }

  forConnection(destination: Destination, port: number): Verdict {
    const verdict = this.#forHost(destination);
    if (!verdict.isAllowed || this.ports.includes(port)) return verdict;
    return { isAllowed: false, reason: `port ${port} is not allowed`, missing: 'port' };
  }

  /** Whether an address is listed. A listed address may be private, and names may resolve to it. */
  listsAddress(address: string): boolean {
    return this.#patterns?.some((pattern) => pattern.matchesAddress(address)) === true;
  }

  #forHost(destination: Destination): Verdict {
    const found = this.#patterns?.find((pattern) =>
      'name' in destination
        ? pattern.matchesName(destination.name)
        : pattern.matchesAddress(destination.address),
    );
    if (found !== undefined) {
      return { isAllowed: true, rule: `allow_host: ${found.text}`, mayBePrivate: 'address' in destination };
    }
    if (this.#everyPublicHost) return { isAllowed: true, rule: 'public hosts', mayBePrivate: false };
    return { isAllowed: false, reason: 'no rule allows this host', missing: 'host' };
  }
}

const noPort: Verdict = { isAllowed: false, reason: 'no port is allowed', missing: 'port' };
