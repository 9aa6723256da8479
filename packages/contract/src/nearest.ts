/** The known word that resembles a typed one, with at most one mistake in so many letters. Undefined if none is similar. */
export function nearest(
  typed: string,
  known: readonly string[],
  { lettersPerMistake = 3 } = {},
): string | undefined {
  const mistakesIn = (word: string): number => Math.max(1, Math.floor(word.length / lettersPerMistake));
  const [best] = known
    .filter((word) => Math.abs(word.length - typed.length) <= mistakesIn(word))
    .map((word) => ({ word, distance: distanceBetween(typed, word) }))
    .filter(({ word, distance }) => distance <= mistakesIn(word))
    .toSorted((one, other) => one.distance - other.distance);
  return best?.word;
}

/** How many letters have to be changed, added, left out or swapped with their neighbour. */
function distanceBetween(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? Infinity;
  for (let row = 1; row <= one.length; row += 1) {
    const cells = [row];
    rows.push(cells);
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      cells.push(
        Math.min(
          at(row - 1, column) + 1,
          at(row, column - 1) + 1,
          at(row - 1, column - 1) + (isSame ? 0 : 1),
          isSwapped ? at(row - 2, column - 2) + 1 : Infinity,
        ),
      );
    }
  }
  return at(one.length, other.length);
}
