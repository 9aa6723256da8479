/** Words, numbers, and runs of punctuation and white space, as tokenizers split text. Very long ones are several. */
const parts = /[\p{L}\p{M}]{1,1000}|\p{N}{1,3}|\s{1,1000}|[^\s\p{L}\p{M}\p{N}]{1,1000}/gu;
const eastAsian = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

const share = 0.985;

/**
 * Estimates how many tokens a text has for current models (`o200k`), within ten percent for lists of tools. Stops at any number
 * above `limit`, because a server can write a text that takes seconds.
 */
export function estimateTokens(text: string, limit: number = Infinity): number {
  let tokens = 0;
  for (const [part] of text.matchAll(parts)) {
    tokens += tokensOf(part);
    if (tokens * share > limit) break;
  }
  return Math.ceil(tokens * share);
}

function tokensOf(part: string): number {
  if (/^\s/u.test(part)) return part === ' ' ? 0 : 1;
  if (/^\p{N}/u.test(part)) return 1;
  if (eastAsian.test(part)) return Array.from(part).length * 0.75;
  if (/^[\p{L}\p{M}]/u.test(part)) return wordTokens(part);
  return Math.max(1, part.length / 3);
}

/** A common word is one token. Long and compound words are several. */
function wordTokens(word: string): number {
  const pieces = word.split(/(?<=\p{Ll})(?=\p{Lu})/u);
  return pieces.reduce((sum, piece) => sum + (piece.length <= 9 ? 1 : piece.length / 7), 0);
}

interface DescribedTool {
  name?: unknown;
  description?: unknown;
  inputSchema?: unknown;
}

/** Estimates the tokens of a tool in the list that a client gives to a model. */
export function tokensOfTool(tool: DescribedTool): number {
  return estimateTokens(textOfTool(tool));
}

/** How much of a list is read. The rest counts like the beginning. */
const maxRead = 256 * 1024;

/** Estimates the tokens of a list of tools of any length. */
export function tokensOfTools(tools: readonly DescribedTool[]): number {
  let [tokens, read, chars] = [0, 0, 0];
  for (const text of tools.map(textOfTool)) {
    chars += text.length;
    const start = text.slice(0, maxRead - read);
    read += start.length;
    if (start !== '') tokens += estimateTokens(start);
  }
  return read === 0 ? 0 : Math.round((tokens * chars) / read);
}

function textOfTool({ name, description, inputSchema }: DescribedTool): string {
  return JSON.stringify({ name, description, inputSchema });
}
