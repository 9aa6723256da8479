import type { Progress } from '@toolhive/runtime/runtime';
import type { Statuses } from '@toolhive/state/statuses';
import { Followers } from './followers.ts';
import { contextOf, isWorking, restoredState, storedStatus } from './state.ts';
import type { Condition, WorkloadState } from './state.ts';

interface RecordedStateOptions {
  workload: string;
  statuses: Statuses;
  /** Called after every change, when the change is on disk. */
  onChange: () => void;
}

/** The state of one workload. Written to disk before it is reported, so that a reported status is never lost. */
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

  /** Whether the workload has answered with its current run config. Stored with the next state. */
  get hasWorked(): boolean {
    return this.#hasWorked;
  }

  set hasWorked(hasWorked: boolean) {
    this.#hasWorked = hasWorked;
  }

  /**
   * Writes a user's intent to disk, makes it the state, and immediately calls `onCommitted`. If the write fails,
   * throws and changes nothing. Facts must wait in the meantime (`committed`), because a fact that is recorded after
   * the intent would overwrite it on disk.
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

  /** Makes a fact the state. If the fact could not be saved, returns the reason, but keeps the fact. */
  async record(state: WorkloadState): Promise<string | undefined> {
    this.#current = state;
    const stored = storedStatus(this.#conditionOf(state));
    const unsaved = await this.#options.statuses.record(this.#options.workload, stored);
    this.#changed();
    return unsaved;
  }

  /** Shows the current activity in the status. Not stored, because it ends with the daemon. */
  report(message: string): void {
    this.#current = { ...this.#current, context: message };
    this.#followers.report(message);
  }

  /** Passes progress to `report` until the workload runs or is stopped. Throws the reason if it fails or is removed. */
  follow(report: Progress, signal?: AbortSignal): Promise<void> {
    return this.#followers.follow(this.condition, report, signal);
  }

  #conditionOf(state: WorkloadState): Condition {
    const own = { createdAt: this.#createdAt, hasWorked: this.#hasWorked };
    return { status: state.status, context: contextOf(state), ...own };
  }

  #changed(): void {
    this.#followers.changed(this.condition);
    this.#options.onChange();
  }
}
