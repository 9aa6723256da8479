import { invalid } from '@toolhive/contract/failure';

/** Reads JSON of others. `what` names it in the failure; nothing of its content does. */
export function parseJson(text: string, what: string, { maxDepth }: { maxDepth: number }): unknown {
  if (isDeeperThan(text, maxDepth)) throw invalid(`${what} nests deeper than ${maxDepth} levels`);
  try {
    return JSON.parse(text);
  } catch {
    throw invalid(`${what} is not JSON`); // without its cause, which quotes what was read
  }
}

/** Looks at the text, so that nothing deep is ever built. What is no JSON is found out later. */
function isDeeperThan(text: string, maxDepth: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) at = endOfString(text, at);
    else if (code === 0x5b || code === 0x7b) depth++;
    else if (code === 0x5d || code === 0x7d) depth--;
    if (depth > maxDepth) return true;
  }
  return false;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++;
  return at;
}
