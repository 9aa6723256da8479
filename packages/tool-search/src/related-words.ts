import eastAsianWords from './east-asian-words.json' with { type: 'json' };
import lines from './related-words.json' with { type: 'json' };
import { stemOf, wordsOf } from './terms.ts';

/** Lines up to this length relate their words fully. Longer lines are less precise. */
const preciseLength = 7;

/** For each stem the related stems, each with a weight from 0 to 1. */
export type RelatedWords = ReadonlyMap<string, ReadonlyMap<string, number>>;

const eastAsian = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

let read: RelatedWords | undefined;

/** Returns the related words. The words of a line can replace each other in a request for a tool. */
export function relatedWords(): RelatedWords {
  return (read ??= readLines());
}

/** Returns the English words for the Chinese words in a text. */
export function englishFor(text: string): string[] {
  if (!eastAsian.test(text)) return [];
  return Object.entries(eastAsianWords).flatMap(([word, english]) => (text.includes(word) ? [english] : []));
}

function readLines(): RelatedWords {
  const related = new Map<string, Map<string, number>>();
  for (const line of lines) {
    // `mp3` is split as in every text, and a single character or a number is related to nothing.
    const stems = [...new Set(wordsOf(line).map(stemOf))].filter((stem) => /^\p{L}{2}/u.test(stem));
    const weight = stems.length <= preciseLength ? 1 : Math.sqrt((preciseLength - 1) / (stems.length - 1));
    for (const stem of stems) {
      const others = related.get(stem) ?? new Map<string, number>();
      related.set(stem, others);
      for (const other of stems)
        if (other !== stem) others.set(other, Math.max(weight, others.get(other) ?? 0));
    }
  }
  return related;
}
