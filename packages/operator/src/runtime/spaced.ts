/** Lets reports of the same problem through after growing numbers of repetitions: the 1st, the 2nd, the 4th, and so on. */
export class Spaced {
  readonly #counts = new Map<string, number>();

  isDue(problem: string): boolean {
    const count = (this.#counts.get(problem) ?? 0) + 1;
    this.#counts.set(problem, count);
    return Number.isInteger(Math.log2(count));
  }

  forget(problem: string): void {
    this.#counts.delete(problem);
  }
}
