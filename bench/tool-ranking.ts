import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import { termsOf } from '@toolhive/tool-search/terms';
import { ToolIndex } from '@toolhive/tool-search/tool-index';
import type { SearchableTool } from '@toolhive/tool-search/tool-index';

/** Returns the names of the best tools for a question, the best first. */
export type Rank = (question: string) => string[];

/** A question with the tools that answer it. */
export interface Question {
  text: string;
  answers: readonly string[];
  /** Whether the question may be used to tune the ranking. */
  isForTuning: boolean;
}

interface Data {
  tools: Record<string, string>;
  single: Record<string, string[]>;
  multi: [question: string, tools: string[]][];
}

/** ToolE from MetaTool: see `data/README.md`. */
export interface ToolE {
  tools: SearchableTool[];
  single: Question[];
  multi: Question[];
}

/** The mean of all questions, of the tuning questions, and of the held-out questions. */
export interface Quality {
  all: number;
  tuning: number;
  heldOut: number;
}

const places = 5;

export function readToolE(): ToolE {
  const file = new URL('data/toole.json.br', import.meta.url);
  const data = JSON.parse(brotliDecompressSync(readFileSync(file)).toString()) as Data; // written as this type
  const question = (text: string, answers: string[]): Question => ({
    text,
    answers,
    isForTuning: isForTuning(answers),
  });
  return {
    // Each tool is a plugin, so the plugin is its server.
    tools: Object.entries(data.tools).map(([name, description]) => ({
      id: name,
      server: name,
      name,
      description,
    })),
    single: Object.entries(data.single).flatMap(([tool, texts]) =>
      texts.map((text) => question(text, [tool])),
    ),
    multi: data.multi.map(([text, answers]) => question(text, answers)),
  };
}

/** Splits questions by the tools that answer them: by the lowest bit of the last byte of SHA-256. */
function isForTuning(answers: readonly string[]): boolean {
  const digest = hash('sha256', answers.toSorted().join('+'), 'buffer');
  return ((digest.at(-1) ?? 0) & 1) === 0;
}

/** The ranking of `find_tool`. */
export async function ourRanking(tools: readonly SearchableTool[]): Promise<Rank> {
  const index = await ToolIndex.build(tools);
  return (question) => index.search(question, { limit: places }).map(({ tool }) => tool.name);
}

/** Plain BM25 over the descriptions and names (k1 1.2, b 0.75), with stems and without function words. */
export function plainRanking(tools: readonly SearchableTool[]): Rank {
  const documents = tools.map(({ name, description }) => termsOf(`${name} ${description}`));
  const average = documents.reduce((sum, { length }) => sum + length, 0) / documents.length;
  const postings = new Map<string, Map<number, number>>();
  for (const [at, terms] of documents.entries())
    for (const term of terms) {
      const counts = postings.get(term) ?? new Map<number, number>();
      postings.set(term, counts.set(at, (counts.get(at) ?? 0) + 1));
    }
  return (question) => {
    const scores = new Map<number, number>();
    for (const term of termsOf(question)) {
      const counts = postings.get(term) ?? new Map<number, number>();
      const idf = Math.log(1 + (documents.length - counts.size + 0.5) / (counts.size + 0.5));
      for (const [at, count] of counts) {
        const length = documents[at]?.length ?? 0;
        const score = (idf * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * length) / average));
        scores.set(at, (scores.get(at) ?? 0) + score);
      }
    }
    return [...scores]
      .toSorted(([one, a], [other, b]) => b - a || one - other)
      .slice(0, places)
      .map(([at]) => tools[at]?.name ?? '');
  };
}

/** Returns the mean nDCG@5 of a ranking. */
export function qualityOf(rank: Rank, questions: readonly Question[]): Quality {
  const sums = { all: 0, tuning: 0, heldOut: 0 };
  let tuned = 0;
  for (const { text, answers, isForTuning: isTuned } of questions) {
    const gain = ndcg(rank(text), answers);
    sums.all += gain;
    if (isTuned) sums.tuning += gain;
    else sums.heldOut += gain;
    tuned += Number(isTuned);
  }
  return {
    all: sums.all / questions.length,
    tuning: sums.tuning / tuned,
    heldOut: sums.heldOut / (questions.length - tuned),
  };
}

function ndcg(found: readonly string[], answers: readonly string[]): number {
  const gainAt = (place: number): number => 1 / Math.log2(place + 2);
  const gain = found
    .slice(0, places)
    .reduce((sum, name, place) => sum + (answers.includes(name) ? gainAt(place) : 0), 0);
  const ideal = answers.slice(0, places).reduce((sum, _name, place) => sum + gainAt(place), 0);
  return gain / ideal;
}
