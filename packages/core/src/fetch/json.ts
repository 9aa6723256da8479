import { invalid } from '@toolhive/contract/failure';
import { excessOf, hasProtoMember } from '@toolhive/contract/json-text';

/** Reads JSON of others. `what` names it in the failure; nothing of its content does. */
export function parseJson(text: string, what: string, { maxDepth }: { maxDepth: number }): unknown {
  const excess = excessOf(text, { depth: maxDepth });
  if (excess !== undefined) throw invalid(`${what} ${excess}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid(`${what} is not JSON`); // without its cause, which quotes what was read
  }
  if (hasProtoMember(text, value)) throw invalid(`${what} has a member __proto__, which is not accepted`);
  return value;
}
