/**
 * Waiting things of several owners. The owners take turns, and the things of one owner keep their order. So one owner
 * delays another by one thing at most, however many it has.
 */
export class Rotation<Thing> {
  /** The owners in the order of their turns. */
  readonly #waiting = new Map<string, Thing[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(owner: string, thing: Thing): void {
    const things = this.#waiting.get(owner);
    if (things === undefined) this.#waiting.set(owner, [thing]);
    else things.push(thing);
    this.#size += 1;
  }

  /** Removes the next thing of the owner whose turn it is. */
  next(): Thing | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [owner, things] = first;
    const thing = things.shift();
    this.#size -= 1;
    this.#waiting.delete(owner);
    if (things.length > 0) this.#waiting.set(owner, things);
    return thing;
  }

  clear(): void {
    this.#waiting.clear();
    this.#size = 0;
  }
}
