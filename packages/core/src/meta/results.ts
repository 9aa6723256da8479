import { randomUUID } from 'node:crypto';
import { estimateTokens } from '@toolhive/contract/tokens';

interface StoredResult {
  caller: string;
  text: string;
}

/** How many characters of results are kept in total, and how many results. */
const maxChars = 16 * 1024 * 1024;
const maxResults = 200;

/** A part of a text, and the offset of the next part if there is one. */
export interface ResultPart {
  text: string;
  nextOffset: number | undefined;
  length: number;
}

/** Keeps the complete texts of truncated results in memory, each for the caller that received it. */
export class ResultStore {
  readonly #results = new Map<string, StoredResult>();
  readonly #maxTokens: number;
  #chars = 0;

  constructor(maxTokens: number) {
    this.#maxTokens = maxTokens;
  }

  /** Stores a text and returns its handle. The oldest texts make room. */
  add(caller: string, text: string): string {
    const handle = randomUUID();
    this.#results.set(handle, { caller, text: text.slice(0, maxChars) });
    this.#chars += text.length;
    for (const [oldest, { text: dropped }] of this.#results) {
      if (this.#results.size <= 1 || (this.#chars <= maxChars && this.#results.size <= maxResults)) break;
      this.#results.delete(oldest);
      this.#chars -= dropped.length;
    }
    return handle;
  }

  /** Returns a part of a text, or undefined if the caller has no text with this handle. */
  read(caller: string, handle: string, offset: number): ResultPart | undefined {
    const stored = this.#results.get(handle);
    if (stored?.caller !== caller) return undefined;
    return partOf(stored.text, offset, this.#maxTokens);
  }
}

/** Returns the part of a text from an offset that has at most this many tokens. */
export function partOf(text: string, offset: number, maxTokens: number): ResultPart {
  let length = Math.min(text.length - offset, maxTokens * 4);
  while (length > 1 && estimateTokens(text.slice(offset, offset + length), maxTokens) > maxTokens)
    length = Math.floor(length * 0.8);
  const end = offset + Math.max(0, length);
  return {
    text: text.slice(offset, end),
    nextOffset: end < text.length ? end : undefined,
    length: text.length,
  };
}
