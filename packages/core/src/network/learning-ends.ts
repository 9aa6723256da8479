import { messageOf } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import type { WorkloadId } from '@toolhive/state/workload-id';
import type { Logger } from 'pino';
import type { Supervisor } from '../supervision/supervisor.ts';

interface LearningEndsOptions {
  now: () => Date;
  log: Pick<Logger, 'info' | 'error'>;
  /** Ends the learning mode of a workload. */
  end: (supervisor: Supervisor) => Promise<void>;
}

/** The longest wait. A clock that was set, or a machine that has slept, moves an end by at most this time. */
const longestMs = 60_000;

/** Ends each learning mode at its time. A workload that cannot be changed then is tried again, and delays no other. */
export class LearningEnds implements AsyncDisposable {
  readonly #options: LearningEndsOptions;
  /** When the next attempt to end the learning mode of a workload is due. */
  readonly #due = new Map<WorkloadId, { supervisor: Supervisor; at: number }>();
  #timer: NodeJS.Timeout | undefined;
  readonly #ending = new Set<Promise<void>>();
  #isOver = false;

  constructor(options: LearningEndsOptions) {
    this.#options = options;
  }

  /** Notes when a workload stops learning. For each change of a workload. */
  consider(supervisor: Supervisor): void {
    const { id, isBeingRemoved } = supervisor;
    const at = endOf(supervisor);
    if (at !== undefined && !isBeingRemoved) this.#due.set(id, { supervisor, at });
    else if (!this.#due.delete(id)) return;
    this.#wait();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    await Promise.all(this.#ending);
  }

  #wait(): void {
    clearTimeout(this.#timer);
    if (this.#due.size === 0 || this.#isOver) return;
    const next = Math.min(...[...this.#due.values()].map(({ at }) => at));
    const ms = Math.max(0, Math.min(next - this.#options.now().getTime(), longestMs));
    this.#timer = setTimeout(() => this.#endDue(), ms).unref();
  }

  #endDue(): void {
    const now = this.#options.now().getTime();
    for (const [id, { supervisor, at }] of this.#due) {
      if (supervisor.isBeingRemoved || supervisor.id !== id) this.#due.delete(id);
      if (at > now || !this.#due.has(id)) continue;
      this.#due.set(id, { supervisor, at: now + longestMs });
      const ending = this.#end(supervisor)
        .catch(raiseFault)
        .finally(() => this.#ending.delete(ending));
      this.#ending.add(ending);
    }
    this.#wait();
  }

  async #end(supervisor: Supervisor): Promise<void> {
    const fields = { workload: supervisor.runConfig.name };
    try {
      await this.#options.end(supervisor);
      this.#options.log.info(fields, 'learning mode has ended by its time');
    } catch (error) {
      this.#options.log.error({ ...fields, why: messageOf(error) }, 'learning mode could not be ended');
    }
  }
}

function endOf({ runConfig: { learning } }: Supervisor): number | undefined {
  return learning?.until === undefined ? undefined : Date.parse(learning.until);
}
