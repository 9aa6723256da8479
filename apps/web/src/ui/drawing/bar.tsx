import type { ReactNode } from 'react';

/** A share of the greatest amount as a bar, and the share of it that is a problem as a striped end of the bar. */
export function Bar({
  amount,
  problems = 0,
  most,
  label,
}: {
  amount: number;
  problems?: number;
  most: number;
  /** Everything that the picture shows, in words. */
  label: string;
}): ReactNode {
  const scale = (value: number): number => Math.round((value / Math.max(1, most)) * 1000) / 10;
  const good = scale(Math.max(0, amount - problems));
  return (
    <svg className="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img">
      <title>{label}</title>
      <rect className="drawn-ground" width="100" height="10" />
      <rect className="drawn-amount" width={good} height="10" />
      {problems > 0 && <rect className="drawn-bad" x={good} y="3" width={scale(problems)} height="4" />}
    </svg>
  );
}
