import { setImmediate as turn } from 'node:timers/promises';
import { IndexContents } from './contents.ts';
import type { SearchableTool } from './fields.ts';
import { wordMeanings } from './meaning.ts';
import { relatedWords } from './related-words.ts';
import { Scorer } from './scorer.ts';
import type { QueryTerm } from './scorer.ts';
import { fields, tuning } from './tuning.ts';
import type { ToolField } from './tuning.ts';

export type { SearchableTool } from './fields.ts';

/**
 * Why a tool was found: the words of the query, or words related to them, and the fields that contain them. None if only
 * the spelling or the meaning is similar.
 */
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

/**
 * An index of tools in memory that ranks without a model: BM25F over the fields of a tool with related words, name
 * coverage, four-character sequences, and the meanings of words. The same query always returns the same result.
 */
export class ToolIndex<Tool extends SearchableTool = SearchableTool> {
  readonly #tools: readonly Tool[];
  /** Undefined for an empty index. */
  readonly #contents: IndexContents | undefined;
  readonly #scorer: Scorer | undefined;

  private constructor(tools: readonly Tool[], contents?: IndexContents) {
    this.#tools = tools;
    this.#contents = contents;
    this.#scorer = contents && new Scorer(contents, tools.length);
  }

  static empty<Tool extends SearchableTool>(): ToolIndex<Tool> {
    return new ToolIndex<Tool>([]);
  }

  /** Builds an index in steps of about ten milliseconds, so that other work continues. */
  static async build<Tool extends SearchableTool>(tools: Iterable<Tool>): Promise<ToolIndex<Tool>> {
    const sorted = [...tools].toSorted((one, other) => (one.id < other.id ? -1 : 1));
    if (sorted.length === 0) return ToolIndex.empty();
    const contents = new IndexContents(sorted, await wordMeanings());
    let sinceMs = performance.now();
    for (const _step of contents.build()) {
      if (performance.now() - sinceMs < tuning.stepMs) continue;
      await turn();
      sinceMs = performance.now();
    }
    return new ToolIndex(sorted, contents);
  }

  get size(): number {
    return this.#tools.length;
  }

  get tools(): readonly Tool[] {
    return this.#tools;
  }

  /** Returns the tools that fit a query, the best first. An empty result is a valid answer. */
  search(query: string, options: SearchOptions<Tool>): FoundTool<Tool>[] {
    if (this.#scorer === undefined) return [];
    const { terms, scores, best } = this.#scorer.score(query);
    const found = this.#filtered(scores, best, options);
    return this.#cut(found, options.limit).flatMap(({ at, score }) => {
      const tool = this.#tools[at];
      if (tool === undefined) return [];
      return [{ tool, score, distance: distanceOf(score, best), reason: this.#explain(at, terms) }];
    });
  }

  /** Returns the scores of the tools that may be found, and zero for the others. */
  #filtered(
    scores: Float64Array,
    best: number,
    { maxDistance = 1, includes, boostOf }: SearchOptions<Tool>,
  ): Float64Array {
    return scores.map((score, at) => {
      const tool = this.#tools[at];
      if (score <= 0 || tool === undefined || includes?.(tool) === false) return 0;
      const boosted = boostOf === undefined ? score : score * boostOf(tool);
      return distanceOf(boosted, best) <= maxDistance ? boosted : 0;
    });
  }

  /** Ranks the tools, and cuts the ranking. To put all tools in order would take as long as to score them. */
  #cut(scores: Float64Array, limit: number): Ranked[] {
    const first = rankingOf(scores, limit * tuning.rankedAtFirst);
    return this.#shared(first, limit) ?? this.#shared(rankingOf(scores), limit) ?? [];
  }

  /**
   * Cuts a ranking so that one server does not take all places while other servers match. Undefined if the result depends on
   * tools that the ranking leaves out.
   */
  #shared({ ranked, isComplete }: Ranking, limit: number): Ranked[] | undefined {
    const most = Math.max(1, Math.ceil(limit * tuning.maxShare));
    const counts = new Map<string, number>();
    const first: Ranked[] = [];
    let displaced: number | undefined;
    let isDecided = false;
    for (const one of ranked) {
      isDecided = displaced !== undefined && one.score < tuning.minOfDisplaced * displaced;
      if (isDecided || first.length === limit) break;
      const server = this.#tools[one.at]?.server ?? '';
      const count = counts.get(server) ?? 0;
      counts.set(server, count + 1);
      if (count < most) first.push(one);
      else displaced ??= one.score;
    }
    if (!isDecided && !isComplete && first.length < limit) return undefined;
    const taken = new Set(first);
    const others = ranked.filter((one) => !taken.has(one)).slice(0, limit - first.length);
    return [...first, ...others].toSorted(byScore);
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
    const postings = this.#contents?.postings.get(term);
    const place = postings === undefined ? -1 : placeOf(tool, postings.tools);
    const bits = place === -1 ? 0 : (postings?.fields[place] ?? 0);
    return fields.flatMap(({ name }, index) => ((bits & (1 << index)) === 0 ? [] : [name]));
  }
}

/** The place of a tool in the index, and its score. */
interface Ranked {
  at: number;
  score: number;
}

/** The best tools, and whether these are all that match. */
interface Ranking {
  ranked: Ranked[];
  isComplete: boolean;
}

/** Ranks the tools with a score above zero: at least this many of them, or all. */
function rankingOf(scores: Float64Array, most = Infinity): Ranking {
  const least = scores.length > 4 * most ? scoreAt(most, scores) : 0;
  const ranked: Ranked[] = [];
  let isComplete = true;
  for (let at = 0; at < scores.length; at++) {
    const score = scores[at] ?? 0;
    if (score <= 0) continue;
    if (score >= least) ranked.push({ at, score });
    else isComplete = false;
  }
  ranked.sort(byScore);
  return { ranked, isComplete };
}

/** The score at a place of the ranking, or 0. Only a few scores are put in order at a time. */
function scoreAt(place: number, scores: Float64Array): number {
  const best = new Float64Array(4 * place);
  let [count, least] = [0, 0];
  for (const score of scores) {
    if (score <= least) continue;
    best[count] = score;
    count += 1;
    if (count < best.length) continue;
    best.sort();
    best.copyWithin(0, count - place);
    count = place;
    least = best[0] ?? 0;
  }
  const rest = best.subarray(0, count);
  rest.sort();
  return rest[count - place] ?? 0;
}

function byScore(one: Ranked, other: Ranked): number {
  return other.score - one.score || one.at - other.at;
}

/** The most important field of a match. */
function placeOfField([first]: readonly ToolField[]): number {
  return fields.findIndex(({ name }) => name === first);
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

function distanceOf(score: number, best: number): number {
  return best <= 0 ? 1 : best / (best + Math.max(0, score));
}
