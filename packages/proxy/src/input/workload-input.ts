import { workloadBudgets } from './byte-budget.ts';
import type { Tolerance, Tolerated } from '../jsonrpc/tolerances.ts';
import type { ByteBudget } from './byte-budget.ts';
import { readingTime } from './reading-time.ts';
import type { ReadingStep } from './reading-time.ts';

/** How many invalid messages servers may send at once, and how many more per second. */
const maxInvalid = 10_000;
const invalidPerSecond = 1_000;
/** The same for their size. */
const maxInvalidChars = 16 * 1024 * 1024;
const invalidCharsPerSecond = 1024 * 1024;

export interface WorkloadInputOptions {
  /** Receives server output that is not a message. */
  onInvalid?: (text: string) => void;
  /** Told once of each deviation from the protocol that was understood. */
  onTolerance?: (tolerance: Tolerance, example: string | undefined) => void;
  now?: () => number;
}

/** The limits on everything that the clients and servers of one workload send. */
export class WorkloadInput {
  /** For request bodies that are not complete yet. */
  readonly requests: ByteBudget;
  /** For lines, events, and responses of servers that are not complete yet. */
  readonly output: ByteBudget;
  readonly #onInvalid: (text: string) => void;
  readonly #onTolerance: (tolerance: Tolerance, example: string | undefined) => void;
  readonly #tolerated = new Map<Tolerance, string | undefined>();
  readonly #now: () => number;
  #invalidAllowed = maxInvalid;
  #charsAllowed = maxInvalidChars;
  #lastMs: number;

  constructor({
    onInvalid = () => {},
    onTolerance = () => {},
    now = () => performance.now(),
  }: WorkloadInputOptions = {}) {
    this.#onTolerance = onTolerance;
    const { requests, output } = workloadBudgets();
    this.requests = requests;
    this.output = output;
    this.#onInvalid = onInvalid;
    this.#now = now;
    this.#lastMs = now();
  }

  /** Processes an input now if there is time, and otherwise as soon as there is. */
  process(step: ReadingStep): void {
    readingTime.run(this, step);
  }

  /** Returns when there is time to process one more input. */
  async turn(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.process(() => {
        resolve();
        return false;
      });
    });
  }

  /** The deviations from the protocol that the servers have shown. */
  get tolerated(): Tolerated {
    return this.#tolerated;
  }

  /** A server deviates from the protocol, and was understood anyway. */
  tolerate(tolerance: Tolerance, example?: string): void {
    if (this.#tolerated.has(tolerance)) return;
    this.#tolerated.set(tolerance, example);
    this.#onTolerance(tolerance, example);
  }

  /** Reports server output that is not a message. Returns why the server must be stopped, if necessary. */
  reportInvalid(text: string): string | undefined {
    const nowMs = this.#now();
    const seconds = (nowMs - this.#lastMs) / 1000;
    this.#lastMs = nowMs;
    this.#invalidAllowed = Math.min(maxInvalid, this.#invalidAllowed + seconds * invalidPerSecond) - 1;
    this.#charsAllowed =
      Math.min(maxInvalidChars, this.#charsAllowed + seconds * invalidCharsPerSecond) - text.length;
    if (this.#invalidAllowed >= 0 && this.#charsAllowed >= 0) {
      this.#onInvalid(text);
      return undefined;
    }
    const [limit, unit] =
      this.#invalidAllowed < 0
        ? [maxInvalid.toLocaleString('en-US'), '']
        : [`${maxInvalidChars / 1024 / 1024} MiB`, ' of'];
    return `was stopped because its output contained more than ${limit}${unit} lines or events that are not JSON-RPC messages`;
  }
}
