import { Rotation } from './rotation.ts';

/** Runs a limited number of tasks at the same time. Owners take turns, and the tasks of one owner keep their order. */
export class Turns {
  readonly #waiting = new Rotation<() => void>();
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  async run<Result>(task: () => Promise<Result>, owner = ''): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.add(owner, resolve));
    try {
      return await task();
    } finally {
      const next = this.#waiting.next();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
