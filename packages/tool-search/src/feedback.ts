import { termsOf } from './terms.ts';

/** A tool that was called after similar searches gets at most this factor. */
const maxBoost = 1.15;
const maxSearches = 20;
const maxTools = 1_000;
const maxTermsOfTool = 60;

interface Search {
  terms: ReadonlySet<string>;
  found: ReadonlySet<string>;
}

/**
 * Remembers in memory which tools were called after which searches, for each caller separately. A remembered tool ranks
 * slightly higher in similar searches of the same caller.
 */
export class RelevanceFeedback {
  readonly #searches = new Map<string, Search[]>();
  readonly #calls = new Map<string, Set<string>>();

  /** Remembers a search of a caller and the IDs of the tools that were found. */
  searched(caller: string, query: string, found: readonly string[]): void {
    const searches = this.#searches.get(caller) ?? [];
    this.#searches.delete(caller);
    this.#searches.set(caller, searches);
    searches.push({ terms: new Set(termsOf(query)), found: new Set(found) });
    if (searches.length > maxSearches) searches.shift();
    dropOldest(this.#searches, maxTools);
  }

  /** Remembers that a caller has called a tool. Only a tool that a search of the caller has found gets a higher rank. */
  called(caller: string, tool: string): void {
    const search = this.#searches.get(caller)?.findLast(({ found }) => found.has(tool));
    if (search === undefined) return;
    const key = keyOf(caller, tool);
    const terms = new Set([...search.terms, ...(this.#calls.get(key) ?? [])].slice(0, maxTermsOfTool));
    this.#calls.delete(key);
    this.#calls.set(key, terms);
    dropOldest(this.#calls, maxTools);
  }

  /** Returns the factor for the score of a tool, from 1 to 1.15. */
  boostOf(caller: string, query: string): (tool: string) => number {
    const terms = new Set(termsOf(query));
    return (tool) => {
      const known = this.#calls.get(keyOf(caller, tool));
      if (known === undefined || terms.size === 0) return 1;
      return 1 + ((maxBoost - 1) * terms.intersection(known).size) / terms.size;
    };
  }
}

function keyOf(caller: string, tool: string): string {
  return `${caller}\n${tool}`;
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
