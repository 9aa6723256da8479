/** Longer names are compared up to this length. */
const maxLength = 100;

/** Returns the names that are most similar to a name, the nearest first. */
export function nearestNames(name: string, names: readonly string[], limit: number): string[] {
  const wanted = name.toLowerCase().slice(0, maxLength);
  return [...new Set(names)]
    .map((one) => ({ one, distance: distanceOf(wanted, one.toLowerCase().slice(0, maxLength)) }))
    .toSorted((a, b) => a.distance - b.distance || (a.one < b.one ? -1 : 1))
    .slice(0, limit)
    .map(({ one }) => one);
}

/** How many characters must be inserted, removed, or replaced, in relation to the longer name. */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return (row[other.length] ?? 0) / Math.max(one.length, other.length, 1);
}
