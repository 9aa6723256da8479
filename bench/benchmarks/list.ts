import { Agent } from 'node:http';
import { ask, workloadsPath } from '../ask.ts';
import type { Figure } from '../measurement.ts';
import { quantile } from '../statistics.ts';
import type { BenchmarkContext } from './benchmarks.ts';
import { growTo, startHive } from './hive.ts';

const workloads = 1_000;
const warmUp = 100;
const requests = 400;

/** How long the list of very many workloads takes, received but not parsed. */
export async function list({ signal }: BenchmarkContext): Promise<Figure[]> {
  await using hive = await startHive('memory');
  await growTo(hive, workloads, signal);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const latenciesMs: number[] = [];
  for (let request = 0; request < warmUp + requests; request++) {
    signal.throwIfAborted();
    const startedMs = performance.now();
    await ask({ socketPath: hive.ready.socketPath, method: 'GET', path: workloadsPath, agent });
    if (request >= warmUp) latenciesMs.push(performance.now() - startedMs);
  }
  agent.destroy();
  const what = `GET /workloads with ${workloads} workloads`;
  return [
    { what: `${what}, p50`, unit: 'ms', ours: quantile(latenciesMs, 0.5), comparison: 'itself' },
    { what: `${what}, p99`, unit: 'ms', ours: quantile(latenciesMs, 0.99), comparison: 'itself', budget: 20 },
  ];
}
