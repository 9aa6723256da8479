import { canMakeNetworks } from '../../packages/runtime/src/testing/stand-in-hosts.ts';
import { startChild } from '../child.ts';
import { compareLatency } from '../contest.ts';
import type { PortChild } from '../contest.ts';
import type { Figure } from '../measurement.ts';
import { attackNames } from '../servers/egress-attacker.ts';
import type { BenchmarkContext } from './benchmarks.ts';

/** How long calls of one workload take while the server of another one attacks its egress gateway. */
export async function underAttacks({ signal, note }: BenchmarkContext): Promise<Figure[]> {
  if (!canMakeNetworks) {
    note('!!! containment is SKIPPED: the networks of servers need root and iproute2');
    return [];
  }
  const reference = await p99During('nothing', signal);
  const figures: Figure[] = [];
  for (const attack of attackNames) {
    figures.push({
      what: `p99 of another workload's calls, 1 connection, during ${attack} of one server`,
      unit: 'ms',
      ours: await p99During(attack, signal),
      reference,
      comparison: 'added',
      budget: 100,
    });
  }
  return figures;
}

async function p99During(attack: string, signal: AbortSignal): Promise<number> {
  const script = new URL('../servers/attacked.ts', import.meta.url);
  await using server: PortChild = await startChild(script, [attack]);
  const { measured } = await compareLatency({ measured: server }, signal);
  return measured.p99Ms;
}
