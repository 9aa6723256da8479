/** Ranks far below the first ones hardly differ (Cormack et al., Reciprocal Rank Fusion, 2009). */
const k = 60;

/** Combines rankings: each place contributes `1 / (60 + place)`. Items with the same sum are in alphabetical order. */
export function fuse(rankings: readonly (readonly string[])[]): { item: string; score: number }[] {
  const scores = new Map<string, number>();
  for (const ranking of rankings)
    for (const [index, item] of ranking.entries())
      scores.set(item, (scores.get(item) ?? 0) + 1 / (k + index + 1));
  return [...scores]
    .map(([item, score]) => ({ item, score }))
    .toSorted((one, other) => other.score - one.score || (one.item < other.item ? -1 : 1));
}
