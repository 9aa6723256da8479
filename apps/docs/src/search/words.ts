/** A word of a text with its position. */
export interface Word {
  text: string;
  start: number;
  end: number;
}

/** Letters and digits. The parts of a command, a flag, or a path are separate words. */
const word = /[\p{L}\p{N}]+/gu;

/** The words of a text, and nothing else about them: in a third of the time. */
export function wordTextsOf(text: string): string[] {
  return text.match(word) ?? [];
}

/** The words of a text. */
export function wordsOf(text: string): Word[] {
  return Array.from(text.matchAll(word), ({ 0: found, index }) => ({
    text: found,
    start: index,
    end: index + found.length,
  }));
}

/** The forms that a word of a page is found by: itself, its stem, and the parts of a name like MCPServer. */
export function formsOf(word: string): string[] {
  const whole = word.toLowerCase();
  if (isNoise(whole)) return [];
  const parts = word.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{N}+/gu) ?? [];
  const others =
    parts.length > 1 ? parts.filter((part) => part.length > 2).map((part) => part.toLowerCase()) : [];
  const stem = stemOf(whole);
  // Readers who type the start of a word find the word by its stem, if the start is not longer.
  return [...new Set([...(whole.startsWith(stem) ? [] : [whole]), stem, ...others])];
}

/** The word without English endings. Two words with the same meaning can still have different stems. */
export function stemOf(word: string): string {
  if (word.length < 4) return word;
  const singular = word.replace(/(?<=..)ies$/, 'y').replace(/(?<=[^siu].)(?<![siu])s$/, '');
  const [, verb] = /^(.{4,})ing$/.exec(singular) ?? /^(.{4,})ed$/.exec(singular) ?? [];
  return verb === undefined ? singular : verb.replace(/([bdgmnprt])\1$/, '$1');
}

/** Words that occur on every page and therefore distinguish none. */
export function isNoise(word: string): boolean {
  return noise.has(word) || (word.length < 2 && !/\p{N}/u.test(word));
}

const noise = new Set(
  `a an and any are as at be but by can could did do does for from had has have how i if in into is it its me my of on or
  our should so than that the their them then there these they this those to us was we were what when where which who why
  will with would you your`.split(/\s+/),
);
