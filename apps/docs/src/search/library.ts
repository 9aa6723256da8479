import MiniSearch, { type SearchOptions } from 'minisearch';
import { packWords, UnpackedIndex, type PackedWords } from './packed.ts';
import type { IndexedPage, IndexedSection } from './records.ts';
import { formsOf, isNoise, stemOf, wordTextsOf } from './words.ts';

/** A section of a page, ready to be found. */
export interface Entry {
  page: IndexedPage;
  section: IndexedSection;
  /** The headings that it stands under, from the page's own to its own. */
  trail: readonly IndexedSection[];
}

/** A section that fits, and the words of it that do. */
export interface Find {
  entry: Entry;
  /** Lower case, some of them stems. */
  words: ReadonlySet<string>;
  /** Whether a heading fits, and not only the text below it. */
  isByTitle: boolean;
  score: number;
}

/** All sections of the site, in memory. */
export interface Library {
  /**
   * The best first: sections with every word, and those that fit nearly as well with some. When there are hardly any,
   * mistakes are allowed for.
   */
  find: (query: string, isWanted?: IsWanted) => Find[];
  /** Sections with any word of a question, the best first. */
  findAny: (question: string) => Find[];
}

interface Indexed {
  id: number;
  title: string;
  page: string;
  trail: string;
  address: string;
  about: string;
  keywords: string;
  text: string;
}

const fields = [
  'title',
  'page',
  'trail',
  'address',
  'about',
  'keywords',
  'text',
] as const satisfies (keyof Indexed)[];

/** Pages, and where each of their words stands. */
export interface SearchIndex {
  pages: readonly IndexedPage[];
  words: PackedWords;
}

/** Finds out where the words stand. What it gives is plain JSON. */
export function indexPages(pages: readonly IndexedPage[]): SearchIndex {
  const index = new MiniSearch<Indexed>({ fields: [...fields], tokenize: wordTextsOf, processTerm: formsOf });
  index.addAll(pages.flatMap(entriesOf).map(toIndexed));
  return { pages: pages.map(withoutKeywords), words: packWords(index.toJSON()) };
}

/** The page as browsers receive it. */
function withoutKeywords(page: IndexedPage): IndexedPage {
  const sent = { ...page };
  delete sent.keywords;
  return sent;
}

/** Makes an index searchable. */
export function openLibrary({ pages, words }: SearchIndex): Library {
  const entries = pages.flatMap(entriesOf);
  const index = new UnpackedIndex<Indexed>(words);
  const weights = weightsOf(entries);

  const search = (query: string, isWanted: IsWanted, how: Pick<SearchOptions, 'fuzzy'> = {}): Found[] => {
    const terms = new Set(termsOf(query));
    return index
      .search(query, {
        ...options(query, weights),
        ...how,
        filter: ({ id }) => isWanted(entries[id]!.page), // ids are places in the list of entries
      })
      .map(({ id, score, match, queryTerms }) => {
        const share = queryTerms.length / terms.size;
        return {
          entry: entries[id]!,
          score: score * share ** 2,
          hasAll: share >= 1,
          words: new Set(Object.keys(match)),
          isByTitle: Object.values(match).some((places) => places.includes('title')),
        };
      })
      .toSorted((a, b) => b.score - a.score);
  };

  return {
    find(query, isWanted = () => true) {
      const found = search(query, isWanted);
      const all = found.filter(({ hasAll }) => hasAll);
      const [best] = all;
      const fitting =
        best === undefined
          ? []
          : found.filter(({ hasAll, score }) => hasAll || score > best.score * goodInPart);
      if (fitting.length >= fewest) return fitting;
      const known = new Set(all.map(({ entry }) => entry));
      const rest = search(query, isWanted, withMistakes);
      return [...all, ...rest.filter(({ entry }) => !known.has(entry))];
    },
    findAny: (question) => search(question, () => true, withMistakes),
  };
}

type IsWanted = (page: IndexedPage) => boolean;

interface Found extends Find {
  /** Whether it has every word of the query. */
  hasAll: boolean;
}

/** With fewer, more is looked for. */
const fewest = 3;

/** What has only some of the words is worth showing when it comes this close to the best that has them all. */
const goodInPart = 0.6;

/** Two mistakes are as many as two letters swapped make. */
const withMistakes = { fuzzy: (word: string) => (word.length < 4 ? 0 : word.length < 6 ? 1 : 2) };

/** What a query is searched by. While it is typed, the last word may be the beginning of any other. */
function termsOf(query: string): string[] {
  const words = wordTextsOf(query).map((word) => word.toLowerCase());
  return words.filter((word, at) => !isNoise(word) || at === words.length - 1).map(stemOf);
}

/** Weights that were tried out on the set of queries in `test/relevance.test.ts`. */
function options(query: string, weights: readonly Weight[]): SearchOptions {
  const isAboutCommand = wordTextsOf(query).some((word) => word.toLowerCase() === 'thv');
  return {
    tokenize: termsOf,
    processTerm: (term) => term,
    prefix: (word) => word.length > 1,
    weights: { prefix: 0.5, fuzzy: 0.3 },
    boost: { title: 6, page: 3, address: 2, trail: 1.5, about: 2, keywords: 5, text: 1 },
    boostDocument: (id: number) => weights[id]![isAboutCommand ? 'forCommands' : 'usual'],
    bm25: { k: 0.6, b: 0.5, d: 0.1 },
  };
}

/** What a section counts for queries with `thv` in them, and for all others. */
interface Weight {
  forCommands: number;
  usual: number;
}

/**
 * Prefers a page to its sections, explanations to reference lists, which are numerous and similar, and a unique heading
 * to one that many pages share.
 */
function weightsOf(entries: readonly Entry[]): Weight[] {
  const pages = new Map<string, number>();
  for (const { section } of entries) pages.set(section.title, (pages.get(section.title) ?? 0) + 1);
  return entries.map(({ page: { url }, section }) => {
    const isPage = section.level === 1;
    const isUsual = !isPage && pages.get(section.title)! > mostAlike; // every title is counted
    const own = isPage ? 1.6 : isUsual ? 0.5 : 1;
    return {
      forCommands: own * weightOfPage(url, isPage, true),
      usual: own * weightOfPage(url, isPage, false),
    };
  });
}

/** A heading on more pages, such as Next steps, tells little about its page. */
const mostAlike = 4;

function weightOfPage(url: string, isPage: boolean, isAboutCommand: boolean): number {
  if (url.includes('/reference/cli/')) return isAboutCommand ? 1 : 0.45;
  // A guide is found first, unless only an operation or a field fits.
  if (/\/reference\/(api|crd-spec)$/.test(url)) return isPage ? 0.6 : 0.3;
  return url === '/' ? 0.5 : 1;
}

function entriesOf(page: IndexedPage): Entry[] {
  let trail: IndexedSection[] = [];
  return page.sections.map((section) => {
    trail = [...trail.filter(({ level }) => level < section.level), section];
    return { page, section, trail };
  });
}

function toIndexed({ page, section, trail }: Entry, id: number): Indexed {
  const isPage = section.anchor === '';
  return {
    id,
    title: section.title,
    page: page.sections[0]?.title ?? '',
    trail: trail.map(({ title }) => title).join(' '),
    address: isPage ? page.url : '',
    about: isPage ? page.about : '',
    keywords: isPage ? (page.keywords ?? '') : '',
    text: section.text,
  };
}
