/** Words, numbers, and runs of punctuation and white space, as tokenizers split text. */
const parts = /[\p{L}\p{M}]+|\p{N}{1,3}|\s+|[^\s\p{L}\p{M}\p{N}]+/gu;
const eastAsian = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/** Estimates how many tokens a text has for current models (`o200k`), within ten percent for lists of tools. */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const [part] of text.matchAll(parts)) tokens += tokensOf(part);
  return Math.ceil(tokens * 0.985);
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

/** Estimates the tokens of a tool in the list that a client gives to a model. */
export function tokensOfTool({
  name,
  description,
  inputSchema,
}: {
  name?: unknown;
  description?: unknown;
  inputSchema?: unknown;
}): number {
  return estimateTokens(JSON.stringify({ name, description, inputSchema }));
}
