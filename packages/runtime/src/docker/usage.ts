import * as z from 'zod';
import type { InstanceUsage } from '../runtime.ts';
import { callEngine } from './engine.ts';
import type { Engine } from './engine.ts';

const Stats = z.object({
  memory_stats: z.looseObject({
    usage: z.number().optional(),
    stats: z
      .looseObject({ inactive_file: z.number().optional(), total_inactive_file: z.number().optional() })
      .nullish(),
  }),
  cpu_stats: z.looseObject({ cpu_usage: z.looseObject({ total_usage: z.number().optional() }).optional() }),
  pids_stats: z.looseObject({ current: z.number().optional() }).nullish(),
});

const timeoutMs = 5_000;

/** A container's resource use, without its file cache, which the kernel reclaims when memory is low. */
export async function usageOfContainer(engine: Engine, id: string): Promise<InstanceUsage | undefined> {
  const { memory_stats, cpu_stats, pids_stats } = await callEngine(engine, Stats, {
    method: 'GET',
    path: `/containers/${id}/stats`,
    query: { stream: 'false', 'one-shot': 'true' },
    timeoutMs,
  });
  const { usage, stats } = memory_stats;
  const cpuNs = cpu_stats.cpu_usage?.total_usage;
  if (usage === undefined || cpuNs === undefined) return undefined;
  const cache = stats?.inactive_file ?? stats?.total_inactive_file ?? 0;
  return {
    memoryBytes: Math.max(0, usage - cache),
    cpuMs: cpuNs / 1e6,
    processes: pids_stats?.current ?? 0,
  };
}
