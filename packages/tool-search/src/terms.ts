import { stemmer } from 'stemmer';

/** Words that say nothing about a task. Names keep them, because a name has few words. */
const functionWords: ReadonlySet<string> = new Set(
  `a about above after again against all also am an and any anybody anyone anything are aren as at be because been
  before being below between both but by can cannot could d did do does doing don down during each either else ever
  every everything few for from further had has have having he her here hers him his how however i if in into is isn
  it its itself just know let like ll m make many may maybe me might mine more most much must my myself need needs
  neither no nor not now of off on once one only onto or other our ours out over own per please quite rather re
  really s same shall she should since so some somebody someone something such sure t than that the their theirs
  them themselves then there these they thing things this those though through thus to too under until up upon us
  use used useful user users uses using various ve very via want wants was we well were what whatever when where
  whether which while who whom whose why will wish with within without would you your yours yourself`.split(
    /\s+/,
  ),
);

const stems = new Map<string, string>();
/** How many words are remembered. */
const maxCached = 20_000;

/** Returns the stem of a lowercase word. */
export function stemOf(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  const stem = /^[a-z]{3,}$/.test(word) ? stemmer(word) : word;
  if (stems.size >= maxCached) stems.clear();
  stems.set(word, stem);
  return stem;
}

const wordPattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+|\p{Nd}+|[\p{L}\p{M}]+/gu;
const asciiHump = /([a-z])(?=[A-Z])/g;
const asciiAcronym = /([A-Z])(?=[A-Z][a-z])/g;
const asciiWord = /[a-z]+|[0-9]+/g;
const eastAsian = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/**
 * Splits text into lowercase words: at `camelCase`, `snake_case`, and between letters and digits. Chinese, Japanese,
 * and Korean text becomes overlapping pairs of characters.
 */
export function wordsOf(text: string): string[] {
  // Most text is ASCII, which takes a third of the time.
  if (isAscii(text))
    return (
      text.replaceAll(asciiHump, '$1 ').replaceAll(asciiAcronym, '$1 ').toLowerCase().match(asciiWord) ?? []
    );
  const split = text
    .normalize('NFKC')
    .replaceAll(/(\p{Ll})(?=\p{Lu})/gu, '$1 ')
    .replaceAll(/(\p{Lu})(?=\p{Lu}\p{Ll})/gu, '$1 ');
  return (split.toLowerCase().match(wordPattern) ?? []).flatMap((word) =>
    eastAsian.test(word) ? pairsOf(word) : [word],
  );
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
}

/** Returns the stems of the words in a text without function words. */
export function termsOf(text: string): string[] {
  return wordsOf(text)
    .filter((word) => !functionWords.has(word))
    .map(stemOf);
}

/** Returns the stems of all words in a name. */
export function nameTermsOf(name: string): string[] {
  return wordsOf(name).map(stemOf);
}

const gramsOfWords = new Map<string, readonly string[]>();

/** Returns the distinct sequences of four characters of `_word_` for each word that is not a function word. */
export function gramsOf(text: string): Set<string> {
  const grams = new Set<string>();
  for (const word of wordsOf(text))
    if (!functionWords.has(word)) for (const gram of gramsOfWord(word)) grams.add(gram);
  return grams;
}

function gramsOfWord(word: string): readonly string[] {
  const known = gramsOfWords.get(word);
  if (known !== undefined) return known;
  const padded = `_${word}_`;
  const count = Math.max(0, padded.length - 3);
  const grams = Array.from({ length: count }, (_, at) => padded.slice(at, at + 4));
  if (gramsOfWords.size >= maxCached) gramsOfWords.clear();
  gramsOfWords.set(word, grams);
  return grams;
}

const month = '(?:january|february|march|april|may|june|july|august|september|october|november|december)';
const dayOfMonth = String.raw`\d{1,2}(?:st|nd|rd|th)?`;
const writtenDate = new RegExp(
  String.raw`\b(?:${dayOfMonth}(?: of)? ${month}|${month} ${dayOfMonth})\b(?:,? \d{4}\b)?`,
  'gi',
);

/** Replaces a URL, a path, a date, and the like by words for its kind: the value itself never describes a tool. */
export function prepareQuery(query: string): string {
  return query
    .replaceAll(/\bhttps?:\/\/\S+/gi, ' url link ')
    .replaceAll(/[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}/g, ' email ')
    .replaceAll(/\b\d{4}-\d\d?-\d\d?\b|\b\d\d?\/\d\d?\/\d{2,4}\b/g, ' date ')
    .replaceAll(writtenDate, ' date ')
    .replaceAll(/\b\d\d?:\d\d(?::\d\d)?\b(?: ?[ap]m\b)?|\b\d\d? ?[ap]m\b/gi, ' time ')
    .replaceAll(/(?<![\w.])(?:[\w.~-]*\/)*[\w~-]+\.([a-z][a-z0-9]{1,4})\b(?![\w/])/g, ' $1 file ')
    .replaceAll(/(?<![\w.])(?:~|\.{1,2})?\/[\w.~/-]+/g, ' directory ');
}

/** Splits a query into its sentences, clauses, and items of a list. */
export function partsOf(query: string): string[] {
  return query.split(/[.,;?!:](?:\s|$)|[。，；？！]|\b(?:and|then|also|or|but|so|because|while)\b/iu);
}

/** Returns a query without the text in quotation marks. */
export function withoutQuotes(query: string): string {
  return query.replaceAll(
    /"[^"\n]{1,200}"|“[^”\n]{1,200}”|(?<![\p{L}\p{Nd}])'[^'\n]{1,200}'(?![\p{L}\p{Nd}])/gu,
    ' ',
  );
}

function pairsOf(text: string): string[] {
  const characters = Array.from(text);
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}
