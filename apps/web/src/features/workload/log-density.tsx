import { useMemo } from 'react';
import type { MouseEvent, ReactNode } from 'react';
import type { LogRecord } from '@toolhive/contract/log-record';
import { Strip } from '../../ui/drawing/strip.tsx';
import type { Moment } from '../../ui/drawing/strip.tsx';
import { count, dateTime } from '../../ui/format.ts';

const steps = 60;

interface Density {
  moments: Moment[];
  /** The index of the first line of each moment. */
  starts: number[];
  label: string;
}

/** The number of lines over time, by level. A click leads to the lines of that time. */
export function LogDensity({
  records,
  version,
  onJump,
}: {
  records: readonly LogRecord[];
  /** Changes with the lines. */
  version: number;
  onJump: (index: number) => void;
}): ReactNode {
  // A log that grows fast changes its picture slowly.
  const growth = Math.round(40 * Math.log2(records.length + 1));
  const density = useMemo(() => densityOf(records), [records, growth, Math.floor(version / 60)]);
  if (density === undefined) return null;
  const jump = ({ currentTarget, clientX }: MouseEvent): void => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const step = Math.min(steps - 1, Math.max(0, Math.floor(((clientX - left) / width) * steps)));
    onJump(density.starts[step] ?? 0);
  };
  return (
    // Only a shortcut: a search or scrolling finds the same lines.
    <div className="density" onClick={jump}>
      <Strip
        moments={density.moments}
        classes={['drawn-amount', 'drawn-busy', 'drawn-bad']}
        label={density.label}
      />
    </div>
  );
}

/** Undefined if the lines have no times, or the same one. */
export function densityOf(records: readonly LogRecord[]): Density | undefined {
  const times = records.map(({ at }) => (at === undefined ? Number.NaN : Date.parse(at)));
  const from = times.find((time) => !Number.isNaN(time));
  const to = times.findLast((time) => !Number.isNaN(time));
  if (from === undefined || to === undefined || to <= from) return undefined;
  const amounts = Array.from({ length: steps }, () => [0, 0, 0] as [number, number, number]);
  const starts: number[] = [];
  const problems = { warn: 0, error: 0 };
  for (const [index, time] of times.entries()) {
    if (Number.isNaN(time)) continue;
    const step = Math.max(0, Math.min(steps - 1, Math.floor(((time - from) / (to - from)) * steps)));
    const level = records[index]?.level;
    const kind = level === 'error' ? 2 : level === 'warn' ? 1 : 0;
    const amount = amounts[step];
    if (amount !== undefined) amount[kind] += 1;
    if (level === 'error' || level === 'warn') problems[level]++;
    starts[step] ??= index;
  }
  for (let step = 1; step < steps; step++) starts[step] ??= starts[step - 1] ?? 0;
  const moments = amounts.map((each, step) => ({
    key: step,
    amounts: each,
    label: `${dateTime(from + (step * (to - from)) / steps)}: ${count(each[0] + each[1] + each[2], 'line')}`,
  }));
  const label = `${count(records.length, 'line')} from ${dateTime(from)} to ${dateTime(to)}: ${count(problems.warn, 'warning')}, ${count(problems.error, 'error')}`;
  return { moments, starts, label };
}
