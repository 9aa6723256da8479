/** Lets reports of the same problem through after growing numbers of repetitions: the 1st, the 2nd, the 4th, and so on. */
export class Spaced {
  readonly #counts = new Map<string, Map<string, number>>();

  isDue(place: string, problem: string): boolean {
    const counts = this.#counts.get(place) ?? new Map<string, number>();
    const count = (counts.get(problem) ?? 0) + 1;
    this.#counts.set(place, counts.set(problem, count));
    return Number.isInteger(Math.log2(count));
  }

  /** The place works again. */
  forget(place: string): void {
    this.#counts.delete(place);
  }
}
