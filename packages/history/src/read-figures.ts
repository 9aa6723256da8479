import { setImmediate as nextTurn } from 'node:timers/promises';
import { invalid } from '@toolhive/contract/failure';
import type { History, HistoryGrouping, HistoryPoints, HistorySeries } from '@toolhive/contract/history';
import type { WorkloadId } from '@toolhive/state/workload-id';
import { durationsOf, steps } from './figure-store.ts';
import type { FigureStore, Key, Step, StoredFigures } from './figure-store.ts';
import { emptyHistogram, addPacked, percentile } from './histogram.ts';
import { hourMs, minuteMs } from './open-figures.ts';

/** How many series and how many steps one answer contains. */
const maxSeries = 5_000;
const maxPoints = 300_000;
/** How long is read before everything else gets its turn. */
const turnMs = 4;
/** A client that asks for the last day computes its begin some time before the daemon reads it. */
const toleranceMs = 2 * minuteMs;

export interface FigureRequest {
  from?: string | undefined;
  to?: string | undefined;
  by: HistoryGrouping;
  totals?: boolean | undefined;
}

/** Reads the figures of workloads, by their IDs, and their names. Throws `invalid` for a time that ends before it begins. */
export async function readFigures(
  store: FigureStore,
  { from, to, by, totals = false }: FigureRequest,
  {
    workloads,
    nowMs,
    clean,
  }: { workloads: ReadonlyMap<WorkloadId, string>; nowMs: number; clean: (name: string) => string },
): Promise<History> {
  const toMs = to === undefined ? nowMs + 1 : Date.parse(to); // with the minute that begins now
  const fromMs = from === undefined ? toMs - hourMs : Date.parse(from);
  if (fromMs >= toMs) throw invalid('from must be before to');
  const step: Step = fromMs >= nowMs - steps.minutes.keptMs - toleranceMs ? 'minutes' : 'hours';
  const { stepMs, keptMs } = steps[step];
  const endMs = Math.ceil(toMs / stepMs) * stepMs;
  const beginMs = from === undefined ? endMs - hourMs : Math.floor(fromMs / stepMs) * stepMs;
  const oldestMs = Math.max(beginMs, nowMs - keptMs - toleranceMs);
  const series: HistorySeries[] = [];
  let points = 0;
  let turnStartedMs = performance.now();
  for (const key of keysOf(store, by, workloads)) {
    const workload = workloads.get(key.workload);
    if (workload === undefined) continue;
    const figures = store.read(step, key, oldestMs, endMs);
    if (figures.length > 0) {
      points += totals ? 0 : figures.length;
      if (points > maxPoints) {
        throw invalid(`these are more than ${maxPoints} figures`, {
          hint: 'choose a workload, a shorter time, or totals=true',
        });
      }
      const shown = { workload, key, by, clean };
      series.push(seriesOf(figures, shown, totals ? undefined : { beginMs, stepMs }));
    }
    if (performance.now() - turnStartedMs < turnMs) continue;
    await nextTurn();
    turnStartedMs = performance.now();
  }
  const most = series.toSorted((a, b) => b.calls + b.denied - (a.calls + a.denied));
  return {
    by,
    from: new Date(beginMs).toISOString(),
    to: new Date(endMs).toISOString(),
    step_seconds: step === 'minutes' ? 60 : 3600,
    series: most.slice(0, maxSeries),
    is_complete: most.length <= maxSeries,
  };
}

function keysOf(store: FigureStore, by: HistoryGrouping, workloads: ReadonlyMap<WorkloadId, string>): Key[] {
  const [only, ...more] = workloads.keys();
  return only !== undefined && more.length === 0 ? store.keys(by, only) : store.keys(by);
}

function seriesOf(
  figures: readonly StoredFigures[],
  {
    workload,
    key,
    by,
    clean,
  }: { workload: string; key: Key; by: HistoryGrouping; clean: (name: string) => string },
  placed: { beginMs: number; stepMs: number } | undefined,
): HistorySeries {
  const durations = durationsOf(figures);
  const blocked = sumOf(figures, 'blocked');
  const p50 = percentile(durations, 0.5);
  const p95 = percentile(durations, 0.95);
  const name = key.name === undefined || key.name === '' ? undefined : clean(key.name);
  return {
    workload,
    ...(name === undefined ? {} : { name }),
    ...(key.name === undefined ? { is_rest: true } : {}),
    calls: sumOf(figures, 'calls'),
    errors: sumOf(figures, 'errors'),
    denied: sumOf(figures, 'denied'),
    bytes: sumOf(figures, 'bytes'),
    total_ms: sumOf(figures, 'totalMs'),
    last_at: new Date(figures.at(-1)?.at ?? 0).toISOString(),
    ...(by === 'workload' && blocked > 0 ? { denied_connections: blocked } : {}),
    ...(p50 === undefined ? {} : { p50_ms: p50 }),
    ...(p95 === undefined ? {} : { p95_ms: p95 }),
    ...(placed === undefined ? {} : { points: pointsOf(figures, placed) }),
  };
}

function pointsOf(
  figures: readonly StoredFigures[],
  { beginMs, stepMs }: { beginMs: number; stepMs: number },
): HistoryPoints {
  const histogram = emptyHistogram();
  const p50s: (number | null)[] = [];
  const p95s: (number | null)[] = [];
  for (const { durations } of figures) {
    histogram.fill(0);
    addPacked(histogram, durations);
    p50s.push(percentile(histogram, 0.5) ?? null);
    p95s.push(percentile(histogram, 0.95) ?? null);
  }
  const sums = (of: 'errors' | 'denied' | 'bytes'): number[] | undefined =>
    unlessAll(
      0,
      figures.map((one) => one[of]),
    );
  const [errors, denied, bytes] = [sums('errors'), sums('denied'), sums('bytes')];
  const [p50, p95] = [unlessAll(null, p50s), unlessAll(null, p95s)];
  return {
    at: figures.map(({ at }) => (at - beginMs) / stepMs),
    calls: figures.map(({ calls }) => calls),
    ...(errors === undefined ? {} : { errors }),
    ...(denied === undefined ? {} : { denied }),
    ...(bytes === undefined ? {} : { bytes }),
    ...(p50 === undefined ? {} : { p50_ms: p50 }),
    ...(p95 === undefined ? {} : { p95_ms: p95 }),
  };
}

function sumOf(
  figures: readonly StoredFigures[],
  of: 'calls' | 'errors' | 'denied' | 'blocked' | 'bytes' | 'totalMs',
): number {
  return figures.reduce((sum, one) => sum + one[of], 0);
}

/** A column, unless it says nothing. */
function unlessAll<Value>(empty: Value, column: Value[]): Value[] | undefined {
  return column.every((value) => value === empty) ? undefined : column;
}
