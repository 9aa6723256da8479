import { useMemo } from 'react';
import type { ReactNode } from 'react';
import { useQuery } from './query.ts';

const ages = {
  minutes: { label: 'Last 10 minutes', ms: 600_000 },
  hour: { label: 'Last hour', ms: 3_600_000 },
  day: { label: 'Last 24 hours', ms: 86_400_000 },
  week: { label: 'Last 7 days', ms: 604_800_000 },
} as const;

type Age = keyof typeof ages;

/** How far back a list goes, which the address keeps, as a control and as the time of the first item. */
export function useAge(
  offered: readonly Age[],
  anyLabel: string,
): { since: string | undefined; choice: ReactNode } {
  const [age, setAge] = useQuery('age');
  const chosen = offered.find((each) => each === age);
  const since = useMemo(
    () => (chosen === undefined ? undefined : new Date(Date.now() - ages[chosen].ms).toISOString()),
    [chosen],
  );
  const choice = (
    <select value={chosen ?? ''} aria-label="Time" onChange={({ target }) => setAge(target.value)}>
      <option value="">{anyLabel}</option>
      {offered.map((each) => (
        <option key={each} value={each}>
          {ages[each].label}
        </option>
      ))}
    </select>
  );
  return { since, choice };
}
