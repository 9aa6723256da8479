/** The value that `part` of the values do not exceed; 0.5 is the median. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/**
 * Measures contenders in turns, so that whatever else the machine does meanwhile hits all of them, and gives
 * what each measured, a value a round.
 */
export async function inTurns<Name extends string, Value>(
  rounds: number,
  contenders: Record<Name, () => Promise<Value>>,
  signal: AbortSignal,
): Promise<Record<Name, Value[]>> {
  const names = Object.keys(contenders) as Name[]; // a record has no other keys than its own
  const values = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Value[]>;
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      signal.throwIfAborted();
      values[name].push(await contenders[name]());
    }
  }
  return values;
}
