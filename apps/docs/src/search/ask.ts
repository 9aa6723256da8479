import type { Find, Library } from './library.ts';
import { escapeHtml, foundIn, highlight } from './marking.ts';

/** A passage of the documentation, word for word. */
export interface Quote {
  url: string;
  /** Where it stands: the part of the site, then headings from the page to the section. */
  trail: readonly string[];
  /** HTML with the words of the question marked. */
  html: string;
}

const mostQuotes = 4;
const longestQuote = 320;

/** What the documentation says about a question. Nothing is written or changed: passages are picked by their words. */
export function quotePassages(library: Library, question: string): Quote[] {
  const finds = library.findAny(question).filter(({ entry }) => entry.section.text !== '');
  const best = finds[0]?.score ?? 0;
  return finds
    .filter(({ score }) => score >= best / 4)
    .slice(0, mostQuotes)
    .map((find) => ({
      url: find.entry.page.url + (find.entry.section.anchor === '' ? '' : `#${find.entry.section.anchor}`),
      trail: [find.entry.page.area, ...find.entry.trail.map(({ title }) => title)],
      html: quote(find),
    }));
}

/** The sentences of a section that have most of the words, with those after them while there is room. */
function quote({ entry, words }: Find): string {
  const sentences = entry.section.text.split(/(?<=[.:!?])\s+/);
  const different = (sentence: string): number =>
    new Set(foundIn(sentence, words).map(({ text }) => text.toLowerCase())).size;
  const counts = sentences.map(different);
  const first = counts.indexOf(Math.max(...counts));
  let passage = sentences[first] ?? '';
  for (const sentence of sentences.slice(first + 1)) {
    if (passage.length + sentence.length >= longestQuote) break;
    passage += ` ${sentence}`;
  }
  const end = passage.lastIndexOf(' ', longestQuote);
  const isCut = passage.length > longestQuote;
  const shown = isCut ? passage.slice(0, end > 0 ? end : longestQuote) : passage;
  const marks = { before: '<mark>', after: '</mark>', ellipsis: '' };
  return highlight(shown, words, marks) + (isCut ? escapeHtml(' …') : '');
}
