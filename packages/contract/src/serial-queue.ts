/**
 * Runs tasks one after the other, in the order of the calls. A task that fails rejects only for its caller, and the
 * following tasks still run.
 */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  run<Result>(task: () => Promise<Result> | Result): Promise<Result> {
    const done = this.#last.then(task);
    this.#last = done.catch(() => {}); // rejects for the caller, without an effect on later tasks
    return done;
  }

  /** Returns when all tasks that were added so far have ended. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

/** One serial queue for each key, which exists only while it has tasks. Tasks with different keys run at the same time. */
export class KeyedSerialQueue<Key = string> {
  readonly #queues = new Map<Key, { queue: SerialQueue; tasks: number }>();

  async run<Result>(key: Key, task: () => Promise<Result> | Result): Promise<Result> {
    const entry = this.#queues.get(key) ?? { queue: new SerialQueue(), tasks: 0 };
    this.#queues.set(key, entry);
    entry.tasks += 1;
    try {
      return await entry.queue.run(task);
    } finally {
      entry.tasks -= 1;
      if (entry.tasks === 0) this.#queues.delete(key);
    }
  }

  /** How many keys have tasks. */
  get size(): number {
    return this.#queues.size;
  }
}
