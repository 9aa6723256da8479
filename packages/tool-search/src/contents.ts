import { gramsOf, nameTermsOf } from './terms.ts';
import { namesByServer, serverFieldsOf, toolFieldsOf } from './fields.ts';
import type { SearchableTool } from './fields.ts';
import { Meanings } from './meaning.ts';
import type { WordMeanings } from './meaning.ts';
import { fields, tuning } from './tuning.ts';

/** The tools that contain a term, in ascending order. */
export interface Postings {
  tools: Uint32Array;
  /** The saturated weight of the term in each tool. */
  weights: Float32Array;
  /** The fields of each tool that contain the term, a bit for each field. */
  fields: Uint16Array;
  idf: number;
}

export interface Grams {
  tools: Uint32Array;
  idf: number;
}

/** What is known of the words of all tools. A tool is the number of its place. */
export class IndexContents {
  readonly postings = new Map<string, Postings>();
  /** For each term, the tools whose names contain the term. */
  readonly names = new Map<string, number[]>();
  /** The sum of the `idf` of the terms in each name. */
  readonly nameIdf: Float32Array;
  /** The server of each tool as a number. */
  readonly servers: Uint32Array;
  readonly grams = new Map<string, Grams>();
  /** How much each sequence of characters counts in each tool: less in a longer text. */
  readonly gramShares: Float64Array;
  /** What the words of each tool mean together. */
  readonly meanings: Meanings;
  readonly words: WordMeanings;
  readonly #tools: readonly SearchableTool[];
  /** How much a tool of each server counts where frequencies of terms are counted. */
  readonly #shares: ReadonlyMap<number, number>;
  /** How many tools the frequencies of terms are compared with. */
  readonly #total: number;

  /** Empty until it is built. */
  constructor(tools: readonly SearchableTool[], words: WordMeanings) {
    this.#tools = tools;
    this.words = words;
    this.meanings = new Meanings(tools.length, words.dimensions);
    this.nameIdf = new Float32Array(tools.length);
    this.servers = numbered(tools.map(({ server }) => server));
    const sizes = countsOfAll(this.servers);
    this.#shares = sharesOf(sizes);
    this.#total = [...sizes].reduce((sum, [server, size]) => sum + size * (this.#shares.get(server) ?? 1), 0);
    this.gramShares = new Float64Array(tools.length);
  }

  /** Yields where other work may continue. */
  *build(): Generator<void, void, void> {
    yield* this.#buildPostings();
    this.#buildNames();
    yield;
    yield* this.#buildGrams();
  }

  *#buildPostings(): Generator<void, void, void> {
    const contents: FieldContent[][] = [];
    const ofServers = new Map<string, FieldContent[]>();
    const names = namesByServer(this.#tools);
    for (const [at, tool] of this.#tools.entries()) {
      const { server } = tool;
      const ofServer = ofServers.get(server) ?? serverFieldsOf(tool, names.get(server) ?? '').map(contentOf);
      ofServers.set(server, ofServer);
      const content = [...toolFieldsOf(tool).map(contentOf), ...ofServer];
      contents.push(content);
      this.meanings.set(at, this.words.of(factorsOf(content)));
      yield;
    }
    const averages = fields.map((field, index) =>
      averageLength(
        contents.map((content) => content[index]),
        field.usual,
      ),
    );
    const building = new Map<string, { tools: number[]; weights: number[]; fields: number[] }>();
    for (const [at, content] of contents.entries()) {
      for (const [term, { weight, bits }] of weightsOf(content, averages)) {
        const postings = building.get(term) ?? { tools: [], weights: [], fields: [] };
        building.set(term, postings);
        postings.tools.push(at);
        postings.weights.push(saturated(weight));
        postings.fields.push(bits);
      }
      yield;
    }
    for (const [term, postings] of building) {
      this.postings.set(term, {
        tools: Uint32Array.from(postings.tools),
        weights: Float32Array.from(postings.weights),
        fields: Uint16Array.from(postings.fields),
        idf: idfOf(this.#frequencyOf(postings), this.#total),
      });
    }
  }

  /**
   * How many tools contain a term, where the tools of a large server count less: a server must not be able to make the
   * words of other servers common. A term in a field of a server counts once.
   */
  #frequencyOf({ tools, fields: bits }: { tools: readonly number[]; fields: readonly number[] }): number {
    const counts = new Map<number, number>();
    for (const [place, tool] of tools.entries()) {
      const server = this.servers[tool] ?? 0;
      const isOwn = ((bits[place] ?? 0) & ((1 << tuning.ownFields) - 1)) !== 0;
      const count = counts.get(server) ?? 0;
      counts.set(server, isOwn ? count + 1 : Math.max(count, 1));
    }
    return [...counts].reduce((sum, [server, count]) => sum + count * (this.#shares.get(server) ?? 1), 0);
  }

  #buildNames(): void {
    for (const [at, { name }] of this.#tools.entries()) {
      for (const term of new Set(nameTermsOf(name.slice(0, tuning.maxName)))) {
        this.nameIdf[at] = (this.nameIdf[at] ?? 0) + (this.postings.get(term)?.idf ?? tuning.unknownIdf);
        const tools = this.names.get(term);
        if (tools === undefined) this.names.set(term, [at]);
        else tools.push(at);
      }
    }
  }

  *#buildGrams(): Generator<void, void, void> {
    const building = new Map<string, number[]>();
    let total = 0;
    for (const [at, { name, description = '' }] of this.#tools.entries()) {
      const grams = gramsOf(`${name} ${description}`.slice(0, tuning.maxFieldLength));
      total += grams.size;
      this.gramShares[at] = grams.size;
      for (const gram of grams) {
        const tools = building.get(gram);
        if (tools === undefined) building.set(gram, [at]);
        else tools.push(at);
      }
      yield;
    }
    const average = total / Math.max(1, this.#tools.length);
    for (const [at, size] of this.gramShares.entries())
      this.gramShares[at] = 1 / (0.5 + (0.5 * size) / Math.max(1, average));
    for (const [gram, tools] of building)
      this.grams.set(gram, {
        tools: Uint32Array.from(tools),
        idf: idfOf(Math.min(tools.length, this.#total), this.#total),
      });
  }
}

/** How often each term occurs, up to a limit. */
export function countsOf(terms: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const term of terms) counts.set(term, Math.min(tuning.maxCount, (counts.get(term) ?? 0) + 1));
  return counts;
}

interface FieldContent {
  counts: ReadonlyMap<string, number>;
  length: number;
}

function averageLength(contents: readonly (FieldContent | undefined)[], usual: number): number {
  const total = contents.reduce((sum, content) => sum + (content?.length ?? 0), tuning.usualTools * usual);
  return total / (contents.length + tuning.usualTools);
}

function contentOf(terms: readonly string[]): FieldContent {
  return { counts: countsOf(terms), length: terms.length };
}

/** How much each term of a tool counts for its meaning. */
function factorsOf(content: readonly FieldContent[]): Map<string, number> {
  const factors = new Map<string, number>();
  for (const [index, { meaning }] of fields.entries()) {
    if (meaning === 0) continue; // such fields have half of all words
    for (const [term, occurrences] of content[index]?.counts ?? [])
      factors.set(term, (factors.get(term) ?? 0) + meaning * (1 + Math.log(occurrences)));
  }
  return factors;
}

/** The weighted counts of all terms of a tool, and the fields that contain each term as bits. */
function weightsOf(
  content: readonly FieldContent[],
  averages: readonly number[],
): Map<string, { weight: number; bits: number }> {
  const weights = new Map<string, { weight: number; bits: number }>();
  for (const [index, { weight, b }] of fields.entries()) {
    const { counts, length } = content[index] ?? { counts: new Map<string, number>(), length: 0 };
    const repetition = Math.max(1, length / Math.max(1, counts.size * tuning.usualRepetition));
    const norm = repetition * (1 - b + (b * length) / Math.max(averages[index] ?? 0, 1));
    for (const [term, occurrences] of counts) {
      const count = 1 + Math.log(occurrences);
      const known = weights.get(term);
      const more = (weight * count) / norm;
      if (known === undefined) weights.set(term, { weight: more, bits: 1 << index });
      else {
        known.weight += more;
        known.bits |= 1 << index;
      }
    }
  }
  return weights;
}

/** Gives equal texts the same number. */
function numbered(texts: readonly string[]): Uint32Array {
  const numbers = new Map<string, number>();
  return Uint32Array.from(texts, (text) => {
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    return number;
  });
}

function countsOfAll(servers: Uint32Array): Map<number, number> {
  const counts = new Map<number, number>();
  for (const server of servers) counts.set(server, (counts.get(server) ?? 0) + 1);
  return counts;
}

/**
 * How much a tool of each server counts. A server counts at most as much as a share of all others, however many tools it
 * lists. The words of its tools keep their frequencies among each other.
 */
function sharesOf(sizes: ReadonlyMap<number, number>): Map<number, number> {
  const all = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  return new Map(
    [...sizes].map(([server, size]) => {
      const others = all - size;
      const most = others === 0 ? size : Math.max(tuning.fewTools, tuning.shareOfOthers * others);
      return [server, Math.min(1, most / size)];
    }),
  );
}

/** With `k1` 3, the third occurrence still counts, and the twentieth hardly does. */
export function saturated(weight: number): number {
  return (4 * weight) / (3 + weight);
}

function idfOf(count: number, total: number): number {
  return Math.max(tuning.minIdf, Math.log(1 + (total - count + 0.5) / (count + 0.5)));
}
