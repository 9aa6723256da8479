import type { Figure } from '../measurement.ts';
import type { BenchmarkContext } from './benchmarks.ts';
import { growTo, startDaemon } from './daemon.ts';
import type { Daemon } from './daemon.ts';

const megabyte = 1_000_000;
const few = 50;
const many = 200;

/** The memory of a daemon without workloads, and for each additional workload. The servers are separate processes. */
export async function memory({ signal }: BenchmarkContext): Promise<Figure[]> {
  await using daemon = await startDaemon('shell');
  const idle = await residentMegabytes(daemon);
  await growTo(daemon, few, signal);
  const withFew = await residentMegabytes(daemon);
  await growTo(daemon, many, signal);
  const withMany = await residentMegabytes(daemon);
  return [
    { what: 'no workload', unit: 'MB', ours: idle, comparison: 'itself', budget: 90 },
    {
      what: `each of ${few} workloads`,
      unit: 'MB',
      ours: (withFew - idle) / few,
      comparison: 'itself',
      budget: 1.5,
    },
    {
      what: `each of ${many} workloads`,
      unit: 'MB',
      ours: (withMany - idle) / many,
      comparison: 'itself',
      budget: 1.5,
    },
    { what: `${many} workloads`, unit: 'MB', ours: withMany, comparison: 'itself' },
  ];
}

/** After several collections, because the system gets memory back only in the collection after the one that frees it. */
async function residentMegabytes(daemon: Daemon): Promise<number> {
  for (let collection = 0; collection < 4; collection++) await daemon.usage();
  const { residentBytes } = await daemon.usage();
  return residentBytes / megabyte;
}
