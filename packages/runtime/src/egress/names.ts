/** How many names a server can have looked up at once. */
export const MAX_NAMES = 4096;
/** 198.18.0.0/15 is for benchmarks of networks (RFC 2544), so that no real host has one of its addresses. */
const FIRST = (198 << 24) | (18 << 16);
/** The first addresses are the gateway's own. */
const RESERVED = 256;
/** How many sandboxes can have an address at once. The upper quarter is for them. */
export const MAX_SANDBOXES = 2 ** 15;
const COUNT = 2 ** 17 - MAX_SANDBOXES - RESERVED;

/** The address of a sandbox with a number below `MAX_SANDBOXES`. */
export const sandboxAddress = (number: number): string => dotted(FIRST + RESERVED + COUNT + number);

interface KnownNames {
  /** What programs may still use, the least recently used first. */
  known?: readonly (readonly [name: string, address: string])[] | undefined;
  onName?: ((name: string, address: string) => void) | undefined;
}

/** One synthetic address per resolved name, which identifies the name of a connection. */
export class Names {
  readonly #addresses = new Map<string, string>();
  readonly #names = new Map<string, string>();
  readonly #isInUse: (name: string) => boolean;
  readonly #onName: (name: string, address: string) => void;
  #next = 0;

  /** A name that `isInUse` keeps its address when there are too many. Each new name goes to `onName`. */
  constructor(isInUse: (name: string) => boolean, { known = [], onName = () => {} }: KnownNames = {}) {
    this.#isInUse = isInUse;
    this.#onName = onName;
    for (const [name, address] of known) this.#assign(name, address);
    this.#next = known.length;
  }

  /** The address of a name. Undefined if too many names are in use. */
  addressOf(name: string): string | undefined {
    const known = this.#addresses.get(name);
    if (known !== undefined) {
      this.#addresses.delete(name); // the least recently used one is the first
      this.#addresses.set(name, known);
      return known;
    }
    if (this.#addresses.size >= MAX_NAMES && !this.#dropOne()) return undefined;
    // In turn, so that an address that clients still remember does not soon mean another name.
    let address: string;
    do address = dotted(FIRST + RESERVED + (this.#next++ % COUNT));
    while (this.#names.has(address));
    this.#assign(name, address);
    this.#onName(name, address);
    return address;
  }

  nameOf(address: string): string | undefined {
    return this.#names.get(address);
  }

  #assign(name: string, address: string): void {
    this.#addresses.set(name, address);
    this.#names.set(address, name);
  }

  #dropOne(): boolean {
    for (const [name, address] of this.#addresses) {
      if (this.#isInUse(name)) continue;
      this.#addresses.delete(name);
      this.#names.delete(address);
      return true;
    }
    return false;
  }
}

/** Whether an address is of the range of synthetic addresses. */
export const isSynthetic = (address: string): boolean => /^198\.1[89]\./.test(address);

const dotted = (number: number): string =>
  [number >>> 24, (number >> 16) & 255, (number >> 8) & 255, number & 255].join('.');
