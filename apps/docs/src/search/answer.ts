import type { Entry, Find, Library } from './library.ts';
import { escapeHtml, highlight, snippet, type Marks } from './marking.ts';
import type { IndexedPage } from './records.ts';
import { isNoise, wordsOf } from './words.ts';

/** A query in the format of Algolia, as DocSearch and the search page send it. */
export interface SearchRequest {
  indexName: string;
  query?: string;
  page?: number;
  hitsPerPage?: number;
  /** All have to hold; of those in a list of their own, one. */
  facetFilters?: string | readonly (string | readonly string[])[];
  attributesToSnippet?: readonly string[];
  snippetEllipsisText?: string;
  highlightPreTag?: string;
  highlightPostTag?: string;
}

const levels = ['lvl0', 'lvl1', 'lvl2', 'lvl3', 'lvl4', 'lvl5', 'lvl6'] as const;
type Level = (typeof levels)[number];
type Hierarchy<T> = Record<Level, T>;

/** HTML that shows why something was found. */
interface Marked {
  value: string;
  matchLevel: 'none' | 'partial' | 'full';
  matchedWords: string[];
}

/** A section, in the words of Algolia. Every text is HTML already: DocSearch shows some of them as they are. */
export interface Hit {
  objectID: string;
  type: Level | 'content';
  url: string;
  url_without_anchor: string;
  anchor: string | null;
  content: string | null;
  hierarchy: Hierarchy<string | null>;
  language: string;
  docusaurus_tag: string;
  /** Only headings, because no view shows complete texts. */
  _highlightResult: { hierarchy: Partial<Hierarchy<Marked>> };
  _snippetResult: { hierarchy: Partial<Hierarchy<Marked>>; content?: Marked };
}

/** An answer, in the words of Algolia. */
export interface SearchAnswer {
  hits: Hit[];
  nbHits: number;
  page: number;
  nbPages: number;
  hitsPerPage: number;
  exhaustiveNbHits: true;
  query: string;
  params: string;
  index: string;
  processingTimeMS: number;
}

/** The maximum number of pages, because readers stop earlier and DocSearch requests no more. */
const mostHits = 1000;

/** Answers as Algolia would. `origin` is where the site is: addresses in an answer are whole ones. */
export function answer(library: Library, request: SearchRequest, origin: string): SearchAnswer {
  const { query = '', page = 0, hitsPerPage = 20, indexName } = request;
  const isWanted = filterOf(request.facetFilters);
  const finds = query.trim() === '' ? [] : library.find(query, isWanted).slice(0, mostHits);
  const toHit = hitMaker(request, origin);
  return {
    hits: hitsPerPage > 0 ? finds.slice(page * hitsPerPage, (page + 1) * hitsPerPage).map(toHit) : [],
    nbHits: finds.length,
    page,
    nbPages: hitsPerPage > 0 ? Math.ceil(finds.length / hitsPerPage) : 0,
    hitsPerPage,
    exhaustiveNbHits: true,
    query,
    params: new URLSearchParams({ query, page: String(page), hitsPerPage: String(hitsPerPage) }).toString(),
    index: indexName,
    processingTimeMS: 1,
  };
}

/** What the filters leave of the site. An attribute that pages do not have is not found on any. */
function filterOf(filters: SearchRequest['facetFilters'] = []): (page: IndexedPage) => boolean {
  const groups = (typeof filters === 'string' ? [filters] : filters).map((group) =>
    typeof group === 'string' ? [group] : group,
  );
  return (page) =>
    groups.every((group) => group.length === 0 || group.some((filter) => passes(page, filter)));
}

function passes(page: IndexedPage, filter: string): boolean {
  const [, name = '', not = '', value = ''] = /^([^:]+):(-?)(.*)$/s.exec(filter) ?? [];
  const attributes: Record<string, string> = { language: page.language, docusaurus_tag: page.tag };
  return (attributes[name] === value) !== (not === '-');
}

function hitMaker(request: SearchRequest, origin: string): (find: Find) => Hit {
  const marks: Marks = {
    before: request.highlightPreTag ?? '<em>',
    after: request.highlightPostTag ?? '</em>',
    ellipsis: request.snippetEllipsisText ?? '…',
  };
  const lengths = new Map(
    (request.attributesToSnippet ?? ['content:30']).map((attribute) => {
      const [, name = '', words = '10'] = /^(.+?)(?::(\d+))?$/.exec(attribute) ?? [];
      return [name, Number(words)];
    }),
  );
  const asked = wordsOf(request.query ?? '').filter(({ text }) => !isNoise(text.toLowerCase())).length;

  return ({ entry, words, isByTitle }) => {
    const { page, section } = entry;
    const marked = (value: string): Marked => {
      const count = value.split(marks.before).length - 1;
      return {
        value,
        matchLevel: count === 0 ? 'none' : count < asked ? 'partial' : 'full',
        matchedWords: count === 0 ? [] : [...words],
      };
    };
    const texts = textsOf(entry);
    const headings = (mark: (text: string, level: Level) => string): Partial<Hierarchy<Marked>> =>
      Object.fromEntries(
        levels.flatMap((level) => {
          const text = texts[level];
          return text === null ? [] : [[level, marked(mark(text, level))]];
        }),
      );
    const cut = (text: string, attribute: string): string =>
      snippet(text, lengths.get(attribute) ?? Number.MAX_SAFE_INTEGER, words, marks);
    const url = new URL(page.url, origin).href;
    return {
      objectID: `${page.url}#${section.anchor}`,
      type: isByTitle || section.level === 1 || section.text === '' ? levels[section.level]! : 'content', // headings go to 6
      url: section.anchor === '' ? url : `${url}#${section.anchor}`,
      url_without_anchor: url,
      anchor: section.anchor === '' ? null : section.anchor,
      content: section.text === '' ? null : escapeHtml(section.text),
      hierarchy: mapLevels((level) => (texts[level] === null ? null : escapeHtml(texts[level]))),
      language: page.language,
      docusaurus_tag: page.tag,
      _highlightResult: { hierarchy: headings((text) => highlight(text, words, marks)) },
      _snippetResult: {
        hierarchy: headings((text, level) => cut(text, `hierarchy.${level}`)),
        ...(section.text === '' ? {} : { content: marked(cut(section.text, 'content')) }),
      },
    };
  };
}

function textsOf({ page, trail }: Entry): Hierarchy<string | null> {
  return mapLevels((_level, depth) =>
    depth === 0 ? page.area : (trail.find((section) => section.level === depth)?.title ?? null),
  );
}

function mapLevels<T>(make: (level: Level, depth: number) => T): Hierarchy<T> {
  return Object.fromEntries(levels.map((level, depth) => [level, make(level, depth)])) as Hierarchy<T>; // one for each
}
