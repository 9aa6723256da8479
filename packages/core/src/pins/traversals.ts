import type { Listing } from '@toolhive/proxy/tool-pinning';

/** How many lists that clients have begun to read are followed. */
const maxTraversals = 32;
/** The longest cursor that is remembered. */
const maxCursor = 1_000;

type Page = Pick<Listing, 'kind' | 'cursor' | 'nextCursor' | 'session'> & { names: readonly string[] };

/** The pages of lists that clients are reading, because only a complete list tells which items a server no longer has. */
export class Traversals {
  /** The names so far, by the cursor of the next page. */
  readonly #begun = new Map<string, Set<string>>();
  readonly #maxNames: number;

  constructor(maxNames: number) {
    this.#maxNames = maxNames;
  }

  /** The names in the pages before this one, as far as they are known. */
  before({ kind, cursor, session = '' }: Pick<Page, 'kind' | 'cursor' | 'session'>): ReadonlySet<string> {
    if (cursor === undefined) return new Set();
    return this.#begun.get(placeOf(kind, session, cursor)) ?? new Set();
  }

  /** Returns the names in all pages after the last one. Undefined before that, and if the first pages are not known. */
  follow({ kind, names, cursor, nextCursor, session = '' }: Page): ReadonlySet<string> | undefined {
    const before = cursor === undefined ? new Set<string>() : this.#begun.get(placeOf(kind, session, cursor));
    if (cursor !== undefined) this.#begun.delete(placeOf(kind, session, cursor));
    if (before === undefined) return undefined;
    const seen = new Set([...before, ...names].slice(0, this.#maxNames));
    if (nextCursor === undefined || nextCursor === cursor) return seen; // no further page, or the same one again
    const [oldest] = this.#begun.keys();
    if (this.#begun.size >= maxTraversals && oldest !== undefined) this.#begun.delete(oldest);
    if (nextCursor.length <= maxCursor) this.#begun.set(placeOf(kind, session, nextCursor), seen);
    return undefined;
  }
}

const placeOf = (kind: Page['kind'], session: string, at: string): string =>
  JSON.stringify([kind, session, at]);
