/**
 * Runs a task repeatedly, but never twice at once. Requests during a run share one further run, so each caller waits
 * for a run that started after the request.
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
