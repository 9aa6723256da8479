/** The quantile of the values. 0.5 is the median. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/**
 * Measures contenders in turns, so that whatever else the machine does meanwhile hits all of them, and gives
 * the values of each, one for each round.
 */
export async function inTurns<Contenders extends Record<string, () => Promise<unknown>>>(
  rounds: number,
  contenders: Contenders,
  signal: AbortSignal,
): Promise<{ [Name in keyof Contenders]: Awaited<ReturnType<Contenders[Name]>>[] }> {
  const values: Record<string, unknown[]> = {};
  for (let round = 0; round < rounds; round++) {
    for (const [name, measure] of Object.entries(contenders)) {
      signal.throwIfAborted();
      (values[name] ??= []).push(await measure());
    }
  }
  return values as { [Name in keyof Contenders]: Awaited<ReturnType<Contenders[Name]>>[] }; // filled above
}
