import { maxMessageBytes } from './byte-budget.ts';
import type { ByteBudget, Hold } from './byte-budget.ts';

/** Collects the chunks of one body, as far as its budget and the limit for messages allow. */
export class Chunks {
  readonly #hold: Hold;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(budget: ByteBudget) {
    this.#hold = budget.hold();
  }

  /** Adds a chunk, or returns why the body cannot be accepted. */
  add(chunk: Buffer): 'too large' | 'no room' | undefined {
    this.#bytes += chunk.length;
    if (this.#bytes > maxMessageBytes) return 'too large';
    if (!this.#hold.grow(chunk.length)) return 'no room';
    this.#chunks.push(chunk);
    return undefined;
  }

  /** Returns the whole body. */
  joined(): Buffer {
    const [first] = this.#chunks;
    return first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
  }

  /** Forgets the body, and gives its bytes back to the budget. Safe to call twice. */
  release(): void {
    this.#hold.release();
    this.#chunks = [];
  }
}
