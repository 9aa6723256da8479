import type { ReactNode } from 'react';

const [width, height] = [96, 20];

/**
 * Amounts over time as a line, and the problems among them as ticks below. The ticks have their own place, so nothing
 * depends on the color.
 */
export function Sparkline({
  values,
  problems,
  most = 0,
  label,
}: {
  values: readonly number[];
  /** As many as there are values. */
  problems: readonly number[];
  /** The amount at the top, if it is a limit. By default, the greatest value. */
  most?: number | undefined;
  /** Everything that the picture shows, in words. */
  label: string;
}): ReactNode {
  const top = Math.max(1, most, ...values);
  const drawn = values.length === 1 ? [...values, ...values] : values; // a line has two ends
  const step = width / Math.max(1, drawn.length - 1);
  const points = drawn.map(
    (value, index) => `${round(index * step)},${round((1 - value / top) * (height - 7) + 1)}`,
  );
  return (
    <svg className="sparkline" viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img">
      <title>{label}</title>
      <polyline points={points.join(' ')} className="drawn-line" />
      <path
        className="drawn-problem"
        d={problems
          .map((amount, index) => (amount > 0 ? `M${round(index * step)} ${height - 4}v4` : ''))
          .join('')}
      />
    </svg>
  );
}

const round = (value: number): number => Math.round(value * 10) / 10;
