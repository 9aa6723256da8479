import { setImmediate as turn } from 'node:timers/promises';
import { correctionsOf } from './corrections.ts';
import { englishFor, relatedWords } from './related-words.ts';
import { gramsOf, nameTermsOf, prepareQuery, termsOf } from './terms.ts';

/** A tool as a server lists it. Everything in it is untrusted. */
export interface SearchableTool {
  /** Unique among all tools. Tools with the same score are in the order of their IDs. */
  id: string;
  server: string;
  serverDescription?: string | undefined;
  name: string;
  title?: string | undefined;
  description?: string | undefined;
  /** JSON Schema of the arguments. */
  inputSchema?: unknown;
  annotations?: unknown;
}

/** The field of a tool in which a term was found. */
export type ToolField = (typeof fields)[number]['name'];

/** Why a tool was found: the words of the query, or words related to them, and the fields that contain them. */
export interface MatchReason {
  /** The term of the query, as a stem. */
  term: string;
  /** The stem that the tool contains, if it is another one. */
  through?: string;
  fields: ToolField[];
}

export interface FoundTool<Tool extends SearchableTool = SearchableTool> {
  tool: Tool;
  /** Comparable within one result only. */
  score: number;
  /** Between 0 and 1: the smaller, the better. 1 for a tool that has nothing in common with the query. */
  distance: number;
  reason: MatchReason[];
}

export interface SearchOptions<Tool extends SearchableTool> {
  /** How many tools are returned. */
  limit: number;
  /** Only tools up to this distance are returned. */
  maxDistance?: number;
  /** Decides which tools may be found. */
  includes?: (tool: Tool) => boolean;
  /** Factors for the scores, for example from relevance feedback. 1 by default. */
  boostOf?: (tool: Tool) => number;
}

/** A server cannot get more weight than this by repetition and length. */
const maxFieldLength = 2_000;
const maxFirstSentence = 250;
const maxName = 128;
const maxCount = 5;

/** How long a build may keep other work waiting. */
const stepMs = 10;

/** A server gets at most this share of the places while tools of other servers match. */
const maxShare = 5 / 8;

/**
 * How much a field counts, how much a longer field lowers the weight of each of its terms (`b`), and how many terms such a
 * field usually has. All fields that describe the server come last.
 */
const fields = [
  { name: 'name', weight: 3, b: 0.4, usual: 3 },
  { name: 'title', weight: 1, b: 0.4, usual: 1 },
  { name: 'first sentence', weight: 2, b: 0.2, usual: 8 },
  { name: 'description', weight: 1, b: 0.5, usual: 30 },
  { name: 'parameter names', weight: 0.7, b: 0.5, usual: 6 },
  { name: 'parameter descriptions', weight: 0.4, b: 0.6, usual: 30 },
  { name: 'annotations', weight: 0.2, b: 0.5, usual: 1 },
  { name: 'server name', weight: 1, b: 0.3, usual: 2 },
  { name: 'server description', weight: 0.3, b: 0.2, usual: 10 },
  { name: 'other tools on the server', weight: 0.3, b: 0.7, usual: 40 },
] as const;

const unknownIdf = 4;
const relatedWeight = 0.4;
/** The words related to one word of the query count at most this often: a server could list all of them. */
const maxRelated = 2;
/** The first fields belong to one tool, and the others to all tools on a server. */
const ownFields = 7;
/** The average lengths of fields begin with this many usual tools, so that one tool cannot decide them. */
const usualTools = 10;
/** A server counts at most as this many tools where frequencies of terms are counted. */
const maxOfServer = 4;
/** No word of a query counts less, although all tools may contain the word. */
const minIdf = 1;
/** A natural text repeats its words about this often. */
const usualRepetition = 3;
const nameCoverageWeight = 0.5;
const relatedInName = 0.7;
const gramWeight = 0.05;
const serverWeight = 0.4;

/** The tools that contain a term, in ascending order. */
interface Postings {
  tools: Uint32Array;
  /** The saturated weight of the term in each tool. */
  weights: Float32Array;
  /** The fields of each tool that contain the term, a bit for each field. */
  fields: Uint16Array;
  idf: number;
}

interface Grams {
  tools: Uint32Array;
  idf: number;
}

/** A term of a query, and how much counts: less for a correction of a word that no tool contains. */
interface QueryTerm {
  term: string;
  weight: number;
  written: string;
}

/**
 * An index of tools in memory that ranks without a model: BM25F over the fields of a tool with related words, name
 * coverage, and four-character sequences. The same query always returns the same result.
 */
export class ToolIndex<Tool extends SearchableTool = SearchableTool> {
  readonly #tools: readonly Tool[];
  readonly #postings = new Map<string, Postings>();
  /** For each term, the tools whose names contain the term. */
  readonly #names = new Map<string, number[]>();
  /** The sum of the `idf` of the terms in each name. */
  readonly #nameIdf: Float32Array;
  /** How many tools the frequencies of terms are compared with. */
  readonly #total: number;
  /** The server of each tool as a number. */
  readonly #servers: Uint32Array;
  readonly #grams = new Map<string, Grams>();
  readonly #gramLengths: Float32Array;
  /** The sums of related words during a search, and otherwise zero. */
  readonly #related: Float64Array;

  /** Builds an empty index if `isBuilt` is false. */
  constructor(tools: Iterable<Tool>, isBuilt = true) {
    this.#tools = [...tools].toSorted((one, other) => (one.id < other.id ? -1 : 1));
    this.#nameIdf = new Float32Array(this.#tools.length);
    this.#servers = numbered(this.#tools.map(({ server }) => server));
    this.#total = dampened(countsOfAll(this.#servers).values());
    this.#gramLengths = new Float32Array(this.#tools.length);
    this.#related = new Float64Array(this.#tools.length);
    if (isBuilt) for (const _step of this.#steps()) continue;
  }

  /** Builds an index in steps of about ten milliseconds, so that other work continues. */
  static async build<Tool extends SearchableTool>(tools: Iterable<Tool>): Promise<ToolIndex<Tool>> {
    const index = new ToolIndex(tools, false);
    let sinceMs = performance.now();
    for (const _step of index.#steps()) {
      if (performance.now() - sinceMs < stepMs) continue;
      await turn();
      sinceMs = performance.now();
    }
    return index;
  }

  get size(): number {
    return this.#tools.length;
  }

  get tools(): readonly Tool[] {
    return this.#tools;
  }

  /** Returns the tools that fit a query, the best first. An empty result is a valid answer. */
  search(query: string, options: SearchOptions<Tool>): FoundTool<Tool>[] {
    const { limit, maxDistance = 1, includes, boostOf } = options;
    const { terms, scores, best } = this.#score(query);
    const ranked: { at: number; score: number }[] = [];
    for (let at = 0; at < scores.length; at++) {
      const score = scores[at] ?? 0;
      const tool = this.#tools[at];
      if (score <= 0 || tool === undefined || includes?.(tool) === false) continue;
      const boosted = boostOf === undefined ? score : score * boostOf(tool);
      if (distanceOf(boosted, best) <= maxDistance) ranked.push({ at, score: boosted });
    }
    ranked.sort((one, other) => other.score - one.score || one.at - other.at);
    return this.#shared(ranked, limit).flatMap(({ at, score }) => {
      const tool = this.#tools[at];
      if (tool === undefined) return [];
      return [{ tool, score, distance: distanceOf(score, best), reason: this.#explain(at, terms) }];
    });
  }

  #score(query: string): { terms: QueryTerm[]; scores: Float64Array; best: number } {
    const prepared = prepareQuery(query.slice(0, maxFieldLength));
    const translated = [prepared, ...englishFor(prepared)].join(' ');
    const terms = this.#queryTerms(translated);
    const scores = new Float64Array(this.#tools.length);
    const inNames = new Map<string, number>();
    let best = 0;
    for (const { term, weight } of terms) {
      const idf = this.#postings.get(term)?.idf ?? unknownIdf;
      best += weight * idf * saturated(fields[0].weight + fields[2].weight);
      this.#add(scores, term, weight * idf);
      inNames.set(term, 1);
    }
    for (const { term, weight } of terms) {
      const limit = this.#postings.get(term)?.idf ?? unknownIdf;
      const related = relatedWords().get(term);
      if (related === undefined) continue;
      const touched: number[] = [];
      for (const [other, closeness] of related) {
        const idf = this.#postings.get(other)?.idf;
        if (idf === undefined) continue;
        this.#collect(touched, other, relatedWeight * weight * closeness * Math.min(idf, limit));
        inNames.set(other, Math.max(inNames.get(other) ?? 0, relatedInName * closeness));
      }
      const most = maxRelated * weight * limit;
      for (const tool of touched) {
        scores[tool] = (scores[tool] ?? 0) + Math.min(this.#related[tool] ?? 0, most);
        this.#related[tool] = 0;
      }
    }
    this.#addNameCoverage(scores, inNames);
    this.#addGrams(scores, translated);
    this.#addServers(scores);
    return { terms, scores, best };
  }

  #queryTerms(query: string): QueryTerm[] {
    const counts = countsOf(termsOf(query));
    return [...counts].flatMap(([term, count]): QueryTerm[] => {
      const weight = 1 + 0.5 * Math.log(count);
      const known = this.#postings.has(term) || relatedWords().has(term);
      const corrections = known ? [] : correctionsOf(term, this.#postings.keys());
      return [
        { term, weight, written: term },
        ...corrections.map((corrected) => ({
          term: corrected,
          weight: (0.8 * weight) / corrections.length,
          written: term,
        })),
      ];
    });
  }

  #add(scores: Float64Array, term: string, factor: number): void {
    const postings = this.#postings.get(term);
    if (postings === undefined) return;
    const { tools, weights } = postings;
    for (let at = 0; at < tools.length; at++) {
      const tool = tools[at] ?? 0;
      scores[tool] = (scores[tool] ?? 0) + factor * (weights[at] ?? 0);
    }
  }

  /** Adds to the sums of related words, and remembers the tools whose sums were zero. */
  #collect(touched: number[], term: string, factor: number): void {
    const { tools, weights } = this.#postings.get(term) ?? { tools: [], weights: [] };
    for (let at = 0; at < tools.length; at++) {
      const tool = tools[at] ?? 0;
      const before = this.#related[tool] ?? 0;
      if (before === 0) touched.push(tool);
      this.#related[tool] = before + factor * (weights[at] ?? 0);
    }
  }

  #addNameCoverage(scores: Float64Array, inNames: ReadonlyMap<string, number>): void {
    const best = maximum(scores);
    if (best === 0) return;
    for (const [term, match] of inNames) {
      const covered = match * (this.#postings.get(term)?.idf ?? unknownIdf);
      for (const at of this.#names.get(term) ?? [])
        scores[at] =
          (scores[at] ?? 0) + (nameCoverageWeight * best * covered) / (2 + (this.#nameIdf[at] ?? 0));
    }
  }

  #addGrams(scores: Float64Array, query: string): void {
    for (const gram of gramsOf(query)) {
      const found = this.#grams.get(gram);
      if (found === undefined) continue;
      for (const tool of found.tools)
        scores[tool] = (scores[tool] ?? 0) + (gramWeight * found.idf) / (this.#gramLengths[tool] ?? 1);
    }
  }

  /** A matching server's tool is more likely than the same tool of another server. */
  #addServers(scores: Float64Array): void {
    const best = new Float64Array(this.#tools.length);
    for (let at = 0; at < scores.length; at++) {
      const server = this.#servers[at] ?? 0;
      best[server] = Math.max(best[server] ?? 0, scores[at] ?? 0);
    }
    for (let at = 0; at < scores.length; at++) {
      const score = scores[at] ?? 0;
      if (score > 0) scores[at] = score + serverWeight * (best[this.#servers[at] ?? 0] ?? 0);
    }
  }

  /** Cuts a ranking so that one server does not fill all places while tools of others match. */
  #shared(ranked: readonly { at: number; score: number }[], limit: number): { at: number; score: number }[] {
    const most = Math.max(1, Math.ceil(limit * maxShare));
    const counts = new Map<string, number>();
    const first: { at: number; score: number }[] = [];
    const surplus: { at: number; score: number }[] = [];
    for (const one of ranked) {
      if (first.length === limit) break;
      const server = this.#tools[one.at]?.server ?? '';
      const count = counts.get(server) ?? 0;
      counts.set(server, count + 1);
      (count < most ? first : surplus).push(one);
    }
    return [...first, ...surplus.slice(0, limit - first.length)].toSorted(
      (one, other) => other.score - one.score || one.at - other.at,
    );
  }

  #explain(at: number, terms: readonly QueryTerm[]): MatchReason[] {
    return terms.flatMap(({ term, written }): MatchReason[] => {
      const direct = this.#fieldsWith(term, at);
      if (direct.length > 0)
        return [{ term: written, ...(term === written ? {} : { through: term }), fields: direct }];
      const [through] = [...(relatedWords().get(term)?.keys() ?? [])]
        .map((other) => ({ other, found: this.#fieldsWith(other, at) }))
        .filter(({ found }) => found.length > 0)
        .toSorted((one, other) => placeOfField(one.found) - placeOfField(other.found));
      if (through !== undefined) return [{ term: written, through: through.other, fields: through.found }];
      return [];
    });
  }

  /** Returns the fields of a tool that contain a term. */
  #fieldsWith(term: string, tool: number): ToolField[] {
    const postings = this.#postings.get(term);
    const place = postings === undefined ? -1 : placeOf(tool, postings.tools);
    const bits = place === -1 ? 0 : (postings?.fields[place] ?? 0);
    return fields.flatMap(({ name }, index) => ((bits & (1 << index)) === 0 ? [] : [name]));
  }

  /** Yields where other work may continue. */
  *#steps(): Generator<void, void, void> {
    yield* this.#buildPostings();
    this.#buildNames();
    yield;
    yield* this.#buildGrams();
  }

  *#buildPostings(): Generator<void, void, void> {
    const contents: FieldContent[][] = [];
    const ofServers = new Map<string, FieldContent[]>();
    const names = namesByServer(this.#tools);
    for (const tool of this.#tools) {
      const { server } = tool;
      const ofServer = ofServers.get(server) ?? serverFieldsOf(tool, names.get(server) ?? '').map(contentOf);
      ofServers.set(server, ofServer);
      contents.push([...toolFieldsOf(tool).map(contentOf), ...ofServer]);
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
      this.#postings.set(term, {
        tools: Uint32Array.from(postings.tools),
        weights: Float32Array.from(postings.weights),
        fields: Uint16Array.from(postings.fields),
        idf: idfOf(this.#frequencyOf(postings), this.#total),
      });
    }
  }

  /**
   * How many tools contain a term, where further tools of the same server count less and less: a server must not be able
   * to make the words of other servers common. A term in a field of a server counts once.
   */
  #frequencyOf({ tools, fields: bits }: { tools: readonly number[]; fields: readonly number[] }): number {
    const counts = new Map<number, number>();
    for (const [place, tool] of tools.entries()) {
      const server = this.#servers[tool] ?? 0;
      const isOwn = ((bits[place] ?? 0) & ((1 << ownFields) - 1)) !== 0;
      const count = counts.get(server) ?? 0;
      counts.set(server, isOwn ? count + 1 : Math.max(count, 1));
    }
    return dampened(counts.values());
  }

  #buildNames(): void {
    for (const [at, { name }] of this.#tools.entries()) {
      for (const term of new Set(nameTermsOf(name.slice(0, maxName)))) {
        this.#nameIdf[at] = (this.#nameIdf[at] ?? 0) + (this.#postings.get(term)?.idf ?? unknownIdf);
        const tools = this.#names.get(term);
        if (tools === undefined) this.#names.set(term, [at]);
        else tools.push(at);
      }
    }
  }

  *#buildGrams(): Generator<void, void, void> {
    const building = new Map<string, number[]>();
    let total = 0;
    for (const [at, { name, description = '' }] of this.#tools.entries()) {
      const grams = gramsOf(`${name} ${description}`.slice(0, maxFieldLength));
      total += grams.size;
      this.#gramLengths[at] = grams.size;
      for (const gram of grams) {
        const tools = building.get(gram);
        if (tools === undefined) building.set(gram, [at]);
        else tools.push(at);
      }
      yield;
    }
    const average = total / Math.max(1, this.#tools.length);
    for (const [at, length] of this.#gramLengths.entries())
      this.#gramLengths[at] = 0.5 + (0.5 * length) / Math.max(1, average);
    for (const [gram, tools] of building)
      this.#grams.set(gram, {
        tools: Uint32Array.from(tools),
        idf: idfOf(Math.min(tools.length, this.#total), this.#total),
      });
  }
}

/** The terms of the fields that belong to one tool, in the order of `fields`. */
function toolFieldsOf(tool: SearchableTool): string[][] {
  const description = textOf(tool.description).slice(0, maxFieldLength);
  const first = firstSentenceOf(description);
  const parameters = parametersOf(tool.inputSchema);
  return [
    nameTermsOf(tool.name.slice(0, maxName)),
    termsOf(textOf(tool.title).slice(0, maxFirstSentence)),
    termsOf(first),
    termsOf(description.slice(first.length)),
    termsOf(parameters.names.slice(0, maxFieldLength)),
    termsOf(parameters.descriptions.slice(0, maxFieldLength)),
    hintsOf(tool.annotations),
  ];
}

/** The terms of the remaining fields, which are the same for all tools on a server. */
function serverFieldsOf({ server, serverDescription }: SearchableTool, siblings: string): string[][] {
  return [
    nameTermsOf(server.slice(0, maxName)),
    termsOf(textOf(serverDescription).slice(0, maxFieldLength)),
    termsOf(siblings),
  ];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function firstSentenceOf(description: string): string {
  const [sentence = ''] = /^.*?(?:[.!?。](?=\s|$)|\n|$)/su.exec(description) ?? [];
  return sentence.slice(0, maxFirstSentence);
}

/** The names and the descriptions of the parameters at the first two levels of a schema. */
function parametersOf(schema: unknown, depth = 0): { names: string; descriptions: string } {
  const names: string[] = [];
  const descriptions: string[] = [];
  const { properties } = objectOf(schema);
  for (const [name, property] of Object.entries(objectOf(properties)).slice(0, 100)) {
    const { description, items } = objectOf(property);
    names.push(name.slice(0, maxName));
    descriptions.push(textOf(description).slice(0, maxFieldLength));
    if (depth > 0) continue;
    for (const part of [property, items]) {
      const inner = parametersOf(part, depth + 1);
      names.push(inner.names);
      descriptions.push(inner.descriptions);
    }
  }
  return { names: names.join(' '), descriptions: descriptions.join(' ') };
}

const hints: Readonly<Record<string, string>> = {
  readOnlyHint: 'read only',
  destructiveHint: 'destructive',
  openWorldHint: 'external',
};

function hintsOf(annotations: unknown): string[] {
  return Object.entries(objectOf(annotations)).flatMap(([name, value]) =>
    value === true && Object.hasOwn(hints, name) ? termsOf(hints[name] ?? '') : [],
  );
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** The names of all tools on each server. A tool alone has no siblings. */
function namesByServer(tools: readonly SearchableTool[]): Map<string, string> {
  const names = new Map<string, string[]>();
  for (const { server, name } of tools) {
    const known = names.get(server);
    if (known === undefined) names.set(server, [name]);
    else known.push(name);
  }
  return new Map(
    [...names].map(([server, all]) => [server, all.length < 2 ? '' : all.join(' ').slice(0, maxFieldLength)]),
  );
}

function countsOf(terms: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const term of terms) counts.set(term, Math.min(maxCount, (counts.get(term) ?? 0) + 1));
  return counts;
}

interface FieldContent {
  counts: ReadonlyMap<string, number>;
  length: number;
}

function averageLength(contents: readonly (FieldContent | undefined)[], usual: number): number {
  const total = contents.reduce((sum, content) => sum + (content?.length ?? 0), usualTools * usual);
  return total / (contents.length + usualTools);
}

function contentOf(terms: readonly string[]): FieldContent {
  return { counts: countsOf(terms), length: terms.length };
}

/** The weighted counts of all terms of a tool, and the fields that contain each term as bits. */
function weightsOf(
  content: readonly FieldContent[],
  averages: readonly number[],
): Map<string, { weight: number; bits: number }> {
  const weights = new Map<string, { weight: number; bits: number }>();
  for (const [index, { weight, b }] of fields.entries()) {
    const { counts, length } = content[index] ?? { counts: new Map<string, number>(), length: 0 };
    const repetition = Math.max(1, length / Math.max(1, counts.size * usualRepetition));
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

/** The most important field of a match. */
function placeOfField([first]: readonly ToolField[]): number {
  return fields.findIndex(({ name }) => name === first);
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

/** Returns the place of a number in an ascending list, or -1. */
function placeOf(wanted: number, list: Uint32Array): number {
  let [low, high] = [0, list.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const value = list[middle] ?? 0;
    if (value === wanted) return middle;
    if (value < wanted) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

function countsOfAll(servers: Uint32Array): Map<number, number> {
  const counts = new Map<number, number>();
  for (const server of servers) counts.set(server, (counts.get(server) ?? 0) + 1);
  return counts;
}

/** The sum of counts by server, of which large ones count less. */
function dampened(counts: Iterable<number>): number {
  let sum = 0;
  for (const count of counts) sum += Math.min(1 + Math.log(count), maxOfServer);
  return sum;
}

/** With `k1` 3, the third occurrence still counts, and the twentieth hardly does. */
function saturated(weight: number): number {
  return (4 * weight) / (3 + weight);
}

function idfOf(count: number, total: number): number {
  return Math.max(minIdf, Math.log(1 + (total - count + 0.5) / (count + 0.5)));
}

function distanceOf(score: number, best: number): number {
  return best <= 0 ? 1 : best / (best + Math.max(0, score));
}

function maximum(values: Float64Array): number {
  let most = 0;
  for (const value of values) if (value > most) most = value;
  return most;
}
