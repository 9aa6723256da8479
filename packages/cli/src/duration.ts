const unitsMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** The length of a duration such as `30s`, `1m30s`, or `1.5h`, in whole ms. Undefined for invalid text. */
export function millisecondsOf(text: string): number | undefined {
  if (text === '0') return 0;
  if (!/^(\d{1,9}(\.\d{1,9})?(ms|s|m|h))+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/([\d.]+)(ms|s|m|h)/g)];
  return Math.round(
    parts.reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (unitsMs[unit] ?? 0), 0),
  );
}
