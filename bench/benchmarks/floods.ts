import { startChild } from '../child.ts';
import { compareLatency } from '../contest.ts';
import type { PortChild } from '../contest.ts';
import type { Figure } from '../measurement.ts';
import type { Flood } from '../servers/flooded.ts';
import type { BenchmarkContext } from './benchmarks.ts';

const floods: readonly Flood[] = [
  'invalid lines',
  'notifications',
  'large messages',
  'an endless line',
  'standard error',
];

/** How long calls of one workload take while the server of another one floods the daemon, beside no flood. */
export async function underFloods({ signal }: BenchmarkContext): Promise<Figure[]> {
  const reference = await p99Under('none', signal);
  const figures: Figure[] = [];
  for (const flood of floods) {
    figures.push({
      what: `p99 of another workload's calls, 1 connection, flood of ${flood}`,
      unit: 'ms',
      ours: await p99Under(flood, signal),
      reference,
      comparison: 'added',
      budget: 100,
    });
  }
  return figures;
}

async function p99Under(flood: Flood, signal: AbortSignal): Promise<number> {
  await using server: PortChild = await startChild(new URL('../servers/flooded.ts', import.meta.url), [
    flood,
  ]);
  const { measured } = await compareLatency({ measured: server }, signal);
  return measured.p99Ms;
}
