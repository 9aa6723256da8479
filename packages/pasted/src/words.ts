/** The work of a shell, at the beginning of a word. `<TOKEN>` is a value that its author did not quote. */
const operator = /^(?:\||&|;|<(?!\w)|\d?>)/;
/** The same behind a word: `npx one; npx two`, but not `https://example.com/?a&b`. */
const operatorBehind = /^(?:;(?:\s|$)|&&)/;

/** The first characters of operators. */
const marks: ReadonlySet<string> = new Set('|&;<>0123456789');

/** By the quote that opens: the quotes that close. Word processors and web pages replace the straight ones. */
const quotes: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '\u201C': '\u201D\u201C"',
  '\u201D': '\u201D"',
  '\u201E': '\u201C\u201D"',
  '\u2018': "\u2019'",
  '\u2019': "\u2019'",
};

/**
 * Divides a command line into words as a shell does: at spaces outside of quotes, and up to a comment. Undefined if the
 * line needs a shell: a pipe, a second command, or a redirection.
 */
export function wordsIn(line: string): string[] | undefined {
  if (line.trim().includes('\n')) return undefined;
  const words: string[] = [];
  /** The characters of the current word. A growing text would be copied at each look at its beginning. */
  let word: string[] | undefined;
  let closing = '';
  const lastEnd = line.lastIndexOf(')');
  for (let at = 0; at < line.length; at += 1) {
    const mark = line[at] ?? '';
    const escaped = mark === '\\' || mark === '`' ? escapedAt(line, at, closing, word) : undefined;
    if (escaped !== undefined) {
      (word ??= []).push(escaped);
      at += 1;
    } else if (mark === '$' && line[at + 1] === '(' && closing !== "'" && at < lastEnd) {
      // A shell replaces $(gh auth token) with one value.
      const end = line.indexOf(')', at);
      (word ??= []).push(line.slice(at, end + 1));
      at = end;
    } else if (closing !== '') {
      if (closing.includes(mark)) closing = '';
      else (word ??= []).push(mark);
    } else if (Object.hasOwn(quotes, mark)) {
      closing = quotes[mark] ?? '';
      word ??= [];
    } else if (/\s/.test(mark)) {
      if (word !== undefined) words.push(word.join(''));
      word = undefined;
    } else if (word === undefined && mark === '#') break;
    else if (
      marks.has(mark) &&
      (word === undefined ? operator : operatorBehind).test(line.slice(at, at + 2))
    ) {
      if (mark !== ';' || line.slice(at + 1).trim() !== '') return undefined;
      break; // the end of the line says the same
    } else (word ??= []).push(mark);
  }
  if (word !== undefined) words.push(word.join(''));
  return words;
}

/**
 * The character behind a backslash that escapes it, or behind a backtick of PowerShell. Windows separates the names in a
 * path with backslashes, so a backslash before a letter is one.
 */
function escapedAt(
  line: string,
  at: number,
  closing: string,
  word: readonly string[] = [],
): string | undefined {
  const [mark, next = '', after = ''] = [line[at], line[at + 1], line[at + 2]];
  if (closing === "'") return undefined;
  if (mark === '`') return closing === '"' && next === '"' ? next : undefined;
  if (mark !== '\\' || next === '') return undefined;
  if (next === '\\') return word.length === 0 ? undefined : next; // \\host\share
  if (closing === '') return /[\s"'$&();<>|#`]/.test(next) ? next : undefined;
  // "C:\My Files\" ends with the quote.
  const isPath = /^[A-Za-z]:\\/.test(word.slice(0, 3).join(''));
  return /["$`]/.test(next) && !(isPath && next === '"' && /^\s?$/.test(after)) ? next : undefined;
}
