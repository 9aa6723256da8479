import { timingSafeEqual } from 'node:crypto';
import { isRecent } from '@toolhive/contract/clock';

/** How many tokens are remembered. Each costs a few hundred bytes and its claims. */
const maxTokens = 1_000;

/** What was found out about a token, when, and how long that holds, in milliseconds. */
export interface Remembered<Found> {
  readonly value: Found;
  readonly atMs: number;
  readonly keptMs: number;
}

/** What was found out about tokens a short time ago, by a digest of each, so that they are not checked at every request. */
export class RecentTokens<Found> {
  readonly #found = new Map<string, Remembered<Found>>();
  readonly #keptMs: number;
  readonly #now: () => number;

  constructor(keptMs: number, now: () => number) {
    this.#keptMs = keptMs;
    this.#now = now;
  }

  find(digest: string): Found | undefined {
    return this.remembered(digest)?.value;
  }

  remembered(digest: string): Remembered<Found> | undefined {
    const found = this.#found.get(digest);
    if (found === undefined || isRecent(found.atMs, found.keptMs, this.#now())) return found;
    this.#found.delete(digest);
    return undefined;
  }

  /** Remembers a value for a limited time, and not longer than the token is valid. `expires` is in milliseconds. */
  add(digest: string, value: Found, expires: number): void {
    const atMs = this.#now();
    const keptMs = Math.min(expires - atMs, this.#keptMs);
    if (keptMs <= 0) return;
    if (this.#found.size >= maxTokens) this.#found.delete(this.#found.keys().next().value ?? '');
    this.#found.set(digest, { value, atMs, keptMs });
  }
}

/**
 * What was found out about the latest `Authorization` header of each connection. A client sends the same header with each
 * request, and comparing two headers takes a third of the time of a digest. A header is kept no longer than its connection.
 */
export class RepeatedHeaders<Found> {
  readonly #latest = new WeakMap<object, { header: Buffer; found: Remembered<Found> }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  find(connection: object, header: string): Found | undefined {
    const latest = this.#latest.get(connection);
    if (latest === undefined || latest.header.length !== header.length) return undefined;
    // A connection of a reverse proxy has several users, who must not learn from the time how much of a header they guessed.
    if (!timingSafeEqual(latest.header, Buffer.from(header, 'latin1'))) return undefined;
    const { value, atMs, keptMs } = latest.found;
    return isRecent(atMs, keptMs, this.#now()) ? value : undefined;
  }

  set(connection: object, header: string, found: Remembered<Found>): void {
    this.#latest.set(connection, { header: Buffer.from(header, 'latin1'), found });
  }
}
