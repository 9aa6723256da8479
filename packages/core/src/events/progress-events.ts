import type { Progress } from '@toolhive/runtime/runtime';
import type { Events } from './events.ts';

/** How often the progress of one workload is reported. An installer can print thousands of lines per second. */
const intervalMs = 200;
/** The address of a sign-in page can be long, and is useless if it is cut. */
const maxMessage = 2_000;

/** Reports the progress of long operations to all event watchers, at most five times per second for each workload. */
export class ProgressEvents implements Disposable {
  readonly #events: Events;
  /** The latest message that was not told, by workload, while the interval after an event lasts. */
  readonly #waiting = new Map<string, { message: string | undefined; timer: NodeJS.Timeout }>();

  constructor(events: Events) {
    this.#events = events;
  }

  /** Returns a function that reports to `report` and to all watchers. */
  of(workload: string, report: Progress = () => {}): Progress {
    return (message) => {
      report(message);
      this.#tell(workload, message);
    };
  }

  /** Reports, as the last event about a workload, that its creation failed. */
  abandoned(workload: string): void {
    clearTimeout(this.#waiting.get(workload)?.timer);
    this.#waiting.delete(workload);
    this.#events.emit({ type: 'workload.removed', name: workload });
  }

  [Symbol.dispose](): void {
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
  }

  #tell(workload: string, message: string): void {
    const waiting = this.#waiting.get(workload);
    if (waiting !== undefined) {
      waiting.message = message;
      return;
    }
    this.#events.emit({ type: 'workload.progress', name: workload, message: message.slice(0, maxMessage) });
    const timer = setTimeout(() => this.#intervalOver(workload), intervalMs).unref();
    this.#waiting.set(workload, { message: undefined, timer });
  }

  #intervalOver(workload: string): void {
    const last = this.#waiting.get(workload)?.message;
    this.#waiting.delete(workload);
    if (last !== undefined) this.#tell(workload, last);
  }
}
