import type { Figure } from '../measurement.ts';
import type { BenchmarkContext } from './benchmarks.ts';
import { growTo, startHive } from './hive.ts';
import type { Hive } from './hive.ts';

const megabyte = 1_000_000;
const few = 50;
const many = 200;

/** What a hive keeps in memory: with no workload, and for each more. Their servers are processes of their own. */
export async function memory({ signal }: BenchmarkContext): Promise<Figure[]> {
  await using hive = await startHive('shell');
  const idle = await residentMegabytes(hive);
  await growTo(hive, few, signal);
  const withFew = await residentMegabytes(hive);
  await growTo(hive, many, signal);
  const withMany = await residentMegabytes(hive);
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

/** After several collections: what one of them frees, the next one gives back. */
async function residentMegabytes(hive: Hive): Promise<number> {
  for (let collection = 0; collection < 4; collection++) await hive.usage();
  const { residentBytes } = await hive.usage();
  return residentBytes / megabyte;
}
