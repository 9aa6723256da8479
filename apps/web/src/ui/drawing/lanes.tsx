import type { ReactNode } from 'react';

interface LaneEvent {
  key: string | number;
  /** In milliseconds since 1970. */
  at: number;
  /** In milliseconds. */
  lasted: number;
  isProblem: boolean;
}

export interface Lane {
  name: string;
  events: readonly LaneEvent[];
}

const [width, laneHeight] = [600, 16];

/** Events over time, with a lane for each actor. A problem is higher than the other events and has a gap below. */
export function Lanes({
  lanes,
  from,
  to,
  label,
}: {
  lanes: readonly Lane[];
  from: number;
  to: number;
  label: string;
}): ReactNode {
  const scale = width / Math.max(1, to - from);
  return (
    <svg
      className="lanes"
      viewBox={`0 0 ${width} ${lanes.length * laneHeight}`}
      height={lanes.length * laneHeight}
      preserveAspectRatio="none"
      role="img"
    >
      <title>{label}</title>
      {lanes.map(({ name, events }, index) => (
        <g key={name}>
          <rect className="drawn-ground" y={index * laneHeight + 7} width={width} height="2" />
          {events.map(({ key, at, lasted, isProblem }) => (
            <rect
              key={key}
              className={isProblem ? 'drawn-bad' : 'drawn-amount'}
              x={Math.round((at - from) * scale * 10) / 10}
              y={index * laneHeight + (isProblem ? 1 : 4)}
              width={Math.max(1.5, Math.round(lasted * scale * 10) / 10)}
              height={isProblem ? 14 : 8}
            />
          ))}
        </g>
      ))}
    </svg>
  );
}
