/** Items that wait for one reader, in bounded memory. */
export class Backlog<Item> {
  readonly #limit: number;
  #waiting: Item[] = [];
  #isTooSlow = false;
  #isOver = false;
  #wake = (): void => {};

  /** If more than `limit` items wait, drops all of them and notifies the reader. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  take(item: Item): void {
    if (this.#waiting.length >= this.#limit) {
      this.#waiting = [];
      this.#isTooSlow = true;
    }
    if (!this.#isTooSlow) this.#waiting.push(item);
    this.#wake();
  }

  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  async next(): Promise<Item | 'too slow' | 'over'> {
    for (;;) {
      if (this.#isOver) return 'over';
      const item = this.#waiting.shift();
      if (item !== undefined) return item;
      if (this.#isTooSlow) {
        this.#isTooSlow = false;
        return 'too slow';
      }
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
