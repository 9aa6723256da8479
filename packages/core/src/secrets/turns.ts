/** Lets pieces of work happen one after the other, in the order in which they were asked for. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {}); // the caller is told; the next one is not concerned
    return done;
  }

  /** Returns when everything that was asked for so far is done. */
  async done(): Promise<void> {
    await this.#last;
  }
}
