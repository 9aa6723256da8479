/** How many entries are added before the others move to a new map, at least. */
const minAdded = 256;

/**
 * A map whose entries come and go, such as one entry for each open request. Keeps the order of insertion. Whether an
 * iteration contains entries that are added or deleted meanwhile is not defined.
 *
 * V8 gives a `Map` a new table after as many additions as the old one has places, and the old table points to the new
 * one. As soon as one of them is in the old generation, minor collections keep every later one, with everything in it.
 * Here a new `Map` takes the place of the old one now and then, which ends the chain.
 */
export class PassingMap<Key, Value> {
  #entries = new Map<Key, Value>();
  #added = 0;

  get size(): number {
    return this.#entries.size;
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: Key, value: Value): void {
    if (++this.#added > Math.max(minAdded, 2 * this.#entries.size)) {
      this.#entries = new Map(this.#entries);
      this.#added = 0;
    }
    this.#entries.set(key, value);
  }

  delete(key: Key): boolean {
    return this.#entries.delete(key);
  }

  clear(): void {
    this.#entries = new Map();
    this.#added = 0;
  }

  keys(): MapIterator<Key> {
    return this.#entries.keys();
  }

  values(): MapIterator<Value> {
    return this.#entries.values();
  }

  [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.#entries[Symbol.iterator]();
  }
}

/** A set whose elements come and go, see {@link PassingMap}. */
export class PassingSet<Element> {
  readonly #elements = new PassingMap<Element, undefined>();

  get size(): number {
    return this.#elements.size;
  }

  add(element: Element): void {
    this.#elements.set(element, undefined);
  }

  has(element: Element): boolean {
    return this.#elements.has(element);
  }

  delete(element: Element): boolean {
    return this.#elements.delete(element);
  }

  [Symbol.iterator](): MapIterator<Element> {
    return this.#elements.keys();
  }
}
