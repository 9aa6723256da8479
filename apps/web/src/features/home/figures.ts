import type { History } from '@toolhive/contract/history';
import { lastConnections, lastHour } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';

/** The steps of the last hour. */
const steps = 60;

/** The calls of a workload in the last hour. */
export interface Figures {
  calls: number;
  errors: number;
  medianMs: number | undefined;
  /** A number for each minute. */
  perMinute: { calls: readonly number[]; errors: readonly number[] };
  /** The names that clients report, those with the most calls first. */
  clients: readonly string[];
}

/** The figures of all workloads with calls, or undefined until the daemon has answered. */
export function useFigures(): ReadonlyMap<string, Figures> | undefined {
  const { data } = useResource(lastHour);
  const { data: byClient } = useResource(lastConnections('client'));
  return data && figuresOf(data, byClient);
}

function figuresOf({ series }: History, byClient: History | undefined): ReadonlyMap<string, Figures> {
  const callers = Map.groupBy(byClient?.series ?? [], ({ workload }) => workload);
  return new Map(
    series.map(({ workload, calls, errors, p50_ms: medianMs, points }) => [
      workload,
      {
        calls,
        errors,
        medianMs,
        perMinute: {
          calls: spread(points?.at, points?.calls),
          errors: spread(points?.at, points?.errors),
        },
        clients: (callers.get(workload) ?? []).flatMap(({ name }) => name ?? []),
      },
    ]),
  );
}

/** The daemon leaves out minutes without calls. */
function spread(at: readonly number[] = [], amounts: readonly number[] = []): number[] {
  const all = Array.from({ length: steps }, () => 0);
  for (const [index, step] of at.entries()) if (step < steps) all[step] = amounts[index] ?? 0;
  return all;
}
