/** How many tokens are remembered. Each costs a few hundred bytes and its claims. */
const maxTokens = 1_000;

/** What was found out about tokens a short time ago, by a digest of each, so that they are not checked at every request. */
export class RecentTokens<Found> {
  readonly #found = new Map<string, { value: Found; until: number }>();
  readonly #keptMs: number;
  readonly #now: () => number;

  constructor(keptMs: number, now: () => number) {
    this.#keptMs = keptMs;
    this.#now = now;
  }

  find(digest: string): Found | undefined {
    const found = this.#found.get(digest);
    if (found === undefined || this.#now() < found.until) return found?.value;
    this.#found.delete(digest);
    return undefined;
  }

  /** Remembers a value for a limited time, and not longer than the token is valid. `expires` is in milliseconds. */
  add(digest: string, value: Found, expires: number): void {
    const now = this.#now();
    const until = Math.min(expires, now + this.#keptMs);
    if (until <= now) return;
    if (this.#found.size >= maxTokens) this.#found.delete(this.#found.keys().next().value ?? '');
    this.#found.set(digest, { value, until });
  }
}
