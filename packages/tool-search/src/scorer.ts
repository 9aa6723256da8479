import { countsOf, saturated } from './contents.ts';
import type { IndexContents } from './contents.ts';
import { correctionsOf } from './corrections.ts';
import { englishFor, relatedWords } from './related-words.ts';
import { gramsOf, prepareQuery, termsOf } from './terms.ts';
import { fields, tuning } from './tuning.ts';

/** A term of a query, and how much counts: less for a correction of a word that no tool contains. */
export interface QueryTerm {
  term: string;
  weight: number;
  written: string;
}

/** Scores the tools of an index for queries. */
export class Scorer {
  readonly #contents: IndexContents;
  readonly #size: number;
  /** The sums of related words during a search, and otherwise zero. */
  readonly #related: Float64Array;

  constructor(contents: IndexContents, size: number) {
    this.#contents = contents;
    this.#size = size;
    this.#related = new Float64Array(size);
  }

  /** Returns the score of each tool, and the score of a tool that contains the whole query. */
  score(query: string): { terms: QueryTerm[]; scores: Float64Array; best: number } {
    const prepared = prepareQuery(query.slice(0, tuning.maxFieldLength));
    const translated = [prepared, ...englishFor(prepared)].join(' ');
    const terms = this.#queryTerms(translated);
    const scores = new Float64Array(this.#size);
    const inNames = new Map<string, number>();
    let best = 0;
    for (const { term, weight } of terms) {
      const idf = this.#contents.postings.get(term)?.idf ?? tuning.unknownIdf;
      best += weight * idf * saturated(fields[0].weight + fields[2].weight);
      this.#add(scores, term, weight * idf);
      inNames.set(term, 1);
    }
    for (const { term, weight } of terms) {
      const limit = this.#contents.postings.get(term)?.idf ?? tuning.unknownIdf;
      const related = relatedWords().get(term);
      if (related === undefined) continue;
      const touched: number[] = [];
      for (const [other, closeness] of related) {
        const idf = this.#contents.postings.get(other)?.idf;
        if (idf === undefined) continue;
        this.#collect(touched, other, tuning.relatedWeight * weight * closeness * Math.min(idf, limit));
        inNames.set(other, Math.max(inNames.get(other) ?? 0, tuning.relatedInName * closeness));
      }
      const most = tuning.maxRelated * weight * limit;
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
      const known = this.#contents.postings.has(term) || relatedWords().has(term);
      const corrections = known ? [] : correctionsOf(term, this.#contents.postings.keys());
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
    const postings = this.#contents.postings.get(term);
    if (postings === undefined) return;
    const { tools, weights } = postings;
    for (let at = 0; at < tools.length; at++) {
      const tool = tools[at] ?? 0;
      scores[tool] = (scores[tool] ?? 0) + factor * (weights[at] ?? 0);
    }
  }

  /** Adds to the sums of related words, and remembers the tools whose sums were zero. */
  #collect(touched: number[], term: string, factor: number): void {
    const { tools, weights } = this.#contents.postings.get(term) ?? { tools: [], weights: [] };
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
      const covered = match * (this.#contents.postings.get(term)?.idf ?? tuning.unknownIdf);
      for (const at of this.#contents.names.get(term) ?? [])
        scores[at] =
          (scores[at] ?? 0) +
          (tuning.nameCoverageWeight * best * covered) / (2 + (this.#contents.nameIdf[at] ?? 0));
    }
  }

  #addGrams(scores: Float64Array, query: string): void {
    for (const gram of gramsOf(query)) {
      const found = this.#contents.grams.get(gram);
      if (found === undefined) continue;
      for (const tool of found.tools)
        scores[tool] =
          (scores[tool] ?? 0) + (tuning.gramWeight * found.idf) / (this.#contents.gramLengths[tool] ?? 1);
    }
  }

  /** A matching server's tool is more likely than the same tool of another server. */
  #addServers(scores: Float64Array): void {
    const best = new Float64Array(this.#size);
    for (let at = 0; at < scores.length; at++) {
      const server = this.#contents.servers[at] ?? 0;
      best[server] = Math.max(best[server] ?? 0, scores[at] ?? 0);
    }
    for (let at = 0; at < scores.length; at++) {
      const score = scores[at] ?? 0;
      if (score > 0) scores[at] = score + tuning.serverWeight * (best[this.#contents.servers[at] ?? 0] ?? 0);
    }
  }
}

function maximum(values: Float64Array): number {
  let most = 0;
  for (const value of values) if (value > most) most = value;
  return most;
}
