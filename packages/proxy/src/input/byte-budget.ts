/** Every input may hold this much beyond the budgets, so that ordinary messages pass while others use them up. */
const freeBytes = 16 * 1024;

/** Limits the memory that incomplete input uses, for one part of the daemon and for the daemon in total. */
export class ByteBudget {
  readonly #limitBytes: number;
  readonly #total: ByteBudget | undefined;
  #usedBytes = 0;

  constructor(limitBytes: number, total?: ByteBudget) {
    this.#limitBytes = limitBytes;
    this.#total = total;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Begins one input, such as a request body or a line. */
  hold(): Hold {
    return new Hold(this);
  }

  /** Returns false, and takes nothing, if the budget or the total does not allow that much more. */
  take(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#limitBytes || this.#total?.take(bytes) === false) return false;
    this.#usedBytes += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#usedBytes -= bytes;
    this.#total?.giveBack(bytes);
  }
}

/** What one incomplete input holds of a budget. */
export class Hold {
  readonly #budget: ByteBudget;
  #bytes = 0;
  #taken = 0;

  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /** Returns false if the budget has too little room. */
  grow(bytes: number): boolean {
    const counted = Math.max(0, this.#bytes + bytes - freeBytes) - this.#taken;
    if (counted > 0 && !this.#budget.take(counted)) return false;
    this.#bytes += bytes;
    this.#taken += counted;
    return true;
  }

  /** The input is complete, or its connection has ended. Safe to call twice. The next input may follow. */
  release(): void {
    if (this.#taken > 0) this.#budget.giveBack(this.#taken);
    this.#bytes = 0;
    this.#taken = 0;
  }
}

/** A server leaves more input incomplete than its budgets allow, and must be stopped. */
export class ExceededBudget extends Error {
  constructor() {
    super('was stopped because its incomplete lines, events, and responses use more memory than allowed');
  }
}

const mebibyte = 1024 * 1024;

/** The largest request body, line, event, or response body that is accepted. */
export const maxMessageBytes = 16 * mebibyte;
export const messageTooLarge: string = `larger than ${maxMessageBytes / mebibyte} MiB`;

/** Incomplete request bodies of all clients, for all workloads and the API together. */
const allRequests = new ByteBudget(128 * mebibyte);
/** Incomplete lines, events, and responses of all servers together. */
const allOutput = new ByteBudget(128 * mebibyte);

/** The budgets of one workload. */
export function workloadBudgets(): { requests: ByteBudget; output: ByteBudget } {
  return {
    requests: new ByteBudget(2 * maxMessageBytes, allRequests),
    output: new ByteBudget(2 * maxMessageBytes, allOutput),
  };
}

/** The budget of the API for incomplete request bodies. */
export const apiRequests: ByteBudget = new ByteBudget(16 * mebibyte, allRequests);
