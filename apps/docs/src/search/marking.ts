import { stemOf, wordsOf, type Word } from './words.ts';

/** How found words are shown: HTML that stands before and after each. */
export interface Marks {
  before: string;
  after: string;
  /** Stands where a text was cut. */
  ellipsis: string;
}

/** Text as HTML: the words of a page are never taken for markup. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}

// The very entities that DocSearch turns back where it shows plain text.
const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#039;',
};

/** The text as HTML with the found words marked. */
export function highlight(text: string, found: ReadonlySet<string>, marks: Marks): string {
  return markRange(text, 0, text.length, foundIn(text, found), marks);
}

/** As many words of the text as are wanted, around the place where most of the found ones stand, as HTML. */
export function snippet(text: string, wanted: number, found: ReadonlySet<string>, marks: Marks): string {
  const words = wordsOf(text);
  if (words.length <= wanted) return highlight(text, found, marks);
  const hits = words.map((word) => isFound(word, found));
  const first = densest(hits, wanted);
  const last = first + wanted;
  const start = first === 0 ? 0 : words[first]!.start; // in range: there are more words than wanted
  const end = last >= words.length ? text.length : words[last - 1]!.end;
  const marked = markRange(
    text,
    start,
    end,
    words.filter((_, index) => hits[index]),
    marks,
  );
  return (first === 0 ? '' : marks.ellipsis) + marked + (end === text.length ? '' : marks.ellipsis);
}

/** The found words of a text. */
export function foundIn(text: string, found: ReadonlySet<string>): Word[] {
  return found.size === 0 ? [] : wordsOf(text).filter((word) => isFound(word, found));
}

function isFound({ text }: Word, found: ReadonlySet<string>): boolean {
  const whole = text.toLowerCase();
  return found.has(whole) || found.has(stemOf(whole));
}

/** Where a window of this size begins that holds the most hits, with a few words before the first of them. */
function densest(hits: readonly boolean[], size: number): number {
  let best = 0;
  let most = 0;
  let inside = 0;
  for (const [index, isHit] of hits.entries()) {
    inside += Number(isHit) - Number(index >= size && hits[index - size]);
    if (inside > most) {
      most = inside;
      best = Math.max(0, index - size + 1);
    }
  }
  if (most === 0) return 0;
  const firstHit = hits.indexOf(true, best);
  const lead = Math.floor(size / 4);
  return Math.min(Math.max(best, firstHit - lead), hits.length - size);
}

function markRange(
  text: string,
  start: number,
  end: number,
  words: readonly Word[],
  { before, after }: Marks,
): string {
  let html = '';
  let at = start;
  for (const word of words) {
    if (word.start < start || word.end > end) continue;
    html +=
      escapeHtml(text.slice(at, word.start)) + before + escapeHtml(text.slice(word.start, word.end)) + after;
    at = word.end;
  }
  return html + escapeHtml(text.slice(at, end));
}
