import type { ReactNode } from 'react';
import type { TrafficEntry } from '@toolhive/contract/traffic';
import { Strip } from '../../ui/drawing/strip.tsx';
import { count, duration } from '../../ui/format.ts';

/** The limits of the bars, in milliseconds. Each is two to three times the one before it. */
const limits = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000] as const;

/** How many calls took how long, from fast to slow. */
export function Durations({ entries }: { entries: readonly TrafficEntry[] }): ReactNode {
  const times = entries.flatMap(({ duration_ms: ms }) => (ms === undefined ? [] : [ms]));
  if (times.length < 2) return null;
  const amounts = [...limits, Infinity].map((limit, index) => {
    const above = limits[index - 1] ?? 0;
    return times.filter((ms) => ms >= above && ms < limit).length;
  });
  const moments = amounts.map((amount, index) => {
    const [above, limit] = [limits[index - 1], limits[index]];
    const range =
      limit === undefined
        ? `${duration(above ?? 0)} or more`
        : `${above === undefined ? 'under' : `${duration(above)} to`} ${duration(limit)}`;
    return { key: index, amounts: [amount], label: `${range}: ${count(amount, 'call')}` };
  });
  const shown = moments.filter(({ amounts: [amount = 0] }) => amount > 0).map(({ label }) => label);
  return (
    <figure className="durations">
      <Strip moments={moments} classes={['drawn-amount']} label={`Durations. ${shown.join(', ')}`} />
      <figcaption aria-hidden="true">
        <span>1 ms</span>
        <span>100 ms</span>
        <span>10 s</span>
      </figcaption>
    </figure>
  );
}
