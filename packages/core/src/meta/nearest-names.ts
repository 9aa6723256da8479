/** Longer names are compared up to this length. */
const maxLength = 64;

interface Near {
  one: string;
  distance: number;
}

/** Returns the names that are most similar to a name, the nearest first. */
export function nearestNames(name: string, names: readonly string[], limit: number): string[] {
  const wanted = name.toLowerCase().slice(0, maxLength);
  const nearest: Near[] = [];
  for (const one of new Set(names)) {
    const most = nearest.length < limit ? 1 : (nearest.at(-1)?.distance ?? 0);
    const distance = distanceOf(wanted, one.toLowerCase().slice(0, maxLength), most);
    if (distance > most) continue;
    nearest.push({ one, distance });
    nearest.sort((a, b) => a.distance - b.distance || (a.one < b.one ? -1 : 1));
    nearest.length = Math.min(nearest.length, limit);
  }
  return nearest.map(({ one }) => one);
}

/** The distances of all beginnings of a name to one beginning of the other, and to the previous one. Used by one call at a time. */
let [row, next] = [new Uint8Array(maxLength + 1), new Uint8Array(maxLength + 1)];

/**
 * How many characters must be inserted, removed, or replaced, in relation to the longer name. Infinity for more than `most`:
 * servers choose the names, and how many there are.
 */
function distanceOf(one: string, other: string, most: number): number {
  const longer = Math.max(one.length, other.length, 1);
  const bound = most * longer;
  for (let j = 0; j <= other.length; j++) row[j] = j;
  for (let i = 1; i <= one.length; i++) {
    const code = one.charCodeAt(i - 1);
    let before = (next[0] = i);
    let least = before;
    for (let j = 1; j <= other.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (code === other.charCodeAt(j - 1) ? 0 : 1);
      before = next[j] = Math.min(replaced, (row[j] ?? 0) + 1, before + 1);
      if (before < least) least = before;
    }
    if (least > bound) return Infinity; // it only grows
    [row, next] = [next, row];
  }
  return (row[other.length] ?? 0) / longer;
}
