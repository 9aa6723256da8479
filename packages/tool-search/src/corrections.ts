/** Shorter words have too many neighbors for a correction. */
const minLength = 5;
const maxCorrections = 3;

/**
 * Returns known terms that differ from a term by a typing mistake: one inserted, missing, replaced, or swapped
 * character. At most three, in alphabetical order.
 */
export function correctionsOf(term: string, known: Iterable<string>): string[] {
  if (term.length < minLength || !/^[a-z]+$/.test(term)) return [];
  const found: string[] = [];
  for (const other of known)
    if (other.length >= minLength - 1 && isOneEditAway(term, other)) found.push(other);
  return found.toSorted().slice(0, maxCorrections);
}

function isOneEditAway(one: string, other: string): boolean {
  const difference = one.length - other.length;
  if (difference > 1 || difference < -1) return false;
  let start = 0;
  while (start < one.length && one[start] === other[start]) start++;
  if (start === 0) return false; // the first character is rarely wrong
  const rest = one.slice(start);
  const otherRest = other.slice(start);
  if (difference === 1) return rest.slice(1) === otherRest;
  if (difference === -1) return rest === otherRest.slice(1);
  const isSwapped =
    rest[0] === otherRest[1] && rest[1] === otherRest[0] && rest.slice(2) === otherRest.slice(2);
  return rest.slice(1) === otherRest.slice(1) || isSwapped;
}
