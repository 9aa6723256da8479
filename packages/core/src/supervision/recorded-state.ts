import type { Progress } from '@toolhive/runtime/runtime';
import type { Statuses } from '../state/statuses.ts';
import { Followers } from './followers.ts';
import { isWorking, restoredState, storedStatus } from './state.ts';
import type { Condition, WorkloadState } from './state.ts';

interface RecordedStateOptions {
  workload: string;
  statuses: Statuses;
  /** Called after every change, when it is on disk. */
  onChange: () => void;
}

/** The state of one workload: on disk before anyone is told of it, so that a status that was seen is never forgotten. */
export class RecordedState {
  readonly #options: RecordedStateOptions;
  readonly #followers: Followers;
  readonly #createdAt: string;
  #current: WorkloadState;
  #hasWorked: boolean;
  #committing: Promise<void> | undefined;

  constructor(condition: Condition, options: RecordedStateOptions) {
    this.#options = options;
    this.#followers = new Followers(options.workload);
    this.#createdAt = condition.createdAt;
    this.#current = restoredState(condition);
    this.#hasWorked = condition.hasWorked === true || isWorking(condition.status);
  }

  get current(): WorkloadState {
    return this.#current;
  }

  get condition(): Condition {
    return this.#conditionOf(this.#current);
  }

  /** Whether the workload has answered since it got its run config. Stored with the next state. */
  get hasWorked(): boolean {
    return this.#hasWorked;
  }

  set hasWorked(hasWorked: boolean) {
    this.#hasWorked = hasWorked;
  }

  /**
   * Writes an intent of the user to disk, makes it the state, and calls `onCommitted` at the same moment. Throws and
   * changes nothing if the intent cannot be written. Facts have to wait meanwhile (`committed`): recorded after the
   * intent, a fact would overwrite it on disk.
   */
  async commit(state: WorkloadState, onCommitted: () => void): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#committing = promise;
    try {
      const stored = storedStatus(this.#conditionOf(state));
      await this.#options.statuses.write(this.#options.workload, stored);
      this.#current = state;
      onCommitted();
    } finally {
      this.#committing = undefined;
      resolve();
    }
    this.#changed();
  }

  /** Returns when no intent is being written. */
  async committed(): Promise<void> {
    await this.#committing;
  }

  /** Makes a fact the state, and returns why it could not be saved if it could not: it is a fact all the same. */
  async record(state: WorkloadState): Promise<string | undefined> {
    this.#current = state;
    const stored = storedStatus(this.#conditionOf(state));
    const unsaved = await this.#options.statuses.record(this.#options.workload, stored);
    this.#changed();
    return unsaved;
  }

  /** Says in the status what is going on. Not on disk: after a restart of the daemon, something else is going on. */
  report(message: string): void {
    this.#current = { ...this.#current, context: message };
    this.#followers.report(message);
  }

  /** Passes progress to `report` until the workload runs or is stopped. Throws the reason if it fails or is removed. */
  follow(report: Progress, signal?: AbortSignal): Promise<void> {
    return this.#followers.follow(this.condition, report, signal);
  }

  #conditionOf({ status, context }: WorkloadState): Condition {
    return { status, context, createdAt: this.#createdAt, hasWorked: this.#hasWorked };
  }

  #changed(): void {
    this.#followers.changed(this.condition);
    this.#options.onChange();
  }
}
