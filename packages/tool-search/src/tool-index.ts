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
    const { limit, maxDistance = 1, includes, boostOf } = options;
    if (this.#scorer === undefined) return [];
    const { terms, scores, best } = this.#scorer.score(query);
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

  /** Cuts a ranking so that one server does not fill all places while tools of others match. */
  #shared(ranked: readonly { at: number; score: number }[], limit: number): { at: number; score: number }[] {
    const most = Math.max(1, Math.ceil(limit * tuning.maxShare));
    const counts = new Map<string, number>();
    const first: { at: number; score: number }[] = [];
    let displaced: number | undefined;
    for (const one of ranked) {
      if (first.length === limit) break;
      if (displaced !== undefined && one.score < tuning.minOfDisplaced * displaced) break;
      const server = this.#tools[one.at]?.server ?? '';
      const count = counts.get(server) ?? 0;
      counts.set(server, count + 1);
      if (count < most) first.push(one);
      else displaced ??= one.score;
    }
    const taken = new Set(first);
    const others = ranked.filter((one) => !taken.has(one)).slice(0, limit - first.length);
    return [...first, ...others].toSorted((one, other) => other.score - one.score || one.at - other.at);
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
