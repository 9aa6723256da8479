import { invalid } from '@toolhive/contract/failure';
import { excessOf } from '@toolhive/contract/json-text';

/** Reads JSON of others. `what` names it in the failure; nothing of its content does. */
export function parseJson(text: string, what: string, { maxDepth }: { maxDepth: number }): unknown {
  const excess = excessOf(text, { depth: maxDepth });
  if (excess !== undefined) throw invalid(`${what} ${excess}`);
  try {
    return JSON.parse(text);
  } catch {
    throw invalid(`${what} is not JSON`); // without its cause, which quotes what was read
  }
}
