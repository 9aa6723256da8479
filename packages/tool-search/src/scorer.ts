import { countsOf, saturated } from './contents.ts';
import type { IndexContents } from './contents.ts';
import { correctionsOf } from './corrections.ts';
import { englishFor, relatedWords } from './related-words.ts';
import type { Meaning } from './meaning.ts';
import { gramsOf, partsOf, prepareQuery, termsOf, withoutQuotes } from './terms.ts';
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
  /** The sums of one term and of its related words during a search, and otherwise zero. */
  readonly #direct: Float64Array;
  readonly #related: Float64Array;

  constructor(contents: IndexContents, size: number) {
    this.#contents = contents;
    this.#size = size;
    this.#direct = new Float64Array(size);
    this.#related = new Float64Array(size);
  }

  /** Returns the score of each tool, and the score of a tool that contains the whole query. */
  score(query: string): { terms: QueryTerm[]; scores: Float64Array; best: number } {
    const prepared = prepareQuery(query.slice(0, tuning.maxFieldLength));
    const translated = [prepared, ...englishFor(prepared)].join(' ');
    const terms = this.#queryTerms(translated);
    const scores = new Float64Array(this.#size);
    const inNames = new Map<string, number>();
    const relatedWeight = tuning.relatedWeight * Math.min(1, Math.sqrt(tuning.shortQuery / terms.length));
    let best = 0;
    for (const { term, weight } of terms) {
      best += weight * this.#idfOf(term) * saturated(fields[0].weight + fields[2].weight);
      this.#addTerm(scores, term, weight, relatedWeight);
    }
    for (const { term } of terms) {
      inNames.set(term, 1);
      for (const [other, closeness] of relatedWords().get(term) ?? [])
        inNames.set(other, Math.max(inNames.get(other) ?? 0, tuning.relatedInName * closeness));
    }
    this.#addNameCoverage(scores, inNames);
    this.#addGrams(scores, translated);
    this.#addMeaning(scores, translated, best);
    this.#addServers(scores);
    return { terms, scores, best };
  }

  #queryTerms(query: string): QueryTerm[] {
    const counts = countsOf(termsOf(query));
    const unquoted = new Set(termsOf(withoutQuotes(query)));
    return [...counts].flatMap(([term, count]): QueryTerm[] => {
      const isValue = !unquoted.has(term) || /^\p{Nd}+$/u.test(term);
      const weight = (1 + 0.5 * Math.log(count)) * (isValue ? tuning.valueWeight : 1);
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

  #idfOf(term: string): number {
    return this.#contents.postings.get(term)?.idf ?? tuning.unknownIdf;
  }

  /** Adds the score of a term. Related words add little to a tool that contains the term itself. */
  #addTerm(scores: Float64Array, term: string, weight: number, relatedWeight: number): void {
    const idf = this.#idfOf(term);
    const touched: number[] = [];
    this.#collect(this.#direct, touched, term, weight * idf);
    for (const [other, closeness] of relatedWords().get(term) ?? []) {
      const otherIdf = Math.min(this.#contents.postings.get(other)?.idf ?? 0, idf);
      this.#collect(this.#related, touched, other, relatedWeight * weight * closeness * otherIdf);
    }
    const most = tuning.maxRelated * weight * idf;
    for (const tool of touched) {
      const direct = this.#direct[tool] ?? 0;
      const related = Math.min(this.#related[tool] ?? 0, most) - tuning.overlap * direct;
      scores[tool] = (scores[tool] ?? 0) + direct + Math.max(0, related);
      this.#direct[tool] = 0;
      this.#related[tool] = 0;
    }
  }

  /** Adds to the sums of a term, and remembers the tools whose sums were zero. */
  #collect(sums: Float64Array, touched: number[], term: string, factor: number): void {
    const { tools, weights } = this.#contents.postings.get(term) ?? { tools: [], weights: [] };
    for (let at = 0; at < tools.length; at++) {
      const tool = tools[at] ?? 0;
      const before = sums[tool] ?? 0;
      if (before === 0) touched.push(tool);
      sums[tool] = before + factor * (weights[at] ?? 0);
    }
  }

  #addNameCoverage(scores: Float64Array, inNames: ReadonlyMap<string, number>): void {
    const best = maximum(scores);
    if (best === 0) return;
    for (const [term, match] of inNames) {
      const covered = match * this.#idfOf(term);
      for (const at of this.#contents.names.get(term) ?? [])
        scores[at] =
          (scores[at] ?? 0) +
          (tuning.nameCoverageWeight * best * covered) / (2 + (this.#contents.nameIdf[at] ?? 0));
    }
  }

  #addGrams(scores: Float64Array, query: string): void {
    const { grams, gramShares } = this.#contents;
    for (const gram of gramsOf(query)) {
      const { tools, idf } = grams.get(gram) ?? { tools: none, idf: 0 };
      const weight = tuning.gramWeight * idf;
      for (let at = 0; at < tools.length; at++) {
        const tool = tools[at] ?? 0;
        scores[tool] = (scores[tool] ?? 0) + weight * (gramShares[tool] ?? 0);
      }
    }
  }

  /** Adds how similar the meanings of a tool and of the query are, or of the part of the query that is most similar. */
  #addMeaning(scores: Float64Array, query: string, best: number): void {
    const whole = this.#meaningOf(query);
    if (whole === undefined) return;
    const parts = partsOf(query)
      .slice(0, tuning.maxParts)
      .map((part) => this.#meaningOf(part))
      .filter((part) => part !== undefined);
    const most = maximum(scores) || best;
    const { meanings } = this.#contents;
    for (let at = 0; at < scores.length; at++) {
      const score = scores[at] ?? 0;
      const ofWhole = meanings.similarity(at, whole);
      let near = ofWhole;
      const isCompared =
        scores.length <= tuning.fullyCompared ||
        score > tuning.fewWords * most ||
        ofWhole > tuning.littleMeaning;
      if (parts.length > 1 && isCompared) {
        let ofPart = -1;
        for (const part of parts) ofPart = Math.max(ofPart, meanings.similarity(at, part));
        near += tuning.partOfQuery * (ofPart - ofWhole);
      }
      if (near > (score === 0 ? tuning.minSimilarity : 0))
        scores[at] = score + tuning.meaningWeight * most * near;
    }
  }

  #meaningOf(text: string): Meaning | undefined {
    const counts = countsOf(termsOf(text));
    return this.#contents.words.of([...counts].map(([term, count]) => [term, 1 + 0.5 * Math.log(count)]));
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

const none = new Uint32Array();

function maximum(values: Float64Array): number {
  let most = 0;
  for (const value of values) if (value > most) most = value;
  return most;
}
