/** Runs a limited number of tasks at the same time, in the order of the calls. */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  async run<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
