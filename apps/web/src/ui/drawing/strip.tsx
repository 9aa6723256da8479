import type { ReactNode } from 'react';

/** The amounts of a moment, the most severe last: bars are stacked from the bottom in this order. */
export interface Moment {
  key: string | number;
  amounts: readonly number[];
  label: string;
}

const [width, height] = [600, 40];

/** Amounts over time as stacked bars, which differ in their width as well as their color. */
export function Strip({
  moments,
  classes,
  label,
}: {
  moments: readonly Moment[];
  /** The class of each kind of amount, in the order of the amounts. */
  classes: readonly string[];
  label: string;
}): ReactNode {
  const most = Math.max(1, ...moments.map(({ amounts }) => amounts.reduce((sum, next) => sum + next, 0)));
  const step = width / Math.max(1, moments.length);
  return (
    <svg className="strip" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img">
      <title>{label}</title>
      {moments.map(({ key, amounts, label: name }, index) => {
        let top = height;
        return (
          <g key={key}>
            <title>{name}</title>
            {amounts.map((amount, kind) => {
              const size = (amount / most) * height;
              top -= size;
              const inset = (step * kind) / (amounts.length * 3);
              return (
                amount > 0 && (
                  <rect
                    key={classes[kind]}
                    className={classes[kind]}
                    x={index * step + inset}
                    y={top}
                    width={Math.max(0.5, step - 1 - 2 * inset)}
                    height={size}
                  />
                )
              );
            })}
          </g>
        );
      })}
    </svg>
  );
}
