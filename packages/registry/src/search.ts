import type { Registry, RegistryRemoteServer, RegistryServer } from '@toolhive/contract/registry';
import { setImmediate as turn } from 'node:timers/promises';
import MiniSearch from 'minisearch';
import type { Query } from 'minisearch';

/** An entry that a search has found. */
export interface FoundEntry {
  name: string;
  isRemote: boolean;
}

interface Document extends FoundEntry {
  id: number;
  /** The name without separators, so that `bravesearch` finds `brave-search`. */
  compact: string;
  tags: string;
  tools: string;
  description: string;
}

const weights = { name: 8, compact: 8, tags: 3, tools: 1.5, description: 1 };
const fields = Object.keys(weights);

/** Others write most registries, so the searched text of an entry has limits. */
const max = { description: 1_000, tools: 200, tags: 50, words: 12, inside: 50 };

/** Shorter words are in too many other words, and have too many neighbors. */
const min = { inside: 3, misspelled: 4 };

/** How much a word counts that contains the searched one. */
const insideBoost = 0.3;

/** The number of entries that are indexed, and later searched, before other work continues. */
const shardSize = 200;

/**
 * Finds registry entries with all words of a query in their names, tags, tools, and descriptions: whole words, and the
 * start or a part of longer ones. If no entry has them, it allows for typing errors. A word counts by how rare it is
 * among the entries of a shard, of which most registries have one or two.
 */
export class RegistryIndex {
  readonly #shards: readonly Shard[];

  private constructor(shards: readonly Shard[]) {
    this.#shards = shards;
  }

  static async build({ servers, remote_servers: remote }: Registry): Promise<RegistryIndex> {
    const documents = [
      ...Object.entries(servers).map(([name, entry]) => documentOf(name, entry, false)),
      ...Object.entries(remote).map(([name, entry]) => documentOf(name, entry, true)),
    ].map((document, id) => ({ ...document, id }));
    const shards: Shard[] = [];
    for (let from = 0; from < documents.length; from += shardSize) {
      shards.push(new Shard(documents.slice(from, from + shardSize)));
      await turn();
    }
    return new RegistryIndex(shards);
  }

  /** The entries that fit, the best first. An entry with exactly this name precedes all others. */
  async search(query: string): Promise<FoundEntry[]> {
    const words = [...new Set(tokensOf(query))].slice(0, max.words);
    if (words.length === 0) return [];
    const asWritten = await this.#find(query, (shard) => shard.asWritten(words));
    if (asWritten.some(({ isByName }) => isByName)) return asWritten;
    // Words can occur in the text of other entries by accident, but hardly a whole name.
    const nearName: Query = { ...misspelled(compactOf(query)), fields: ['compact'] };
    if (asWritten.length > 0)
      return withFirst(await this.#find(query, () => ({ ...nearName, prefix: false })), asWritten);
    const nearWords: Query = { combineWith: 'AND', queries: words.map(misspelled) };
    return this.#find(query, () => ({ combineWith: 'OR', queries: [nearWords, nearName] }));
  }

  async #find(query: string, treeFor: (shard: Shard) => Query): Promise<Found[]> {
    const found: Found[] = [];
    for (const shard of this.#shards) {
      found.push(...shard.find(query, treeFor(shard)));
      if (this.#shards.length > 1) await turn();
    }
    return found.toSorted((one, other) =>
      one.score === other.score ? (one.name < other.name ? -1 : 1) : other.score - one.score,
    );
  }
}

/** The index of a part of the entries, so that one search of a large registry takes turns with other work. */
class Shard {
  readonly #terms = new Set<string>();
  readonly #index: MiniSearch<Document> = new MiniSearch({
    fields,
    storeFields: ['name', 'isRemote', 'compact'],
    tokenize: tokensOf,
    processTerm: (term) => {
      this.#terms.add(term);
      return term;
    },
    searchOptions: { tokenize: tokensOf, processTerm: (term) => term, boost: weights },
  });

  constructor(documents: readonly Document[]) {
    this.#index.addAll(documents);
  }

  asWritten(words: readonly string[]): Query {
    return {
      combineWith: 'AND',
      queries: words.map((word) => ({ combineWith: 'OR', queries: [...this.#wholeOrPart(word)] })),
    };
  }

  find(query: string, tree: Query): Found[] {
    const [wanted, words] = [compactOf(query), tokensOf(query)];
    return this.#index.search(tree).map(({ score, ...stored }) => {
      const { name, isRemote, compact } = stored as unknown as Document; // as `storeFields` names them
      const isByName = words.every((word) => compact.includes(word));
      return { name, isRemote, isByName, score: compact === wanted ? Infinity : score };
    });
  }

  *#wholeOrPart(word: string): Iterable<Query> {
    yield { queries: [word], prefix: true };
    if (word.length < min.inside) return;
    let found = 0;
    for (const term of this.#terms) {
      if (term.indexOf(word, 1) === -1) continue;
      yield { queries: [term], boostTerm: () => insideBoost };
      found++;
      if (found === max.inside) return;
    }
  }
}

/** The index of the registry that was searched last. */
export class LatestIndex {
  #latest: { registry: Registry; index: Promise<RegistryIndex> } | undefined;

  async of(registry: Registry): Promise<RegistryIndex> {
    if (this.#latest?.registry !== registry) {
      this.#latest = { registry, index: RegistryIndex.build(registry) };
    }
    return this.#latest.index;
  }
}

interface Found extends FoundEntry {
  /** Whether all words are in its name. */
  isByName: boolean;
  score: number;
}

function withFirst(first: Found[], others: Found[]): Found[] {
  const isNew = (one: Found): boolean =>
    !first.some(({ name, isRemote }) => name === one.name && isRemote === one.isRemote);
  return [...first, ...others.filter(isNew)];
}

/** A swap of two characters counts as two errors. */
function misspelled(word: string): Exclude<Query, string | symbol> {
  const fuzzy = word.length < min.misspelled ? 0 : word.length < 5 ? 1 : 2;
  return { queries: [word], prefix: true, fuzzy };
}

function documentOf(
  name: string,
  { description, tags = [], tools }: RegistryServer | RegistryRemoteServer,
  isRemote: boolean,
): Omit<Document, 'id'> {
  return {
    name,
    isRemote,
    compact: compactOf(name),
    tags: tags.slice(0, max.tags).join(' '),
    tools: tools.slice(0, max.tools).join(' '),
    description: description.slice(0, max.description),
  };
}

function tokensOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
}

function compactOf(text: string): string {
  return tokensOf(text).join('');
}
