import { notFound, unavailable } from '@toolhive/contract/failure';
import type { Progress } from '@toolhive/runtime/runtime';
import type { Condition } from './state.ts';

interface Follower {
  report: Progress;
  settle: (condition: Condition) => void;
}

/** The callers that wait until a workload runs and follow its progress. */
export class Followers {
  readonly #workload: string;
  readonly #followers = new Set<Follower>();

  constructor(workload: string) {
    this.#workload = workload;
  }

  /**
   * Passes progress to `report` until the workload runs or is stopped, or until the signal aborts. Throws the reason
   * if the workload failed, and `not-found` if it is removed.
   */
  async follow(condition: Condition, report: Progress, signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const settle = ({ status, context }: Condition): void => {
      if (status === 'running' || status === 'stopped') resolve();
      else if (status === 'error') reject(unavailable(context ?? 'it failed', { hint: this.#failureHint() }));
      else if (status === 'removing') reject(notFound(`workload ${this.#workload} was removed`));
    };
    const follower: Follower = { report, settle };
    this.#followers.add(follower);
    const giveUp = (): void => resolve(); // the caller is gone, which does not affect the workload
    signal?.addEventListener('abort', giveUp, { once: true });
    settle(condition);
    try {
      await promise;
    } finally {
      this.#followers.delete(follower);
      signal?.removeEventListener('abort', giveUp);
    }
  }

  report(message: string): void {
    for (const follower of this.#followers) follower.report(message);
  }

  changed(condition: Condition): void {
    for (const follower of this.#followers) follower.settle(condition);
  }

  #failureHint(): string {
    const name = this.#workload;
    return `run thv logs ${name} to see its output, thv restart ${name} to try again, or thv rm ${name} to remove it`;
  }
}
