import { cancelled } from '@toolhive/contract/failure';
import type { PrepareOptions } from '../runtime.ts';

/** Lets a limited number of tasks run at the same time. Others wait in the order of their calls. */
export class Places {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Throws `cancelled` if the caller gives up while the task waits. */
  async run<Result>(
    task: () => Promise<Result>,
    { report, signal }: Pick<PrepareOptions, 'report' | 'signal'>,
  ): Promise<Result> {
    await this.#take(report, signal);
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }

  async #take(report: PrepareOptions['report'], signal: AbortSignal): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    report('waiting for other installations');
    const turn = Promise.withResolvers<void>();
    const giveUp = (): void => {
      const at = this.#waiting.indexOf(turn.resolve);
      // Without an entry, the turn has come already.
      if (at !== -1) this.#waiting.splice(at, 1);
      if (at !== -1) turn.reject(cancelled('the preparation was cancelled'));
    };
    this.#waiting.push(turn.resolve);
    signal.addEventListener('abort', giveUp);
    try {
      await turn.promise;
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }
}
