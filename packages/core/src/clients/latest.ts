/**
 * Runs a task over and over, never twice at once. Those who ask while it runs share one further run, so each of them
 * waits for a run that began after asking.
 */
export class Latest {
  readonly #task: () => Promise<void>;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(task: () => Promise<void>) {
    this.#task = task;
  }

  async request(): Promise<void> {
    await (this.#next ??= this.#run(this.#running));
  }

  async #run(earlier: Promise<void> | undefined): Promise<void> {
    await earlier?.catch(() => {}); // a failure is for those who waited for that run
    this.#next = undefined;
    await (this.#running = this.#task());
  }
}
